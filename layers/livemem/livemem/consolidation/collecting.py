"""What one consolidation works on: rules, synthesis, bank, and the oldest notes that fit the model's window."""

from collections.abc import Sequence
from dataclasses import dataclass

from livemem.bank import files
from livemem.bank.files import BankFile
from livemem.changes import records
from livemem.changes.records import NoteSource
from livemem.consolidation import prompt
from livemem.errors import LiveMemoryError, RunError
from livemem.notes import note as notes
from livemem.notes.note import Note
from livemem.process import Process
from livemem.runs import run as runs
from livemem.runs.run import Run
from livemem.settings import Settings
from livemem.spaces import contents
from livemem.spaces.head import Head
from livemem.store import keys
from livemem.store.objects import Entry

NOTE_OVERHEAD = 400
"""More bytes than the front matter of any note takes: what is above is content for sure."""


class NothingToDo(LiveMemoryError):
    """There is no note to fold; the text says why."""


@dataclass(frozen=True)
class Collected:
    """Everything that one prompt is made of."""

    rules: str
    rules_changed_at: str | None
    """When they were changed, if that was after the last consolidation."""
    synthesis: records.Before | None
    bank: list[BankFile]
    notes: list[Note]
    sources: list[NoteSource]
    remaining: int


def collect(process: Process, head: Head, run: Run) -> Collected:
    """Rules, synthesis, bank and the oldest notes that fit the run; raises NothingToDo or RunError."""
    space_id = head.meta.space_id
    listed = contents.live_notes(process, space_id)
    if run.trigger != "api" and len(listed) < head.meta.consolidation_threshold:
        raise NothingToDo("The notes are fewer than the space's threshold.")
    rules_object, synthesis_object = process.store.get_many([keys.rules(space_id), keys.synthesis(space_id)])
    if not rules_object:
        raise RunError("rules_missing", "The space has no _rules.md.")
    bank = files.load_files(process, space_id, contents.bank_files(process, space_id))
    rules = rules_object.body.decode(errors="replace")
    synthesis = (
        records.Before(etag=synthesis_object.etag, content=synthesis_object.body.decode(errors="replace"))
        if synthesis_object
        else None
    )
    changed_at = head.meta.rules_changed_at
    fixed = prompt.size(prompt.build(rules, synthesis.content if synthesis else None, bank, [], changed_at))
    most = min(run.max_notes or process.settings.consolidation_max_notes, process.settings.consolidation_max_notes)
    read, waiting = _oldest(process, space_id, listed, run.agent, most)
    read = _without_consolidated(process, space_id, read, remove=not run.dry_run)
    if not read:
        raise NothingToDo(runs.MESSAGE_NOTHING)
    count = prompt.fitting(
        [note for note, _ in read],
        fixed=fixed,
        window=process.settings.llmaas_context_tokens,
        answer_limit=process.settings.llmaas_max_tokens,
    )
    if count == 0:
        raise _does_not_fit(process.settings, fixed, read[0][0], bank)
    taken = read[:count]
    return Collected(
        rules=rules,
        rules_changed_at=changed_at,
        synthesis=synthesis,
        bank=bank,
        notes=[note for note, _ in taken],
        sources=[NoteSource.of(note.note_id, body) for note, body in taken],
        remaining=waiting + len(read) - count,
    )


def _oldest(
    process: Process, space_id: str, listed: Sequence[Entry], agent: str | None, most: int
) -> tuple[list[tuple[Note, bytes]], int]:
    """Up to `most` of the oldest notes (of `agent`, by the note's own field), no more than the window could hold, and
    how many notes were not read.
    """
    found: list[tuple[Note, bytes]] = []
    position, room = 0, process.settings.llmaas_context_tokens * prompt.BYTES_PER_TOKEN
    while position < len(listed) and len(found) < most and room > 0:
        batch: list[Entry] = []
        while position < len(listed) and len(batch) < most - len(found) and (room > 0 or not batch):
            entry = listed[position]
            room -= max(entry.size - NOTE_OVERHEAD, 1)
            batch.append(entry)
            position += 1
        for item in process.store.get_many([entry.key for entry in batch]):
            parsed = keys.parse_note(item.key) if item else None
            if not item or not parsed:
                continue
            note = notes.parse_note(space_id, parsed[1], item.body)
            if agent is None or note.agent == agent:
                found.append((note, item.body))
            else:
                room += max(len(item.body) - NOTE_OVERHEAD, 1)
    return found, len(listed) - position


def _without_consolidated(
    process: Process, space_id: str, read: list[tuple[Note, bytes]], *, remove: bool
) -> list[tuple[Note, bytes]]:
    """The notes that no record holds. One that a record holds is the late echo of a write: it must not be folded a
    second time, and is removed if `remove`.
    """
    wanted = [keys.parse_note_id(note.note_id) for note, _ in read]
    held = records.holding(process, space_id, wanted, records.names(process, space_id))
    if held and remove:
        process.store.delete_many([keys.note(space_id, note_id) for note_id in held])
    return [(note, body) for note, body in read if note.note_id not in held]


def _does_not_fit(settings: Settings, fixed: int, note: Note, files: Sequence[BankFile]) -> RunError:
    window = settings.llmaas_context_tokens
    if fixed + prompt.ANSWER_BASE > window:
        largest = max(files, key=lambda file: len(file.content), default=None)
        what = f"; its largest file is {largest.path}" if largest else ""
        return RunError(
            "bank_too_large",
            f"Rules, synthesis and bank need about {fixed} tokens of the model's {window}{what}. Shorten it or raise "
            "LLMAAS_CONTEXT_TOKENS.",
        )
    return RunError(
        "note_too_large",
        f"The note {note.note_id} needs about {prompt.note_tokens(note)} tokens, which do not fit beside the bank "
        f"into the model's {window}. Raise LLMAAS_CONTEXT_TOKENS or shorten the bank.",
    )
