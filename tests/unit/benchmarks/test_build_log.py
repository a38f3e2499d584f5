import json
from pathlib import Path

import pytest

from benchmarks.build_log import NOTES, read_notes


def test_every_line_of_the_log_is_a_note() -> None:
    assert len(read_notes()) == len(NOTES.read_text("utf-8").splitlines()) > 120


def test_notes_are_read_oldest_first(tmp_path: Path) -> None:
    rows = [
        {"timestamp": f"2026-11-2{day}T00:00:00Z", "agent": "lead", "category": "todo", "content": "\u2028"}
        for day in (2, 1)
    ]
    file = tmp_path / "notes.jsonl"
    file.write_text("\n\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n", "utf-8")
    assert read_notes(file) == rows[::-1]


@pytest.mark.parametrize(
    ("text", "problem"),
    [("{}", "line 1, needs the texts"), ('\n{"', "line 2, is not JSON"), ("[]", "line 1, needs")],
)
def test_a_line_that_is_no_note_is_named(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "notes.jsonl"
    file.write_text(text, "utf-8")
    with pytest.raises(ValueError, match=problem):
        read_notes(file)
