"""Markdown texts of all kinds for Hypothesis, and what several tests of sections ask of a text."""

import pytest
from hypothesis import strategies as st

from livemem.markdown.blocks import SectionError, split_lines
from livemem.markdown.edits import Edit, apply_edits
from livemem.markdown.sections import Section, list_sections

DOC = """\
Preamble.

# Project

Intro.

## Focus

- a
- b

### Detail

Deep.

## Done

Text.
"""


def preamble(text: str) -> str:
    """The text before the first heading; all of it if there is none."""
    sections = list_sections(text)
    return "".join(split_lines(text)[: sections[0].start]) if sections else text


def own_text(text: str, section: Section) -> str:
    """The text between the section's heading and its first child section."""
    return "".join(split_lines(text)[section.body : section.own_end])


def edited(text, op, heading, content="", after=None):
    return apply_edits(text, [Edit(op, heading, content, after)])


def refusal(text, *edits):
    with pytest.raises(SectionError) as error:
        apply_edits(text, edits)
    return str(error.value)


def attempted(text, edits):
    """The edited text, or None with the refusal."""
    try:
        return apply_edits(text, edits), ""
    except SectionError as error:
        return None, str(error)


def headings(text):
    return [section.path[-1] for section in list_sections(text)]


def blank(line):
    return not line.strip(" \t\r\n")


FRAGMENTS = [
    "# ", "## ", "### ", "#### ", "#", "A", "B", "text", " ", "    ", "\t", "```", "~~~", "- ", "* ", "1. ", "> ",
    "===", "---", "<!--", "-->", "<div>", "</div>", "<script>", "[x]: /u", "[x]: <", "'", "`", "\\", "\0", "\x0c",
    "\u2028", "é",
]  # fmt: skip
ENDINGS = ["\n", "\r\n", "\r"]

any_text = st.text(st.characters(exclude_categories=["Cs"]))


def lines_of(fragments, endings):
    line = st.tuples(st.lists(st.sampled_from(fragments), max_size=4).map("".join), st.sampled_from(endings)).map(
        "".join
    )
    return st.tuples(st.lists(line, max_size=25), st.lists(st.sampled_from(fragments), max_size=2)).map(
        lambda parts: "".join(parts[0]) + "".join(parts[1])
    )


wild_documents = lines_of(FRAGMENTS, [*ENDINGS, "\n\n", "\n\n"])
wild_content = lines_of(FRAGMENTS, ["\n", "\n", "\r\n"])
BLOCKS = [
    "Paragraph\nof two lines",
    "- a\n- b",
    "1. a\n2. b",
    "- a\n\n  loose\n- b",
    "> # quoted\n> text",
    "    # indented code",
    "```\n# in a fence\n```",
    "~~~ md\n\n## in a fence\n\n~~~",
    "<!--\n# in a comment\n-->",
    "<div>\n# html\n</div>",
    "- item\n\n  # in a list",
    "[ref]: /url",
    "---",
    "| a | b |",
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "- a\n\n  | a | b |\n  |---|---|",
]


@st.composite
def tame_documents(draw):
    """Blocks of all kinds that blank lines keep apart, under headings of all kinds, with mixed line endings."""
    chunks = []
    for number in range(draw(st.integers(0, 8))):
        kind = draw(st.sampled_from(["atx", "atx", "closed", "setext", "block", "block", "block"]))
        level = draw(st.integers(1, 4))
        name = f"H{draw(st.integers(0, 3))}" if draw(st.booleans()) else f"Name {number}"
        if kind == "block":
            chunks.append(draw(st.sampled_from(BLOCKS)))
        elif kind == "setext":
            chunks.append(f"{name}\n{'=' if level % 2 else '-'}==")
        else:
            chunks.append("#" * level + f" {name}" + (" ##" if kind == "closed" else ""))
        chunks.append("\n" * draw(st.integers(1, 2)))
    lines = "\n".join(chunks).split("\n")
    if draw(st.booleans()):
        return "\n".join(lines)
    return "".join(line + draw(st.sampled_from(ENDINGS)) for line in lines[:-1]) + lines[-1]


documents = st.one_of(tame_documents(), wild_documents)
