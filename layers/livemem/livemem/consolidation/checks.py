"""Checks of an answer beyond the contract's form: they need the rules, bank and notes of the space."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from livemem.bank.files import BankFile
from livemem.changes.bank_warnings import READING, BankWarning
from livemem.consolidation import answer, findings, line_ends, losses, omissions, placeholders, planning, prompt
from livemem.consolidation.answer import AnswerDraft, ConsolidationAnswer, ContractError, FileAnswer
from livemem.consolidation.collecting import Collected
from livemem.consolidation.losses import BankChange, LostDetails
from livemem.consolidation.planning import DrawnUp
from livemem.llm.answering import Contract, Flaw
from livemem.notes.note import Note
from livemem.settings import Settings


@dataclass(frozen=True)
class Folded:
    """A checked answer: the changes of the bank, and the synthesis, "" where the former one stays."""

    collected: Collected
    outcome: DrawnUp
    synthesis: str
    draft: AnswerDraft
    left_out: Mapping[int, str] = field(default_factory=dict)
    """Why the model left out details of notes that it cites, as far as it says so."""

    @cached_property
    def findings(self) -> list[BankWarning]:
        """What the answer may have lost, or holds though it should not, file by file (findings.py)."""
        collected = self.collected
        used = sorted(self._used | set(self.outcome.discarded))
        texts = [collected.notes[number - 1].content for number in used]
        return findings.of_bank(self._change, texts, collected.rules, collected.language)

    @cached_property
    def lost_details(self) -> list[LostDetails]:
        """The notes that the answer uses, and of whose details none stands in the new bank."""
        if not self.outcome.files:
            return []
        texts = {number: self.collected.notes[number - 1].content for number in sorted(self._used)}
        return losses.lost_details(self._change, texts)

    @cached_property
    def _change(self) -> BankChange:
        before, after = self.collected.bank, _bank_after(self.collected.bank, self.outcome)
        return BankChange(*({file.path: file.content for file in bank} for bank in (before, after)))

    @property
    def _used(self) -> set[int]:
        """The notes that the answer uses: all that it does not discard, if it cites none."""
        everything = set(range(1, len(self.collected.notes) + 1))
        return set(self.outcome.cited) or everything - set(self.outcome.discarded)


def contract(settings: Settings, collected: Collected) -> Contract[Folded]:
    """The contract for an answer that folds the collected notes.

    Only an answer without a list of files is asked for again. A fault of one file concerns that file (mending.py).
    """
    return Contract(ConsolidationAnswer, lambda text: fold(settings, collected, answer.parse(text)), flaws)


def fold(settings: Settings, collected: Collected, draft: AnswerDraft) -> Folded:
    """The changes that a draft makes. Entries of files that must not be written are set apart. Raises ContractError."""
    draft = _with_line_ends(draft, [file.content for file in collected.bank], collected.notes)
    previous = [collected.synthesis.content] if collected.synthesis else []
    bank = [file.content for file in collected.bank]
    sources = [collected.rules, *previous, *bank, *(note.content for note in collected.notes)]
    try:
        placeholders.check("The synthesis", [draft.synthesis], sources)
    except ContractError as error:
        draft = replace(draft, synthesis="", readings=(*draft.readings, f"{error} The former one stays."))

    headings = omissions.heading_words(bank)

    def check(entry: FileAnswer) -> None:
        texts, place = entry.texts(), f"The content of {entry.filename[:80]!r}"
        placeholders.check_omissions(place, texts, sources, headings)
        placeholders.check(place, texts, sources)

    ids = [note.note_id for note in collected.notes]
    refused: dict[str, str] = {}
    while True:
        outcome = planning.draw_up(draft, collected.bank, ids, check, refused)
        too_large = _too_large(settings, collected, outcome, draft.synthesis)
        if not too_large:
            return Folded(collected, outcome, draft.synthesis, draft)
        refused |= too_large


def _with_line_ends(draft: AnswerDraft, bank: Sequence[str], notes: Sequence[Note]) -> AnswerDraft:
    """The draft with line ends in place of the two letters that a model wrote for them (line_ends.py)."""
    texts = [*bank, *(note.content for note in notes)]
    entries = [entry.mapped(lambda text: line_ends.read(text, texts)) for entry in draft.entries]
    read = [entry.filename for entry, former in zip(entries, draft.entries, strict=True) if entry != former]
    readings = [f"{name}: \\n as two letters was read as a line end." for name in read]
    return replace(draft, entries=tuple(entries), readings=(*draft.readings, *readings))


def check_room(settings: Settings, collected: Collected, outcome: DrawnUp, synthesis: str) -> None:
    """Raise ContractError if the new bank would leave no room for notes in a later prompt."""
    for sentence in _too_large(settings, collected, outcome, synthesis).values():
        raise ContractError(sentence)


def _too_large(settings: Settings, collected: Collected, outcome: DrawnUp, synthesis: str) -> dict[str, str]:
    """The largest changed file, and why it must be shorter, if the new bank leaves no room for notes in a later prompt.

    A bank that takes no more than the present one is accepted. A commit must never make a space that can't be folded.
    """
    after = _bank_after(collected.bank, outcome)
    # Room for a synthesis of the full length is reserved, so that a longer synthesis later breaks no answer.
    reserved = max(synthesis, "x" * prompt.SYNTHESIS_CHARACTERS, key=len)
    needed = collected.beside(after, reserved)
    allowed = settings.llmaas_context_tokens - prompt.least_room(settings.llmaas_max_tokens)
    if needed <= max(allowed, collected.beside(collected.bank, reserved)):
        return {}
    changed = {change.path for change in outcome.files}
    largest = max((file for file in after if file.path in changed), key=lambda file: len(file.content), default=None)
    assert largest, "the bank can't have grown without a changed file"
    size = len(largest.content.encode())
    # Quotes and line ends take two bytes in a prompt, so the fitting part is converted into bytes of the file.
    sent = prompt.content_tokens(largest)
    fits = max(sent - (needed - allowed) - 1, 0) * size // sent
    sentence = (
        f"{largest.path} is too large: it has {size} bytes, and at most about {fits} fit into the model's window "
        "beside the rules and the other files. Shorten it; moving text to another file does not help."
    )
    return {largest.path: sentence}


def warnings(folded: Folded) -> list[BankWarning]:
    """The warnings about an answer that was taken though a part of it is not as asked for, or may have been lost."""
    collected, outcome, length = folded.collected, folded.outcome, len(folded.synthesis)
    result: list[BankWarning] = []
    if length > prompt.SYNTHESIS_CHARACTERS:
        text = f"The synthesis has {length} characters, but at most {prompt.SYNTHESIS_CHARACTERS} are wanted."
        result.append(BankWarning(kind="long_synthesis", text=text))
    if flaws(folded):
        result.append(BankWarning(kind="all_discarded", text="Every note was discarded."))
    for entry in outcome.broken:
        text = f"What the answer says of {entry.filename or 'a file'} was left out: {entry.fault}"
        result.append(BankWarning(kind="entry_left_out", text=text, file=entry.filename or None))
    result += folded.findings
    for lost in folded.lost_details:
        words = ", ".join(lost.words)[: findings.SHOWN]
        note_id = collected.notes[lost.note - 1].note_id
        text = f"The bank holds nothing of this in the note {note_id}: {words}."
        if lost.note in folded.left_out:
            text += f" The model left it out: {folded.left_out[lost.note]}"
        result.append(BankWarning(kind="lost_detail", text=text, word=words, note=note_id))
    return [*result, *(BankWarning(kind=READING, text=text) for text in outcome.readings)]


def flaws(folded: Folded) -> list[Flaw]:
    """What the model is asked about once: to discard all of several notes at once is seldom meant."""
    outcome = folded.outcome
    if outcome.files or outcome.broken or len(outcome.discarded) < 2:
        return []
    return [Flaw("all_discarded", "Every note was discarded. Fold those that say something a later reader needs.")]


def _bank_after(bank: Sequence[BankFile], outcome: DrawnUp) -> list[BankFile]:
    changed = {change.path: change.after or "" for change in outcome.files}
    texts = {file.path: file.content for file in bank} | changed
    return [BankFile(path, text, "") for path, text in texts.items()]
