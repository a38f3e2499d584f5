"""Texts that small models copy from the prompt, or write in place of omitted content."""

import json
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from livemem.consolidation import prompt
from livemem.consolidation.answer import ConsolidationAnswer, ContractError

SHORTEST_LINE = 20
"""From this length on a line of the example counts as copied. A short one such as `## Import` may be real."""
MARKS = ("<the whole file>", "<whole file>", "<the whole content>", "<Markdown>")
ELISIONS = frozenset({"...", "…"})


def check(answer: ConsolidationAnswer, given: Iterable[str]) -> None:
    """Raise ContractError for a placeholder in `answer` that none of the `given` texts of the space holds."""
    given = list(given)
    quoted: set[str] = set()
    for place, text in _texts(answer):
        for line in text.splitlines():
            found = _placeholder(_bare(line))
            if not found or found in quoted:
                continue
            if not any(found in other if found in MARKS else _has_line(other, found) for other in given):
                raise ContractError(
                    f"{place} holds {found!r}, a placeholder or copied from the prompt's example: write what notes say."
                )
            quoted.add(found)


@lru_cache(maxsize=1)
def example() -> dict[str, Any]:
    """The answer that the system prompt shows."""
    text = prompt.system()
    found: dict[str, Any] = json.JSONDecoder().raw_decode(text[text.index('{"bank_files"') :])[0]
    return found


@lru_cache(maxsize=1)
def _example_lines() -> frozenset[str]:
    lines = (
        _bare(line) for _, text in _texts(ConsolidationAnswer.model_validate(example())) for line in text.splitlines()
    )
    return frozenset(line for line in lines if len(line) >= SHORTEST_LINE)


def _placeholder(line: str) -> str | None:
    if line in ELISIONS or line in _example_lines():
        return line
    return next((mark for mark in MARKS if mark in line), None)


def _has_line(text: str, wanted: str) -> bool:
    return wanted in text and any(_bare(line) == wanted for line in text.splitlines())


def _bare(line: str) -> str:
    """The line without the mark of a list."""
    return line.strip().removeprefix("- ").removeprefix("* ").strip()


def _texts(answer: ConsolidationAnswer) -> Iterator[tuple[str, str]]:
    for entry in answer.bank_files:
        place = f"The content of {entry.filename[:80]!r}"
        yield place, entry.content or ""
        for edit in entry.edits:
            yield place, edit.content
    yield "The synthesis", answer.synthesis
