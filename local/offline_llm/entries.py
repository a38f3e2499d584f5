"""A note as an entry of a bank file: one bullet, whose text cannot change the structure of the file around it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from local.offline_llm.markdown import block_parser
from local.offline_llm.words import normalise

_LINE_ENDS = re.compile(r"\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufeff]")
# A text of paragraphs and simple list items: every line begins with a letter (no rule, underline or heading does).
_PLAIN_LINES = re.compile(r"(?:(?:[-*+] )?[^\W\d_][^\n]*\n+)*(?:[-*+] )?[^\W\d_][^\n]*")
# Lines that begin a block of their own: the first paragraph of a note ends above them.
_BLOCK_START = re.compile(r"^\s{0,3}(?:[-+*]\s|\d{1,9}[.)]\s|>|`{3,}|~{3,}|\||#|\[[^\]]*\]:)|^(?: {4}|\t)")
_HTML = re.compile(r"<(?=[A-Za-z/!?])(?!(?:https?|mailto|ftp):)")
# Ten quotes or lists in each other on one line. The parser scans all lines again for each quote, which takes seconds.
_DEEP = re.compile(r"^(?:\s*(?:[>+*-]|\d{1,9}[.)])){10}")
_DEEPEST = 16  # levels of tokens, two for each list; the service refuses a file with lists 20 deep
_MOMENT = re.compile(r"^\d{4}-\d{2}-\d{2}(?:$|[T ]\d{2}:\d{2})")
_UNDATED = ("undated", "sans date")
_LEAD = ("A note of category {}:", "Une note de la catégorie {} :")
_STAMP = re.compile(rf" ?\((?:\d{{4}}-\d{{2}}-\d{{2}}|{'|'.join(_UNDATED)})(?:, [^()\n]{{1,80}})?\)$", re.MULTILINE)
_MARKER = re.compile(r"^\s*(?:[-+*]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?")


@dataclass(frozen=True)
class Note:
    """A live note as the prompt gives it. `number` is what the answer cites."""

    number: int
    timestamp: str
    agent: str
    category: str
    tags: tuple[str, ...]
    content: str
    author: str = ""

    @property
    def moment(self) -> str:
        """When it was, as ISO 8601, "" if unknown.

        A tag that is a date or a time goes before the timestamp: it is how a note that was recorded elsewhere and
        posted later tells its true time.
        """
        return next((text for text in (*self.tags, self.timestamp) if _MOMENT.match(text)), "")

    @property
    def day(self) -> str:
        """The date of its moment, "" if unknown."""
        return self.moment[:10]


def clean_text(content: str) -> str:
    """A note's text with plain line ends, no control characters and no blank edges."""
    return _CONTROLS.sub("", _LINE_ENDS.sub("\n", content)).strip()


def write_entry(note: Note, *, french: bool = False) -> tuple[str, ...]:
    """The lines of a note's bullet, its day and author behind the first paragraph.

    The result is always exactly one list item: a text that would be more goes into a fence.
    """
    text = clean_text(note.content)
    who = " ".join(re.sub(r"[()\n]", " ", clean_text(note.author or note.agent)).split())[:80]
    stamp = f"({', '.join(filter(None, (note.day or _UNDATED[french], who)))})"
    lead = _LEAD[french].format(re.sub("[^a-z]", "", note.category)[:20] or "?")
    lines = text.split("\n")
    end = next((at for at, line in enumerate(lines) if not line.strip() or _BLOCK_START.match(line)), len(lines))
    first = [line.strip() for line in lines[:end]] or [lead]
    first[-1] += f" {stamp}"
    bullet = _item(first, lines[end:])
    if (_PLAIN_LINES.fullmatch(text) and not _HTML.search(text)) or _is_one_item(bullet):
        return bullet
    fence = "`" * max([3, *(len(run) + 1 for run in re.findall(r"`{3,}", text))])
    return _item([f"{lead} {stamp}"], [fence, *lines, fence])


def _item(first: list[str], rest: list[str]) -> tuple[str, ...]:
    while rest and not rest[0].strip():
        rest = rest[1:]
    below = ["", *(f"  {line}".rstrip() for line in rest)] if rest else []
    return (f"- {first[0]}", *(f"  {line}" for line in first[1:]), *below)


def own_text(item: Iterable[str]) -> str:
    """What an entry says, without bullet and stamp: equal texts are repeats."""
    return normalise(_STAMP.sub("", _MARKER.sub("", "\n".join(item), count=1), count=1))


def _is_one_item(lines: tuple[str, ...]) -> bool:
    """Whether a Markdown reader sees one list with one item and no heading, rule, definition or HTML in it."""
    if any(_DEEP.match(line) or line.lstrip().startswith("[") for line in lines):
        return False
    # A neighbour on each side shows whether the entry keeps to itself.
    tokens = block_parser().parse("\n".join(["- before", *lines, "- after", "", "# after"]))
    outer = [token.type for token in tokens if token.level == 0]
    items = sum(token.type == "list_item_open" and token.level == 1 for token in tokens)
    # Level 2 is the entry's own; deeper, inside a quote or a nested list, a heading stays where it is.
    own = {token.type for token in tokens if token.level == 2}
    html = any(_HTML.search(token.content) for token in tokens if token.type in ("inline", "html_block"))
    outline = ["bullet_list_open", "bullet_list_close", "heading_open", "heading_close"]
    shallow = max(token.level for token in tokens) <= _DEEPEST
    return outer == outline and items == 3 and shallow and not html and not own & {"heading_open", "hr"}
