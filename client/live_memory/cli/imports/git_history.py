"""The newest commits of a repository: each message becomes a note, with its author, its day and the commit."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from live_memory.cli import repository
from live_memory.cli.imports import chats
from live_memory.cli.imports.found_items import Found, FoundItem
from live_memory.cli.imports.unfit import BadSource

SECONDS = 60.0
_FORMAT = "%H%x01%aI%x01%an%x01%P%x01%B"
_EMPTY = re.compile(r"(?:(?:fixup|squash|amend)! .*|wip\b.*|\W*|merge remote-tracking branch .*)", re.IGNORECASE)
_DECIDES = re.compile(
    r"\b(?:because|instead of|rather than|in favou?r of|decided?|no longer|BREAKING CHANGE)\b|^\w+(?:\(.*\))?!:",
    re.IGNORECASE,
)
"""Words of messages that give a reason, or take something back."""
_MERGE = re.compile(r"Merge (?:branch|pull request #\d+ from|tag) '?([^'\s]+)'?.*")


def found(folder: Path, newest: int) -> Found:
    """The notes of that many commits, the oldest first. Raises BadSource."""
    here = repository.of(folder)
    if not here.is_versioned:
        raise BadSource("This folder is in no repository of git.")
    made = Found(f"git ({here.name})")
    listed = ("log", "-z", f"--max-count={newest}", f"--format={_FORMAT}")
    told = os.fsencode(repository.git(here.top, *listed, seconds=SECONDS)).decode(errors="replace")
    rows = [row for row in told.split("\0") if row]
    if not rows:
        raise BadSource("git names no commits of this repository.")
    for commit, moment, author, parents, message in _commits(reversed(rows)):
        subject, _, body = message.strip().partition("\n")
        merged = _MERGE.fullmatch(subject) if " " in parents else None
        if _EMPTY.fullmatch(subject):
            made.not_taken["commits that say nothing"] += 1
            continue
        text = f"Merged {merged[1]}.\n{body}".strip() if merged else message.strip()
        category = "decision" if _DECIDES.search(message) else "progress"
        content = f"{text}\n\n(commit {commit[:12]})"
        made.add(FoundItem("note", f"commit {commit[:12]}", content, category, ["git"], chats.moment(moment), author))
    return made


def _commits(rows: Iterator[str]) -> Iterator[list[str]]:
    for row in rows:
        fields = row.split("\x01", 4)
        if len(fields) == 5:
            yield fields
