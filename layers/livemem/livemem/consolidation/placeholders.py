"""Texts that small models copy from the prompt, or write in place of omitted content."""

import json
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from livemem.consolidation import omissions, prompt
from livemem.consolidation.answer import ConsolidationAnswer, ContractError

SHORTEST_LINE = 20
"""From this length on a line of the example counts as copied. A short one such as `## Import` may be real."""
IN_PLACE = "it would take the place of what it stands for. Write those lines, or edit just the ones that change."
MARKS = ("<the whole file>", "<whole file>", "<the whole content>", "<Markdown>")
ELISIONS = frozenset({"...", "…"})


def check(place: str, texts: Iterable[str], sources: Iterable[str]) -> None:
    """Raise ContractError for a placeholder in the texts of a `place` that none of `sources`, the texts of the space,
    has.
    """
    sources = list(sources)
    quoted: set[str] = set()
    for text in texts:
        for line in text.splitlines():
            placeholder = _placeholder(_bare(line))
            if not placeholder or placeholder in quoted:
                continue
            if not any(
                placeholder in other if placeholder in MARKS else _has_line(other, placeholder) for other in sources
            ):
                raise ContractError(
                    f"{place} holds {placeholder!r}, a placeholder or copied from the prompt's example: "
                    "write what notes say."
                )
            quoted.add(placeholder)


def check_omissions(place: str, texts: Iterable[str], sources: Sequence[str], headings: frozenset[str]) -> None:
    """Raise ContractError for a line that stands for content which was left out (omissions.py), unless one of `sources`
    has it. `headings`: the words of the bank's headings.
    """
    for text in texts:
        for line in text.splitlines():
            bare = _bare(line)
            if omissions.is_omission(bare, headings) and not any(_has_line(other, bare) for other in sources):
                raise ContractError(f"{place} holds {bare!r}: {IN_PLACE}")


@lru_cache(maxsize=1)
def example() -> dict[str, Any]:
    """The answer that the system prompt shows."""
    text = prompt.system()
    answer: dict[str, Any] = json.JSONDecoder().raw_decode(text[text.index('{"bank_files"') :])[0]
    return answer


@lru_cache(maxsize=1)
def _example_lines() -> frozenset[str]:
    answer = ConsolidationAnswer.model_validate(example())
    texts = [answer.synthesis]
    for entry in answer.bank_files:
        texts += [entry.content or "", *(edit.content for edit in entry.edits)]
    lines = (_bare(line) for text in texts for line in text.splitlines())
    return frozenset(line for line in lines if len(line) >= SHORTEST_LINE)


def _placeholder(line: str) -> str | None:
    if line in ELISIONS or line in _example_lines():
        return line
    return next((mark for mark in MARKS if mark in line), None)


def _has_line(text: str, target: str) -> bool:
    return target in text and any(_bare(line) == target for line in text.splitlines())


def _bare(line: str) -> str:
    """The line without the mark of a list."""
    return line.strip().removeprefix("- ").removeprefix("* ").strip()
