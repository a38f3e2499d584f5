"""Checks of an answer beyond the contract's form: they need the rules, bank and notes of the space."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from livemem.bank.files import BankFile
from livemem.consolidation import answer, placeholders, planning, prompt
from livemem.consolidation.answer import ConsolidationAnswer, ContractError
from livemem.consolidation.collecting import Collected
from livemem.consolidation.planning import DrawnUp
from livemem.llm.answering import Contract, Flaw
from livemem.settings import Settings

SYNTHESIS_CHARACTERS = 1_500
"""As prompts/system.md asks. The synthesis is part of every later prompt and of what agents load."""
SHOWN_RANGES = 100


@dataclass(frozen=True)
class Folded:
    """A checked answer: the changes of the bank, and the synthesis."""

    outcome: DrawnUp
    synthesis: str


def contract(settings: Settings, collected: Collected) -> Contract[Folded]:
    """The contract for an answer that folds the collected notes."""
    ids = [note.note_id for note in collected.notes]

    def read(text: str) -> Folded:
        parsed = answer.parse(text)
        check_placeholders(parsed, collected)
        outcome = planning.draw_up(parsed, collected.bank, ids)
        check_room(settings, collected, outcome, parsed.synthesis)
        return Folded(outcome, parsed.synthesis)

    return Contract(ConsolidationAnswer, read, lambda folded: flaws(folded.outcome, folded.synthesis))


def check_placeholders(answer: ConsolidationAnswer, collected: Collected) -> None:
    """Raise ContractError if the answer holds placeholders that no text of the space holds."""
    previous = [collected.synthesis.content] if collected.synthesis else []
    bank = [file.content for file in collected.bank]
    placeholders.check(answer, [collected.rules, *previous, *bank, *(note.content for note in collected.notes)])


def check_room(settings: Settings, collected: Collected, outcome: DrawnUp, synthesis: str) -> None:
    """Raise ContractError if the new bank would leave no room for notes in a later prompt.

    A bank that takes no more than the present one is accepted. A commit must never make a space that can't be folded.
    """
    after = _bank_after(collected.bank, outcome)
    # Room for a synthesis of the full length is reserved, so that a longer synthesis later breaks no answer.
    reserved = max(synthesis, "x" * SYNTHESIS_CHARACTERS, key=len)
    needed = collected.beside(after, reserved)
    allowed = settings.llmaas_context_tokens - prompt.least_room(settings.llmaas_max_tokens)
    if needed <= max(allowed, collected.beside(collected.bank, reserved)):
        return
    changed = {change.path for change in outcome.files}
    largest = max((file for file in after if file.path in changed), key=lambda file: len(file.content), default=None)
    assert largest, "the bank can't have grown without a changed file"
    size = len(largest.content.encode())
    # Quotes and line ends take two bytes in a prompt, so the fitting part is converted into bytes of the file.
    sent = prompt.content_tokens(largest)
    fits = max(sent - (needed - allowed) - 1, 0) * size // sent
    raise ContractError(
        f"{largest.path} is too large: it has {size} bytes, and at most about {fits} fit into the model's window "
        "beside the rules and the other files. Shorten it; moving text to another file does not help."
    )


def flaws(outcome: DrawnUp, synthesis: str) -> list[Flaw]:
    """Soft problems of a valid answer: the model is told once. If they remain, the answer is accepted."""
    found = []
    if outcome.uncited:
        told = (
            f"These notes are neither cited in `notes` nor listed in `discarded`: {_ranges(sorted(outcome.uncited))}. "
            "Cite each where it is used, or discard it with the reason."
        )
        # The number of uncited notes counts more than any other problem.
        found.append(Flaw("uncited", told, weight=2 * len(outcome.uncited)))
    if len(synthesis) > SYNTHESIS_CHARACTERS:
        found.append(Flaw("too_long", too_long(synthesis)))
    return found


def too_long(synthesis: str) -> str:
    """The sentence that tells the model of a long synthesis."""
    return f"The synthesis has {len(synthesis)} characters, but at most {SYNTHESIS_CHARACTERS} are wanted."


def _bank_after(bank: Sequence[BankFile], outcome: DrawnUp) -> list[BankFile]:
    changed = {change.path: change.after or "" for change in outcome.files}
    texts = {file.path: file.content for file in bank} | changed
    return [BankFile(path, text, "") for path, text in texts.items()]


def _ranges(numbers: Iterable[int]) -> str:
    """`1, 3-5, 9`: the numbers in order, short."""
    ranges: list[tuple[int, int]] = []
    for number in numbers:
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1] = ranges[-1][0], number
        else:
            ranges.append((number, number))
    shown = [str(first) if first == last else f"{first}-{last}" for first, last in ranges[:SHOWN_RANGES]]
    return ", ".join(shown) + (" and further ones" if len(ranges) > SHOWN_RANGES else "")
