"""The contract with the LLM: its answer, read part by part before anything is used (docs/consolidation.md).

A form that has one reading is read, and named in `AnswerDraft.readings`. An entry of a file that breaks the contract is
set apart in `AnswerDraft.broken` with its fault. All other entries stand.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from livemem import limits
from livemem.llm import contract
from livemem.llm.contract import ContractError, Part
from livemem.markdown.edits import OF_LINES, Op

__all__ = [
    "AnswerDraft",
    "AnswerEdit",
    "BrokenEntry",
    "ConsolidationAnswer",
    "ContractError",
    "Discard",
    "FileAnswer",
    "parse",
]

FILES = 100
EDITS = 1_000
NAME_CHARACTERS = 1_000
REASON_CHARACTERS = 1_000
NO_REASON = "No reason was given."
WITHOUT_CONTENT = ("delete_section", "confirm_section", "replace_section", "remove_line")
"""The operations that need no content. `replace_section` without content empties the section."""
_NUMBERS = re.compile(r"\s*\[?\s*(?:notes?\s+)?#?\d{1,9}(?:\s*(?:,|;|and|\s)\s*#?\d{1,9})*\s*\]?\s*", re.IGNORECASE)


def read_numbers(value: Any) -> Any:
    """Numbers of notes as a list of them, where they stand as texts or as one text: `"1,3"`, `["1", "3"]`, `3`."""
    if isinstance(value, str):
        return [int(number) for number in re.findall(r"\d+", value)] if _NUMBERS.fullmatch(value) else value
    if isinstance(value, float) and value.is_integer() and abs(value) < 10**9:
        return [int(value)]
    if isinstance(value, list) and any(isinstance(item, str | float) for item in value):
        read = [read_numbers(item) for item in value]
        return [number for item in read for number in (item if isinstance(item, list) else [item])]
    return value


AnswerName = Annotated[str, Field(min_length=1, max_length=NAME_CHARACTERS)]
ReasonText = Annotated[str, Field(max_length=REASON_CHARACTERS)]
Numbers = Annotated[list[int], Field(max_length=10_000), BeforeValidator(read_numbers)]


class AnswerEdit(Part):
    """One edit of a section, or of one line of it."""

    op: Op
    heading: AnswerName
    line: AnswerName | None = None
    content: str = ""
    after: AnswerName | None = None
    notes: Numbers = []
    reason: ReasonText | None = None

    @model_validator(mode="after")
    def _has_content(self) -> Self:
        if self.op not in WITHOUT_CONTENT and not self.content.strip():
            raise ValueError(f"{self.op} needs content")
        if self.op in OF_LINES and not (self.line and self.line.strip()):
            raise ValueError(f"{self.op} needs line")
        return self


class FileAnswer(Part):
    """What the answer does to one file."""

    filename: AnswerName
    action: Literal["created", "updated", "edited"]
    content: str | None = None
    edits: Annotated[list[AnswerEdit], Field(max_length=EDITS)] = []
    notes: Numbers = []
    reason: ReasonText | None = None

    @model_validator(mode="after")
    def _fits_its_action(self) -> Self:
        if self.action == "edited":
            # Models that must fill in every field write an empty text.
            if self.content:
                raise ValueError("an edited file has edits, not content")
            if not self.edits:
                raise ValueError("an edited file needs edits")
        elif self.content is None or not self.content.strip():
            raise ValueError(f"a {self.action} file needs its whole content")
        return self

    def texts(self) -> list[str]:
        """All text that it writes into the file."""
        return [self.content or "", *(edit.content for edit in self.edits)]

    def mapped(self, change: Callable[[str], str]) -> Self:
        """The same with each of its texts changed."""
        edits = [edit.model_copy(update={"content": change(edit.content)}) for edit in self.edits]
        return self.model_copy(update={"content": self.content and change(self.content), "edits": edits})

    def numbers(self) -> set[int]:
        """The numbers of all notes that it cites."""
        return {*self.notes, *(number for edit in self.edits for number in edit.notes)}


class Discard(Part):
    """A note left out of the bank on purpose."""

    note: int
    reason: Annotated[ReasonText, Field(min_length=1)]


class ConsolidationAnswer(Part):
    """The whole answer, as the model is asked for it."""

    bank_files: Annotated[list[FileAnswer], Field(max_length=FILES)]
    synthesis: str = ""
    discarded: Annotated[list[Discard], Field(max_length=10_000)] = []


class _Envelope(Part):
    """An answer whose parts are not read yet."""

    bank_files: Annotated[list[Any], Field(max_length=FILES)]
    synthesis: Any = None
    discarded: Any = None


@dataclass(frozen=True)
class BrokenEntry:
    """The entry of one file that cannot be used, and its fault as a sentence for the model."""

    filename: str
    entry: Any
    fault: str


@dataclass(frozen=True)
class AnswerDraft:
    """What an answer says, as far as it can be read. `synthesis` is empty if there is none that can be used.

    `readings` are sentences about what was read though it was not written as asked for.
    """

    entries: tuple[FileAnswer, ...]
    broken: tuple[BrokenEntry, ...] = ()
    synthesis: str = ""
    discarded: Mapping[int, str] = field(default_factory=dict)
    readings: tuple[str, ...] = ()


def parse(text: str) -> AnswerDraft:
    """The answer in the model's text. Raises ContractError where it has no list of files."""
    data = contract.validated(contract.read(text, ConsolidationAnswer), _Envelope)
    entries: list[FileAnswer] = []
    broken: list[BrokenEntry] = []
    readings: list[str] = []
    for number, entry in enumerate(data.bank_files):
        try:
            entries.append(contract.validated(entry, FileAnswer, ("bank_files", number)))
        except ContractError as error:
            name = entry.get("filename") if isinstance(entry, dict) else None
            broken.append(BrokenEntry(name if isinstance(name, str) else "", entry, str(error)))
            continue
        if any(not _is_numbers(part.get("notes")) for part in (entry, *entry.get("edits", ()))):
            readings.append(f"{entries[-1].filename}: numbers of notes that were written as text were read.")
    synthesis, fault = _synthesis(data.synthesis)
    discarded, unread = _discarded(data.discarded)
    return AnswerDraft(tuple(entries), tuple(broken), synthesis, discarded, (*readings, *fault, *unread))


def _is_numbers(value: Any) -> bool:
    return value is None or (isinstance(value, list) and all(type(item) is int for item in value))


def _synthesis(value: Any) -> tuple[str, list[str]]:
    """The synthesis, "" if there is none that can be used; and what is said of that."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return "", ["The answer has no synthesis: the former one stays."]
    if not isinstance(value, str):
        return "", ["The synthesis is no text: the former one stays."]
    if len(value.encode(errors="replace")) > limits.SYNTHESIS_BYTES:
        return "", [f"The synthesis has more than {limits.SYNTHESIS_BYTES} bytes: the former one stays."]
    return value, []


def _discarded(value: Any) -> tuple[dict[int, str], list[str]]:
    """The discarded notes with their reasons, and what is said of entries in another form."""
    reasons: dict[int, str] = {}
    problems: list[str] = []
    if isinstance(value, dict) and "note" not in value:
        value = [{"note": number, "reason": reason} for number, reason in value.items()]
    for item in value if isinstance(value, list) else [] if value is None else [value]:
        reference = item if isinstance(item, dict) else {"note": item}
        numbers, reason = read_numbers([reference.get("note")]), reference.get("reason")
        if not numbers or not _is_numbers(numbers):
            problems.append("An entry of `discarded` names no note: it was passed over.")
            continue
        if not isinstance(reason, str) or not reason.strip():
            problems.append(f"Note {numbers[0]} was discarded without a reason.")
            reason = NO_REASON
        reasons |= dict.fromkeys(numbers, reason[:REASON_CHARACTERS])
    return reasons, problems
