"""Marks for lines that name files which are gone, or are of another branch (branch_marks.py). They are made here, where
the repository is; nothing of it is sent.

Of a file only its name is looked at. git reads the names in former commits, without hooks, monitors and requests.
"""

import os
import re
import stat
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from live_memory.cli import branch_marks
from live_memory.cli.repository import ask_until, look, top_of

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
    r"`(?P<quoted>[^`\s#]+?)(?::\d+(?:-\d+)?)*`"
    rf"|(?<![\w/.:~@%`\\-])(?P<plain>[\w@.-]+(?:/[\w@.-]+)*\.(?:{_SUFFIX}))(?![\w/%#-])"
)
"""A name before `#` is an id of the memory, or a link into a page, which a mark would break."""
_COMMIT = "//"
"""No path begins with it."""
_LATEST = 253_402_300_799
"""The last second of the year 9999."""


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
    gone: set[_Named] = set()
    merged: set[str] = set()

    def work(until: float) -> None:
        # One answer still arrives when the time of the other ends.
        until -= 0.2 * SECONDS
        top = top_of(folder)
        if top and commits:
            merged.update(branch_marks.merged(top, commits, partial(ask_until, until)))
        for lost in _lost(named, top, until) if top and named else ():
            gone.update(one for one in named if one.day <= lost.get(one.path, ""))

    if named or commits:
        look(work, SECONDS)
    for one in reversed([one for one in named if one in gone][:MOST_MARKS]):
        text = text[: one.end] + MARK + text[one.end :]
    return branch_marks.shorten(text, frozenset(merged))


def marks(text: str) -> dict[str, str]:
    """The words of a text that have a mark: with it, and without."""
    return {one[0]: one[1] for one in re.finditer(rf"(\S+)(?:{re.escape(MARK)}|{branch_marks.SHORT})", text)}


def _named(text: str) -> Iterator[_Named]:
    day, begin = "", 0
    for line in text.splitlines(keepends=True):
        if found := _DAY.search(line):
            day = "-".join(found.groups())
        elif line.startswith("#"):
            day = ""
        for match in _PATH.finditer(line) if day else ():
            path = match["quoted"] or match["plain"]
            is_path = "/" in path or ("." in path and re.search(rf"\.(?:{_SUFFIX})$", path))
            if is_path and len(path) <= LONGEST and not line[match.end() :].startswith(MARK):
                yield _Named(path.rstrip("/"), begin + match.end(), day)
        begin += len(line)


def _lost(named: Collection[_Named], top: Path, until: float) -> Iterator[dict[str, str]]:
    """The last day (UTC) on which each missing path was removed: by commits, then since the last one."""
    paths = list(dict.fromkeys(one.path for one in named))[:MOST_PATHS]
    missing = [path for path in paths if time.monotonic() < until and _is_missing(top, path)]
    if not missing:
        return
    oldest = min(one.day for one in named if one.path in missing)
    log = ("log", "--diff-filter=D", "--no-renames", "--no-ext-diff", "--name-only", "-z", f"--format={_COMMIT}%ct")
    lost: dict[str, str] = {}
    day = ""
    for part in (ask_until(until, top, *log, f"--since={oldest}T00:00:00Z", "--", *missing) or "").split("\0"):
        if part.startswith(_COMMIT):
            day = _day(int(part.removeprefix(_COMMIT)))
        else:
            lost |= {above: max(day, lost.get(above, "")) for above in _above(part.removeprefix("\n"))}
    yield lost
    # Not --deleted, which looks at each file of the repository. "H": it is not left out of a sparse checkout.
    tracked = ask_until(until, top, "ls-files", "-t", "-z", "--", *missing) or ""
    today = _day(time.time())
    names = [line[2:] for line in tracked.split("\0") if line.startswith("H ")]
    yield {above: today for name in names for above in _above(name)}


def _day(moment: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(min(moment, _LATEST)))


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


def _above(name: str) -> Iterator[str]:
    """A file and the folders that it was in: one that is missing went with its files."""
    while name:
        yield name
        name = name.rpartition("/")[0]
