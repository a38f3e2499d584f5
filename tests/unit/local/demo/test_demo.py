from pathlib import Path

import pytest

from local.demo.report import Progress, wrap
from local.demo.service import DemoError, running_service


def test_long_entries_are_wrapped_below_their_text() -> None:
    text = "word " * 12
    assert wrap(f"- {text}", 40)[:2] == ["- word word word word word word word", "  word word word word word"]
    assert wrap(f"+  - {text}", 40)[1].startswith("     word")
    assert wrap("", 40) == [""]


def test_progress_without_a_terminal_prints_plain_lines_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress(every=2)
    for number in range(1, 6):
        progress.show(f"at {number}")
    progress.tell("done")
    assert capsys.readouterr().out == "  at 2\n  at 4\ndone\n"


def test_a_folder_that_no_demo_made_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "precious.txt").write_text("mine", "utf-8")
    with pytest.raises(DemoError, match="not from a demo"), running_service(tmp_path):
        pass
    assert (tmp_path / "precious.txt").read_text("utf-8") == "mine"
