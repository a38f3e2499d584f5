"""The sources of the files that a change writes: derived from the change before, and kept in the record."""

from collections.abc import Callable, Mapping

from livemem.changes import code_lines, records
from livemem.changes.records import Before, FileChange, Record
from livemem.changes.section_sources import MOST_LINKS, SectionPath, Sources, State, Trace, own_texts
from livemem.markdown import sections
from livemem.markdown.blocks import SectionError
from livemem.process import Process
from livemem.text import code_version, text_tokens


def with_sources(process: Process, space_id: str, record: Record) -> Record:
    """The record with the sources of each file that it changes: 1 GET for each earlier change that wrote one of them.

    An undo has its own. If the change before has none (an older version wrote it), this one has none either.
    """
    if record.kind == "undo" or all(change.sources for change in record.files):
        return record
    earlier = before_each(process, space_id, record.files)
    files = [
        change.model_copy(update={"sources": Sources.of(after(state, record, change)) if state is not None else None})
        for change, state in zip(record.files, earlier, strict=True)
    ]
    return record.model_copy(update={"files": files})


def before_each(process: Process, space_id: str, files: list[FileChange]) -> list[State | None]:
    """The notes on which the sections rested before each change. None where that is not known."""
    texts = sorted({change.before.record for change in files if change.before and change.before.record})
    missing: list[str] = []
    sources = process.store.map(lambda text: records.find(process, space_id, text, missing), texts)
    read = dict(zip(texts, sources, strict=True))
    return [
        _known(change.path, change.before, read.get(change.before.record or "") if change.before else None)
        # The sources in an unreadable record are unknown, not empty.
        if not (missing and change.before and change.before.record and not read.get(change.before.record))
        else None
        for change in files
    ]


def _known(path: str, before: Before | None, writer: Record | None) -> State | None:
    if not before or not before.record or not writer:
        # A new file, one that came into the bucket without the service, or one whose notes were deleted with their
        # record (a lifecycle rule): it rests on no known notes.
        return {}
    former = writer.sources_of(path)
    return former.state() if former else None


def after(state: State, record: Record, change: FileChange) -> State:
    """The notes on which each section of the file rests after the change, given those before it.

    A section's own text (without its sub-sections) that a change rewrote rests on the notes of the edits that address
    the section or one above it; where an edit or a whole-file answer cites none, on all notes that the change folded
    and did not discard. It also rests on its notes from before, because an edit keeps text that still holds.

    A section that the change confirms, with its sub-sections, also rests on the notes of that edit.

    A tidy run folds no notes, and moves text: what it wrote also rests on the notes of the sections whose words it has.
    """
    was = own_texts(change.before.content) if change.before else {}
    own = own_texts(change.after or "")
    earned, confirmed = _credits(record, change), _confirmed(change)
    origins = _origins(was, own) if record.kind == "tidy" else {}
    after: State = {}
    lines = code_lines.after(state, record, change)
    room = MOST_LINKS
    for section, text in own.items():
        trace = state[section].copy() if section in was and section in state else Trace()
        # Blank lines at a section's end belong to the border with the next section.
        rewritten = was.get(section, "").strip() != text.strip()
        notes = confirmed(section)
        if text.strip() and (rewritten or notes is not None):
            if record.kind == "manual":
                trace.by_hand_at = record.committed_at
                trace.corrections += [record.number] if rewritten else []
            credited = [*(earned(section) if rewritten else ()), *(notes or ())]
            new = [note_id for note_id in dict.fromkeys(credited) if note_id not in trace.sources]
            trace.sources |= dict.fromkeys(new[:room], record.number)
            trace.omitted += len(new[room:])
            room -= len(new[:room])
        for origin in origins.get(section, ()):
            room = _take_over(trace, state.get(origin, Trace()), room)
        trace.lines = {key: lines[key] for key in map(code_version.line_key, text.splitlines()) if key in lines}
        after[section] = trace
    return after


def _origins(was: Mapping[SectionPath, str], own: Mapping[SectionPath, str]) -> dict[SectionPath, list[SectionPath]]:
    """For each section with words that it did not have: the other sections which have lost some of these words, or
    still have a whole line of them.

    If none has, the text of a new section is in other words: it may come from each section that is gone.
    """
    before, after = _words(was), _words(own)
    stood: dict[str, list[SectionPath]] = {}
    for section, text in was.items():
        for line in _lines(text):
            stood.setdefault(line, []).append(section)
    lost: dict[str, list[SectionPath]] = {}
    for section, words in before.items():
        for word in words - after.get(section, frozenset()):
            lost.setdefault(word, []).append(section)
    gone = [section for section in before if section not in own]
    children: dict[SectionPath, list[SectionPath]] = {}
    for section, words in after.items():
        words_came = words - before.get(section, frozenset())
        lines_came = _lines(own[section]) - _lines(was.get(section, ""))
        came = dict.fromkeys(
            [
                *(origin for word in words_came for origin in lost.get(word, ())),
                *(origin for line in lines_came for origin in stood.get(line, ())),
            ]
        )
        children[section] = list(came) or (gone if own[section].strip() and section not in was else [])
    return children


def _words(texts: Mapping[SectionPath, str]) -> dict[SectionPath, frozenset[str]]:
    return {section: text_tokens.read(text).words for section, text in texts.items()}


def _lines(text: str) -> set[str]:
    return {line.strip() for line in text.splitlines()} - {""}


def _take_over(trace: Trace, origin: Trace, room: int) -> int:
    """Add the sources of another section, as many as there is room for. Returns the room that is left."""
    new = [note_id for note_id in origin.sources if note_id not in trace.sources]
    trace.sources |= {note_id: origin.sources[note_id] for note_id in new[:room]}
    trace.omitted += origin.omitted + len(new[room:])
    trace.corrections = sorted({*trace.corrections, *origin.corrections})
    trace.by_hand_at = max(filter(None, (trace.by_hand_at, origin.by_hand_at)), default=None)
    return room - len(new[:room])


def _credits(record: Record, change: FileChange) -> Callable[[SectionPath], list[str]]:
    """The notes that a rewritten text of a section of the changed file rests on."""
    discarded = {item.get("note_id") for item in record.discarded}
    folded = [source.note_id for source in record.notes if source.note_id not in discarded]
    lines: list[str] = []
    if change.action in ("created", "updated"):
        lines = change.notes or ([] if change.edits else folded)
    addressed: dict[SectionPath, list[tuple[int, list[str]]]] = {}
    for index, edit in enumerate(change.edits):
        if edit.get("op") == "confirm_section":
            continue
        for target in _addressed(change.after or "", str(edit["heading"])):
            addressed.setdefault(target, []).append((index, edit.get("notes") or folded))

    def earned(section: SectionPath) -> list[str]:
        above = [section[:length] for length in range(1, len(section) + 1)]
        edits = sorted((pair for path in above for pair in addressed.get(path, [])), key=lambda pair: pair[0])
        return [*lines, *(note_id for _, notes in edits for note_id in notes)]

    return earned


def _confirmed(change: FileChange) -> Callable[[SectionPath], list[str] | None]:
    """The notes by which the change confirms a section, or one above it. None where it does not confirm it."""
    addressed: dict[SectionPath, list[str]] = {}
    for edit in change.edits:
        if edit.get("op") == "confirm_section":
            for target in _addressed(change.after or "", str(edit["heading"])):
                addressed.setdefault(target, []).extend(edit.get("notes") or ())

    def notes(section: SectionPath) -> list[str] | None:
        sources = [addressed[path] for length in range(1, len(section) + 1) if (path := section[:length]) in addressed]
        return [note_id for note_ids in sources for note_id in note_ids] if sources else None

    return notes


def _addressed(content: str, heading: str) -> list[SectionPath]:
    try:
        return [section.path for section in sections.addressed(content, heading)]
    except SectionError:
        return []
