"""The blocks of a Markdown text on its top level, as markdown-it-py's CommonMark rules see them.

What counts as a heading is decided by those rules, never by a pattern of ours: a `#` line in a code fence, an indented
block, an HTML block, a quote or a list item is text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from markdown_it import MarkdownIt

from livemem.errors import LiveMemoryError

# Past its limit markdown-it skips the rest of the enclosing block, for a list the rest of the file. Its own limit of 20
# (10 lists in each other) is too near to real files; the higher, the more time do hostile quotes take (once a level).
_MAX_NESTING = 40
# The line endings of CommonMark and of no one else: str.splitlines also splits at form feeds, U+2028 and more.
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


class SectionError(LiveMemoryError, ValueError):
    """An edit, or the text itself, is refused; the message says why and what to do, in words fit for an LLM."""


class Heading(NamedTuple):
    """A heading: its first line, the line behind it, its level (1 to 6) and itself as one line ("## Title")."""

    start: int
    body: int
    level: int
    line: str

    def moved(self, by: int) -> Heading:
        """The same heading, `by` lines further down."""
        return self._replace(start=self.start + by, body=self.body + by)


class Block(NamedTuple):
    """A block on the top level. ``tight_list`` names the kind of a tight list ("bullet_list_open-"), else empty."""

    kind: str
    start: int
    end: int
    heading: Heading | None
    tight_list: str

    def moved(self, by: int) -> Block:
        """The same block, `by` lines further down."""
        heading = self.heading and self.heading.moved(by)
        return self._replace(start=self.start + by, end=self.end + by, heading=heading)


# Callers ask for one section of a text after the other; the last few texts are not split each time.
@lru_cache(maxsize=4)
def split_lines(text: str) -> tuple[str, ...]:
    r"""Split at ``\n``, ``\r\n`` and ``\r``, endings kept: the lines that all of this counts. ``"".join`` undoes it."""
    return tuple(_LINE.findall(text))


def parse(lines: Iterable[str]) -> list[Block]:
    """Return the blocks on the top level. Raises SectionError if lists are nested too deeply to see all of them."""
    try:
        tokens = _markdown().parse("".join(lines))
    except RecursionError:
        raise SectionError("quotes or lists are nested too deeply") from None
    blocks: list[Block] = []
    for index, token in enumerate(tokens):
        if token.type == "list_item_open" and token.level >= _MAX_NESTING - 1:
            # Here markdown-it has skipped to the end of the file: headings behind the list would be missing.
            raise SectionError("lists are nested too deeply")
        if token.type == "paragraph_open" and token.level == 2 and not token.hidden:
            # A list is loose if a paragraph right in one of its items is shown as one.
            blocks[-1] = blocks[-1]._replace(tight_list="")
        if token.level or token.nesting < 0 or token.map is None:
            continue
        start, end = token.map
        heading = None
        if token.type == "heading_open":
            level = int(token.tag[1:])
            heading = Heading(start, end, level, collapse("#" * level + " " + tokens[index + 1].content))
        tight_list = token.type + token.markup if token.type in ("bullet_list_open", "ordered_list_open") else ""
        blocks.append(Block(token.type, start, end, heading, tight_list))
    return blocks


def headings_of(blocks: Iterable[Block]) -> list[Heading]:
    """Those of the blocks that are headings."""
    return [block.heading for block in blocks if block.heading]


def only_heading(text: str) -> Heading | None:
    """Return the heading that ``text`` is, if it is one heading and nothing else."""
    lines = split_lines(text.strip())
    blocks = parse(lines)
    # A link definition is no block; only the line numbers tell that there is one.
    return blocks[0].heading if blocks and (blocks[0].start, blocks[0].end) == (0, len(lines)) else None


def collapse(text: str) -> str:
    """Return the text in one line with single spaces, in Unicode's composed form."""
    # Models write NBSP as space and decomposed letters composed; neither may hide a section from its address.
    return unicodedata.normalize("NFC", " ".join(text.split()))


@lru_cache(maxsize=1)
def _markdown() -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"maxNesting": _MAX_NESTING})
    # Sections need no inline parsing, which takes most of the time.
    markdown.core.ruler.enableOnly(["normalize", "block"])
    return markdown
