"""The model of the story: answers that were given once, and a real model for all others.

An answer is known by where it was given (`fold 3`), what for (`first`, `correction`, `tidy`), its number there or the
file that it tidies, and a hash of the notes and the names of the bank's files. Prompts may change without making it
unknown.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from livemem.llm import window
from livemem.llm.answering import OF_THE_QUESTION
from livemem.llm.client import Ask, LlmError, Messages, Reply

Kind = Literal["first", "correction", "tidy", "tidy correction"]
NOT_RECORDED = "llm_not_configured"
_FILE = re.compile(r'^\{"filename": ?("[^"]+")', re.MULTILINE)
"""The file that a prompt of a tidy run is about."""


@dataclass
class Tokens:
    """Calls of one kind, and the estimated tokens (window.tokens) of their prompts and answers."""

    calls: int = 0
    prompt: int = 0
    answer: int = 0


@dataclass
class RecordedModel:
    """Answers from the files `known`, then from `ask`, whose answers are added to the file `record`."""

    known: Sequence[Path]
    ask: Ask | None = None
    record: Path | None = None
    seconds: float = 3_600
    """How long one call may take. The clock of the story stands still meanwhile."""
    used: dict[Kind, Tokens] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)
    """Questions to which there was no answer."""
    down: LlmError | None = None
    """The failure after which no other question is answered either."""
    calls: list[tuple[str, Messages, str]] = field(default_factory=list)
    """Each call: its place, its messages, its answer."""
    _answers: dict[str, str] = field(default_factory=dict)
    _stage: str = ""
    _tidies: bool = False
    _essential: str = ""
    _asked: dict[Kind, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for path in dict.fromkeys([*self.known, *([self.record] if self.record else [])]):
            if path.exists():
                rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
                self._answers |= {row["place"]: row["answer"] for row in rows}

    def begin(self, stage: str, notes: Sequence[str], files: Sequence[str], *, tidies: bool = False) -> None:
        """All calls from now on are made in this stage, with these notes and files of the bank."""
        self._stage, self._tidies = stage, tidies
        essential = json.dumps([list(notes), sorted(files)], ensure_ascii=False)
        self._essential = sha256(essential.encode()).hexdigest()[:16]
        self._asked = {}

    def __call__(
        self,
        messages: Messages,
        max_tokens: int | None,
        timeout: float,  # noqa: ARG002 - the clock of the story stands still
        schema: dict[str, Any] | None = None,
    ) -> Reply:
        kind = self._kind(messages)
        self._asked[kind] = self._asked.get(kind, 0) + 1
        file = _FILE.search(messages[1]["content"]) if self._tidies else None
        place = f"{self._stage}, {kind} {file[1] if file else self._asked[kind]}, {self._essential}"
        text = self._answers.get(place)
        if text is None:
            text = self._new(place, messages, max_tokens, schema)
        tokens = self.used.setdefault(kind, Tokens())
        tokens.calls, tokens.prompt = tokens.calls + 1, tokens.prompt + window.size(messages)
        tokens.answer += window.tokens(text)
        self.calls.append((place, messages, text))
        return Reply(text)

    def _kind(self, messages: Messages) -> Kind:
        if self._tidies:
            return "tidy correction" if any(one["role"] == "assistant" for one in messages) else "tidy"
        return "correction" if self._asked else "first"

    def _new(self, place: str, messages: Messages, max_tokens: int | None, schema: dict[str, Any] | None) -> str:
        if not self.ask:
            self.unknown.append(place)
            raise LlmError(NOT_RECORDED, f"No answer is recorded for {place}.")
        try:
            text = self.ask(messages, max_tokens, self.seconds, schema).text
        except LlmError as error:
            self.down = error if error.code not in OF_THE_QUESTION else None
            raise
        self._answers[place] = text
        if self.record:
            with self.record.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"place": place, "answer": text}, ensure_ascii=False) + "\n")
        return text
