"""Of which version of the code new lines of a file are: by the words that they have of a note, within a bound."""

from livemem.changes import code_lines
from livemem.changes.records import FileChange, NoteSource, Record
from livemem.text.code_version import CodeVersion, line_key

NOTES = {
    "main": "The crane lifts forty tons at the north quay.",
    "feature/x": "The ferry leaves for Kiel at noon on Sundays.",
}


def versions(*lines: str) -> list[str | None]:
    """The branch of each line of a new file that was written from a note of either branch."""
    sources = [
        NoteSource(
            note_id=f"20260220T14000{number}_ann_todo_0000000{number}",
            raw=f'---\nagent: "ann"\nbranch: "{branch}"\n---\n\n{text}',
        )
        for number, (branch, text) in enumerate(NOTES.items())
    ]
    record = Record.model_validate(
        {"number": 1, "run_id": "r", "uid": "u", "kind": "consolidation", "trigger": "api", "model": "m",
         "started_at": "2026-02-21T00:00:00Z", "committed_at": "2026-02-21T00:00:00Z", "notes": sources}
    )  # fmt: skip
    change = FileChange(path="log.md", action="created", before=None, after="\n".join(lines))
    known = code_lines.after({}, record, change)
    return [known.get(line_key(line), CodeVersion()).branch for line in lines]


def test_a_line_is_of_the_branch_of_the_note_that_has_more_than_half_of_its_words():
    lines = ("- The ferry leaves for Kiel at noon.", "- The crane lifts forty tons.", "- Ferry, crane, quay and Kiel.")

    assert versions(*lines) == ["feature/x", "main", None]


def test_beyond_the_bound_of_what_is_compared_lines_have_no_version(monkeypatch):
    lines = ("- The ferry leaves for Kiel at noon.", "- The crane lifts forty tons.")

    monkeypatch.setattr(code_lines, "MOST_COMPARED", len(lines) * len(NOTES))
    assert versions(*lines) == ["feature/x", "main"]
    monkeypatch.setattr(code_lines, "MOST_COMPARED", len(lines) * len(NOTES) - 1)
    assert versions(*lines) == [None, None]
