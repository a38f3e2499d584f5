"""The promise (docs/reliability.md), checked from the bucket alone: what an operator's own script could check too."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from livemem.changes.records import Record
from livemem.store import keys
from tests.support.bucket import Stored


@dataclass(frozen=True)
class Audit:
    """Note ids that break the promise, files and numbers of the head that are not what the records say, and remains of
    unfinished work."""

    lost: list[str] = field(default_factory=list)
    folded_twice: list[str] = field(default_factory=list)
    both_live_and_folded: list[str] = field(default_factory=list)
    wrong_files: list[str] = field(default_factory=list)
    wrong_numbers: list[str] = field(default_factory=list)
    left_behind: list[str] = field(default_factory=list)

    def clean(self) -> bool:
        return self == Audit()


def records_of(objects: Mapping[str, Stored], space_id: str) -> list[Record]:
    """All records of the space, oldest first."""
    prefix = keys.records_prefix(space_id)
    return [Record.from_bytes(objects[key].body) for key in sorted(objects) if key.startswith(prefix)]


def standing(records: Iterable[Record]) -> list[Record]:
    """The consolidations that no undo took back."""
    everything = list(records)
    gone = {record.undoes for record in everything}
    return [record for record in everything if record.kind == "consolidation" and record.number not in gone]


def live(objects: Mapping[str, Stored], space_id: str) -> set[str]:
    """The ids of the space's live notes."""
    parsed = (keys.parse_note(key) for key in objects)
    return {found[1].note_id for found in parsed if found and found[0] == space_id}


def audit(objects: Mapping[str, Stored], space_id: str, acknowledged: Iterable[str]) -> Audit:
    """Check a space at rest: nothing runs, nothing is committed and unapplied."""
    records = records_of(objects, space_id)
    folded = Counter(source.note_id for record in standing(records) for source in record.notes)
    living = live(objects, space_id)
    return Audit(
        lost=sorted(note for note in acknowledged if note not in living and note not in folded),
        folded_twice=sorted(note for note, count in folded.items() if count > 1),
        both_live_and_folded=sorted(living & set(folded)),
        wrong_files=_wrong_files(objects, space_id, records),
        wrong_numbers=_wrong_numbers(objects, space_id, records),
        left_behind=_left_behind(objects, space_id),
    )


def _wrong_files(objects: Mapping[str, Stored], space_id: str, records: list[Record]) -> list[str]:
    expected: dict[str, str | None] = {}
    for record in records:
        for change in record.files:
            expected[keys.bank_file(space_id, change.path)] = change.after
        if record.synthesis:
            expected[keys.synthesis(space_id)] = record.synthesis.after
        if record.rules:
            expected[keys.rules(space_id)] = record.rules.after
    others = {keys.synthesis(space_id), keys.rules(space_id) if keys.rules(space_id) in expected else ""}
    actual = {
        key: stored.body.decode()
        for key, stored in objects.items()
        if (key.startswith(keys.bank_prefix(space_id)) and key.endswith(".md")) or key in others
    }
    return sorted(key for key in set(expected) | set(actual) if expected.get(key) != actual.get(key))


def _wrong_numbers(objects: Mapping[str, Stored], space_id: str, records: list[Record]) -> list[str]:
    meta = objects.get(keys.meta(space_id))
    if meta is None or json.loads(meta.body)["deleted_at"]:
        # A tombstone keeps the numbers of the space that it was.
        return []
    head, counted = json.loads(meta.body), standing(records)
    expected = {
        "changes": max((record.number for record in records), default=0),
        "consolidation_count": len(counted),
        "total_notes_processed": sum(len(record.notes) for record in counted),
        "rules_changed_at": _untold(records),
    }
    return [f"{name}: {head[name]}, not {value}" for name, value in expected.items() if head[name] != value]


def _untold(records: list[Record]) -> str | None:
    """When the rules changed that no standing consolidation was told of."""
    gone = {record.undoes for record in records}
    moment = None
    for record in records:
        if record.kind in ("consolidation", "rules") and record.number not in gone:
            moment = record.committed_at if record.kind == "rules" else None
    return moment


def _left_behind(objects: Mapping[str, Stored], space_id: str) -> list[str]:
    meta = objects.get(keys.meta(space_id))
    if meta is None:
        return sorted(key for key in objects if key.startswith(keys.prefix(space_id)))
    head = json.loads(meta.body)
    if head["deleted_at"]:
        # A tombstone stays, with nothing beside it.
        return sorted(key for key in objects if key.startswith(keys.prefix(space_id)) and key != keys.meta(space_id))
    unfinished = [keys.meta(space_id)] if head["committed_run"] else []
    remains = [
        key
        for key in objects
        if key == keys.lease(space_id)
        or (key.startswith(f"{space_id}/_runs/") and (key.endswith(".plan.json") or ".displaced/" in key))
    ]
    running = [
        key
        for key, stored in objects.items()
        if key.startswith(f"{space_id}/_runs/")
        and key.count("/") == 2
        and not key.endswith(".plan.json")
        and json.loads(stored.body)["status"] == "running"
    ]
    return sorted([*unfinished, *remains, *running])
