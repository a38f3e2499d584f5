"""Marks of lines that were written on another branch. The service writes ` (on feature/x@0123456789ab)`.

Here, where the repository is, a mark goes if the branch of this folder has its commit. Else it becomes
` (on feature/x)`.
"""

import re
from collections.abc import Callable, Collection
from pathlib import Path

MARK = re.compile(r" \(on (?P<branch>[\w./@#+=,%-]{1,200}?)(?:@(?P<commit>[0-9a-f]{12}))?\)")
MOST_COMMITS = 200


def commits(text: str) -> list[str]:
    """The commits that a text's marks name, each once, at most MOST_COMMITS."""
    return list(dict.fromkeys(found["commit"] for found in MARK.finditer(text) if found["commit"]))[:MOST_COMMITS]


def merged(top: Path, some: Collection[str], ask: Callable[..., str | None]) -> set[str]:
    """Those of some commits that are in the branch of a work tree. `ask` asks git, and gives None where that fails."""
    there = (ask(top, "rev-list", "--no-walk", "--ignore-missing", *some) or "").split()
    apart = ask(top, "rev-list", *there, "^HEAD") if there else None
    if apart is None:
        return set()
    names = set(there).difference(apart.split())
    return {commit for commit in some if any(name.startswith(commit) for name in names)}


def settled(text: str, gone: Collection[str] = ()) -> str:
    """The text without the marks of some commits; the others name their branch alone."""

    def of(found: re.Match[str]) -> str:
        return "" if found["commit"] in gone else f" (on {found['branch']})"

    return MARK.sub(of, text)
