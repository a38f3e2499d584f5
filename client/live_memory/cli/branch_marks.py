"""Marks of lines that were written on another branch. The service writes
` (on feature/x as of 0123456789ab)`, which no branch's name looks like.

Here, where the repository is, a mark goes if the branch of this folder has its commit. Else it becomes
` (on feature/x)`.
"""

import re
from collections.abc import Callable, Collection
from pathlib import Path

_BRANCH = r"[\w./@#+=,%-]{1,200}"
MARK = re.compile(rf" \(on (?P<branch>{_BRANCH}) as of (?P<commit>[0-9a-f]{{12}})\)")
SHORT = rf" \(on {_BRANCH}\)"
"""What becomes of it where the commit is not merged."""
MOST_COMMITS = 200


def commits(text: str) -> list[str]:
    """The commits that a text's marks name, each once, at most MOST_COMMITS."""
    return list(dict.fromkeys(found["commit"] for found in MARK.finditer(text)))[:MOST_COMMITS]


def merged(top: Path, some: Collection[str], ask: Callable[..., str | None]) -> set[str]:
    """Those of some commits that are in the branch of a work tree. `ask` asks git, and gives None where that fails."""
    there = (ask(top, "rev-list", "--no-walk", "--ignore-missing", *some) or "").split()
    apart = ask(top, "rev-list", *there, "^HEAD") if there else None
    if apart is None:
        return set()
    names = set(there).difference(apart.split())
    return {commit for commit in some if any(name.startswith(commit) for name in names)}


def shorten(text: str, merged: Collection[str] = ()) -> str:
    """The text without the marks of merged commits; the others name their branch alone."""

    def of(found: re.Match[str]) -> str:
        return "" if found["commit"] in merged else f" (on {found['branch']})"

    return MARK.sub(of, text)
