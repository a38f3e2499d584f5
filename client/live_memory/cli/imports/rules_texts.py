"""Files that tell agents how to work in a repository: CLAUDE.md, AGENTS.md and the like.

Each section of the first or second level becomes a note of the category `decision`: what the team has laid down. What
`livemem init` wrote itself is left out. Files that the text names (`@docs/style.md`) are not read.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from markdown_it import MarkdownIt

from live_memory.cli.imports import chats, files, heads, untaken
from live_memory.cli.imports.found_items import Found, FoundItem
from live_memory.cli.imports.unfit import BadSource
from live_memory.cli.init.blocks import MARKDOWN, take_out
from live_memory.cli.init.problems import NotPlain
from live_memory.cli.transcripts.private_words import PrivateWords

NAMES = ("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "AGENTS.override.md", "GEMINI.md")
MOST_BYTES = 1 << 20
_LINE_END = re.compile(r"\r\n|\r|\n")
"""The line endings of CommonMark."""
_NAMED = re.compile(r"(?:^|\s)@[\w~./-]+", re.MULTILINE)


def found(source: Path) -> Found:
    """The sections of a file. Raises BadSource."""
    (file,) = files.files(source)
    try:
        text = files.read(file, MOST_BYTES).decode().removeprefix("\ufeff").replace("\0", "")
    except UnicodeDecodeError:
        raise BadSource(f"{source.name} is not UTF-8.") from None
    # Before it is cut into sections: private words may go over several.
    text = PrivateWords().cut(text)
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
    head = heads.read(own)
    if not head and heads.begins(own):
        made.changed.append(f"{source.name} {heads.UNREADABLE}.")
    fields, below = head or ({}, own)
    dated = chats.moment(fields.get("date"))
    taken = [*heads.taken(fields, "author"), *(["date"] if dated else [])]
    untaken.count_fields(made.not_taken, "front matter", fields, taken)
    author, tags = chats.text_of(fields.get("author")) or None, heads.words(fields.get("tags"))
    for heading, section, empty in sections(below):
        name = f"{source.name} {heading}"
        if empty and heading:
            made.not_taken["headings without text"] += 1
        elif not empty:
            tagged = [source.stem.lower(), *tags]
            made.add(FoundItem("note", name, section, "decision", tagged, dated or moment, author))
    return made


def sections(text: str) -> Iterator[tuple[str, str, bool]]:
    """The line of the heading and the whole text of each section, and whether it has no text but its heading.

    The parser of the service says what a heading is: not a line in a code fence, a comment, a list or a quote.
    """
    parser = MarkdownIt("commonmark")
    # Sections need no inline parsing, which takes most of the time.
    parser.core.ruler.enableOnly(["normalize", "block"])
    tokens = parser.parse(text)
    maps = [one.map for one in tokens if one.type == "heading_open" and not one.level and one.tag in ("h1", "h2")]
    lines = _LINE_END.split(text)
    starts = [(0, 0), *((found[0], found[1]) for found in maps if found)]
    ends = [*(start for start, _ in starts[1:]), len(lines)]
    for (start, body), end in zip(starts, ends, strict=True):
        heading = lines[start].strip() if body else ""
        yield heading, "\n".join(lines[start:end]).strip(), not "".join(lines[body:end]).strip()
