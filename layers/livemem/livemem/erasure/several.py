"""Erasing several notes, memories and turns at once, with one receipt; and a preview of it, which changes nothing."""

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from livemem import limits
from livemem.access.principal import Principal
from livemem.erasure import erasure, occurrences, rewriting, steps
from livemem.erasure.occurrences import ErasureTarget, Occurrences
from livemem.erasure.rewriting import Rewrites
from livemem.errors import InvalidRequest, OutOfTime, TooLarge
from livemem.jobs.receipt import Receipt, ReceiptSection
from livemem.jobs.worker import Work
from livemem.memories import erasing
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.store import keys
from livemem.store.bucket import TURN_ID
from livemem.store.stored import Stored

State = Literal["in_space", "in_backups", "erased", "unknown"]


@dataclass(frozen=True)
class Selection:
    """Notes and memories by their ids, and turns as searches name them (conversation/number)."""

    note_ids: Sequence[str] = ()
    memory_ids: Sequence[str] = ()
    turns: Sequence[str] = ()

    def checked(self) -> "Selection":
        """Each once, in one form. Raises InvalidName, InvalidRequest, TooLarge."""
        count = len(self.note_ids) + len(self.memory_ids) + len(self.turns)
        if not count:
            raise InvalidRequest.of("note_ids", "name at least one note, memory or turn")
        if count > limits.ERASED_AT_ONCE:
            raise TooLarge.of("note_ids", count, limits.ERASED_AT_ONCE, "notes, memories and turns together")
        return Selection(
            _once(keys.parse_note_id(note_id).note_id for note_id in self.note_ids),
            _once(keys.check_memory_id(memory_id) for memory_id in self.memory_ids),
            _once(_turn(turn) for turn in self.turns),
        )

    @property
    def ids(self) -> frozenset[str]:
        return frozenset((*self.note_ids, *self.memory_ids, *self.turns))

    def target(self, process: Process, space_id: str) -> ErasureTarget:
        """With the memories that were merged into these, or into which they were: the requests of erasing.joined."""
        joined = [erasing.joined(process, space_id, memory_id) for memory_id in self.memory_ids]
        return ErasureTarget(
            frozenset(self.note_ids), memory_ids=frozenset().union(*joined), turns=frozenset(self.turns)
        )


@dataclass(frozen=True)
class PreviewItem:
    """One of the selected things, or (`also`) one that goes with them. `erased`: nothing of its words is left."""

    id: str
    kind: Literal["note", "memory", "turn"]
    state: State
    also: bool = False


@dataclass(frozen=True)
class PreviewPlace:
    """The objects of the space, or of one of its backups, that an erasure would change or remove, counted by kind."""

    backup_id: str | None
    counts: dict[str, int]


@dataclass(frozen=True)
class ErasurePreview:
    """What an erasure would remove. `complete`: False where the time did not suffice to look everywhere."""

    complete: bool
    items: list[PreviewItem]
    places: list[PreviewPlace] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    sections: list[ReceiptSection] = field(default_factory=list)
    quoted_in: list[str] = field(default_factory=list)
    not_reached: list[str] = field(default_factory=list)


def erase_several(
    process: Process, principal: Principal, space_id: str, selection: Selection, deadline: datetime, *, erase: bool
) -> Receipt:
    """Erase all of them as erasure.erase_note does, with one receipt: the requests of one erasure. Unless each of them
    is known, nothing is erased, as far as the time suffices to look for them.

    Raises InvalidRequest unless `erase`, InvalidName, TooLarge, NotFound, and what the erasure raises.
    """
    keys.check_space_id(space_id)
    erasure.check_meant(erase=erase)
    chosen = selection.checked()
    heads.load(process, space_id)
    return erasure.order(process, principal, space_id, chosen.target(process, space_id), deadline, each=chosen.ids)


def preview(
    process: Process, principal: Principal, space_id: str, selection: Selection, deadline: datetime
) -> ErasurePreview:
    """Look for all that an erasure of them would change, as far as the time suffices, and write nothing.

    The requests of occurrences.find, rewriting.look and steps.sections; 1 GET for each of up to 200
    spaces. Raises InvalidName, InvalidRequest, TooLarge, NotFound, MemoriesBroken, ObjectUnreadable.
    """
    chosen = selection.checked()
    meta = heads.load(process, space_id).meta
    target = chosen.target(process, space_id)
    receipt = erasure.new_receipt(process, principal, space_id, meta.uid, target)
    work = Work(process, erasure.KIND, Stored("", receipt, ""), deadline)
    seen, result, complete = Rewrites(), None, False
    sections: list[ReceiptSection] = []
    with suppress(OutOfTime):
        result = occurrences.find(work, target)
        # Notes that were captured from the turns go with them.
        noted = result.known - target.memory_ids - target.turns
        work.stored = Stored("", receipt.changed({"note_ids": sorted(noted)}), "")
        sections = list(steps.sections(process, work.job))
        rewriting.look(work, result, steps.task_of(process, work.job, result), skip="", rewrites=seen)
        complete = True
    return ErasurePreview(
        complete,
        _items(process, space_id, chosen, work.job, result),
        [_place(place.backup_id, names) for place, names in seen.changes.items() if names],
        sorted(seen.files()),
        sections,
        sorted(seen.quoted_in),
        erasure.not_reached(process, principal, space_id, target),
    )


def _items(
    process: Process, space_id: str, chosen: Selection, receipt: Receipt, occurrences: Occurrences | None
) -> list[PreviewItem]:
    if not occurrences:
        return []
    kinds: list[tuple[Literal["note", "memory", "turn"], Sequence[str]]] = [
        ("note", sorted({*receipt.note_ids, *chosen.note_ids})),
        ("memory", receipt.memory_ids),
        ("turn", receipt.turns),
    ]
    return [
        PreviewItem(item, kind, _state(process, space_id, item, occurrences), also=item not in chosen.ids)
        for kind, ids in kinds
        for item in ids
    ]


def _state(process: Process, space_id: str, item: str, occurrences: Occurrences) -> State:
    if item in occurrences.own:
        return "in_space"
    if item in occurrences.bodies:
        return "in_backups"
    match = item in occurrences.known or (keys.RUN_ID.fullmatch(item) and erasing.is_known(process, space_id, item))
    return "erased" if match else "unknown"


def _place(backup_id: str | None, names: set[str]) -> PreviewPlace:
    return PreviewPlace(backup_id, dict(Counter(rewriting.kind(name) for name in sorted(names))))


def _once(ids: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(ids))


def _turn(item: str) -> str:
    parsed = TURN_ID.parse(item)
    if not parsed:
        raise InvalidRequest.of("turns", "must be ids of turns: the conversation's id, a slash, and the turn's number")
    return TURN_ID.key(*parsed)
