from pathlib import Path

import pytest

from local.demo.stage import DemoError, running_service, wrap


def test_long_entries_are_wrapped_below_their_text() -> None:
    text = "word " * 12
    assert wrap(f"- {text}", 40)[:2] == ["- word word word word word word word", "  word word word word word"]
    assert wrap(f"+  - {text}", 40)[1].startswith("     word")
    assert wrap("", 40) == [""]


def test_a_folder_that_no_demo_made_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "precious.txt").write_text("mine", "utf-8")
    with pytest.raises(DemoError, match="not from a demo"), running_service(tmp_path):
        pass
    assert (tmp_path / "precious.txt").read_text("utf-8") == "mine"
