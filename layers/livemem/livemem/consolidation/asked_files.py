"""The files and headings that rules ask for. Pure.

Rules are any text. Only this form counts: a line that begins with the name of a file, and below it heading lines in
backticks, or list items that begin in bold.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_COMMENT = re.compile(r"<!--.*?-->")
_FENCE = re.compile(r"^\s*(?:```|~~~)")
_HEADING = re.compile(r"^ {0,3}(?P<marks>#{1,6})\s+(?P<text>.*)$")
# A file name at the beginning of its line, after any decoration.
_NAMED = re.compile(
    r"^(?:[\s*_`\"'(\[|#]|\d+[.)]\s|[-+]\s)*(?P<name>[A-Za-z0-9][A-Za-z0-9._/<>{}-]*\.md)\b(?![\w/-])(?P<rest>.*)$"
)
_NOT = re.compile(r"^\W*(?:must|should|may|shall|can|is|are|does|do)\s*(?:not|never)\b", re.IGNORECASE)
_SPAN = re.compile(r"`\s*(?P<marks>#{1,6})\s+(?P<text>[^`\n]+?)\s*`")
_BOLD = re.compile(r"^\s*[-*+]\s+\*\*(?P<text>[^*\n]{1,80}?):?\*\*")
# Stands for many names, such as `## YYYY-MM-DD`, so there is none to write yet.
_PATTERN = re.compile(r"YYYY|[<>{}]")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@dataclass
class AskedFile:
    """A file that the rules ask for: its heading lines in their order, and the sections named in bold."""

    path: str
    headings: list[str] = field(default_factory=list)
    bold: list[str] = field(default_factory=list)

    def text(self) -> str:
        """The text of the file: headings only."""
        lines = list(dict.fromkeys(self.headings or [f"## {title}" for title in self.bold]))
        if not any(line.startswith("# ") for line in lines):
            lines.insert(0, f"# {_title(self.path)}")
        return "\n\n".join(lines) + "\n"


def asked_for(rules: str) -> list[AskedFile]:
    """The files that the rules ask for, in the order and with the names of the rules."""
    files: dict[str, AskedFile] = {}
    scope: AskedFile | None = None
    level = 0
    for line in _lines(rules):
        heading = _HEADING.match(line)
        match = _NAMED.match(line)
        if match and not _NOT.match(match["rest"]):
            path = match["name"].removeprefix("./").removeprefix("bank/")
            scope = files.setdefault(path.lower(), AskedFile(path))
            level = len(heading["marks"]) if heading else 0
        elif heading and len(heading["marks"]) <= (level or len(heading["marks"])):
            scope = None
        if scope:
            spans = [f"{span['marks']} {span['text']}" for span in _SPAN.finditer(line)]
            scope.headings += [span for span in spans if not _PATTERN.search(span)]
            bold = _BOLD.match(line)
            scope.bold += [bold["text"].strip()] if bold and not match else []
    return list(files.values())


def is_pattern(path: str) -> bool:
    """Whether the name of a file stands for many, such as `days/YYYY-MM-DD.md`."""
    return bool(_PATTERN.search(path.upper()))


def _lines(rules: str) -> Iterator[str]:
    """The lines outside of comments and code blocks."""
    fenced = False
    for line in rules.splitlines():
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced:
            yield _COMMENT.sub("", line).rstrip()


def _title(path: str) -> str:
    """The title of a file: `projectBrief.md` gives `Project brief`."""
    words = re.split(r"[\s_-]+", _CAMEL.sub(" ", path.rpartition("/")[2].removesuffix(".md")))
    return " ".join(words).capitalize()
