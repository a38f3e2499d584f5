"""The changes of a space's memories, the newest first, so that people can see and revert them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from livemem.memories import erasing, log, memory_expiry
from livemem.memories.operation import Operation
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.spaces import unreadable
from livemem.store import keys
from livemem.store.bucket import OPERATION
from livemem.store.keys import MEMORY_KINDS, MemoryKind

What = Literal[
    "stored",
    "merged",
    "split",
    "kept_apart",
    "corrected",
    "deleted",
    "expired",
    "restored",
    "erased",
]
DEFAULT, MOST = 20, 50
LOOKED_AT = 200
"""Operations of each kind among which a page looks for those of one memory."""


@dataclass(frozen=True)
class Change:
    """One operation. `former`: the replaced content, or a sent content that did not replace it."""

    kind: MemoryKind
    what: What
    operation: Operation
    former: str | None

    def makes(self, memory_id: str) -> bool:
        """Whether the memory begins with it."""
        part = self.operation.part(memory_id)
        return bool(part and part.op == "put" and part.memory.revision == 1)


Place = Mapping[MemoryKind, int]
"""For each kind the last operation that a page listed. A kind without one was not listed yet."""


def page(
    process: Process,
    space_id: str,
    *,
    kind: MemoryKind | None = None,
    limit: int = DEFAULT,
    after: Place | None = None,
    memory_id: str | None = None,
    missing: list[str] | None = None,
) -> tuple[list[Change], Place | None]:
    """The operations before those of `after`, of one kind or of all by time, and the next `after`, None at the end.

    1 LIST for each kind, and at most `limit` GETs for each. Of one memory: LOOKED_AT GETs for each. Then a page may be
    empty although there are more, and the operation that made the memory is the last. An unreadable operation is left
    out, and its key is added to `missing`. Raises NotFound, InvalidName.
    """
    if memory_id is not None:
        keys.check_memory_id(memory_id)
    looked_at = limit if memory_id is None else LOOKED_AT
    gaps: list[str] = [] if missing is None else missing
    heads.load_recent(process, space_id)
    kinds: Sequence[MemoryKind] = MEMORY_KINDS if kind is None else [kind]
    ends = process.store.map(lambda folder: _before(process, space_id, folder, (after or {}).get(folder), gaps), kinds)
    numbers = {folder: range(end, max(0, end - looked_at), -1) for folder, end in zip(kinds, ends, strict=True)}
    changes_by_kind = _read(process, space_id, numbers, gaps)
    gaps[:] = sorted(set(gaps))
    if memory_id is not None:
        changes_by_kind = {
            folder: [change for change in of if change.operation.part(memory_id)]
            for folder, of in changes_by_kind.items()
        }
    chosen = _newest(changes_by_kind, limit)
    ends_before: dict[MemoryKind, int] = {folder: end + 1 for folder, end in zip(kinds, ends, strict=True)}
    if memory_id is not None and sum(map(len, changes_by_kind.values())) <= limit:
        # All that was looked at is told, also what is of other memories.
        ends_before = {folder: some_numbers.stop + 1 for folder, some_numbers in numbers.items()}
    for change in chosen:
        ends_before[change.kind] = min(ends_before[change.kind], change.operation.number)
    if chosen and memory_id is not None and chosen[-1].makes(memory_id):
        return chosen, None
    return chosen, ends_before if any(number > 1 for number in ends_before.values()) else None


def _before(process: Process, space_id: str, kind: MemoryKind, before: int | None, missing: list[str]) -> int:
    """The number of the newest operation that was not listed yet, 0 if there is none."""
    newest = log.load(process, space_id, kind, missing).number
    # A cursor may name a higher number than that of the newest operation.
    return newest if before is None else min(before - 1, newest)


def _read(
    process: Process, space_id: str, numbers: Mapping[MemoryKind, range], missing: list[str]
) -> dict[MemoryKind, list[Change]]:
    pairs = [(kind, number) for kind, range_of in numbers.items() for number in range_of]
    objects = process.store.get_many([OPERATION.key(space_id, kind, number) for kind, number in pairs])
    by_kind: dict[MemoryKind, list[Change]] = {kind: [] for kind in numbers}
    for (kind, number), item in zip(pairs, objects, strict=True):
        if not item:
            missing.append(OPERATION.key(space_id, kind, number))
        elif operation := unreadable.tolerated(process, Operation, item, missing):
            by_kind[kind].append(told(kind, operation))
    return by_kind


def _newest(by_kind: Mapping[MemoryKind, list[Change]], limit: int) -> list[Change]:
    """The newest of all kinds. Those of a kind keep the order of its log, even if clocks differed."""
    rest = {kind: list(changes) for kind, changes in by_kind.items() if changes}
    chosen: list[Change] = []
    while rest and len(chosen) < limit:
        kind = max(rest, key=lambda candidate: rest[candidate][0].operation.at)
        chosen.append(rest[kind].pop(0))
        if not rest[kind]:
            del rest[kind]
    return chosen


def told(kind: MemoryKind, done: Operation) -> Change:
    """The change that an operation made."""
    memory, merged = done.memory, done.merged
    latest = memory.history[0].content if memory.history else None
    if without_words := _without_words(done):
        return Change(kind, without_words, done, None)
    if merged:
        # If the former content stands, the sent one is the latest in its history, unless the words are the same.
        sent = latest if merged.by != "text" else None
        return Change(kind, "merged", done, merged.former if merged.kept == "new" else sent)
    if done.split is not None:
        # The other memory has the content that this one no longer says, or never said itself.
        other = next((part.memory.content for part in done.also if part.op == "put"), None)
        return Change(kind, "split", done, other)
    return Change(kind, _plain(done), done, latest if "content" in done.corrected else None)


def _without_words(done: Operation) -> What | None:
    """The change of an operation that holds no former content; None for all others."""
    if erasing.is_blank(done, done.memory.memory_id):
        return "erased"
    if done.op == "delete":
        return "expired" if done.author == memory_expiry.SERVICE else "deleted"
    return None


def _plain(done: Operation) -> What:
    """The change of an operation that neither merged nor split."""
    if done.apart:
        return "kept_apart"
    if done.reason is not None:
        return "restored"
    return "stored" if done.memory.revision == 1 else "corrected"
