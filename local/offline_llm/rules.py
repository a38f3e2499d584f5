"""Read from rules which files a bank is to have, and which sections in each.

Any text may be the rules, so this reads what people usually write. Files: a name that ends in `.md`, in a heading, at
the start of a list item, a table row or a line, in a tree drawing, or else anywhere in a sentence. Sections of a file:
heading lines in backticks or code fences, sub-headings, list items that begin in bold or with a name and a colon, or a
list after "sections:".
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile

from local.offline_llm.blocks import Block, read_blocks
from local.offline_llm.layout import FileSpec, Section, is_per_day, title_of

DEFAULT_FILE = "notes.md"
DAY = "YYYY-MM-DD"

_FILE_NAME = re.compile(r"(?<![\w/:.<>{}-])(?<!(?<!\*)\*)[A-Za-z0-9][A-Za-z0-9._/-]*\.md\b(?![\w/-])")
_PREFIX = re.compile(r"^(?:\./|bank/|memory[_-]?bank/|\d+\.memory_bank/)+", re.IGNORECASE)
# A file name that opens its line, with any decoration before it.
_LEADING_NAME = re.compile(
    r"^(?:[\s*`\"'(\[├└│─|+]|\d+[.)]\s|-\s)*(?P<name>[A-Za-z0-9][A-Za-z0-9._/-]*\.md)\b(?![\w/-])"
)
_NOT = re.compile(r"\b(?:not|never|no|don't|without|nicht|niemals|kein\w*|pas|jamais|sans)\b", re.IGNORECASE)
_EXCEPT = re.compile(r"\b(?:except|other than|besides|apart from|unlike|instead of|außer|sauf)\b", re.IGNORECASE)
# Behind a name: "README.md must not be touched".
_NOT_THIS = re.compile(r"^\W*(?:must|should|may|shall|can|is|are|does|darf|ist)\s*(?:not|never|nicht)\b", re.IGNORECASE)
_HEADING_SPAN = re.compile(r"`\s*(?P<marks>#{1,6})\s(?P<text>[^`\n]+)`")
# "It has ## Done, ## Open and ## Next.": at least two of them.
_INLINE_HEADING = re.compile(
    r"(?<![\w#`])(?P<marks>#{2,6}) (?P<text>[^#`\n,;.:()]+?)(?=\s*(?:[,;.:()]|\b(?:and|et|und)\s+#|$))"
)
_HEADING_LINE = re.compile(r"^\s{0,3}(?P<marks>#{1,6})\s(?P<text>.+)$")
_BOLD_LEAD = re.compile(r"^(?:\*\*|__)(?P<text>[^*_\n]{1,80}?):?(?:\*\*|__)(?P<rest>.*)$", re.DOTALL)
_PLAIN_LEAD = re.compile(r"^(?P<text>[^:.\n]{1,60}?)\s*(?::\s|\s[-–—]\s|\s*—)(?P<rest>.*)$", re.DOTALL)
_SECTION_LIST = re.compile(
    r"\b(?:sections?|headings?|chapters?|rubriques?|abschnitte?|kapitel)\b[^:.]{0,40}?(?::|\bare\b|\bnamed\b|\bcalled\b)"
    r"\s*(?P<list>[^.\n]+)",
    re.IGNORECASE,
)
_SECTION_COLUMN = re.compile(r"section|heading|rubrique|abschnitt|chapter", re.IGNORECASE)
_DAY_HEADING = re.compile(r"YYYY|\d{4}-\d{2}-\d{2}|JJJJ|AAAA|^[<{\[]?\s*(?:the\s+)?date\s*[>}\]]?$", re.IGNORECASE)
_BY_DAY = re.compile(
    r"\b(?:sections?|headings?|entry|entries|chapters?)\b[^.\n]{0,20}\b(?:per|each|every|a|by)\s+(?:day|date)\b"
    r"|\b(?:grouped|organi[sz]ed|ordered)\s+by\s+(?:day|date)\b|\b(?:newest|latest)\s+day\b|\bday\s+by\s+day\b"
    r"|\bdaily\s+(?:log|journal|sections?|entries|notes)\b|\bpar\s+jour\b|\bpro\s+tag\b|\bje\s+tag\b",
    re.IGNORECASE,
)
# Sub-headings of a file's description that speak about the file and are not meant to stand in it.
_ABOUT = re.compile(
    r"^(?:sections?|structure|headings?|layout|format|contents?|examples?|updates?|when to update|guidelines?)\s*:?$",
    re.IGNORECASE,
)
_COMMENT = re.compile(r"<!--.{0,200}?-->")
_EDGES = " \t:;,-–—*_`\"'"


@dataclass
class _Draft:
    """A file while its description is being read: candidates for sections by how clearly they are meant."""

    name: str
    title: str = ""
    description: list[str] = field(default_factory=list)
    candidates: dict[int, list[Section]] = field(default_factory=dict)
    by_day: bool = False

    def propose(self, strength: int, sections: Iterable[Section]) -> None:
        """Note candidates; those without a word in them cannot be headings."""
        fit = [section for section in sections if re.search(r"[^\W_]", section.text) and "> #" not in section.text]
        if fit:
            self.candidates.setdefault(strength, []).extend(fit)


# How clearly a section is meant; only the clearest kind found for a file counts.
_EXACT, _SUBHEADING, _BOLD, _LISTED, _PLAIN = 5, 4, 3, 2, 1


def read_layout(rules: str) -> list[FileSpec]:
    """The files that a rules text asks for, in the order in which it introduces them; never empty.

    Without any file name in the rules: one `notes.md` whose entries are grouped by category.
    """
    # A comment is for programs: the mark of what is loaded first.
    blocks = [piece for block in read_blocks(_COMMENT.sub("", rules)) for piece in _pieces(block)]
    drafts: dict[str, _Draft] = {}
    for names, strength_base, block in _scoped(blocks):
        for name in names:
            _describe(drafts.setdefault(name, _Draft(name)), block, strength_base)
    if not drafts:
        for block in blocks:
            for name, sentence in _mentions(block.text).items():
                _add_description(drafts.setdefault(name, _Draft(name)), sentence)
        if len(drafts) == 1:
            # All headings are of the only file.
            (draft,) = drafts.values()
            for block in blocks:
                if _HEADING_SPAN.search(block.text):
                    _describe(draft, block, 0)
            draft.propose(_SUBHEADING, _bare_headings(blocks))
    if not drafts:
        drafts[DEFAULT_FILE] = _Draft(DEFAULT_FILE, by_day=bool(_BY_DAY.search(rules)))
    return [_finish(draft) for draft in drafts.values()]


def _pieces(block: Block) -> list[Block]:
    """The block, or each of its lines if several begin with the name of a file."""
    lines = block.text.split("\n")
    if block.kind == "text" and sum(bool(_LEADING_NAME.match(line)) for line in lines) > 1:
        return [replace(block, text=line) for line in lines]
    return [block]


def _bare_headings(blocks: Sequence[Block]) -> list[Section]:
    """The last headings of the rules with nothing below them, at least two: a skeleton rather than chapters."""
    bare = list(takewhile(lambda block: block.kind == "heading", reversed(blocks)))[::-1]
    return [_section(max(2, block.level), block.text, "") for block in bare] if len(bare) > 1 else []


def _scoped(blocks: list[Block]) -> Iterator[tuple[list[str], int, Block]]:
    """Each block that describes files, with their names and the level at which their own description starts."""
    scope: list[str] = []
    base = 0
    origin = ""  # the kind of block that opened the scope
    for block in blocks:
        names = _names_opened(block, origin)
        if names:
            scope, base, origin = names, block.level, block.kind
        elif _closes(block, base, origin):
            scope, origin = [], ""
        if scope:
            yield scope, base, block
        if block.kind in ("row", "fence") and origin == block.kind:
            scope, origin = [], ""


def _names_opened(block: Block, origin: str) -> list[str]:
    """The files whose description begins with this block."""
    if block.kind == "heading":
        return list(_mentions(block.text))
    if origin == "heading":
        return []
    if block.kind == "row":
        return next((list(names) for cell in block.cells if (names := _mentions(cell))), [])
    if block.kind == "fence":
        return []
    lead = _LEADING_NAME.match(block.text)
    if lead is None or _NOT_THIS.search(block.text[lead.end() :]):
        return []
    name = _bank_path(lead.group("name"))
    return [name] if name else []


def _closes(block: Block, base: int, origin: str) -> bool:
    if origin == "heading":
        return block.kind == "heading" and block.level <= base
    if origin == "item":
        return block.kind == "heading" or block.level < base or (block.level == base and block.kind == "item")
    return block.kind in ("heading", "row") or origin == "row"


def _describe(draft: _Draft, block: Block, base: int) -> None:
    """Take from one block the facts about a file: sections, or else a description."""
    text = block.text
    if _BY_DAY.search(text):
        draft.by_day = True
    if block.kind == "fence":
        draft.propose(_EXACT, _fence_sections(text))
        return
    inline = list(_INLINE_HEADING.finditer(text)) if block.kind in ("text", "item") else []
    if spans := list(_HEADING_SPAN.finditer(text)) or (inline if len(inline) > 1 else []):
        ends = [span.start() for span in spans[1:]] + [len(text)]
        draft.propose(
            _EXACT,
            (
                _section(len(span["marks"]), span["text"], text[span.end() : end])
                for span, end in zip(spans, ends, strict=True)
            ),
        )
        return
    name_here = _own_name(draft.name, text)
    if name_here is not None:
        _describe_opening(draft, block, text[name_here:])
    elif block.kind == "heading":
        if not _ABOUT.match(text):
            draft.propose(_SUBHEADING, [_section(2 + block.level - base - 1, text, "")])
    elif listed := _listed_sections(text):
        draft.propose(_LISTED, listed)
    elif block.kind == "item":
        _describe_item(draft, text)
    else:
        _add_description(draft, text)


def _describe_opening(draft: _Draft, block: Block, rest: str) -> None:
    """Read the block that names the file: the text behind the name describes it."""
    if block.kind == "row":
        for index, cell in enumerate(block.cells):
            if _own_name(draft.name, cell) is not None:
                continue
            if index < len(block.header) and _SECTION_COLUMN.search(block.header[index]):
                draft.propose(_LISTED, _split_list(cell))
            else:
                _add_description(draft, cell)
        return
    if listed := _listed_sections(rest):
        draft.propose(_LISTED, listed)
    cleaned = rest.strip(_EDGES + ")]")
    if block.kind == "heading":
        draft.title = draft.title or cleaned
    _add_description(draft, cleaned)


def _describe_item(draft: _Draft, text: str) -> None:
    if bold := _BOLD_LEAD.match(text):
        draft.propose(_BOLD, [_section(2, bold["text"], bold["rest"])])
    elif line := _HEADING_LINE.match(text):
        draft.propose(_EXACT, [_section(len(line["marks"]), line["text"], "")])
    elif lead := _PLAIN_LEAD.match(text):
        draft.propose(_PLAIN, [_section(2, lead["text"], lead["rest"])])
    elif len(text.split()) <= 5 and not text.rstrip().endswith((".", "!", ";")):
        draft.propose(_PLAIN, [_section(2, text, "")])
    else:
        _add_description(draft, text)


def _add_description(draft: _Draft, text: str) -> None:
    """Add a sentence on the file, or on the section whose sub-heading stands right above it."""
    if not text.strip():
        return
    below = draft.candidates.get(_SUBHEADING)
    if below and not below[-1].description:
        below[-1] = replace(below[-1], description=_first_sentence(text))
    else:
        draft.description.append(_first_sentence(text))


def _finish(draft: _Draft) -> FileSpec:
    """The file as its clearest candidates describe it."""
    found = draft.candidates.get(max(draft.candidates, default=0), [])
    sections: dict[tuple[int, str], Section] = {}
    for section in found:
        # One section stands for all days; further dates are examples of it.
        key = (0, DAY) if section.day else (section.level, section.text.casefold())
        sections.setdefault(key, section)
    ordered = list(sections.values())
    top = [section for section in ordered if section.level == 1]
    title = draft.title
    if len(top) == 1 and ordered[0] is top[0] and not top[0].day:
        title = ordered.pop(0).text
    if draft.by_day and not is_per_day(draft.name) and not any(section.day for section in ordered):
        down = 3 - min((section.level for section in ordered), default=3)
        ordered = [Section(2, DAY, day=True), *(replace(section, level=section.level + down) for section in ordered)]
    return FileSpec(
        draft.name, title or title_of(draft.name), " ".join(draft.description[:2]), tuple(_levels_in_steps(ordered))
    )


def _levels_in_steps(sections: list[Section]) -> list[Section]:
    """No section may stand more than one level below the one before it (it had no parent), and none above the first."""
    steady: list[Section] = []
    for section in sections:
        ceiling = steady[-1].level + 1 if steady else section.level
        floor = steady[0].level if steady else section.level
        level = max(floor, min(section.level, ceiling, 6))
        steady.append(Section(level, section.text, section.description, section.day))
    return steady


def _section(level: int, text: str, rest: str) -> Section:
    plain = " ".join(text.split())[:120].strip(_EDGES + "#")
    return Section(
        min(max(level, 1), 6), plain, _first_sentence(rest.strip(_EDGES + ")")), bool(_DAY_HEADING.search(plain))
    )


def _fence_sections(text: str) -> list[Section]:
    """The heading lines inside a code fence, each described by the line below it."""
    sections = []
    lines = text.split("\n")
    for index, line in enumerate(lines):
        if heading := _HEADING_LINE.match(line):
            below = next((other for other in lines[index + 1 :] if other.strip()), "")
            rest = "" if _HEADING_LINE.match(below) else below
            sections.append(_section(len(heading["marks"]), heading["text"], rest))
    return sections


def _listed_sections(text: str) -> list[Section]:
    match = _SECTION_LIST.search(text)
    return _split_list(match["list"]) if match else []


def _split_list(text: str) -> list[Section]:
    parts = re.split(r"[,;/·•\n]|<br\s*/?>|\band\b|\bet\b|\bund\b", text)
    return [_section(2, part.strip(" ()[]#"), "") for part in parts if 0 < len(part.split()) <= 6]


def _mentions(text: str) -> dict[str, str]:
    """The bank files that a text names, each with its sentence, unless that says what not to do."""
    names: dict[str, str] = {}
    for sentence in re.split(r"(?<=[.!?])\s+|\n", text):
        for match in _FILE_NAME.finditer(sentence):
            name = _bank_path(match.group())
            if name and not _is_ruled_out(sentence, match):
                names.setdefault(name, sentence.strip(_EDGES + "├└│─#"))
    return names


def _is_ruled_out(sentence: str, name: re.Match[str]) -> bool:
    """Whether a sentence says not to have the file that it names: a "not" before it, or an "except", but not both."""
    before = sentence[: name.start()]
    return bool(_NOT.search(before)) != bool(_EXCEPT.search(before)) or bool(_NOT_THIS.search(sentence[name.end() :]))


def _bank_path(name: str) -> str | None:
    """A file name as a bank path (docs/consolidation.md), or None where none can be made of it."""
    path = _PREFIX.sub("", name.strip("`*_ "))
    parts = path.split("/")
    if len(path) > 200 or path.startswith("_") or any(part in ("", ".", "..") for part in parts):
        return None
    return path if path.endswith(".md") and path != ".md" else None


def _own_name(name: str, text: str) -> int | None:
    """Where in a text the file's name ends, or None if it does not occur."""
    for match in _FILE_NAME.finditer(text):
        if _bank_path(match.group()) == name:
            return match.end()
    return None


def _first_sentence(text: str) -> str:
    """What a description says about its subject; later sentences tell the writer what to do."""
    return re.split(r"(?<=[.!?])\s", " ".join(text.split()), maxsplit=1)[0].strip()
