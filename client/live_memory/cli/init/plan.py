"""Makes changes of files from the pieces: a plan is made first, shown as a diff, then carried out or undone."""

import difflib
import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from live_memory.cli.exits import Refused
from live_memory.cli.init import files, record
from live_memory.cli.init.pieces import Piece
from live_memory.cli.init.problems import NotPlain
from live_memory.cli.init.record import FileRecord
from live_memory.cli.init.setup import SERVER

_BEARER = re.compile(r"(Bearer )[^\s\"'$]+")


@dataclass(frozen=True)
class Place:
    """A piece and its file in `root`. `mode`: the mode that the file needs (executable, secret).

    `wanted`: false for a file that an `init` with other options wrote; it is taken back.
    """

    root: Path
    relative: str
    piece: Piece
    mode: int | None = None
    wanted: bool = True


@dataclass(frozen=True)
class Step:
    """A file that changes. None: it does not exist before, or afterwards. An undo restores `origin`."""

    path: Path
    shown: str
    before: str | None
    after: str | None
    mode: int | None = None
    origin: str | None = None
    folders: tuple[Path, ...] = ()


@dataclass(frozen=True)
class ByHand:
    """A file that livemem does not change, the reason, and the text that its owner adds, or removes."""

    shown: str
    reason: str
    snippet: str
    remove: bool = False


@dataclass(frozen=True)
class Plan:
    """The changes of files, and the steps to do by hand."""

    steps: tuple[Step, ...]
    by_hand: tuple[ByHand, ...]


def draw_up(places: list[Place], records: Mapping[str, FileRecord], *, undo: bool = False) -> Plan:
    """The plan that adds each piece to its file. A file that has it already is no step. Raises Refused.

    `undo`: it removes our parts. A file that nobody changed since gets its former text.
    """
    steps: list[Step] = []
    by_hand: list[ByHand] = []
    for place in places:
        path = files.inside(place.root, place.relative)
        before, done = files.read(path), records.get(str(path))
        wanted = place.wanted and not undo
        try:
            step = _step(place, path, before, done) if wanted else _step_back(place, path, before, done)
        except NotPlain as problem:
            if undo and SERVER not in (before or ""):
                continue
            by_hand.append(ByHand(str(path), str(problem), place.piece.snippet(), remove=not wanted))
            continue
        if step:
            steps.append(step)
    return Plan(tuple(steps), tuple(by_hand))


def _step(place: Place, path: Path, before: str | None, done: FileRecord | None) -> Step | None:
    origin = _origin(place.piece, before, done)
    # As if it were the first `init`, so that what others wrote keeps its form; not in a file that was edited since.
    unedited = done is not None and before is not None and record.digest(before) == done.after_hash
    after = place.piece.add((origin if unedited else before) or "")
    if after == before and place.mode in (None, _mode(path)):
        return None
    folders = tuple(files.missing_folders(place.root.resolve(), path))
    return Step(path, place.relative, before, after, place.mode, origin, folders)


def _step_back(place: Place, path: Path, now: str | None, done: FileRecord | None) -> Step | None:
    """The step that removes our part. An undo restores the text that it leaves."""
    after = _undone(place.piece, now, done) if now is not None else None
    return Step(path, place.relative, now, after, done.mode if done else None, after) if after != now else None


def _origin(piece: Piece, before: str | None, done: FileRecord | None) -> str | None:
    """The text before the first `init`. Of a file that was edited since, the current text without our part."""
    if before is None or done is None:
        return before
    return _undone(piece, before, done)


def _undone(piece: Piece, now: str, done: FileRecord | None) -> str | None:
    if done and record.digest(now) == done.after_hash:
        return done.before
    after = piece.remove(now, done.before if done else None)
    was_there = done is not None and done.before is not None
    return None if after != now and not was_there and piece.is_bare(after) else after


def kind(step: Step) -> str:
    """How a file changes, in a word."""
    return "new" if step.before is None else "removed" if step.after is None else "changed"


def diff(step: Step) -> Iterator[str]:
    """The change of a file as lines of a unified diff, with its tokens hidden."""

    def lines(text: str | None) -> list[str]:
        return _BEARER.sub(r"\1***", text or "").splitlines()

    old = step.shown if step.before is not None else os.devnull
    new = step.shown if step.after is not None else os.devnull
    yield from difflib.unified_diff(lines(step.before), lines(step.after), old, new, lineterm="")


def carry_out(plan: Plan, record_path: Path) -> None:
    """Write the files. Raises Refused, also if a file has changed since the plan was made.

    The record is saved first: after an interruption, the user can undo the changes so far.
    """
    records = record.load(record_path)
    for step in plan.steps:
        records[str(step.path)] = _recorded(step, records.get(str(step.path)))
    record.save(record_path, records)
    for step in plan.steps:
        _carry_out(step)


def _carry_out(step: Step) -> None:
    _check_unchanged(step)
    if step.after is None:
        files.remove(step.path)
    else:
        files.write(step.path, step.after, step.mode)


def _recorded(step: Step, earlier: FileRecord | None) -> FileRecord:
    folders = [*earlier.folders] if earlier else []
    folders += [str(folder) for folder in step.folders if str(folder) not in folders]
    mode = earlier.mode if earlier else _mode(step.path) if step.mode is not None else None
    return FileRecord(step.origin, record.digest(step.after or ""), folders, mode)


def take_back(plan: Plan, record_path: Path) -> None:
    """Carry out the plan of an undo, and remove the record. Raises Refused."""
    records = record.load(record_path)
    for step in plan.steps:
        _carry_out(step)
    left = {one.shown for one in plan.by_hand}
    for name, done in records.items():
        if name not in left:
            files.remove_empty([Path(folder) for folder in done.folders])
    record.save(record_path, {name: done for name, done in records.items() if name in left})


def _check_unchanged(step: Step) -> None:
    if files.read(step.path) != step.before:
        raise Refused(f"{step.path} was changed by another program in the meantime. Run the command again.")


def _mode(path: Path) -> int | None:
    return stat.S_IMODE(path.stat().st_mode) if path.exists() else None
