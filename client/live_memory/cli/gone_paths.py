"""Marks for lines that name files which are gone, or are of another branch (branch_marks.py). They are made here, where
the repository is; nothing of it is sent.

Of a file only its name is looked at. git reads the names in former commits, without hooks, monitors and requests.
"""

import os
import re
import stat
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from live_memory.cli import branch_marks
from live_memory.cli.repository import ask_git, git

SECONDS = 0.05
"""For all look-ups of a text together: an agent waits for them. A path that is not looked up by then has no mark."""
MOST_PATHS, LONGEST = 200, 300
MOST_MARKS = 40
"""The text of a start and these have room in what clients take."""
MARK = " (gone)"

_DAY = re.compile(r"\b(20\d\d)-?([01]\d)-?([0-3]\d)(?=\b|T)")
_SUFFIX = (
    "c|cc|cfg|cpp|cs|s?css|exs?|go|h|html|ini|ipynb|java|[cm]?[jt]sx?|json|kt|lua|md|php|proto|py|rb|rs|sh|sql|swift|"
    "tf|toml|txt|vue|ya?ml"
)
_PATH = re.compile(
    r"`(?P<quoted>[^`\s]+?)(?::\d+(?:-\d+)?)*`"
    rf"|(?<![\w/.:~@%`\\-])(?P<plain>[\w@.-]+(?:/[\w@.-]+)*\.(?:{_SUFFIX}))(?![\w/%-])"
)
_AT_WORK = threading.BoundedSemaphore(4)
"""Look-ups under way: on a disk that hangs they never end."""


@dataclass(frozen=True)
class _Named:
    """A path in a text: where it ends, and the day of its line, as `2026-03-01`."""

    path: str
    end: int
    day: str


def marked(text: str, folder: Path) -> str:
    """The text of a memory, with MARK behind each path that the folder's repository has lost since the day of its line,
    and without the marks of branches that the folder's has.

    A line without a day has that of the lines above it, up to their heading. This waits SECONDS at most, also for a
    disk that hangs, and never raises.
    """
    named, commits = list(_named(text)), branch_marks.commits(text)
    if not (named or commits) or not _AT_WORK.acquire(blocking=False):
        return branch_marks.settled(text)
    gone: list[set[_Named]] = []
    merged: set[str] = set()

    def look() -> None:
        try:
            with suppress(OSError, ValueError, RuntimeError):
                # One answer still arrives when the time of the other ends.
                until, top = time.monotonic() + 0.8 * SECONDS, _top(folder)
                if top and commits:
                    merged.update(branch_marks.merged(top, commits, partial(_ask, until)))
                if top and named:
                    gone.append(_gone(named, top, until))
        finally:
            _AT_WORK.release()

    worker = threading.Thread(target=look, name="gone paths", daemon=True)
    worker.start()
    worker.join(SECONDS)
    for one in reversed([one for one in named if gone and one in gone[0]][:MOST_MARKS]):
        text = text[: one.end] + MARK + text[one.end :]
    return branch_marks.settled(text, frozenset(merged))


def _named(text: str) -> Iterator[_Named]:
    day, begin = "", 0
    for line in text.splitlines(keepends=True):
        if found := _DAY.search(line):
            day = "-".join(found.groups())
        elif line.startswith("#"):
            day = ""
        for match in _PATH.finditer(line) if day else ():
            path = match["quoted"] or match["plain"]
            is_path = "/" in path or re.search(rf"\.(?:{_SUFFIX})$", path)
            if is_path and len(path) <= LONGEST and not line[match.end() :].startswith(MARK):
                yield _Named(path.rstrip("/"), begin + match.end(), day)
        begin += len(line)


def _top(folder: Path) -> Path | None:
    folder = folder.resolve()
    return next((place for place in (folder, *folder.parents) if (place / ".git").exists()), None)


def _ask(until: float, top: Path, *arguments: str) -> str | None:
    return ask_git(top, *arguments, seconds=_left(until))


def _gone(named: Iterable[_Named], top: Path, until: float) -> set[_Named]:
    paths = list(dict.fromkeys(one.path for one in named))[:MOST_PATHS]
    missing = [path for path in paths if time.monotonic() < until and _is_missing(top, path)]
    if not missing:
        return set()
    oldest = min(one.day for one in named if one.path in missing)
    lost = _lost(top, missing, oldest, until)
    return {one for one in named if one.day <= lost.get(one.path, "")}


def _is_missing(top: Path, path: str) -> bool:
    """Whether there is nothing of this name. False for what leads out of the repository, or through a link."""
    parts = path.split("/")
    if re.search(r"[:\\]", path) or parts[0] == ".git" or {"", ".", ".."} & set(parts):
        return False
    place = top
    try:
        for part in parts:
            place /= part
            if stat.S_ISLNK(os.lstat(place).st_mode):
                return False
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def _lost(top: Path, paths: list[str], since: str, until: float) -> dict[str, str]:
    """The last day (UTC) on which each path was removed, by a commit or since the last one."""
    log = ("log", "--diff-filter=D", "--no-renames", "--no-ext-diff", "--name-only", "-z", "--format=%x01%ct")
    committed = git(top, *log, f"--since={since}T00:00:00Z", "--", *paths, seconds=_left(until))
    tracked = git(top, "ls-files", "--deleted", "-z", "--", *paths, seconds=_left(until))
    lost: dict[str, str] = {}
    for commit in committed.split("\x01")[1:]:
        moment, *names = commit.replace("\n", "\0").split("\0")
        day = time.strftime("%Y-%m-%d", time.gmtime(int(moment)))
        lost |= {above: max(day, lost.get(above, "")) for name in names for above in _above(name)}
    today = time.strftime("%Y-%m-%d", time.gmtime())
    return lost | {above: today for name in tracked.split("\0") for above in _above(name)}


def _above(name: str) -> Iterator[str]:
    """A file and the folders that it was in: one that is missing went with its files."""
    while name:
        yield name
        name = name.rpartition("/")[0]


def _left(until: float) -> float:
    return max(0.001, until - time.monotonic())
