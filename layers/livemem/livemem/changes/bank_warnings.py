"""What a change did otherwise than asked for, or may have lost: shown to people, beside the change, in its record."""

from typing import Any

from pydantic import model_validator

from livemem.store.stored_documents import LazyModel, Line

READING = "reading"
"""A part of the answer was read though it has another form than asked for."""


class BankWarning(LazyModel):
    """One warning: `text` is a sentence for people. `file`, `line` and `word` name the place, where there is one.
    `note` is the id of the note whose words it names: an erasure takes them out.

    Records of before hold the sentence alone: it is read as the kind `reading`.
    """

    kind: Line
    text: str
    file: str | None = None
    line: str | None = None
    word: str | None = None
    note: Line | None = None

    @model_validator(mode="before")
    @classmethod
    def _of_a_sentence(cls, value: Any) -> Any:
        return {"kind": READING, "text": value} if isinstance(value, str) else value
