"""The prompt of a tidy run: the rules, one file, and the outline of the others.

They are JSON values on one line each, so none can forge the prompt's structure.
"""

from collections.abc import Mapping, Sequence
from string import Template

from livemem.bank.files import BankFile
from livemem.changes.section_sources import own_texts
from livemem.consolidation import prompt
from livemem.consolidation.collecting import Collected
from livemem.llm import answering, templates, window
from livemem.llm.client import Messages
from livemem.llm.templates import json_line
from livemem.spaces.rules import of_structure

OUTLINE_TOKENS = 4_000
"""Tokens of the outline of all other files. The files behind them are left out of it."""


def version() -> str:
    """A short hash of all prompt texts, for the record."""
    return templates.version([prompt.text("tidy"), prompt.text("tidy_file"), answering.correction()])


def build(around: Collected, file: BankFile, outlines: Mapping[str, object], aim: int) -> Messages:
    """System and user message for one file, which should have `aim` characters. `outlines`: of each, by path."""
    neighbours = [outline for path, outline in outlines.items() if path != file.path]
    user = Template(prompt.text("tidy_file")).substitute(
        rules=json_line(of_structure(around.rules)),
        language=f"\nThe bank is written in the language {json_line(around.language)}.\n" if around.language else "",
        outline=json_line(window.fitting(neighbours, OUTLINE_TOKENS, lambda items: window.tokens(json_line(items)))),
        today=around.today.isoformat(),
        file=json_line({"filename": file.path, "content": file.content}),
        length=len(file.content),
        wanted=aim,
        less=len(file.content) - aim,
    )
    return [{"role": "system", "content": prompt.text("tidy")}, {"role": "user", "content": user}]


def outlines(bank: Sequence[BankFile]) -> dict[str, object]:
    """The outline of each file, by its path: its headings, with the characters below them."""
    return {file.path: _outline(file) for file in bank}


def _outline(file: BankFile) -> object:
    headings = [[path[-1], len(text)] for path, text in own_texts(file.content).items() if path]
    return {"filename": file.path, "characters": len(file.content), "headings": headings}
