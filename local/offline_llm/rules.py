"""Read from rules which files a bank is to have, and which sections in each.

Files: a name in `.md`, in a heading, at the start of a list item or a line, or else anywhere. Sections of a file: lines
of headings in backticks or fences, sub-headings, or list items that begin in bold or with a name and a colon. Of these
kinds only the clearest counts for a file.
"""

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

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
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[_-]+")
_COMMENT = re.compile(r"<!--.{0,200}?-->")
_EDGES = " \t:;,-–—*_`\"'#"
_EXACT, _SUBHEADING, _BOLD_ITEM, _PLAIN_ITEM = 4, 3, 2, 1


@dataclass(frozen=True)
class Section:
    """A heading of a file. `day`: it stands for a date and returns for each."""

    level: int
    text: str
    description: str = ""
    day: bool = False


Path = tuple[Section, ...]


@dataclass(frozen=True)
class FileSpec:
    """One file of the bank as the rules describe it. No sections: entries are grouped by category."""

    name: str
    title: str
    description: str = ""
    sections: tuple[Section, ...] = ()

    @property
    def leaves(self) -> list[Path]:
        """The sections that hold no other section, in order, each with the headings around it."""
        leaves: list[Path] = []
        path: Path = ()
        for section, following in itertools.zip_longest(self.sections, self.sections[1:]):
            path = (*(above for above in path if above.level < section.level), section)
            leaves += [path] * (following is None or following.level <= section.level)
        return leaves


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

    def propose_spans(self, line: str) -> None:
        """Take the headings in backticks of a line."""
        for span in _SPAN.finditer(line):
            self.propose(_EXACT, len(span["marks"]), span["text"], span["rest"])

    def describe(self, line: str, base: int, *, fenced: bool) -> None:
        """Take a section of one line, or else a description. `base`: the level of the heading that names the file."""
        heading, item = _HEADING.match(line), _ITEM.match(line)
        text = item["text"] if item else ""
        if _SPAN.search(line):
            self.propose_spans(line)
        elif heading:
            level = len(heading["marks"])
            self.propose(_EXACT if fenced else _SUBHEADING, level if fenced else 1 + level - base, heading["text"])
        elif lead := _BOLD.match(text):
            self.propose(_BOLD_ITEM, 2, lead["text"], lead["rest"])
        elif lead := _NAMED.match(text):
            self.propose(_PLAIN_ITEM, 2, lead["text"], lead["rest"])
        elif text and len(text.split()) <= 5 and not text.rstrip().endswith((".", "!", ";")):
            self.propose(_PLAIN_ITEM, 2, text)
        else:
            self.description = self.description or line.strip()

    def finished(self, name: str) -> FileSpec:
        """The file as its clearest sections describe it."""
        chosen: dict[tuple[int, str], Section] = {}
        for section in self.sections.get(max(self.sections, default=0), []):
            # One section stands for all days; further dates are examples of it.
            chosen.setdefault((0, "") if section.day else (section.level, section.text.casefold()), section)
        title, sections = self.title or title_of(name), list(chosen.values())
        if sections and [section.level for section in sections].count(1) == sections[0].level == 1:
            title = sections.pop(0).text
        return FileSpec(name, title, self.description, tuple(sections))


def read_layout(rules: str) -> list[FileSpec]:
    """The files that a rules text asks for, in its order; `notes.md` where it names none."""
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
            draft, rest = drafts.setdefault(name, _Draft()), line[end:].strip(_EDGES + ")]")
            draft.title = draft.title or (rest if heading else "")
            draft.description = draft.description or rest
            draft.propose_spans(line)
        elif heading and draft and not fenced and not 0 < base < len(heading["marks"]):
            draft = None
        elif draft:
            draft.describe(line, base, fenced=fenced)
    if not drafts:
        drafts = {name: _Draft() for line in lines for name, _ in _names(line)} or {"notes.md": _Draft()}
        for line in lines if len(drafts) == 1 else ():
            # All headings are of the only file.
            next(iter(drafts.values())).propose_spans(line)
    return [draft.finished(name) for name, draft in drafts.items()]


def _names(line: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """The bank files that a line names, and where, unless it says what not to do."""
    for match in _FILE_NAME.finditer(line):
        name = _PREFIX.sub("", match[0])
        bad = any(part in ("", ".", "..", ".md") for part in name.split("/")) or len(name) > 200
        before = re.split(r"[.!?]\s", line[: match.start()])[-1]
        denied = _NOT.search(before) or _NOT_THIS.search(line[match.end() :])
        # One file for each day is more than this does.
        if not bad and not denied and not _DAY.search(name):
            yield name, match.span()


def title_of(name: str) -> str:
    """A title made of a file name: `activeContext.md` becomes "Active context"."""
    words = " ".join(filter(None, _WORDS.split(name.rsplit("/", 1)[-1].removesuffix(".md"))))
    return words if words.isupper() else words[:1].upper() + words[1:].lower()
