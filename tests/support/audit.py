"""The promise (docs/reliability.md), checked from the bucket alone: what an operator's own script could check too.

What users and operators are shown besides is checked in tests/support/rest.py.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from livemem.changes.records import Record
from livemem.store.bucket import (
    BANK_FILE,
    ERASURE,
    HEAD,
    IN_SPACE,
    LEASE,
    NOTE,
    RECORD,
    REVIEW,
    RULES,
    RUN,
    SYNTHESIS_FILE,
)
from tests.support import backups
from tests.support.bucket import Stored


@dataclass(frozen=True)
class Audit:
    """Notes that break the promise; files, numbers of the head and runs that are not what the records say; orphans of
    unfinished work; and what users and operators are shown that is not so.
    """

    lost: list[str] = field(default_factory=list)
    folded_twice: list[str] = field(default_factory=list)
    both_live_and_folded: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    """One text in several notes, where each was posted once."""
    wrong_files: list[str] = field(default_factory=list)
    wrong_numbers: list[str] = field(default_factory=list)
    wrong_runs: list[str] = field(default_factory=list)
    left_behind: list[str] = field(default_factory=list)
    wrong_reads: list[str] = field(default_factory=list)
    blocked: list[str] = field(default_factory=list)
    """The space takes no work although nobody works, and nobody is told."""
    wrong_health: list[str] = field(default_factory=list)
    broken_backups: list[str] = field(default_factory=list)
    """What complete backups say that is not so (tests/support/backups.py)."""

    def clean(self) -> bool:
        return self == Audit()

    def __add__(self, other: "Audit") -> "Audit":
        return Audit(*(sorted({*getattr(self, one.name), *getattr(other, one.name)}) for one in fields(Audit)))

    def __str__(self) -> str:
        found = ((one.name, getattr(self, one.name)) for one in fields(Audit))
        return "; ".join(f"{name}: {', '.join(what)}" for name, what in found if what) or "clean"


def records_of(objects: Mapping[str, Stored], space_id: str) -> list[Record]:
    """All records of the space, oldest first."""
    prefix = RECORD.prefix(space_id)
    return [Record.from_bytes(objects[key].body) for key in sorted(objects) if key.startswith(prefix)]


def standing(records: Iterable[Record]) -> list[Record]:
    """The consolidations that no undo took back."""
    everything = list(records)
    gone = {record.undoes for record in everything}
    return [record for record in everything if record.kind == "consolidation" and record.number not in gone]


def live(objects: Mapping[str, Stored], space_id: str) -> set[str]:
    """The ids of the space's live notes."""
    parsed = (NOTE.parse(key) for key in objects)
    return {found[1] for found in parsed if found and found[0] == space_id}


def audit(objects: Mapping[str, Stored], space_id: str, acknowledged: Iterable[str], *, unique: bool = False) -> Audit:
    """Check a space at rest: nothing runs, nothing is committed and unapplied. `unique`: each text was posted once."""
    records = records_of(objects, space_id)
    folded = Counter(source.note_id for record in standing(records) for source in record.notes)
    living = live(objects, space_id)
    return Audit(
        lost=sorted(note for note in acknowledged if note not in living and note not in folded),
        folded_twice=sorted(note for note, count in folded.items() if count > 1),
        both_live_and_folded=sorted(living & set(folded)),
        doubled=_doubled(objects, space_id, records) if unique else [],
        wrong_files=_wrong_files(objects, space_id, records),
        wrong_numbers=_wrong_numbers(objects, space_id, records),
        wrong_runs=_wrong_runs(objects, space_id, records),
        left_behind=_left_behind(objects, space_id),
        broken_backups=backups.broken(objects),
    )


def text_of(raw: str) -> str:
    """A note's text, without its front matter."""
    return raw.partition("---\n\n")[2]


def _doubled(objects: Mapping[str, Stored], space_id: str, records: list[Record]) -> list[str]:
    ids = defaultdict(set)
    for note_id in live(objects, space_id):
        ids[text_of(objects[NOTE.key(space_id, note_id)].body.decode())].add(note_id)
    for record in standing(records):
        for source in record.notes:
            ids[text_of(source.raw)].add(source.note_id)
    return sorted(f"{text!r} in {', '.join(sorted(found))}" for text, found in ids.items() if len(found) > 1)


def _wrong_files(objects: Mapping[str, Stored], space_id: str, records: list[Record]) -> list[str]:
    expected: dict[str, str | None] = {}
    for record in records:
        for change in record.files:
            expected[BANK_FILE.key(space_id, change.path)] = change.after
        if record.synthesis:
            expected[SYNTHESIS_FILE.key(space_id)] = record.synthesis.after
        if record.rules:
            expected[RULES.key(space_id)] = record.rules.after
    others = {SYNTHESIS_FILE.key(space_id), RULES.key(space_id) if RULES.key(space_id) in expected else ""}
    actual = {
        key: stored.body.decode()
        for key, stored in objects.items()
        if (key.startswith(BANK_FILE.prefix(space_id)) and key.endswith(".md")) or key in others
    }
    wrong = {key for key in set(expected) | set(actual) if expected.get(key) != actual.get(key)}
    if _living(objects, space_id) and RULES.key(space_id) not in objects:
        wrong.add(RULES.key(space_id))
    return sorted(wrong)


def _living(objects: Mapping[str, Stored], space_id: str) -> dict[str, Any] | None:
    """The space's head; None where there is none, or a tombstone, which keeps the numbers of the space that it was."""
    meta = objects.get(HEAD.key(space_id))
    head = json.loads(meta.body) if meta else None
    return head if head and not head["deleted_at"] else None


def _wrong_numbers(objects: Mapping[str, Stored], space_id: str, records: list[Record]) -> list[str]:
    head, counted = _living(objects, space_id), standing(records)
    if not head:
        return []
    expected = {
        "changes": max((record.number for record in records), default=0),
        "consolidation_count": len(counted),
        "total_notes_processed": sum(len(record.notes) for record in counted),
        "rules_changed_at": _untold(records),
    }
    # An erasure shortens files beside all counts. The next run counts again.
    erased = any(key.startswith(ERASURE.prefix(space_id)) for key in objects)
    if head["bank_length"] is not None and not erased:
        bank = [stored.body.decode() for key, stored in objects.items() if key.startswith(BANK_FILE.prefix(space_id))]
        expected["bank_length"] = sum(map(len, bank))
    return [f"{name}: {head[name]}, not {value}" for name, value in expected.items() if head[name] != value]


def _untold(records: list[Record]) -> str | None:
    """When the rules changed that no standing consolidation was told of."""
    gone = {record.undoes for record in records}
    moment = None
    for record in records:
        if (record.folds() or record.kind == "rules") and record.number not in gone:
            moment = record.committed_at if record.kind == "rules" else None
    return moment


def _runs(objects: Mapping[str, Stored], space_id: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for key, stored in objects.items():
        if key.startswith(RUN.prefix(space_id)) and RUN.last(key):
            yield key, json.loads(stored.body)


def _wrong_runs(objects: Mapping[str, Stored], space_id: str, records: list[Record]) -> list[str]:
    """Runs that end otherwise than the records say: as `done` if and only if one bears their id, but for dry runs."""
    if not _living(objects, space_id):
        return []
    numbers = {record.run(): record.number for record in records}
    wrong, seen = [], set()
    for _, run in _runs(objects, space_id):
        number, said = numbers.get(run["job_id"]), f"{run['status']} {run['error'] or run['message'] or ''}".strip()
        seen.add(run["job_id"])
        if number is not None and (not _committed(run) or run["consolidation"] != number):
            wrong.append(f"{run['job_id']} says {said} of {run['consolidation']}, but record {number} is its own")
        elif number is None and _committed(run) and not run["dry_run"]:
            wrong.append(f"{run['job_id']} says done, but no record is its own")
    gone = [record for record in records if record.folds() and record.run() not in seen]
    return sorted([*wrong, *(f"{record.run()} is gone, but record {record.number} is its own" for record in gone)])


def _committed(run: Mapping[str, Any]) -> bool:
    return run["status"] == "done" and not run["code"]


def _left_behind(objects: Mapping[str, Stored], space_id: str) -> list[str]:
    head = _living(objects, space_id)
    if not head:
        # A tombstone stays, with nothing beside it.
        return sorted(key for key in objects if key.startswith(IN_SPACE.prefix(space_id)) and key != HEAD.key(space_id))
    unfinished = [HEAD.key(space_id)] if head["committed_run"] else []
    orphans = [
        key
        for key in objects
        if key == LEASE.key(space_id)
        or (key.startswith(RUN.prefix(space_id)) and (key.endswith(".plan.json") or ".displaced/" in key))
    ]
    unended = [
        f"{key} {run['status']}" for key, run in _runs(objects, space_id) if run["status"] in ("queued", "running")
    ]
    unended += _unasked(objects, space_id, head.get("review"))
    strange = [f"{key} of another life" for key, run in _runs(objects, space_id) if run["uid"] != head["uid"]]
    return sorted([*unfinished, *orphans, *unended, *strange])


def _unasked(objects: Mapping[str, Stored], space_id: str, review: dict[str, Any] | None) -> list[str]:
    """Plans that wait without anybody being asked, or of which nobody was told what was decided; and the other way."""
    asked = {review["run_id"]} if review else set()
    waiting = {run["job_id"] for _, run in _runs(objects, space_id) if run["status"] == "waiting"}
    plans = {run_id for key in objects if key.startswith(f"{space_id}/") and (run_id := REVIEW.last(key))}
    decided = [f"{review['run_id']} is decided, and not told"] if review and review["decision"] else []
    halves = (asked | waiting | plans) - (asked & waiting & plans)
    return [*decided, *(f"{run_id} waits by halves" for run_id in sorted(halves))]
