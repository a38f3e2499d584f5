"""Files that tell agents how to work in a repository: CLAUDE.md, AGENTS.md and the like.

Each section of the first or second level becomes a note of the category `decision`: what the team has laid down. What
`livemem init` wrote itself is left out. Files that the text names (`@docs/style.md`) are not read.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from live_memory.cli.imports import files
from live_memory.cli.imports.found_items import Found, FoundItem
from live_memory.cli.imports.unfit import BadSource
from live_memory.cli.init.blocks import MARKDOWN, take_out
from live_memory.cli.init.problems import NotPlain

NAMES = ("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "AGENTS.override.md", "GEMINI.md")
MOST_BYTES = 1 << 20
_FENCE = re.compile(r"\s{0,3}(```|~~~)")
_HEADING = re.compile(r"#{1,2}\s+\S")
_NAMED = re.compile(r"(?:^|\s)@[\w~./-]+", re.MULTILINE)


def found(source: Path) -> Found:
    """The sections of a file. Raises BadSource."""
    (file,) = files.files(source)
    try:
        text = files.read(file, MOST_BYTES).decode().removeprefix("\ufeff").replace("\0", "")
    except UnicodeDecodeError:
        raise BadSource(f"{source.name} is not UTF-8.") from None
    made = Found(source.name)
    try:
        own = take_out(text, MARKDOWN)
    except NotPlain:
        raise BadSource(f"{source.name} holds half a block of livemem: repair it first.") from None
    if own != text:
        made.not_taken["block that livemem init wrote"] += 1
    named = len(_NAMED.findall(own))
    if named:
        made.not_taken["names of other files, which are not read"] = named
    moment = datetime.fromtimestamp(source.stat().st_mtime, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    for heading, section in _sections(own):
        if section.removeprefix(heading).strip():
            made.add(FoundItem("note", f"{source.name} {heading}", section, "decision", [source.stem.lower()], moment))
    return made


def _sections(text: str) -> Iterator[tuple[str, str]]:
    """Heading and whole text of each section. A heading in a code fence is text."""
    heading, lines, fence = "", list[str](), ""
    for line in text.splitlines():
        opened = _FENCE.match(line)
        if opened and (not fence or opened[1] == fence):
            fence = "" if fence else opened[1]
        if not fence and _HEADING.match(line):
            yield heading, "\n".join(lines).strip()
            heading, lines = line.strip(), []
        lines.append(line)
    yield heading, "\n".join(lines).strip()
