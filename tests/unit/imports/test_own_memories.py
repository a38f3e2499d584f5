"""What clients remember by themselves, as notes."""

from pathlib import Path

import pytest

from live_memory.cli.imports import detection, own_memories

FEEDBACK = """---
name: no-mocks
description: Tests use the real store.
type: feedback
---

A mock hid a broken query in March.
"""
NESTED = """---
name: ann
description: Ann prefers short answers.
metadata:
  type: user
created: 2026-03-01T10:00:00Z
---

Ann prefers short answers. Her key is sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD.
"""


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_each_memory_of_claude_code_is_a_note_and_its_index_none(tmp_path):
    links = "- [No mocks](no-mocks.md) - Tests use the real store.\n- [Lost](lost.md)"
    index = f"# Memory\n\n{links}\n\nDeploys are on Tuesdays.\n"
    folder = written(tmp_path, {"no-mocks.md": FEEDBACK, "ann.md": NESTED, "MEMORY.md": index})
    assert detection.look(folder).kind == "own-memory"

    made = own_memories.found(folder)

    found = {item.name: item for item in made.items}
    assert found["MEMORY.md"].content == "# Memory\n\n- [Lost](lost.md)\n\nDeploys are on Tuesdays."
    assert made.not_taken["lines of the index that name a file"] == 1
    feedback, ann = found["no-mocks.md"], found["ann.md"]
    assert feedback.content == "# no-mocks\n\nTests use the real store.\n\nA mock hid a broken query in March."
    assert (feedback.category, feedback.tags) == ("decision", ["claude", "feedback"])
    assert ann.content.count("prefers short answers") == 1
    assert "abcdefghij" not in ann.content
    assert (ann.category, ann.said_at) == ("observation", "2026-03-01T10:00:00.000Z")
    assert made.redacted == 1
    assert not made.left_out


def test_a_line_of_the_index_that_says_more_than_its_file_is_kept(tmp_path):
    index = "- Never push to main; details in [git](no-mocks.md)\n- [No mocks](no-mocks.md): never in CI\n"
    written(tmp_path, {"no-mocks.md": FEEDBACK, "MEMORY.md": index})

    assert [item.content for item in own_memories.found(tmp_path).items if item.name == "MEMORY.md"] == [index.strip()]


def test_of_codex_the_handbook_and_the_sessions_are_notes_and_what_is_made_of_them_is_named(tmp_path):
    files = {
        "MEMORY.md": "# Commits\n\nUse conventional commits.\n\n# Tests\n\nRun make test.\n",
        "memory_summary.md": "Both.",
        "raw_memories.md": "Both.",
        "rollout_summaries/fix.md": "The parser was fixed.",
    }
    assert detection.look(written(tmp_path, files)).kind == "own-memory"

    made = own_memories.found(tmp_path)

    assert sorted(item.content for item in made.items) == [
        "# Commits\n\nUse conventional commits.",
        "# Tests\n\nRun make test.",
        "# fix\n\nThe parser was fixed.",
    ]
    assert made.not_taken == {"files that Codex makes of the others": 2}


@pytest.mark.parametrize("text", ["# Plain\n", "---\nname: x\ntype: skill\n---\nx\n"])
def test_other_markdown_is_none(tmp_path, text):
    assert detection.look(written(tmp_path, {"one.md": text, "other.md": "text"})).kind == "markdown"
