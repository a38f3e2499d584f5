"""A note as an entry of a bank file: one bullet, whose text cannot change the structure of the file around it."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from local.offline_llm.markdown import block_parser
from local.offline_llm.texts import ENGLISH, FRENCH, Texts
from local.offline_llm.words import normalise

_LINE_ENDS = re.compile(r"\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufeff]")
_FENCE = re.compile(r"^\s{0,3}(?P<marks>`{3,}|~{3,})(?P<info>.*)$")
_ATX = re.compile(r"^\s{0,3}#{1,6}(?:\s|$)")
# Lines that would draw a rule or turn the paragraph above into a heading.
_RULE = re.compile(r"^\s{0,3}(?:(?:-\s*)+|(?:=\s*)+|(?:\*\s*){3,}|(?:_\s*){3,})$")
_DEFINITION = re.compile(r"^\s{0,3}\[[^\]]*\]:")
# A text of paragraphs and simple list items: every line begins with a letter (no rule, underline or heading does).
_PLAIN_LINES = re.compile(r"(?:(?:[-*+] )?[^\W\d_][^\n]*\n+)*(?:[-*+] )?[^\W\d_][^\n]*")
# Lines that begin a block of their own: the first paragraph of a note ends above them.
_BLOCK_START = re.compile(r"^\s{0,3}(?:[-+*]\s|\d{1,9}[.)]\s|>|`{3,}|~{3,}|\||#)|^(?: {4}|\t)")
_HTML = re.compile(r"<(?=[A-Za-z/!?])(?!(?:https?|mailto|ftp):)")
_TICKS = re.compile(r"`+")
# Ten quotes or lists in each other on one line. The parser scans all lines again for each quote, which takes seconds.
_DEEP = re.compile(r"^(?:\s*(?:[>+*-]|\d{1,9}[.)])){10}")
_DEEPEST = 16  # levels of tokens, two for each list; the service refuses a file with lists 20 deep
_MOMENT = re.compile(r"^\d{4}-\d{2}-\d{2}(?:$|[T ]\d{2}:\d{2})")
_LANGUAGES = (ENGLISH, FRENCH)
_UNDATED = "|".join(texts.undated for texts in _LANGUAGES)
_STAMP = re.compile(rf" ?\((?:\d{{4}}-\d{{2}}-\d{{2}}|{_UNDATED})(?:[,;] [^()\n]{{1,240}})?\)(?=[.]?$)", re.MULTILINE)
_KINDS = {label: kind for texts in _LANGUAGES for kind, label in texts.labels.items()}
_LABEL = re.compile(rf"^\*\*(?P<label>{'|'.join(_KINDS)})\*\*\s+")
_MARKER = re.compile(r"^(?P<marker>\s*(?:[-+*]|\d{1,9}[.)])\s+)(?:\[[ xX]\]\s+)?")
_CLOSED = "|".join(label for texts in _LANGUAGES for label in texts.closed.values())
_CLOSED_LINE = re.compile(rf"^(?:{_CLOSED}): ")


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


@dataclass(frozen=True)
class Closed:
    """An open entry that a later note closes, or a statement that it replaces.

    `kind` is "" where its section holds more than one kind.
    """

    kind: str
    source: tuple[str, ...]  # the lines of its bullet


def clean_text(content: str) -> str:
    """A note's text with plain line ends, no control characters and no blank edges."""
    text = _LINE_ENDS.sub("\n", content)
    return _CONTROLS.sub("", text).strip()


def stamp(note: Note, extra: str = "", texts: Texts = ENGLISH) -> str:
    """Date and author in brackets, as they stand at the end of an entry."""
    who = " ".join(re.sub(r"[()\n]", " ", clean_text(note.author or note.agent)).split())[:80]
    parts = [note.day or texts.undated, who] if who else [note.day or texts.undated]
    return f"({', '.join(parts)}{'; ' + extra if extra else ''})"


def write_entry(note: Note, closed: Sequence[Closed] = (), texts: Texts = ENGLISH) -> tuple[str, ...]:
    """The lines of a note's bullet, with the entries that it closes below it.

    The result is always exactly one list item: where escaping cannot make sure of that, the text goes into a fence.
    """
    text = clean_text(note.content)
    # Where the note says all that the closed entry said, only its date and author are news.
    said = normalise(text) if closed else ""
    repeated = [entry for entry in closed if len(entry.source) == 1 and own_text(entry.source) in said]
    stamped = stamp(note, "; ".join(_origin(entry, texts) for entry in repeated), texts)
    lead, rest = _lead_and_rest(_escape_blocks(text), _lead(note, texts))
    lines = _bullet(lead, stamped, rest)
    if not _PLAIN_LINES.fullmatch(text) and not _is_one_item(lines):
        fence = "`" * max([3, *(len(run) + 1 for run in re.findall(r"`{3,}", text))])
        lines = _bullet(_lead(note, texts), stamped, [fence, *text.split("\n"), fence])
    for entry in closed:
        if entry not in repeated:
            lines += _quote_closed(entry, texts)
    return tuple(lines)


def label_entry(lines: tuple[str, ...], kind: str, texts: Texts) -> tuple[str, ...]:
    """The bullet with its kind in front, for sections that mix kinds."""
    return (f"- **{texts.labels[kind]}** {lines[0].removeprefix('- ')}", *lines[1:])


def own_text(item: Iterable[str]) -> str:
    """What an entry says, without bullet, stamp and closed entries below it: equal texts are repeats."""
    lines = list(item)
    marker = _MARKER.match(lines[0]) if lines else None
    width = len(marker["marker"]) if marker else 0
    body = [lines[0][marker.end() if marker else 0 :], *(_dedent(line, width) for line in lines[1:])] if lines else []
    end = next((at for at, line in enumerate(body) if at and _CLOSED_LINE.match(line.removeprefix("- "))), len(body))
    return normalise(_LABEL.sub("", _STAMP.sub("", "\n".join(body[:end]), count=1)))


def first_paragraph(item: Iterable[str]) -> str:
    """The first paragraph of an entry as one line, without bullet and stamp."""
    lines = list(item)
    paragraph: list[str] = []
    for line in lines:
        if not line.strip():
            break
        if paragraph and _BLOCK_START.match(line.strip()):
            break
        paragraph.append(line)
    text = " ".join(part.strip() for part in paragraph)
    return _LABEL.sub("", _STAMP.sub("", _MARKER.sub("", text, count=1), count=1)).strip()


def without_closed(item: Sequence[str]) -> tuple[str, ...]:
    """The lines of an entry without the entries that it closed or replaced itself: the history has those."""
    marker = _MARKER.match(item[0]) if item else None
    width = len(marker["marker"]) if marker else 0
    ends = (at for at, line in enumerate(item) if at and _CLOSED_LINE.match(_dedent(line, width).removeprefix("- ")))
    return tuple(item[: next(ends, len(item))])


def labelled_kind(item: Iterable[str]) -> str:
    """The kind that an entry's label names, "" if it has none."""
    found = _LABEL.match(_MARKER.sub("", next(iter(item), ""), count=1))
    return _KINDS[found["label"]] if found else ""


def _bullet(lead: str, stamped: str, rest: list[str]) -> list[str]:
    text = f"{lead} {stamped}" if lead else stamped
    first, *others = text.split("\n")
    lines = [f"- {first}", *(f"  {line}" for line in others)]
    if rest:
        lines += ["", *(f"  {line}" if line.strip() else "" for line in rest)]
    return lines


def _lead_and_rest(lines: list[str], lead: str) -> tuple[str, list[str]]:
    """The first paragraph and what follows it; a note that begins with a list, a quote or code gets a lead."""
    if lines and _BLOCK_START.match(lines[0]):
        return lead, lines
    end = next(
        (at for at, line in enumerate(lines) if not line.strip() or (at and _BLOCK_START.match(line))), len(lines)
    )
    rest = lines[end:]
    while rest and not rest[0].strip():
        rest = rest[1:]
    return "\n".join(line.strip() for line in lines[:end]), rest


def _lead(note: Note, texts: Texts) -> str:
    return texts.note_of.format(category=re.sub("[^a-z]", "", note.category)[:20] or texts.unknown)


def _escape_blocks(text: str) -> list[str]:
    """The lines of a text with headings made bold, rules and HTML escaped, and an unclosed fence closed."""
    lines: list[str] = []
    fence = ""
    indented = False  # inside an indented code block
    for source in text.split("\n"):
        line = re.sub(r"^\t+", lambda tabs: "    " * len(tabs.group()), source).rstrip()
        marks = _FENCE.match(line)
        indented = line.startswith("    ") and (indented or not lines or not lines[-1]) if line else indented
        if fence:
            lines.append(line)
            if marks and marks["marks"].startswith(fence) and not marks["info"].strip():
                fence = ""
        elif marks and not ("`" in marks["info"] and marks["marks"][0] == "`"):
            fence = marks["marks"]
            lines.append(line)
        else:
            lines.append(line if indented else _escape_line(line))
    return [*lines, fence] if fence else lines


def _escape_line(line: str) -> str:
    if _ATX.match(line):
        text = line.strip().strip("#").strip()
        return f"**{_escape_html(text)}**" if text and "*" not in text else "\\" + line.strip()
    if _RULE.match(line) and line.strip():
        return "\\" + line.strip()
    if _DEFINITION.match(line):
        return "\\" + line.strip()
    return _escape_html(line)


def _escape_html(line: str) -> str:
    """Angle brackets that would be read as tags, outside code spans."""
    if "<" not in line:
        return line
    parts = []
    position = 0
    for start, end in _code_spans(line):
        parts += [_HTML.sub(r"\\<", line[position:start]), line[start:end]]
        position = end
    return "".join([*parts, _HTML.sub(r"\\<", line[position:])])


def _code_spans(line: str) -> list[tuple[int, int]]:
    """Where code spans stand: from a run of backticks to the next run of the same length."""
    runs = list(_TICKS.finditer(line))
    closing: list[int | None] = [None] * len(runs)
    later: dict[int, int] = {}
    for index in range(len(runs) - 1, -1, -1):
        length = len(runs[index].group())
        closing[index] = later.get(length)
        later[length] = index
    spans = []
    index = 0
    while index < len(runs):
        close = closing[index]
        if close is not None:
            spans.append((runs[index].start(), runs[close].end()))
            index = close
        index += 1
    return spans


def _is_one_item(lines: list[str]) -> bool:
    """Whether a Markdown reader sees one list with one item and no heading or HTML in it."""
    if any(_DEEP.match(line) for line in lines):
        return False
    # A neighbour on each side shows whether the entry keeps to itself.
    tokens = block_parser().parse("\n".join(["- before", *lines, "- after", "", "# after"]))
    outer = [token.type for token in tokens if token.level == 0]
    items = sum(token.type == "list_item_open" and token.level == 1 for token in tokens)
    # Level 2 is the entry's own; deeper, inside a quote or a nested list, a heading stays where it is.
    own = {token.type for token in tokens if token.level == 2}
    html = any(token.type == "html_block" for token in tokens)
    outline = ["bullet_list_open", "bullet_list_close", "heading_open", "heading_close"]
    shallow = max(token.level for token in tokens) <= _DEEPEST
    return outer == outline and items == 3 and shallow and not html and not own & {"heading_open", "hr"}


def _origin(entry: Closed, texts: Texts) -> str:
    """What a closed entry was, with its date and author: "todo of 2026-11-21, lead"."""
    found = _STAMP.search(entry.source[0])
    kind = texts.kinds.get(entry.kind, entry.kind)
    return texts.of.format(kind=kind, stamp=found.group().strip(" ()")) if found else texts.was.format(kind=kind)


def _quote_closed(entry: Closed, texts: Texts) -> list[str]:
    """A closed entry as a nested bullet that says what it was."""
    marker = _MARKER.match(entry.source[0])
    width = len(marker["marker"]) if marker else 0
    first = entry.source[0][marker.end() if marker else 0 :].strip()
    rest = [_dedent(line, width) for line in entry.source[1:]]
    return [f"  - {texts.closed[entry.kind]}: {first}", *(f"    {line}" if line.strip() else "" for line in rest)]


def _dedent(line: str, width: int) -> str:
    lead = len(line) - len(line.lstrip(" "))
    return line[min(lead, width) :]
