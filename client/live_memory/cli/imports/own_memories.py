"""What a client remembers by itself: Claude Code in `~/.claude/projects/*/memory`, Codex in `~/.codex/memories`.

Of Claude Code each file becomes a note: its name, its description and its text. `type` is user, feedback, project or
reference, also below `metadata`. Of Codex the sections of MEMORY.md become notes, and each file of `rollout_summaries`.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from live_memory.cli.imports import basic_memory, chats, heads, rules_texts
from live_memory.cli.imports.found_items import Found, FoundItem, titled

SERVICE = "the client's own memory"
INDEX = "MEMORY.md"
_TYPES = {"user": "observation", "feedback": "decision", "project": "observation", "reference": "observation"}
_OF_CODEX = ("raw_memories.md", "memory_summary.md")
"""Made of the same as MEMORY.md and the summaries."""
_SESSIONS = "rollout_summaries/"
_LINK = re.compile(r"[-*] \[[^]]*\]\((?P<file>[^)]*\.md)\)(?:\s*(?:[-:]|\u2013|\u2014)\s*(?P<about>.*))?")


def is_one(text: str) -> bool:
    """Whether a Markdown file is a memory of Claude Code."""
    head = heads.read(text)
    return head is not None and "name" in head[0] and _type(head[0]) in _TYPES


def is_of_codex(paths: Iterable[str]) -> bool:
    """Whether a folder with these files holds the memories of Codex."""
    return any(path in _OF_CODEX or path.startswith(_SESSIONS) for path in paths)


def found(source: Path) -> Found:
    """The notes of a folder. Raises BadSource."""
    made = Found(SERVICE)
    files = list(basic_memory.texts(source, made))
    codex = is_of_codex(path for path, _, _ in files)
    for path, text, changed_at in files:
        if codex and path in _OF_CODEX:
            made.not_taken["files that Codex makes of the others"] += 1
        elif codex and path == INDEX:
            for heading, section, empty in rules_texts.sections(text):
                if not empty:
                    made.add(FoundItem("note", f"{path} {heading}", section, "observation", ["codex"], changed_at))
        elif codex and not path.startswith(_SESSIONS):
            made.not_taken["files that are no memories"] += 1
        elif codex:
            made.add(FoundItem("note", path, titled(text, Path(path).stem), "progress", ["codex"], changed_at))
        elif path == INDEX:
            _take_index(made, text, changed_at, {name: words for name, words, _ in files})
        else:
            _take(made, path, text, changed_at)
    return made


def _type(fields: dict[str, Any]) -> str:
    return chats.text_of(fields.get("type") or chats.dictionary(fields.get("metadata")).get("type"))


def _take_index(made: Found, text: str, changed_at: str | None, files: Mapping[str, str]) -> None:
    """Lines that only name another file of the folder, by words that stand in it, are left out."""
    own = []
    for line in text.splitlines():
        link = _LINK.fullmatch(line.strip())
        if link and link["file"] in files and (link["about"] or "") in files[link["file"]]:
            made.not_taken["lines of the index that name a file"] += 1
        else:
            own.append(line)
    # A heading alone says nothing.
    if any(line.strip() and not re.fullmatch(r"#+ \w+", line) for line in own):
        made.add(FoundItem("note", INDEX, "\n".join(own), "observation", ["claude"], changed_at))


def _take(made: Found, path: str, text: str, changed_at: str | None) -> None:
    fields, body = heads.read(text) or ({}, text)
    description, kind = chats.text_of(fields.get("description")), _type(fields)
    body = f"{description}\n\n{body.strip()}" if description and description not in body else body
    name = chats.text_of(fields.get("name")) or Path(path).stem
    dated = map(chats.moment, (fields.get(one) for one in ("modified", "updated", "created", "date")))
    moment = next(filter(None, dated), changed_at)
    tags = ["claude", *([kind] if kind else [])]
    made.add(FoundItem("note", path, titled(body, name), _TYPES.get(kind, "observation"), tags, moment))
