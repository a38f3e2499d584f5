"""Read from rules which files a bank is to have, and which sections in each.

Files: a name that ends in `.md`, in a heading, at the start of a list item or a line, or else anywhere in a sentence.
Sections of a file: heading lines in backticks or code fences, sub-headings, or list items that begin in bold or with a
name and a colon. Of these kinds only the clearest counts for a file.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

DEFAULT_FILE = "notes.md"

_FILE_NAME = re.compile(r"(?<![\w/:.<>{}-])(?<!(?<!\*)\*)[A-Za-z0-9][A-Za-z0-9._/-]*\.md\b(?![\w/-])")
_PREFIX = re.compile(r"^(?:\./|bank/|memory[_-]?bank/)+", re.IGNORECASE)
_LEADING = re.compile(r"^[\s*`\"'(\[├└│─|+#-]*(?:\d+[.)]\s+)?[*`]*$")
_NOT = re.compile(r"\b(?:not|never|no|don't|without|nicht|niemals|kein\w*|pas|jamais|sans)\b", re.IGNORECASE)
_NOT_THIS = re.compile(r"^\W*(?:must|should|may|shall|can|is|are|does|darf|ist)\s*(?:not|never|nicht)\b", re.IGNORECASE)
_SPAN = re.compile(r"`\s*(?P<marks>#{1,6})\s(?P<text>[^`\n]+)`(?P<rest>[^`]*)")
_HEADING = re.compile(r"^\s{0,3}(?P<marks>#{1,6})\s+(?P<text>.+)$")
_ITEM = re.compile(r"^\s*(?:[-*+]|\d{1,3}[.)])\s+(?P<text>.+)$")
_BOLD = re.compile(r"^(?:\*\*|__)(?P<text>[^*_\n]{1,80}?)\s?:?(?:\*\*|__)(?P<rest>.*)$")
_NAMED = re.compile(r"^(?P<text>[^:.\n]{1,60}?)\s*(?::\s|\s[-–—]\s)(?P<rest>.*)$")
_DAY = re.compile(r"YYYY|\d{4}-\d{2}-\d{2}|JJJJ|AAAA|^[<{\[]?\s*(?:the\s+)?date\s*[>}\]]?$", re.IGNORECASE)
_PATTERN_OF_DAY = re.compile(r"YYYY-MM-DD|YYYY-MM|YYYY")
_SPLIT_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[_-]+")
_COMMENT = re.compile(r"<!--.{0,200}?-->")
_EDGES = " \t:;,-–—*_`\"'#"
_EXACT, _SUBHEADING, _BOLD_ITEM, _PLAIN_ITEM = 4, 3, 2, 1


@dataclass(frozen=True)
class Section:
    """One heading that a file must have. `day` marks the heading that stands for a date and returns for each."""

    level: int
    text: str
    description: str = ""
    day: bool = False


Path = tuple[Section, ...]


@dataclass(frozen=True)
class FileSpec:
    """One file of the bank as the rules describe it. No sections: entries are grouped by category. `day`: the beginning
    that the day of its notes has.
    """

    name: str
    title: str
    description: str = ""
    sections: tuple[Section, ...] = ()
    day: str = ""

    @property
    def leaves(self) -> list[Path]:
        """The sections that hold no other section, in order, each with the headings around it."""
        leaves = []
        path: Path = ()
        for place, section in enumerate(self.sections):
            path = (*(above for above in path if above.level < section.level), section)
            if all(following.level <= section.level for following in self.sections[place + 1 : place + 2]):
                leaves.append(path)
        return leaves

    def for_days(self, days: list[str]) -> list["FileSpec"]:
        """The files that a name with a date stands for: one for each day or month."""
        pattern = _PATTERN_OF_DAY.search(self.name)
        if not pattern:
            return [self]
        names = {_PATTERN_OF_DAY.sub(day[: len(pattern[0])], self.name): day[: len(pattern[0])] for day in days}
        return [replace(self, name=name, title=title_of(name), day=day) for name, day in names.items()]


@dataclass
class _Draft:
    """A file while its description is being read: its sections by how clearly they are meant."""

    title: str = ""
    description: str = ""
    sections: dict[int, list[Section]] = field(default_factory=dict)

    def propose(self, strength: int, level: int, text: str, rest: str = "") -> None:
        plain = " ".join(text.split())[:120].strip(_EDGES)
        # One without a word in it cannot be a heading.
        if re.search(r"[^\W_]", plain) and "> #" not in plain:
            description = re.split(r"(?<=[.!?])\s", rest.strip(_EDGES + ")"), maxsplit=1)[0]
            section = Section(min(max(level, 1), 6), plain, description, bool(_DAY.search(plain)))
            self.sections.setdefault(strength, []).append(section)

    def propose_spans(self, line: str) -> bool:
        """Take the headings in backticks of a line; whether there are any."""
        spans = list(_SPAN.finditer(line))
        for span in spans:
            self.propose(_EXACT, len(span["marks"]), span["text"], span["rest"])
        return bool(spans)

    def begin(self, rest: str, *, is_heading: bool) -> None:
        """Take what stands behind the name of the file."""
        self.title = self.title or (rest if is_heading else "")
        self.description = self.description or rest

    def describe(self, line: str, base: int, *, fenced: bool) -> None:
        """Take a section of one line, or else a description. `base`: the level of the heading that names the file."""
        heading, item = _HEADING.match(line), _ITEM.match(line)
        if self.propose_spans(line):
            return
        if heading:
            level = len(heading["marks"])
            self.propose(_EXACT if fenced else _SUBHEADING, level if fenced else 1 + level - base, heading["text"])
        elif item and (lead := _BOLD.match(item["text"])):
            self.propose(_BOLD_ITEM, 2, lead["text"], lead["rest"])
        elif item and (lead := _NAMED.match(item["text"])):
            self.propose(_PLAIN_ITEM, 2, lead["text"], lead["rest"])
        elif item and len(item["text"].split()) <= 5 and not item["text"].rstrip().endswith((".", "!", ";")):
            self.propose(_PLAIN_ITEM, 2, item["text"])
        else:
            self.description = self.description or line.strip()


def read_layout(rules: str) -> list[FileSpec]:
    """The files that a rules text asks for, in the order in which it introduces them; never empty.

    Without any file name in the rules: one `notes.md` whose entries are grouped by category.
    """
    # A comment is for programs: the mark of what is loaded first.
    lines = _COMMENT.sub("", rules).split("\n")
    drafts: dict[str, _Draft] = {}
    draft: _Draft | None = None
    base, fenced = 0, False
    for line in lines:
        heading = _HEADING.match(line)
        names = [] if fenced else [(name, at) for name, at in _names(line) if heading or _LEADING.match(line[: at[0]])]
        if line.strip()[:3] in ("```", "~~~"):
            fenced = not fenced
        elif names:
            (name, (_, end)), base = names[0], len(heading["marks"]) if heading else 0
            draft = drafts.setdefault(name, _Draft())
            draft.begin(line[end:].strip(_EDGES + ")]"), is_heading=heading is not None)
            draft.propose_spans(line)
        elif heading and draft and not fenced and not 0 < base < len(heading["marks"]):
            draft = None
        elif draft:
            draft.describe(line, base, fenced=fenced)
    if not drafts:
        drafts = {name: _Draft() for line in lines for name, _ in _names(line)} or {DEFAULT_FILE: _Draft()}
        for line in lines if len(drafts) == 1 else ():
            # All headings are of the only file.
            next(iter(drafts.values())).propose_spans(line)
    return [_finish(name, draft) for name, draft in drafts.items()]


def _names(line: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """The bank files that a line names, and where, unless it says what not to do."""
    for match in _FILE_NAME.finditer(line):
        name = _PREFIX.sub("", match[0])
        fits = len(name) <= 200 and not any(part in ("", ".", "..", ".md") for part in name.split("/"))
        before = re.split(r"[.!?]\s", line[: match.start()])[-1]
        if fits and not _NOT.search(before) and not _NOT_THIS.search(line[match.end() :]):
            yield name, match.span()


def _finish(name: str, draft: _Draft) -> FileSpec:
    """The file as its clearest sections describe it."""
    chosen: dict[tuple[int, str], Section] = {}
    for section in draft.sections.get(max(draft.sections, default=0), []):
        # One section stands for all days; further dates are examples of it.
        chosen.setdefault((0, "") if section.day else (section.level, section.text.casefold()), section)
    sections = list(chosen.values())
    title = draft.title or title_of(name)
    if sections and sections[0].level == 1 and sum(section.level == 1 for section in sections) == 1:
        title = sections.pop(0).text
    steady: list[Section] = []
    for section in sections:
        # None stands more than one level below the one before it, and none above the first.
        level = min(section.level, steady[-1].level + 1) if steady else section.level
        steady.append(replace(section, level=max(level, steady[0].level if steady else level)))
    return FileSpec(name, title, draft.description, tuple(steady))


def title_of(name: str) -> str:
    """A title made of a file name: `activeContext.md` becomes "Active context"."""
    base = name.rsplit("/", 1)[-1].removesuffix(".md")
    if re.search(r"\d{4}", base):
        return base
    words = " ".join(part for part in _SPLIT_CAMEL.split(base) if part)
    return words if words.isupper() else words[:1].upper() + words[1:].lower()
