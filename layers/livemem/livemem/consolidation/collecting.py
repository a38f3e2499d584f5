"""The input of one consolidation: rules, synthesis, bank, and the oldest notes that fit the model's window."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any

from livemem import clock
from livemem.bank import files, time_travel
from livemem.bank import synthesis as syntheses
from livemem.bank.files import BankFile
from livemem.bank.time_travel import RecordedMoment
from livemem.changes import records
from livemem.changes.records import Before, NoteSource, Record
from livemem.consolidation import prompt
from livemem.errors import LiveMemoryError, NotFound, RunError
from livemem.jobs.run import Run, enough
from livemem.llm import window
from livemem.llm.client import Messages
from livemem.notes import note as notes
from livemem.notes.note import Note
from livemem.notes.stub import is_stub
from livemem.process import Process
from livemem.spaces import contents, oversized_notes, rules
from livemem.spaces.head import Head
from livemem.spaces.oversized_notes import OversizedNotes
from livemem.store import keys
from livemem.store.bucket import NOTE, RULES, SYNTHESIS_FILE
from livemem.store.objects import Entry

MESSAGE_NOTHING = "No new notes to consolidate"
NOTE_OVERHEAD = 400
"""More bytes than the front matter of any note takes. All bytes above are content."""


AGENT_TOKENS = 20_000
"""Estimated tokens of a prompt for an agent, with room for its answer: Claude Code cuts what a tool answers at 25,000.
A bank, or a single note, may need more.
"""

SHOWN_ASIDE = 20
"""Oversized notes that a run names. It only counts the others."""


class NothingToDo(LiveMemoryError):
    """There is no note to fold. The text says why, and `metrics` are the run's."""

    def __init__(self, detail: str, **metrics: Any) -> None:
        super().__init__(detail)
        self.metrics = {"notes_processed": 0, **metrics}


@dataclass(frozen=True)
class Collected:
    """Everything that one prompt is made of. Without notes if none of the waiting ones can be folded."""

    rules: str
    rules_changed_at: str | None
    """When the rules were changed, if that was after the last consolidation."""
    language: str | None
    synthesis: records.Before | None
    bank: list[BankFile]
    notes: list[Note]
    sources: list[NoteSource]
    remaining: int
    """Notes that wait for the next run, without the oversized ones."""
    oversized_notes: OversizedNotes
    today: date
    bank_chars: int = 0
    """Characters that the bank should have. 0: any."""

    def messages(self) -> Messages:
        """The prompt."""
        return self._prompt(self.bank, self._synthesis_text(), self.notes)

    def fixed(self) -> int:
        """Tokens of the prompt without its notes."""
        return self.beside(self.bank, self._synthesis_text())

    def beside(self, bank: Sequence[BankFile], synthesis: str | None) -> int:
        """Tokens of the prompt without notes, with this bank and synthesis."""
        return window.size(self._prompt(bank, synthesis, []))

    def _synthesis_text(self) -> str | None:
        """The synthesis without its front matter, which tells a model nothing."""
        return syntheses.parse_synthesis(self.synthesis.content).content if self.synthesis else None

    def _prompt(self, bank: Sequence[BankFile], synthesis: str | None, notes: Sequence[Note]) -> Messages:
        return prompt.build(
            self.rules,
            synthesis,
            bank,
            notes,
            today=self.today,
            language=self.language,
            rules_changed_at=self.rules_changed_at,
            bank_chars=self.bank_chars,
        )

    def announced(self) -> dict[str, Any]:
        """The metrics of a run that is about to ask."""
        return {"notes_processed": len(self.notes), "notes_remaining": self.remaining}

    def metrics(self) -> dict[str, Any]:
        """The metrics about oversized notes; empty if there are none."""
        needs = self.oversized_notes.needs
        first = [{"note_id": note_id, "tokens": needs[note_id]} for note_id in list(needs)[:SHOWN_ASIDE]]
        return {"oversized_notes": first} if first else {}

    def nothing(self) -> NothingToDo | RunError:
        """Why there is nothing to fold. An error if more notes are too large than a head remembers.

        They would start a run at each event, and after an error runs wait.
        """
        needs = self.oversized_notes.needs
        if not needs:
            return NothingToDo(MESSAGE_NOTHING)
        if self.remaining or len(needs) > oversized_notes.MOST:
            return RunError(
                "note_too_large",
                f"More than {oversized_notes.MOST} notes are each too large for the model's window beside the bank. "
                "Raise LLMAAS_CONTEXT_TOKENS or shorten the bank.",
            )
        first = next(iter(needs))
        return NothingToDo(
            f"{MESSAGE_NOTHING}; {len(needs)} are set aside, too large for the model's window beside the bank. "
            f"The first, {first}, needs about {needs[first]} tokens beside {self.oversized_notes.beside}.",
            notes_oversized=len(needs),
            **self.metrics(),
        )


@dataclass(frozen=True)
class _Read:
    """Notes in the order of writing, with their bytes; the notes that were too large; how many were not read."""

    notes: list[tuple[Note, bytes]]
    too_large: dict[str, int]
    waiting: int


def collect(process: Process, head: Head, run: Run, live: Sequence[Entry]) -> Collected:
    """Rules, synthesis, bank and the oldest of the `live` notes that fit the run. Raises NothingToDo or RunError."""
    space_id, settings = head.meta.space_id, process.settings
    context_tokens, answer_limit = settings.llmaas_context_tokens, settings.llmaas_max_tokens
    entries = sorted(live, key=lambda entry: contents.note_name(entry).order)
    aside = head.meta.oversized_notes.standing(context_tokens)
    waiting = sum(contents.note_name(entry).note_id not in aside for entry in entries)
    if not run.by_hand() and waiting < enough(run.trigger, head.meta.consolidation_threshold):
        raise NothingToDo("The space has fewer live notes than its threshold.")
    empty = surroundings(process, head, run)
    fixed = empty.fixed()
    room = context_tokens - fixed
    oversized = _still_too_large(head.meta.oversized_notes, entries, room)
    candidates = [entry for entry in entries if contents.note_name(entry).note_id not in oversized]
    fold_ids = run.fold.notes if run.fold else []
    if fold_ids:
        # The agent answers for these.
        candidates = [entry for entry in candidates if contents.note_name(entry).note_id in fold_ids]
    most = min(run.max_notes or settings.consolidation_max_notes, settings.consolidation_max_notes)
    batch = _oldest(process, space_id, candidates, run.agent, most=most, room=room)
    too_large = {**oversized, **batch.too_large}
    if too_large and not batch.notes and fixed + prompt.least_room(answer_limit) > context_tokens:
        raise bank_too_large(empty.bank, fixed, context_tokens)
    notes = [note for note, _ in batch.notes]
    count = prompt.fitting(notes, fixed=fixed, most=context_tokens, answer_limit=answer_limit)
    if run.fold and not fold_ids:
        count = min(count, max(1, prompt.fitting(notes, fixed=fixed, most=AGENT_TOKENS, answer_limit=answer_limit)))
    taken = [(note, NoteSource.of(note.note_id, body)) for note, body in batch.notes[:count]]
    remaining = len(entries) - len(too_large) - count if fold_ids else batch.waiting + len(notes) - count
    return replace(
        filled(empty, taken, remaining=remaining),
        oversized_notes=OversizedNotes(beside=fixed, needs=too_large) if too_large else OversizedNotes(),
    )


def filled(empty: Collected, taken: Sequence[tuple[Note, NoteSource]], *, remaining: int) -> Collected:
    """The prompt with these notes, in the order in which they were said. `remaining`: notes that wait for the next
    run.
    """
    # The newest note wins, whenever it was written down. Equal times keep the order of writing.
    in_order = sorted(taken, key=lambda pair: _said(pair[0]))
    notes, sources = [note for note, _ in in_order], [source for _, source in in_order]
    return replace(empty, notes=notes, sources=sources, remaining=remaining)


def _said(note: Note) -> datetime:
    try:
        return clock.parse(note.moment)
    except ValueError:
        # A person wrote the time into the bucket.
        return keys.parse_note_id(note.note_id).timestamp


def rules_changed_at(process: Process, head: Head, run: Run, rules: str) -> str | None:
    """When the rules of the prompt were changed, if no consolidation knows of it: now, for a dry run of other rules
    than the space's `rules`.
    """
    changed = run.rules is not None and run.rules != rules
    return clock.iso(process.clock()) if changed else head.meta.rules_changed_at


def surroundings(process: Process, head: Head, run: Run) -> Collected:
    """The parts of a prompt other than notes. Raises RunError."""
    space_id = head.meta.space_id
    rules, synthesis = process.store.get_many([RULES.key(space_id), SYNTHESIS_FILE.key(space_id)])
    if not rules:
        raise RunError("rules_missing", "The space has no _rules.md.")
    text = rules.body.decode(errors="replace")
    return Collected(
        rules=text if run.rules is None else run.rules,
        rules_changed_at=rules_changed_at(process, head, run, text),
        language=head.meta.language,
        synthesis=records.Before(etag=synthesis.etag, content=synthesis.body.decode(errors="replace"))
        if synthesis
        else None,
        bank=files.load_files(process, space_id, contents.bank_files(process, space_id)),
        notes=[],
        sources=[],
        remaining=0,
        oversized_notes=OversizedNotes(),
        today=(clock.parse(run.created_at) if run.fold else process.clock()).date(),
        bank_chars=head.meta.bank_chars,
    )


def _still_too_large(oversized: OversizedNotes, entries: Sequence[Entry], room: int) -> dict[str, int]:
    """The known oversized notes that are live and still do not fit. They are not read again."""
    live = (contents.note_name(entry).note_id for entry in entries) if oversized.needs else ()
    return {note_id: oversized.needs[note_id] for note_id in live if oversized.needs.get(note_id, 0) > room}


def _oldest(
    process: Process, space_id: str, entries: Sequence[Entry], agent: str | None, *, most: int, room: int
) -> _Read:
    """Up to `most` of the oldest notes (of `agent`, by the note's own field), as far as the model's window reaches.

    A note that alone takes more than `room` tokens is too large. Reading stops when a head can't remember more of them.
    """
    settings = process.settings
    fitting: list[tuple[Note, bytes]] = []
    too_large: dict[str, int] = {}
    position, rest = 0, settings.llmaas_context_tokens * window.BYTES_PER_TOKEN
    while position < len(entries) and len(fitting) < most and rest > 0 and len(too_large) <= oversized_notes.MOST:
        batch: list[Entry] = []
        while position < len(entries) and len(batch) < most - len(fitting) and (rest > 0 or not batch):
            entry = entries[position]
            rest -= max(entry.size - NOTE_OVERHEAD, 1)
            batch.append(entry)
            position += 1
        for item in process.store.get_many([entry.key for entry in batch]):
            note_id = NOTE.last(item.key) if item else None
            if not item or not note_id:
                continue
            note = notes.parse_note(space_id, keys.parse_note_id(note_id), item.body)
            need = prompt.need(note, settings.llmaas_max_tokens)
            if need <= room and agent in (None, note.agent):
                fitting.append((note, item.body))
                continue
            rest += max(len(item.body) - NOTE_OVERHEAD, 1)
            if need > room:
                too_large[note.note_id] = need
    return _Read(fitting, too_large, len(entries) - position)


def bank_too_large(bank: Sequence[BankFile], fixed: int, most: int) -> RunError:
    """The error of a run in whose prompt there is no room for notes."""
    largest = max(bank, key=lambda file: len(file.content), default=None)
    what = f"; its largest file is {largest.path}" if largest else ""
    return RunError(
        "bank_too_large",
        f"Rules, synthesis and bank need about {fixed} tokens of the model's {most}{what}. Shorten it or raise "
        "LLMAAS_CONTEXT_TOKENS.",
    )


def collect_former(process: Process, head: Head, run: Run, number: int) -> Collected:
    """The notes of the change `number` without erased ones, as far as they fit the run; with the bank, the synthesis
    and the date of then. The rules are those of the run, else those of the space now.

    1 LIST, 1 GET for the record, 1 for the rules, and the requests of time_travel.bank_at. Raises NotFound, Conflict,
    ObjectUnreadable, RunError.
    """
    space_id, settings = head.meta.space_id, process.settings
    record = records.get(process, space_id, number)
    empty = _former_surroundings(process, head, run, record)
    fixed = empty.fixed()
    if fixed + prompt.least_room(settings.llmaas_max_tokens) > settings.llmaas_context_tokens:
        raise bank_too_large(empty.bank, fixed, settings.llmaas_context_tokens)
    most = min(run.max_notes or settings.consolidation_max_notes, settings.consolidation_max_notes)
    notes = list(_former_notes(space_id, run, record))
    batch = notes[:most]
    count = prompt.fitting(
        [note for note, _ in batch],
        fixed=fixed,
        most=settings.llmaas_context_tokens,
        answer_limit=settings.llmaas_max_tokens,
    )
    return filled(empty, batch[:count], remaining=len(notes) - count)


def _former_notes(space_id: str, run: Run, record: Record) -> Iterator[tuple[Note, NoteSource]]:
    """Those of the run's agent, in the order of the prompt of then."""
    for source in record.notes:
        if is_stub(source.note_id, source.body()):
            continue
        note = notes.parse_note(space_id, keys.parse_note_id(source.note_id), source.body())
        if run.agent in (None, note.agent):
            yield note, source


def _former_surroundings(process: Process, head: Head, run: Run, record: Record) -> Collected:
    space_id = head.meta.space_id
    now = rules.read(process, space_id)
    synthesis = _synthesis_before(process, space_id, record)
    return Collected(
        rules=now if run.rules is None else run.rules,
        rules_changed_at=rules_changed_at(process, head, run, now),
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
