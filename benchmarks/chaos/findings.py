"""The audit: the bucket at rest against what was acknowledged, and against itself."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta

from benchmarks.chaos.ledger import Ledger, Life
from benchmarks.chaos.llm_door import Asked
from livemem.changes.records import Record
from livemem.spaces.lifecycle import TOMBSTONE_LIFE
from livemem.store import timing
from livemem.store.bucket import HEAD, IN_SPACE, RUN
from tests.support.audit import Audit, audit, records_of
from tests.support.bucket import Stored

COLUMNS = (*(field.name.replace("_", " ") for field in fields(Audit)), "corrections", "LLM repeated")
NOT_DUE = TOMBSTONE_LIFE + timedelta(minutes=2)
"""What lies beside a younger tombstone is removed later."""


@dataclass
class Findings:
    """Violations by column, each `space: what`; and what is left on purpose, until its time comes."""

    columns: dict[str, list[str]] = field(default_factory=lambda: {name: [] for name in COLUMNS})
    not_due: list[str] = field(default_factory=list)
    runs: Counter[str] = field(default_factory=Counter)
    records: Counter[str] = field(default_factory=Counter)
    untouched: set[str] = field(default_factory=set)
    """Runs that committed and met no fault."""

    def add(self, column: str, space_id: str, items: Iterable[str]) -> None:
        """Note violations; the same one is noted once."""
        for item in items:
            text = f"{space_id}: {item}"
            if text not in self.columns[column]:
                self.columns[column].append(text)

    def count(self) -> int:
        """Of all violations."""
        return sum(map(len, self.columns.values()))

    def merge(self, earlier: "Findings") -> None:
        """Add what an earlier look found."""
        for column, items in earlier.columns.items():
            self.columns[column] = list(dict.fromkeys([*items, *self.columns[column]]))


def spaces_of(objects: Mapping[str, Stored]) -> list[str]:
    """The ids of all spaces that have anything in the bucket."""
    return sorted({key.partition("/")[0] for key in objects if not key.startswith("_")})


def head_of(objects: Mapping[str, Stored], space_id: str) -> dict[str, object] | None:
    """The head as it lies there, or None."""
    found = objects.get(HEAD.key(space_id))
    return json.loads(found.body) if found else None


def runs_of(objects: Mapping[str, Stored], space_id: str) -> list[dict[str, object]]:
    """The documents of all runs."""
    prefix = RUN.prefix(space_id)
    return [json.loads(objects[key].body) for key in objects if key.startswith(prefix) and RUN.last(key)]


def look(objects: Mapping[str, Stored], ledger: Ledger, asked: Iterable[Asked], hit: set[str]) -> Findings:
    """Audit every space. `hit` are runs that met a fault: only those may have asked the LLM again."""
    found = Findings()
    lives = {life.uid: life for life in ledger.lives}
    current: set[str] = set()
    for space_id in spaces_of(objects):
        head = head_of(objects, space_id)
        if head is None or head["deleted_at"]:
            _gone(found, objects, space_id)
            continue
        uid = str(head["uid"])
        current.add(uid)
        _alive(found, objects, space_id, uid, ledger)
        life = lives.get(uid)
        if life and life.space_id != space_id:
            found.add("wrong numbers", space_id, ["it bears the uid of another space"])
    for life in ledger.lives:
        if life.uid not in current and not life.deletion_asked:
            gone = [note.note_id for note in ledger.notes if note.life is life]
            found.add("lost", life.space_id, [f"the space {life.uid} itself, which nobody deleted", *gone])
    found.add("doubled", "keys", ledger.two_for_one_key)
    _ask_again(found, objects, Counter(one.first for one in asked), ledger, hit)
    return found


def _gone(found: Findings, objects: Mapping[str, Stored], space_id: str) -> None:
    remains = audit(objects, space_id, []).left_behind
    meta = objects.get(HEAD.key(space_id))
    inside = [objects[key] for key in objects if key.startswith(IN_SPACE.prefix(space_id))]
    newest = meta.last_modified if meta else max(stored.last_modified for stored in inside)
    if datetime.now(UTC) - newest < NOT_DUE:
        found.not_due += [f"{key}: beside a young tombstone" for key in remains]
    else:
        found.add("left behind", space_id, remains)


def _alive(found: Findings, objects: Mapping[str, Stored], space_id: str, uid: str, ledger: Ledger) -> None:
    expected = [note.note_id for note in ledger.notes if note.life.uid == uid]
    audited = audit(objects, space_id, expected, unique=True)
    waiting = [told for told in audited.left_behind if told.endswith(" queued") and _young(objects, told.split()[0])]
    found.not_due += [f"{told}: nobody will start it" for told in waiting]
    audited = replace(audited, left_behind=[told for told in audited.left_behind if told not in waiting])
    for part in fields(Audit):
        found.add(part.name.replace("_", " "), space_id, getattr(audited, part.name))
    records, runs = records_of(objects, space_id), runs_of(objects, space_id)
    found.records.update(record.kind for record in records)
    found.runs.update(str(run["code"] or run["status"]) for run in runs)
    gone = {run_id for run_id, life in ledger.runs.items() if life.uid == uid} - {str(run["job_id"]) for run in runs}
    found.add("wrong runs", space_id, (f"{run_id} was promised and is gone" for run_id in gone))
    _corrections(found, space_id, uid, records, ledger.corrections)


def _young(objects: Mapping[str, Stored], run: str) -> bool:
    """Whether a queued run may still wait for its invocation, as far as the bucket can know."""
    return datetime.now(UTC) - objects[run].last_modified < timing.DELIVERED


def _corrections(
    found: Findings, space_id: str, uid: str, records: list[Record], acknowledged: Mapping[str, Life]
) -> None:
    by_hand = [record for record in records if record.kind in {"manual", "rules"}]
    for marker, life in acknowledged.items():
        if life.uid != uid:
            continue
        brought = sum(
            marker in (change.after or "") and marker not in (change.before.content if change.before else "")
            for record in by_hand
            for change in record.changed()
        )
        if brought != 1:
            found.add("corrections", space_id, [f"{marker} is in {brought} records"])


def _ask_again(
    found: Findings, objects: Mapping[str, Stored], asked: Mapping[str, int], ledger: Ledger, hit: set[str]
) -> None:
    markers = {note.note_id: note.marker for note in ledger.notes}
    for space_id in spaces_of(objects):
        for record in records_of(objects, space_id):
            if record.kind != "consolidation" or record.run_id in hit:
                continue
            found.untouched.add(record.run_id)
            first = min((note.note_id for note in record.notes), default="")
            if (times := asked.get(markers.get(first, "-"), 0)) > 1:
                found.add("LLM repeated", space_id, [f"{record.run_id} asked {times} times, and met no fault"])
