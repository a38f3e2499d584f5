"""A bank file as an outline: its headings and, below each, the list items that stand in it.

Only light reading: line numbers from markdown-it-py's token positions, nothing is rendered. The edits themselves
are applied by the service, not here.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from local.offline_llm.markdown import block_parser

_PATH_SEPARATOR = " > "


@dataclass(frozen=True)
class Item:
    """One item of a top-level list: `lines` are its source lines, from line `start` of the file on."""

    start: int
    lines: tuple[str, ...]


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

    def _chain(self, index: int) -> list[int]:
        """The headings around a heading, outermost first, itself last."""
        chain = [index]
        while (above := self.headings[chain[0]].parent) is not None:
            chain.insert(0, above)
        return chain

    @cached_property
    def addresses(self) -> list[str | None]:
        """How an edit names each heading: its line if unique, else its path; None where neither tells it apart.

        Below the second level it is always the path: a line that is unique now need not be when another edit is done.
        """
        lines = [heading.line for heading in self.headings]
        chains = [self._chain(index) for index in range(len(lines))]
        paths = [_PATH_SEPARATOR.join(lines[above] for above in chain) for chain in chains]
        # A separator inside a heading would make a path ambiguous; an underlined heading may span lines.
        odd = {
            i for i, line in enumerate(lines) if _PATH_SEPARATOR + "#" in line or "\n" in line or not line.strip("# ")
        }
        addresses: list[str | None] = []
        for line, path, chain in zip(lines, paths, chains, strict=True):
            unique = lines.count(line) == 1
            # A heading that stands below no other has no longer path than its line.
            if odd.intersection(chain) or paths.count(path) > 1 or (path == line and not unique):
                addresses.append(None)
            else:
                addresses.append(line if unique and len(chain) <= 2 else path)
        return addresses

    def text_end(self, index: int) -> int:
        """The line behind the last one with text in a heading's own body."""
        heading = self.headings[index]
        end = heading.own_end
        while end > heading.body and not self.lines[end - 1].strip():
            end -= 1
        return end

    def names(self, index: int, line: str) -> bool:
        """Whether one line alone of a heading's section, sub-sections included, says this."""
        heading = self.headings[index]
        said = " ".join(line.split())
        return sum(" ".join(other.split()) == said for other in self.lines[heading.body : heading.end]) == 1

    def body(self, index: int, without: Sequence[Item]) -> str:
        """The text below a heading with its sub-sections, without some items."""
        heading = self.headings[index]
        gone = {line for item in without for line in range(item.start, item.start + len(item.lines))}
        return "\n".join(self.lines[line] for line in range(heading.body, heading.end) if line not in gone).strip("\n")


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
    marks = {line.strip()[: len(line.strip()) - len(line.strip().lstrip("`~"))] for line in text.split("\n")}
    closers = [*sorted(marks, key=len), "-->", "</script>", "</pre>", "</style>", "</textarea>", "?>", "]]>", ">"]
    candidates = [text, *("\n".join([text.rstrip("\n"), closer]) + "\n" for closer in closers)]
    return next((candidate for candidate in candidates if _takes_heading(candidate)), text)


def _takes_heading(text: str) -> bool:
    """Whether a heading at the end of the text would be one."""
    tokens = block_parser().parse(text + "\n\n# end")
    return len(tokens) >= 3 and tokens[-3].type == "heading_open" and tokens[-3].level == 0
