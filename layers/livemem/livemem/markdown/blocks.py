"""The blocks of a Markdown text on its top level, as markdown-it-py's CommonMark rules see them.

Those rules decide what counts as a heading, never a pattern of ours: a `#` line in a code fence, an indented block, an
HTML block, a quote or a list item is text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from livemem.errors import LiveMemoryError

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.token import Token

    Rule = Callable[[StateBlock, int, int, bool], bool]

PARSE_EFFORT = 150_000
"""The effort that one text may take, see Effort. A line of a plain list takes four, a hard-wrapped line of text two:
500 kB of lines of twenty characters stay within it. It is one to three seconds of CPU and up to 220 MB (measured, one
core)."""

# Past its limit markdown-it skips the rest of the enclosing block, for a list the rest of the file. Its own limit of 20
# (10 lists in each other) is too near to real files; the higher, the more time do hostile quotes take (once a level).
_MAX_NESTING = 40
# Some rules read a whole line; a long one counts once more for each so many characters.
_LONG_LINE = 100
# Composing takes the square of a run of accents, minutes for 500 kB of them.
_MAX_COMPOSED = 1_000
_LISTS = ("bullet_list_open", "ordered_list_open")
# The line endings of CommonMark and of no one else: str.splitlines also splits at form feeds, U+2028 and more.
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


class SectionError(LiveMemoryError, ValueError):
    """An edit, or the text itself, is refused. The message says why and what to do, in words fit for an LLM."""


class Effort:
    """The effort left for parsing: how often the parser may still try its rules on a line.

    Nested lists and quotes have markdown-it look at the same lines again and again, up to 40 times all of them.
    """

    def __init__(
        self,
        limit: int = PARSE_EFFORT,
        refusal: str = "too many lines, or too many quotes and lists in each other, to follow",
    ) -> None:
        self._left = limit
        self._refusal = refusal

    def spend(self, amount: int) -> None:
        """Count `amount` lines. Raises SectionError with the refusal if fewer are left."""
        self._left -= amount
        if self._left < 0:
            raise SectionError(self._refusal)


class Heading(NamedTuple):
    """A heading: its first line, the line behind it, its level (1 to 6) and itself as one line ("## Title")."""

    start: int
    body: int
    level: int
    line: str

    def moved(self, by: int) -> Heading:
        """The same heading, `by` lines further down."""
        return Heading(self.start + by, self.body + by, self.level, self.line)


class MarkdownBlock(NamedTuple):
    """A block on the top level. Each item of a list is a block.

    ``item_of``: for an item the kind of its list ("bullet_list_open-"), else empty; ``begins_list``: it is the first
    one; ``spaced``: blank lines part the blocks directly inside of it.
    """

    kind: str
    start: int
    end: int
    heading: Heading | None = None
    item_of: str = ""
    begins_list: bool = False
    spaced: bool = False

    def moved(self, by: int) -> MarkdownBlock:
        """The same block, `by` lines further down."""
        kind, start, end, heading, item_of, begins_list, spaced = self
        return MarkdownBlock(kind, start + by, end + by, heading and heading.moved(by), item_of, begins_list, spaced)


# Callers ask for one section of a text after the other; the last few texts are not split each time.
@lru_cache(maxsize=4)
def split_lines(text: str) -> tuple[str, ...]:
    r"""Split at ``\n``, ``\r\n`` and ``\r``, endings kept: the lines that all of this counts. ``"".join`` undoes it."""
    return tuple(_LINE.findall(text))


def is_blank(line: str) -> bool:
    """Whether the line holds nothing but spaces and tabs."""
    return not line.strip(" \t\r\n")


def parse(lines: Sequence[str], effort: Effort | None = None) -> list[MarkdownBlock]:
    """Return the blocks on the top level.

    Raises SectionError if lists are nested too deeply to see all of them, or if it takes more than ``effort`` (by
    default PARSE_EFFORT).
    """
    tokens = _tokens(lines, effort)
    blocks: list[MarkdownBlock] = []
    item_of, begins_list = "", False
    for index, token in enumerate(tokens):
        if token.type == "list_item_open" and token.level >= _MAX_NESTING - 1:
            # Here markdown-it has skipped to the end of the file: headings behind the list would be missing.
            raise SectionError("lists are nested too deeply")
        if token.level > 2 or token.nesting < 0 or token.map is None:
            continue
        start, end = token.map
        if token.level == 0 and token.type in _LISTS:
            item_of, begins_list = token.type + token.markup, True
        elif token.level == 0:
            blocks.append(MarkdownBlock(token.type, start, end, _heading(token, tokens[index + 1 : index + 2])))
        elif token.level == 1 and token.type == "list_item_open":
            blocks.append(MarkdownBlock(token.type, start, end, None, item_of, begins_list))
            begins_list = False
        elif token.level == 2 and blocks[-1].item_of and start > blocks[-1].start and is_blank(lines[start - 1]):
            blocks[-1] = blocks[-1]._replace(spaced=True)
    return blocks


def _tokens(lines: Sequence[str], effort: Effort | None, *, tables: bool = False) -> list[Token]:
    try:
        return _markdown(tables=tables).parse("".join(lines), {"effort": effort or Effort()})
    except RecursionError:
        raise SectionError("quotes or lists are nested too deeply") from None


def _heading(token: Token, following: list[Token]) -> Heading | None:
    if token.type != "heading_open" or token.map is None:
        return None
    start, end = token.map
    level = int(token.tag[1:])
    return Heading(start, end, level, collapse("#" * level + " " + following[0].content))


class Table(NamedTuple):
    """A table as GitHub's rules see it: its first line, and the line behind it."""

    start: int
    end: int


def tables_of(lines: Sequence[str], effort: Effort | None = None) -> list[Table]:
    """Return the tables in the lines of a block, also those in its lists and quotes. Raises like parse.

    For sections a table is a paragraph: with this rule, lines of existing files would gain or lose their place as
    headings.
    """
    tokens = _tokens(lines, effort, tables=True)
    return [Table(token.map[0], token.map[1]) for token in tokens if token.type == "table_open" and token.map]


def headings_of(blocks: Iterable[MarkdownBlock]) -> list[Heading]:
    """Those of the blocks that are headings."""
    return [block.heading for block in blocks if block.heading]


def only_heading(text: str) -> Heading | None:
    """Return the heading that ``text`` is, if it is one heading and nothing else."""
    lines = split_lines(text.strip())
    blocks = parse(lines)
    # A link definition is no block. Only the line numbers show it.
    return blocks[0].heading if blocks and (blocks[0].start, blocks[0].end) == (0, len(lines)) else None


def collapse(text: str) -> str:
    """Return the text in one line with single spaces, and unless it is very long in Unicode's composed form."""
    # Models write NBSP as space and decomposed letters composed; neither may hide a section from its address.
    words = " ".join(text.split())
    return unicodedata.normalize("NFC", words) if len(words) <= _MAX_COMPOSED else words


@lru_cache(maxsize=2)
def _markdown(*, tables: bool = False) -> MarkdownIt:
    # Loaded where Markdown is taken apart: most functions begin with something else.
    from markdown_it import MarkdownIt  # noqa: PLC0415
    from markdown_it.rules_block import fence  # noqa: PLC0415

    markdown = MarkdownIt("commonmark", {"maxNesting": _MAX_NESTING})
    if tables:
        markdown.enable("table")
    # Sections need no inline parsing, which takes most of the time.
    markdown.core.ruler.enableOnly(["normalize", "block"])
    # Of all rules this one is tried on every line wherever a block may begin or a paragraph or quote may end.
    markdown.block.ruler.at("fence", _counted(fence), {"alt": ["paragraph", "reference", "blockquote", "list"]})
    # The first text makes the parser put its rules together; meanwhile it would read another thread's without them.
    markdown.parse("", {"effort": Effort()})
    return markdown


def _counted(rule: Rule) -> Rule:
    """The rule, which spends some of the text's effort each time that it is tried."""

    def counted(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        state.env["effort"].spend(1 + (state.eMarks[start] - state.bMarks[start]) // _LONG_LINE)
        return rule(state, start, end, silent)

    return counted
