from pathlib import Path

import pytest

from local.demo.__main__ import DemoError, running_service


def test_a_folder_that_no_demo_made_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "precious.txt").write_text("mine", "utf-8")
    with pytest.raises(DemoError, match="not from a demo"), running_service(tmp_path):
        pass
    assert (tmp_path / "precious.txt").read_text("utf-8") == "mine"
