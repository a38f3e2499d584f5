"""Messages of commits as notes."""

from pathlib import Path

import pytest

from live_memory.cli.imports import detection, git_history
from live_memory.cli.imports.unfit import BadSource
from tests.unit.cli.test_repository import git


def committed(folder: Path, *messages: str) -> None:
    for message in messages:
        git(folder, "commit", "-q", "--allow-empty", "-m", message)


def test_commits_and_merged_branches_are_notes_the_oldest_first(tmp_path, monkeypatch):
    git(tmp_path, "init", "-qb", "main")
    reason = "Use SQLite instead of files\n\nThe lock was lost on NFS."
    secret = "Token sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"
    committed(tmp_path, "Begin", reason, "wip", "fixup! Begin", secret)
    git(tmp_path, "checkout", "-qb", "feature/tabs", "HEAD~3")
    committed(tmp_path, "feat(parser)!: keep tabs")
    git(tmp_path, "checkout", "-q", "main")
    git(tmp_path, "merge", "-q", "--no-ff", "-m", "Merge branch 'feature/tabs'\n\nTabs are kept.", "feature/tabs")
    monkeypatch.chdir(tmp_path)
    assert detection.look(Path("git")).kind == "git"

    made = git_history.found(tmp_path, 100)

    told = {item.content.rsplit("\n\n(commit ", 1)[0]: item for item in made.items}
    assert {text: item.category for text, item in told.items() if "Token" not in text} == {
        "Begin": "progress",
        reason: "decision",
        "feat(parser)!: keep tabs": "decision",
        "Merged feature/tabs.\n\nTabs are kept.": "progress",
    }
    assert made.items[0].content.startswith("Begin")
    assert {(item.author, item.tags[0], bool(item.said_at)) for item in made.items} == {("a", "git", True)}
    assert made.not_taken == {"commits that say nothing": 2}
    assert made.redacted == 1
    assert [item.content[:6] for item in git_history.found(tmp_path, 1).items] == ["Merged"]


def test_a_folder_without_commits_is_refused(tmp_path):
    with pytest.raises(BadSource, match="no repository"):
        git_history.found(tmp_path, 10)
    git(tmp_path, "init", "-q")
    with pytest.raises(BadSource, match="no commits"):
        git_history.found(tmp_path, 10)


def test_a_message_that_is_not_utf_8_comes_with_signs_of_replacement(tmp_path):
    git(tmp_path, "init", "-q")
    (tmp_path / "message").write_bytes(b"caf\xe9 is open")
    git(tmp_path, "commit", "-q", "--allow-empty", "-F", "message")

    (note,) = git_history.found(tmp_path, 10).items

    assert note.content.startswith("caf")
    assert note.content.encode()
