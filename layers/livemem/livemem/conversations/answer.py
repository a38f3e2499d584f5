"""The contract with the LLM for a summary, and the flaws of an answer that keeps to it."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Annotated, TypeVar

from pydantic import Field

from livemem.conversations.capture import WithNotes
from livemem.conversations.parameters import Parameters
from livemem.conversations.summaries import ENTITIES, Entities
from livemem.llm import contract, window
from livemem.llm.answering import Contract, Flaw
from livemem.llm.contract import ContractError, Part
from livemem.text import language

ITEMS, ITEM_CHARACTERS = 50, 500
"""Items of a list, and characters of an item. The rest is left out."""
SHORT = 400
"""Characters that a summary may always have."""
LONG = 4_000
"""A summary with more characters than this, and with more than twice those of its source, is refused."""
LEEWAY = 1.5
"""The factor by which a summary may exceed its target where the ratio is a limit."""

ANSWER_TOKENS = 500
"""Tokens kept in the model's window for an answer, in addition to those of the summary itself."""
NOTES_TOKENS = 500
"""The same for the notes that it names."""

Text = Annotated[str, Field(min_length=1)]


class SummaryAnswer(Part):
    """The whole answer."""

    summary: Text
    key_findings: list[str] = []
    files_mentioned: list[str] = []
    topics: list[str] = []
    entities: Entities = Entities()
    signals: list[str] = []


class CapturingAnswer(SummaryAnswer, WithNotes):
    """The same of a block that notes are captured from."""


A = TypeVar("A", bound=SummaryAnswer)


@dataclass(frozen=True)
class Source:
    """The source of a summary: its text, and all that may be cited as a file."""

    text: str
    citable: Collection[str] | str

    def has(self, file: str) -> bool:
        """Whether the file occurs."""
        return file in self.citable or file in self.text


def parse(text: str, source: Source, kind: type[A]) -> A:
    """The parsed answer of a kind, without files that do not occur in the source. Raises ContractError."""
    result = contract.parse(text, kind)
    if not result.summary.strip():
        raise ContractError("The summary is empty.")
    length = len(result.summary)
    if length > max(LONG, 2 * len(source.text)):
        raise ContractError(f"The summary has {length} characters, its source has {len(source.text)}.")
    return result.model_copy(
        update={
            "summary": result.summary.strip(),
            "key_findings": tidy(result.key_findings),
            "files_mentioned": [file for file in tidy(result.files_mentioned) if source.has(file)],
            "topics": tidy(result.topics),
            "signals": tidy(result.signals),
        }
    )


def tidy(items: Collection[str]) -> list[str]:
    """The items without blank ones and repeats, cut to the limits ITEMS and ITEM_CHARACTERS."""
    cut = (item.strip()[:ITEM_CHARACTERS] for item in items)
    return list(dict.fromkeys(item for item in cut if item))[:ITEMS]


def entities(groups: Collection[Entities]) -> Entities:
    """The entities of an answer, and of the summaries that it covers, as they are stored: those of the answer first."""
    return Entities(**{kind: tidy([name for group in groups for name in getattr(group, kind)]) for kind in ENTITIES})


def wanted(source: Source, target: int, parameters: Parameters, kind: type[A]) -> Contract[A]:
    """The contract for an answer of a kind. `target` is in characters."""
    notes = NOTES_TOKENS if kind is CapturingAnswer else 0
    return Contract(
        kind,
        lambda text: parse(text, source, kind),
        lambda item: flaws(item, source, target, parameters),
        target // window.BYTES_PER_TOKEN + ANSWER_TOKENS + notes,
    )


def flaws(summary_answer: SummaryAnswer, source: Source, target: int, parameters: Parameters) -> list[Flaw]:
    """The flaws that the model should correct."""
    wrong = []
    length, most = len(summary_answer.summary), max(SHORT, len(source.text))
    if not parameters.ratio_only:
        most = min(most, max(SHORT, round(LEEWAY * target)))
    if length > most:
        wrong.append(Flaw("too_long", f"The summary has {length} characters; it should have about {target}."))
    if language.differ(source.text, summary_answer.summary):
        wrong.append(Flaw("language", "The summary is not in the language of the conversation."))
    return wrong
