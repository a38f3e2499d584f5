"""A bank file as an outline: its headings and, below each, the list items that stand in it.

Only light reading: line numbers from markdown-it-py's token positions, nothing is rendered. The edits themselves
are applied by the service (livemem.sections), not here.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from local.offline_llm.markdown import block_parser

NOTHING_HERE = "*Nothing open.*"
"""Stands in sections of earlier banks, and goes when there is something."""
_PATH_SEPARATOR = " > "


@dataclass(frozen=True)
class Item:
    """One item of a top-level list: `lines` are its source lines, from line `start` of the file on."""

    start: int
    lines: tuple[str, ...]

    @property
    def span(self) -> range:
        """The numbers of its lines."""
        return range(self.start, self.start + len(self.lines))


@dataclass
class Heading:
    """One heading. Its own body ends at the next heading; its section at the next one of its level or a higher one."""

    level: int
    text: str
    start: int  # its first line
    body: int  # the first line below it
    own_end: int
    end: int
    parent: int | None
    items: list[Item] = field(default_factory=list)

    @property
    def line(self) -> str:
        """The heading as a full line."""
        return f"{'#' * self.level} {self.text}"


@dataclass
class Outline:
    """The headings of a file in order, over its source lines."""

    lines: list[str]
    headings: list[Heading]

    def children(self, parent: int | None) -> list[int]:
        """The headings directly below a heading (None: those below no other)."""
        return [index for index, heading in enumerate(self.headings) if heading.parent == parent]

    def chain(self, index: int) -> list[int]:
        """The headings around a heading, outermost first, itself last."""
        chain = [index]
        while (above := self.headings[chain[0]].parent) is not None:
            chain.insert(0, above)
        return chain

    @cached_property
    def paths(self) -> list[str]:
        """The path of each heading, as lines from the outermost one to its own."""
        return [
            _PATH_SEPARATOR.join(self.headings[above].line for above in self.chain(i))
            for i in range(len(self.headings))
        ]

    @cached_property
    def addresses(self) -> list[str | None]:
        """How an edit names each heading: its line if unique, else its path; None where neither tells it apart.

        Below the second level it is always the path: a line that is unique now need not be when another edit is done.
        """
        lines = [heading.line for heading in self.headings]
        # A separator inside a heading would make a path ambiguous; an underlined heading may span lines.
        odd = {
            i for i, line in enumerate(lines) if _PATH_SEPARATOR + "#" in line or "\n" in line or not line.strip("# ")
        }
        addresses: list[str | None] = []
        for index, (line, path) in enumerate(zip(lines, self.paths, strict=True)):
            unique = lines.count(line) == 1
            # A heading that stands below no other has no longer path than its line.
            if odd.intersection(self.chain(index)) or self.paths.count(path) > 1 or (path == line and not unique):
                addresses.append(None)
            else:
                addresses.append(line if unique and len(self.chain(index)) <= 2 else path)
        return addresses

    def text_end(self, index: int) -> int:
        """The line behind the last one with text in a heading's own body."""
        heading = self.headings[index]
        end = heading.own_end
        while end > heading.body and not self.lines[end - 1].strip():
            end -= 1
        return end

    def is_blank(self, index: int) -> bool:
        """Whether a heading's own text is but the word that there is none."""
        heading = self.headings[index]
        return "\n".join(self.lines[heading.body : heading.own_end]).strip() == NOTHING_HERE

    def names(self, index: int, line: str) -> bool:
        """Whether one line alone of a heading's section, sub-sections included, says this."""
        heading = self.headings[index]
        said = " ".join(line.split())
        return sum(" ".join(other.split()) == said for other in self.lines[heading.body : heading.end]) == 1

    def body(self, index: int, without: Iterable[tuple[str, ...]] = (), plus: Sequence[str] = ()) -> str:
        """The text below a heading with its sub-sections, without some items (given by their lines).

        The lines `plus` are added to its own text, in front of the sub-sections.
        """
        heading = self.headings[index]
        gone: set[int] = set()
        for lines in without:
            item = next((item for item in heading.items if item.lines == lines and item.start not in gone), None)
            gone.update(item.span if item else ())
        kept = [line for line in range(heading.body, self.text_end(index)) if line not in gone]
        while kept and not self.lines[kept[-1]].strip():
            kept.pop()
        while kept and not self.lines[kept[0]].strip():
            kept.pop(0)
        own = [self.lines[line] for line in kept]
        if own == [NOTHING_HERE]:
            own = []
        if plus and own and not any(kept[-1] in item.span for item in heading.items):
            own.append("")
        return "\n".join([*own, *plus, "", *self.lines[heading.own_end : heading.end]]).strip("\n")


def read_outline(text: str) -> Outline:
    """The outline of a Markdown text; headings in code, quotes and list items are text, not structure."""
    # The parser ends lines at \n, \r\n and \r alone; str.splitlines knows more and would shift the numbers.
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    headings: list[Heading] = []
    tokens = block_parser().parse(text)
    for position, token in enumerate(tokens):
        if token.map is None:
            continue
        start, end = token.map
        if token.type == "heading_open" and token.level == 0:
            level = int(token.tag[1])
            _close(headings, start, level)
            parent = next(
                (i for i in range(len(headings) - 1, -1, -1) if headings[i].level < level and headings[i].end < 0), None
            )
            headings.append(Heading(level, tokens[position + 1].content, start, end, -1, -1, parent))
        elif token.type == "list_item_open" and token.level == 1 and headings:
            while end > start + 1 and not lines[end - 1].strip():
                end -= 1
            headings[-1].items.append(Item(start, tuple(lines[start:end])))
    _close(headings, len(lines), 0)
    return Outline(lines, headings)


def _close(headings: list[Heading], line: int, level: int) -> None:
    """A heading of this level begins at this line: end the sections that it ends."""
    if headings and headings[-1].own_end < 0:
        headings[-1].own_end = line
    for heading in headings:
        if heading.end < 0 and heading.level >= level:
            heading.end = line


def heal(text: str) -> str:
    """The text with a code fence or HTML block that runs into its end closed, so that a section can follow."""
    if _takes_heading(text):
        return text
    lines = text.rstrip("\n").split("\n")
    fences = [line.strip() for line in lines if line.strip()[:3] in ("```", "~~~")]
    marks = {"".join(char for char in fence if char == fence[0]) for fence in fences}
    closers = [*sorted(marks, key=len), "-->", "</script>", "</pre>", "</style>", "</textarea>", "?>", "]]>", ">"]
    for closer in closers:
        closed = "\n".join([*lines, closer]) + "\n"
        if _takes_heading(closed):
            return closed
    return text


def _takes_heading(text: str) -> bool:
    """Whether a heading at the end of the text would be one."""
    tokens = block_parser().parse(text + "\n\n# end")
    return len(tokens) >= 3 and tokens[-3].type == "heading_open" and tokens[-3].level == 0
