"""What the tests of the offline LLM share: building notes, applying an answer to a bank, and counting what it cites."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st
from markdown_it import MarkdownIt

from livemem.bank import files
from livemem.consolidation import answer as answers
from livemem.consolidation import planning
from livemem.markdown import sections
from livemem.spaces.rules import template
from livemem.store.keys import CATEGORIES
from local.offline_llm import fold as folding
from local.offline_llm.entries import Note
from local.offline_llm.prompt import read_prompts
from tests.support.markdown import own_text

STANDARD = template("standard")
JOURNAL = template("journal")
RESEARCH = template("research")
SUPPORT = template("support")
FRENCH = template("standard-fr")
FRENCH_JOURNAL = template("journal-fr")

# Pieces that would break a Markdown file if a note's text were put into it as it is.
_HOSTILE = st.sampled_from(
    [
        "# Forged title",
        "## Next steps",
        "## Known issues #",
        "Forged\n===",
        "Forged\n---",
        "---",
        "***",
        "- - -",
        "```",
        "````text",
        "~~~",
        "```python\n# comment\n```",
        "<!-- hidden",
        "-->",
        "<details>",
        "</div>",
        "<script>alert(1)</script>",
        "<https://example.org>",
        "- item\n  - nested\n    # deep",
        "1. one\n2. two",
        "> quote\n> # quoted heading",
        "    indented code\n    # not a heading",
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "[x]: http://example.org",
        "\\",
        "`unclosed",
        "a \u2028# line separator",
        "b \x0c## form feed",
        "\x00\x1b[31m",
        "\ufeff# BOM",
        "\r\n# carriage return",
        "été ✓ 中文 ﬁ",
        "\t# tab",
        "-\n# empty item",
        "*",
        "+",
        "1.",
        "2026-11-21, (agent)",
        '{"bank_files": []}',
    ]
)
_PLAIN = st.text(alphabet=st.characters(codec="utf-8"), max_size=60)
CONTENTS = st.lists(_HOSTILE | _PLAIN, min_size=1, max_size=5).flatmap(
    lambda parts: st.sampled_from(["\n", "\n\n", " ", "\n  "]).map(lambda glue: glue.join(parts))
)


def make_note(number: int, category: str, content: str, *, day: str = "2026-11-21", agent: str = "core-dev") -> Note:
    return Note(number, f"{day}T10:{number % 60:02d}:00Z", agent, category, content)


@st.composite
def note_lists(draw: st.DrawFn, contents: st.SearchStrategy[str] = CONTENTS, max_size: int = 8) -> list[Note]:
    """Notes numbered from 1, of any category, on a few days."""
    drawn = draw(st.lists(st.tuples(st.sampled_from(CATEGORIES), contents, st.integers(1, 3)), max_size=max_size))
    return [
        make_note(number, category, content, day=f"2026-11-{day:02d}")
        for number, (category, content, day) in enumerate(drawn, 1)
    ]


def apply_answer(bank: Mapping[str, str], answer: Mapping[str, Any]) -> dict[str, str]:
    """The bank after an answer, made the way the service does it."""
    parsed = answers.parse(json.dumps(answer, ensure_ascii=False))
    ids = [f"note {number}" for number in range(1, 1 + max(accounted(answer), default=0))]
    outcome = planning.draw_up(parsed, [files.BankFile(name, text, "") for name, text in bank.items()], ids)
    assert not outcome.uncited
    return {**bank, **{change.path: change.after or "" for change in outcome.files}}


def fold(rules: str, bank: Mapping[str, str], notes: Sequence[Note]) -> dict[str, Any]:
    """The answer for these rules, bank files (name to text) and notes."""
    (asked,) = read_prompts([{"role": "user", "content": prompt(rules, bank, notes)}])
    return folding.fold(asked)


def fold_into(bank: Mapping[str, str], rules: str, notes: Sequence[Note]) -> dict[str, str]:
    return apply_answer(bank, fold(rules, bank, notes))


def accounted(answer: Mapping[str, Any]) -> list[int]:
    """The note numbers that an answer cites or discards, each once."""
    cited = {number for file in answer["bank_files"] for number in file.get("notes", [])}
    cited |= {number for file in answer["bank_files"] for edit in file.get("edits", []) for number in edit["notes"]}
    discarded = [entry["note"] for entry in answer["discarded"]]
    assert not cited & set(discarded)
    return sorted([*cited, *discarded])


def headings(text: str) -> list[str]:
    """The top-level headings of a file as lines."""
    return [section.path[-1] for section in sections.list_sections(text)]


def section(text: str, address: str) -> str:
    """The text below the one heading that has this line, or this path."""
    parts = tuple(address.split(" > "))
    (found,) = [other for other in sections.list_sections(text) if other.path[-len(parts) :] == parts]
    return own_text(text, found).strip("\n")


def visible_text(markdown: str) -> str:
    """What a reader sees of Markdown, as words, without markup."""
    words: list[str] = []
    for token in MarkdownIt("commonmark").parse(markdown):
        words += [child.content for child in token.children or [] if child.type in ("text", "code_inline")]
        if token.type in ("fence", "code_block"):
            words.append(token.content)
    return " ".join(" ".join(words).split())


def prompt(rules: str, bank: Mapping[str, str], notes: Sequence[Note]) -> str:
    """A user message as the service writes it."""
    rows = [
        [note.number, note.moment, note.agent, note.category, note.content, {"author": note.author}] for note in notes
    ]
    values = {"Rules": rules, "Previous synthesis": None, "Bank files": bank, "Live notes, oldest first": rows}
    return "\n\n".join(f"# {name} (JSON)\n{json.dumps(value, ensure_ascii=False)}" for name, value in values.items())
