"""A dry run shows what a consolidation or a tidy run would do now, also by other rules, or with the notes of an earlier
change.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from livemem import clock
from livemem.bank import synthesis as syntheses
from livemem.bank import time_travel
from livemem.bank.files import BankFile
from livemem.bank.time_travel import RecordedMoment
from livemem.changes import diffs, late_duplicates, records
from livemem.changes.records import Before, NoteSource, Record
from livemem.consolidation import announcing, collecting, mending, outcome, prompt, tidying
from livemem.consolidation.collecting import Collected, NothingToDo
from livemem.errors import Conflict, LiveMemoryError, NotFound, ObjectUnreadable, RunError
from livemem.jobs import run as runs
from livemem.jobs.budget import Meter
from livemem.jobs.job import Failure
from livemem.jobs.run import Run
from livemem.llm.client import Messages
from livemem.notes import note as notes
from livemem.notes.note import Note
from livemem.notes.stub import is_stub
from livemem.process import Process
from livemem.spaces import contents, rules
from livemem.spaces.head import Head
from livemem.spaces.oversized_notes import OversizedNotes
from livemem.store import keys
from livemem.store.stored import Stored


def rehearse(process: Process, head: Head, saved: Stored[Run], deadline: datetime) -> Run:
    """Ask the LLM, write only the plan into the run's own document, and return the run as it ended.

    Raises StillAtWork if another delivery of it is at work.
    """
    if head.meta.committed_run:
        # The notes of the committed run may still be live. The plan would show them a second time.
        problem = Failure(code="busy", detail="A change of this space is being applied. Try again.")
        return runs.finish(process, saved, "failed", "busy", error=problem)
    work = _Work(process, head, saved, deadline)
    try:
        record = work.tidied() if saved.value.tidy else work.folded()
    except NothingToDo as reason:
        return runs.finish(process, work.saved, "done", "nothing_to_do", message=str(reason), metrics=reason.metrics)
    except (RunError, NotFound, Conflict, ObjectUnreadable) as error:
        # The last three: the change whose notes are wanted, or one after it, was lost or damaged since the order.
        problem = Failure(code=error.code, detail=error.detail)
        return runs.finish(process, work.saved, "failed", error=problem, metrics=_metrics(error))
    synthesis = record.synthesis and record.synthesis.after
    plan = {
        "changes": diffs.changes(record),
        "synthesis": syntheses.parse_synthesis(synthesis).content if synthesis else "",
        "discarded": record.discarded,
        "uncited": record.uncited,
        "left_out": record.left_out,
        "warnings": [warning.model_dump(exclude_none=True) for warning in record.warnings],
        "removed": [line.model_dump() for line in record.removed],
        "sources": [source.note_id for source in record.notes],
    }
    return runs.finish(process, work.saved, "done", plan=plan, metrics=record.metrics, model=record.model)


@dataclass
class _Work:
    """A dry run. `saved` is the run as it was last read or written."""

    process: Process
    head: Head
    saved: Stored[Run]
    deadline: datetime

    def folded(self) -> Record:
        """The record of a consolidation. Raises NothingToDo, RunError, NotFound, Conflict, ObjectUnreadable."""
        process, started = self.process, self.process.clock()
        collected = _collect(process, self.head, self.saved.value)
        if not collected.notes:
            raise collected.nothing()
        meter = self._announced([collected.messages()], collected.announced())
        answered = mending.ask(process, meter, collected, self.deadline - announcing.APPLY_MARGIN)
        return outcome.record(process, self.head, self.saved.value, collected, answered, started)

    def tidied(self) -> Record:
        """The record of a tidy run. Raises NothingToDo, RunError."""
        process, started = self.process, self.process.clock()
        bank = tidying.collect(process, self.head, self.saved.value)
        if bank.why_not:
            raise NothingToDo(bank.why_not)
        meter = self._announced(bank.prompts(), {})
        return tidying.record(process, self.head, self.saved.value, bank, meter, self.deadline, started)

    def _announced(self, prompts: Sequence[Messages], metrics: Mapping[str, Any]) -> Meter:
        meter = announcing.reserve(self.process, self.saved.value, prompts[0], self.deadline)
        worker = self.process.new_id()
        self.saved = announcing.announce(self.process, self.saved, prompts, worker, base=None, metrics=metrics)
        return meter


def _collect(process: Process, head: Head, run: Run) -> Collected:
    if run.notes_of is not None:
        return collect(process, head, run, run.notes_of)
    live = contents.live_notes(process, head.meta.space_id)
    stray = late_duplicates.among(process, head, live)
    entries = [entry for entry in live if contents.note_name(entry).note_id not in stray]
    return collecting.collect(process, head, run, entries)


def _metrics(error: LiveMemoryError) -> dict[str, int]:
    return announcing.metrics_of(error) if isinstance(error, RunError) else {}


def collect(process: Process, head: Head, run: Run, number: int) -> Collected:
    """The notes of the change `number` without erased ones, as far as they fit the run; with the bank, the synthesis
    and the date of then. The rules are those of the run, else those of the space now.

    1 LIST, 1 GET for the record, 1 for the rules, and the requests of time_travel.bank_at. Raises NotFound, Conflict,
    ObjectUnreadable, RunError.
    """
    space_id, settings = head.meta.space_id, process.settings
    record = records.get(process, space_id, number)
    empty = _surroundings(process, head, run, record)
    fixed = empty.fixed()
    if fixed + prompt.least_room(settings.llmaas_max_tokens) > settings.llmaas_context_tokens:
        raise collecting.bank_too_large(empty.bank, fixed, settings.llmaas_context_tokens)
    most = min(run.max_notes or settings.consolidation_max_notes, settings.consolidation_max_notes)
    notes = list(_notes(space_id, run, record))
    batch = notes[:most]
    count = prompt.fitting(
        [note for note, _ in batch],
        fixed=fixed,
        most=settings.llmaas_context_tokens,
        answer_limit=settings.llmaas_max_tokens,
    )
    return collecting.filled(empty, batch[:count], remaining=len(notes) - count)


def _notes(space_id: str, run: Run, record: Record) -> Iterator[tuple[Note, NoteSource]]:
    """Those of the run's agent, in the order of the prompt of then."""
    for source in record.notes:
        if is_stub(source.note_id, source.body()):
            continue
        note = notes.parse_note(space_id, keys.parse_note_id(source.note_id), source.body())
        if run.agent in (None, note.agent):
            yield note, source


def _surroundings(process: Process, head: Head, run: Run, record: Record) -> Collected:
    space_id = head.meta.space_id
    now = rules.read(process, space_id)
    synthesis = _synthesis_before(process, space_id, record)
    return Collected(
        rules=now if run.rules is None else run.rules,
        rules_changed_at=collecting.rules_changed_at(process, head, run, now),
        language=head.meta.language,
        synthesis=Before(etag="", content=synthesis) if synthesis is not None else None,
        bank=_bank_before(process, space_id, record),
        notes=[],
        sources=[],
        remaining=0,
        oversized_notes=OversizedNotes(),
        today=clock.parse(record.committed_at).date(),
        bank_chars=head.meta.bank_chars,
    )


def _bank_before(process: Process, space_id: str, record: Record) -> list[BankFile]:
    after = time_travel.bank_at(process, space_id, RecordedMoment(record), content=True)
    texts = {file.path: file.content or "" for file in after}
    for change in record.files:
        texts.pop(change.path, None)
        if change.before:
            texts[change.path] = change.before.content
    return [BankFile(path, texts[path], etag="") for path in sorted(texts)]


def _synthesis_before(process: Process, space_id: str, record: Record) -> str | None:
    if record.synthesis:
        return record.synthesis.before.content if record.synthesis.before else None
    try:
        synthesis = time_travel.synthesis_at(process, space_id, RecordedMoment(record))
    except NotFound:
        return None
    return syntheses.format_synthesis(
        synthesis.content,
        consolidated_at=synthesis.consolidated_at or record.committed_at,
        number=synthesis.consolidation_number or record.number,
        notes_processed=synthesis.notes_processed or 0,
    )
