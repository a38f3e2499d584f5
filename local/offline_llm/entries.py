"""A note as an entry of a bank file: one bullet, whose text cannot change the structure of the file around it."""

import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass

from local.offline_llm.prompt import PromptError
from local.offline_llm.sentences import FENCED

_LINE_ENDS = re.compile(r"\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufeff]")
# Lines that begin a block of their own: the first paragraph of a note ends above them.
_BLOCK_START = re.compile(r"^\s{0,3}(?:[-+*](?:\s|$)|\d{1,9}[.)](?:\s|$)|>|`{3,}|~{3,}|\||#|\[[^\]]*\]:)|^(?: {4}|\t)")
# What is more than text of one item: headings, rules, definitions, HTML, and blocks deep in each other.
_STRUCTURE = re.compile(
    r"^[ >+*-]{0,12}(?:\d{1,9}[.)] )?(?:#{1,6}(?:\s|$)|=+[ \t]*$|(?:[-*_][ \t]*){3,}$|-+[ \t]*$)|^[ \t]*\["
    r"|<(?=[A-Za-z/!?])(?!(?:https?|mailto|ftp):)|^[ \t]{16,}[-+*>\d]|^(?:[ \t]*(?:[>+*-]|\d{1,9}[.)])){8}",
    re.MULTILINE,
)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}(?:$|[T ]\d{2}:\d{2})")
_UNDATED = ("undated", "sans date")
_LEAD = ("A note of category {}:", "Une note de la catégorie {} :")
_STAMP = re.compile(rf" ?\((?:\d{{4}}-\d{{2}}-\d{{2}}|{'|'.join(_UNDATED)})(?:, [^()\n]{{1,80}})?\)$", re.MULTILINE)
_MARKER = re.compile(r"^\s*(?:[-+*]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?")


@dataclass(frozen=True)
class Note:
    """A live note. `number` is what the answer cites."""

    number: int
    moment: str
    """When it was said, as ISO 8601."""
    agent: str
    category: str
    content: str
    author: str = ""

    @property
    def day(self) -> str:
        """The date of its moment, "" if unknown."""
        return self.moment[:10] if _DAY.match(self.moment) else ""

    @property
    def text(self) -> str:
        """Its content with plain line ends, no control characters and no blank edges."""
        return _CONTROLS.sub("", _LINE_ENDS.sub("\n", self.content)).strip()

    @property
    def who(self) -> str:
        """Its speaker or author, without brackets."""
        name = _CONTROLS.sub("", re.sub(r"[()]", " ", self.author or self.agent))
        return " ".join(name.split())[:80]


def read_note(row: object) -> Note:
    """A note of a prompt. Raises PromptError if its number or text is wrong; all else may be."""
    number, moment, agent, category, content, more, *_ = [*row, *[None] * 6] if isinstance(row, list) else [None] * 6
    if type(number) is not int or not isinstance(content, str):
        raise PromptError("Each note must be an array: a number, time, agent, category, and its text.")
    author = more.get("author") if isinstance(more, dict) else None
    texts = (text if isinstance(text, str) else "" for text in (moment, agent, category, content, author))
    return Note(number, *texts)


def write_entry(note: Note, *, french: bool = False) -> tuple[str, ...]:
    """The lines of a note's bullet, its day and author behind the first paragraph: one list item for any text."""
    stamp = f"({', '.join(filter(None, (note.day or _UNDATED[french], note.who)))})"
    lead = _LEAD[french].format(re.sub("[^a-z]", "", note.category)[:20] or "?")
    text, lines = note.text, note.text.split("\n")
    end = next((at for at, line in enumerate(lines) if not line.strip() or _BLOCK_START.match(line)), len(lines))
    first = [line.strip() for line in lines[:end]] or [lead]
    first[-1] += f" {stamp}"
    if not _STRUCTURE.search(FENCED.sub("", text)):
        return _item(first, lines[end:])
    fence = "`" * max([3, *(len(run) + 1 for run in re.findall(r"`{3,}", text))])
    return _item([f"{lead} {stamp}"], [fence, *lines, fence])


def own_text(item: Iterable[str]) -> str:
    """What an entry says, without bullet and stamp."""
    return _STAMP.sub("", _MARKER.sub("", "\n".join(item), count=1), count=1)


def stamped_day(item: Iterable[str]) -> str:
    """The day of an entry, "" if it has none."""
    stamp = _STAMP.search("\n".join(item))
    day = stamp[0].lstrip(" (")[:10] if stamp else ""
    return day if _DAY.match(day) else ""


def _item(first: list[str], rest: list[str]) -> tuple[str, ...]:
    rest = list(itertools.dropwhile(lambda line: not line.strip(), rest))
    below = ["", *(f"  {line}".rstrip() for line in rest)] if rest else []
    return (f"- {first[0]}", *(f"  {line}" for line in first[1:]), *below)
