"""The notes of an earlier change, collected once more for a dry run, with the bank as it stood before that change."""

from collections.abc import Iterator

from livemem import clock
from livemem.bank import synthesis as syntheses
from livemem.bank import time_travel
from livemem.bank.files import BankFile
from livemem.bank.time_travel import RecordedMoment
from livemem.changes import records
from livemem.changes.records import Before, NoteSource, Record
from livemem.consolidation import collecting, prompt
from livemem.consolidation.collecting import Collected
from livemem.errors import NotFound
from livemem.jobs.run import Run
from livemem.notes import note as notes
from livemem.notes.note import Note
from livemem.notes.stub import is_stub
from livemem.process import Process
from livemem.spaces import rules
from livemem.spaces.head import Head
from livemem.spaces.oversized_notes import OversizedNotes
from livemem.store import keys


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
