"""Flaws of an answer, each asked for by itself: a second question costs what it concerns, not the whole answer again.

There are two questions at most. The first shows the entries of files that can't be used, or that may lose something
(findings.py), with those files and their notes alone. The second shows the notes that are neither cited nor discarded,
those of which nothing stands in the new bank, and a synthesis that is too long. A flaw that is left after that does no
harm: a file that can't be used stays as it was, notes that stand nowhere stay live, and the record names the others.
"""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from string import Template
from typing import Annotated, TypeVar

from pydantic import Field

from livemem.bank import files
from livemem.changes.bank_warnings import BankWarning
from livemem.changes.records import FileChange
from livemem.consolidation import answer, checks, losses, planning, prompt, sizes
from livemem.consolidation.answer import (
    AnswerName,
    BrokenEntry,
    ConsolidationAnswer,
    ContractError,
    FileAnswer,
    Numbers,
    ReasonText,
)
from livemem.consolidation.checks import Folded
from livemem.consolidation.collecting import Collected
from livemem.consolidation.planning import DrawnUp
from livemem.errors import RunError
from livemem.llm import answering
from livemem.llm import contract as contracts
from livemem.llm.answering import Answered, Caller, Contract, Counter, NoAnswer, ask_model
from livemem.llm.client import Messages
from livemem.llm.contract import Part
from livemem.llm.templates import json_line
from livemem.markdown import sections
from livemem.markdown.blocks import SectionError
from livemem.markdown.edits import Edit, Op, apply_edits
from livemem.notes.note import Note
from livemem.text import text_tokens

T = TypeVar("T")
Content = Annotated[str, Field(max_length=2_000)]

SHOWN_NOTES = 50
"""Notes that the second question shows. Any others wait for the next run."""
MOST_FAULT = 2_000
"""Characters of what is found about one entry that may lose something."""
SHOWN_ENTRIES = 8_000
"""Characters of all entries together that the first question shows."""
CONFIRMS = "confirm_section"


class LooseEnd(Part):
    """Where the answer holds what a note says, or why the note was left out. With `content` a line that is added there,
    or takes the place of the one that begins with `line`.
    """

    note: Numbers
    file: AnswerName | None = None
    heading: AnswerName | None = None
    line: AnswerName | None = None
    content: Content | None = None
    discard: ReasonText | None = None


class LooseEnds(Part):
    """The answer to the second question."""

    uncited: Annotated[list[LooseEnd], Field(max_length=10_000)] = []
    lost: Annotated[list[LooseEnd], Field(max_length=10_000)] = []
    synthesis: str | None = None


def ask(process: Caller, counter: Counter, collected: Collected, until: datetime) -> Answered[Folded]:
    """The model's checked answer for the collected notes, before `until`. Raises NoAnswer.

    1 call, and at most 1 more for each of three flaws: no readable list of files, entries of files that can't be used,
    and notes or a synthesis that need a word.
    """
    work = _Mending(process, counter, collected, until)
    reply = ask_model(process, counter, collected.messages(), checks.contract(process.settings, collected), until)
    folded = work.with_files(reply.value)
    broken = folded.outcome.broken
    # Without citations nobody can tell which notes the broken entries hold.
    if broken and not folded.outcome.cited:
        faults = " ".join(dict.fromkeys(entry.fault for entry in broken))[: contracts.PROBLEM_CHARACTERS]
        raise NoAnswer("llm_contract", f"The LLM's answer could not be used. {faults}", counter.used)
    return Answered(work.with_loose_ends(folded), (), counter.used)


@dataclass(frozen=True)
class _Mending:
    process: Caller
    counter: Counter
    collected: Collected
    until: datetime

    def with_files(self, folded: Folded) -> Folded:
        """The answer with the entries that the model corrected, if that leaves fewer of them aside, or loses less."""
        broken, doubtful = folded.outcome.broken, self._doubtful(folded)
        if not broken and not doubtful:
            return folded
        names = {entry.filename for entry in broken}
        requested = names | {entry.filename for entry in doubtful}
        untouched = tuple(entry for entry in folded.draft.entries if entry.filename not in requested)

        def read(text: str) -> Folded:
            second = answer.parse(text)
            standing = {entry.filename for entry in untouched}
            entries = tuple(entry for entry in second.entries if entry.filename not in standing)
            answered = {entry.filename for entry in entries} | {entry.filename for entry in second.broken}
            still = tuple(entry for entry in broken if entry.filename not in answered and "" not in names)
            # What the model does not correct stands as it is.
            silent = requested - names - answered
            confirmed = tuple(entry for entry in folded.draft.entries if entry.filename in silent)
            draft = replace(folded.draft, entries=(*untouched, *confirmed, *entries), broken=(*still, *second.broken))
            return checks.fold(self.process.settings, self.collected, draft)

        question = self._file_question((*broken, *doubtful))
        second = self._ask(question, Contract(ConsolidationAnswer, read), unless=folded)
        return folded if second is folded else min(second, folded, key=self._flaws)

    def _doubtful(self, folded: Folded) -> list[BrokenEntry]:
        """The entries whose files may lose something, with what is found."""
        by_file: dict[str, list[BankWarning]] = {}
        for warning in folded.findings:
            # A first bank may be arranged otherwise: the record says so, and a person can change the rules.
            if warning.kind != "unknown_file" or self.collected.bank:
                by_file.setdefault(warning.file or "", []).append(warning)
        full = sizes.is_full(sum(len(file.content) for file in self.collected.bank), self.collected.bank_chars)
        return [
            BrokenEntry(entry.filename, entry.model_dump(exclude_defaults=True), _fault(warnings))
            for entry in folded.draft.entries
            if (warnings := _unmeant(by_file.get(planning.same_file(entry.filename), ()), entry if full else None))
        ]

    def _flaws(self, folded: Folded) -> tuple[int, int]:
        """The entries that can't be used, and all else that may be lost."""
        return len(folded.outcome.broken), len(folded.findings) + len(folded.lost_details) + len(folded.outcome.uncited)

    def _ask(self, messages: Messages, contract: Contract[T], *, unless: T) -> T:
        """The answer to a second question. `unless` there is none: a value that will do."""
        try:
            return ask_model(self.process, self.counter, messages, contract, self.until, corrects=False).value
        except RunError:
            return unless

    def _file_question(self, broken: tuple[BrokenEntry, ...]) -> Messages:
        collected = self.collected
        paths = {entry.filename.strip().lower().removesuffix(".md") for entry in broken}
        bank = [file for file in collected.bank if paths & {"", file.path.lower().removesuffix(".md")}]
        everything = range(1, len(collected.notes) + 1)
        cited = set(everything) & set().union(*(_numbers(entry.entry) for entry in broken))
        # An entry that cites no note of the prompt may rest on any of them.
        numbers = sorted(cited) or list(everything)
        most = min(answering.SHOWN_CHARACTERS, SHOWN_ENTRIES // len(broken))
        faults = [
            {
                "filename": entry.filename,
                "fault": entry.fault,
                "entry": json.dumps(entry.entry, ensure_ascii=False)[:most],
            }
            for entry in broken
        ]
        return prompt.build(
            collected.rules,
            None,
            bank,
            [collected.notes[number - 1] for number in numbers],
            today=collected.today,
            language=collected.language,
            numbers=numbers,
            more=Template(prompt.text("mend")).substitute(faults=json_line(faults)),
        )

    def with_loose_ends(self, folded: Folded) -> Folded:
        """The answer with what the model says of notes that it forgot, and with a synthesis that is short enough."""
        outcome = folded.outcome
        aside = set().union(*(_numbers(entry.entry) for entry in outcome.broken))
        uncited = sorted(outcome.uncited - aside)[:SHOWN_NOTES]
        lost = {loss.note: loss.words for loss in folded.lost_details[:SHOWN_NOTES]}
        long = len(folded.synthesis) > prompt.SYNTHESIS_CHARACTERS
        if not uncited and not lost and not long:
            return folded
        question = prompt.loose_ends(
            {number: self.collected.notes[number - 1] for number in uncited},
            {number: (self.collected.notes[number - 1], words) for number, words in lost.items()},
            {change.path: _headings(change) for change in outcome.files},
            folded.synthesis if long else "",
        )
        contract = Contract(LooseEnds, lambda text: contracts.parse(text, LooseEnds))
        ends = self._ask(question, contract, unless=LooseEnds())
        filed = self._inserted(self._filed(outcome, ends, set(uncited)), folded.synthesis, ends, set(lost))
        left_out = {number: end.discard for end in ends.lost if end.discard for number in set(end.note) & set(lost)}
        shorter = (ends.synthesis or "").strip()
        better = long and shorter and len(shorter) < len(folded.synthesis)
        synthesis = shorter if better else folded.synthesis
        return replace(folded, outcome=filed, synthesis=synthesis, left_out=left_out)

    def _inserted(self, outcome: DrawnUp, synthesis: str, ends: LooseEnds, uncited: set[int]) -> DrawnUp:
        """The changes with the lines that the second answer adds for notes of which nothing stands in the bank."""
        for end in ends.lost:
            notes = [self.collected.notes[number - 1].note_id for number in sorted(uncited.intersection(end.note))]
            change = next((change for change in outcome.files if change.path == end.file), None)
            if not notes or not change or not (added := _added(change, end, notes)):
                continue
            files = [added if file is change else file for file in outcome.files]
            with suppress(ContractError):
                candidate = replace(outcome, files=files, edits_applied=outcome.edits_applied + 1)
                checks.check_room(self.process.settings, self.collected, candidate, synthesis)
                outcome = candidate
        return outcome

    def _filed(self, outcome: DrawnUp, ends: LooseEnds, uncited: set[int]) -> DrawnUp:
        """The changes with the notes that the second answer files or discards. Others stay uncited."""
        files = {change.path: change for change in outcome.files}
        cited, discarded = set(outcome.cited), dict(outcome.discarded)
        for end in ends.uncited:
            for number in uncited.intersection(end.note) - cited - set(discarded):
                change = files.get(end.file or "")
                note = self.collected.notes[number - 1]
                if change and end.heading and (filed := _confirmed(change, end.heading, note)):
                    files[change.path] = filed
                    cited.add(number)
                elif end.discard and end.discard.strip():
                    discarded[number] = end.discard
        return replace(
            outcome,
            files=list(files.values()),
            cited=frozenset(cited),
            discarded=discarded,
            uncited=outcome.uncited - cited - set(discarded),
        )


def _unmeant(warnings: Sequence[BankWarning], entry: FileAnswer | None) -> list[BankWarning]:
    """The findings without lines that `entry` removes by their names and for no note: it was asked to remove what is
    over. The record names these lines too.
    """
    edits = entry.edits if entry else []
    lines = [losses.plain(edit.line or "") for edit in edits if edit.op == "remove_line" and not edit.notes]
    return [
        warning
        for warning in warnings
        if warning.kind != "lost_line" or not losses.plain(warning.line or "").startswith(tuple(lines))
    ]


def _fault(warnings: Sequence[BankWarning]) -> str:
    """The findings about one file as a sentence for the model."""
    lines = [warning.line for warning in warnings if warning.kind == "lost_line" and warning.line]
    gone = [f"These lines go, and no note that is cited says why: {json_line(lines)}."] if lines else []
    texts = [warning.text for warning in warnings if warning.kind != "lost_line"]
    return " ".join([*texts, *gone])[:MOST_FAULT]


def _numbers(entry: object) -> set[int]:
    """The numbers of notes that an entry cites, as far as they can be read."""
    if not isinstance(entry, dict):
        return set()
    edits = entry.get("edits")
    parts = [entry, *(edit for edit in edits if isinstance(edit, dict))] if isinstance(edits, list) else [entry]
    read = [answer.read_numbers(part.get("notes")) for part in parts]
    return {number for numbers in read if isinstance(numbers, list) for number in numbers if type(number) is int}


def _added(change: FileChange, end: LooseEnd, notes: list[str]) -> FileChange | None:
    """The change with the line that the second answer adds, or puts in the place of another one. None if it can't."""
    if not end.heading or not end.content or not end.content.strip():
        return None
    op: Op = "replace_line" if end.line else "append_to_section"
    edit = Edit(op, end.heading, end.content, line=end.line or "")
    try:
        after = apply_edits(change.after or "", [edit])
    except SectionError:
        return None
    if files.content_problem(after):
        return None
    fields = {"op": op, "heading": end.heading, "line": end.line, "content": end.content, "notes": notes}
    applied = {name: value for name, value in fields.items() if value is not None}
    return change.model_copy(update={"after": after, "edits": [*change.edits, applied]})


def _headings(change: FileChange) -> list[str]:
    with suppress(SectionError):
        return [section.path[-1] for section in sections.list_sections(change.after or "")]
    return []


def _confirmed(change: FileChange, heading: str, note: Note) -> FileChange | None:
    """The change with the note as a source of a section. None unless the section shares a telling word with it: a note
    that stands nowhere must not count as folded.
    """
    try:
        (section,) = sections.addressed(change.after or "", heading)
    except (SectionError, ValueError):
        return None
    shared = text_tokens.read(sections.section_text(change.after or "", section)).words
    if not shared & text_tokens.read(note.content).words:
        return None
    edit = {"op": CONFIRMS, "heading": sections.joined(section.path), "content": "", "notes": [note.note_id]}
    return change.model_copy(update={"edits": [*change.edits, edit]})
