"""Whether the invariants of a space hold, looked at in the bucket when somebody asks. Nothing is stored or repaired."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from livemem.audit import invariant_checks as checks
from livemem.audit import recorded
from livemem.audit.invariant_checks import Invariant
from livemem.audit.recorded import RecordedChange
from livemem.bank import files
from livemem.changes import orphans, records
from livemem.memories import replay
from livemem.process import Process
from livemem.spaces import contents, unreadable
from livemem.spaces import head as heads
from livemem.spaces.head import Head, Meta
from livemem.store import bucket, keys
from livemem.store.bucket import BANK_FILE, IN_SPACE
from livemem.store.keys import RecordName

MOST_LIVE = 20_000
"""Live notes that are compared with the records, the oldest ones: 20 LIST."""
MOST_FILES = 200
"""Bank files that are read, with the records that wrote them."""

BUSY = "A change of this space is being applied, or something is being erased. Ask again."
CHANGED = "The space changed during the check. Ask again."


@dataclass(frozen=True)
class InvariantsPage:
    """The invariants, as far as the changes `first` to `last` show them. `before`: the number before which the next
    page of changes begins, None where there is none. `holds`: whether all do; None if none is broken, and some can't be
    told.
    """

    holds: bool | None
    first: int
    last: int
    invariants: list[Invariant]
    before: int | None


@dataclass(frozen=True)
class _Seen:
    """The head, all records by name, and the records of the page, oldest first."""

    head: Head
    names: list[RecordName]
    page: list[RecordedChange]
    newest: bool
    whole: bool
    """Whether the page is all of the history."""

    @property
    def meta(self) -> Meta:
        return self.head.meta


@dataclass(frozen=True)
class _Bank:
    """Digests of the files, the synthesis and the rules as they are; the sources of each file; the files not read."""

    texts: Mapping[str, str | None]
    sources: Mapping[str, Mapping[str, int]]
    unread: Collection[str]


def page(process: Process, space_id: str, *, limit: int, before: int | None = None) -> InvariantsPage:
    """The invariants, over `limit` changes with a number below `before`, the newest ones first.

    2 GET of the head. 1 LIST per 1,000 changes, and 1 GET for each of the page. 1 LIST per 1,000 live notes, at most
    20. On the page of the newest changes also 1 LIST of the bank, 1 GET for each file, at most 200, and for each
    record that wrote one, 2 for rules and synthesis, 1 LIST of the due index, and the requests of orphans.find and
    replay.compare. Raises NotFound.
    """
    seen = _look(process, space_id, limit, before)
    result = _judge(process, seen)
    after = heads.load(process, space_id).meta
    moved = (after.changes, after.last_run) != (seen.meta.changes, seen.meta.last_run) or _busy(after)
    if moved:
        result = [
            checks.untold(item.name, BUSY if _busy(after) else CHANGED) if not item.holds else item for item in result
        ]
    first = min((change.number for change in seen.page), default=0)
    older = any(name.number < first for name in seen.names)
    verdicts = {item.holds for item in result}
    return InvariantsPage(
        holds=False if False in verdicts else None if None in verdicts else True,
        first=first,
        last=max((change.number for change in seen.page), default=0),
        invariants=result,
        before=first if older else None,
    )


def _busy(meta: Meta) -> bool:
    return bool(meta.committed_run or meta.erasing_now())


def _look(process: Process, space_id: str, limit: int, before: int | None) -> _Seen:
    head = heads.load(process, space_id)
    names = records.names(process, space_id)
    within = [name for name in names if before is None or name.number < before][-limit:]
    newest = before is None
    read = recorded.read(process, space_id, within)
    whole = newest and len(within) == len(names) and not any(change.lost for change in read)
    # The oldest records may be gone (a lifecycle rule).
    whole = whole and (not names or names[0].number == 1)
    return _Seen(head, names, sorted(read, key=lambda change: change.number), newest, whole)


def _judge(process: Process, current: _Seen) -> list[Invariant]:
    space_id = current.meta.space_id
    live = [contents.note_name(entry).note_id for entry in contents.live_notes(process, space_id, limit=MOST_LIVE)]
    result = [
        checks.records_numbered(current.names),
        checks.notes_once(current.page, current.meta, live),
        checks.records_joined(current.page),
    ]
    if not current.newest:
        return result
    bank = _bank(process, space_id)
    return [
        *result,
        checks.head_agrees(current.meta, current.names, current.page, whole=current.whole),
        # A space that was imported came with its files.
        checks.bank_recorded(
            current.page, bank.texts, bank.unread, whole=current.whole and not current.meta.provisioning
        ),
        checks.sources_exist(bank.sources, current.names),
        _snapshots(process, space_id),
        _orphans(process, current.head),
        checks.judged(
            "all_readable",
            len(current.page),
            [
                *unreadable.names(process).get(space_id, []),
                *(f"the record of change {change.number}" for change in current.page if change.lost),
            ],
            f"Objects cannot be read. {unreadable.MEND}",
        ),
    ]


def _bank(process: Process, space_id: str) -> _Bank:
    bank_files = contents.bank_files(process, space_id)
    result = files.with_content(process, bank_files[:MOST_FILES])
    texts = {file.path: recorded.digest(file.content or "") for file in result}
    for path in (keys.SYNTHESIS, keys.RULES_PATH):
        item = process.store.get(bucket.recorded(space_id, path))
        if item:
            texts[path] = recorded.digest(item.body.decode(errors="replace"))
    by_record: dict[str, list[str]] = {}
    for file in result:
        if file.record:
            by_record.setdefault(file.record, []).append(file.path)
    parts = process.store.map(lambda entry: _sources(process, space_id, *entry), by_record.items())
    unread = {entry.key.removeprefix(BANK_FILE.prefix(space_id)) for entry in bank_files[MOST_FILES:]}
    return _Bank(texts, {path: notes for part in parts for path, notes in part.items()}, unread)


def _sources(process: Process, space_id: str, record: str, paths: Sequence[str]) -> Mapping[str, Mapping[str, int]]:
    """The sources of these files, of the record that wrote them last: 1 GET."""
    writer = records.find(process, space_id, record, [])
    kept = ((path, writer.sources_of(path)) for path in paths) if writer else ()
    return {path: sources.notes for path, sources in kept if sources}


def _snapshots(process: Process, space_id: str) -> Invariant:
    """A snapshot of memories has what their log makes, and nothing else."""
    result = replay.compare(process, space_id)
    if result.untold and not result.broken:
        return checks.untold("snapshots_agree", f"The log of {', '.join(result.untold)} is too long, or has gaps.")
    detail = f"Remove the snapshots below {IN_SPACE.prefix(space_id)}memories/: they are made again from the log."
    return checks.judged("snapshots_agree", result.looked_at, result.broken, detail)


def _orphans(process: Process, head: Head) -> Invariant:
    """No run, and no plan, is older than its time without an end."""
    rest = orphans.find(process, head, ends=False)
    broken = [*(f"run {run_id}" for run_id in rest.run_ids), *(f"the plan of run {run_id}" for run_id in rest.reviews)]
    detail = "A worker died, or an invocation never came. The sweep clears up."
    return checks.judged("nothing_orphaned", rest.looked_at, broken, detail)
