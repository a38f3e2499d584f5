"""Notes of basic-memory: a folder of Markdown files with `permalink` in their front matter.

Each file becomes a note: its title, its text with observations and relations, the tags of its front matter, and as its
time `created`, else `date`, else when the file was changed.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from live_memory.cli.imports import chats, files
from live_memory.cli.imports.found_items import Found, FoundItem
from live_memory.cli.imports.unfit import shown

SERVICE = "basic-memory"
MOST_BYTES = 1 << 20
_HEAD = re.compile(r"\A---[ \t]*\r?\n(?P<head>.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_FIELD = re.compile(r"^(?P<name>[A-Za-z_]+):[ \t]*(?P<value>[^\r\n]*)", re.MULTILINE)
_LIST = re.compile(r"^tags:[ \t]*\r?\n(?P<rows>(?:[ \t]*-[^\r\n]*\r?\n?)+)", re.MULTILINE)
_TIMES = ("created", "created_at", "date", "modified", "updated")


def is_one(text: str) -> bool:
    """Whether a Markdown file is a note of basic-memory."""
    head = _HEAD.match(text)
    return head is not None and "permalink" in _fields(head["head"])


def found(source: Path) -> Found:
    """The notes of a folder or an archive. Raises BadSource."""
    made = Found(SERVICE)
    for file in files.files(source):
        if not file.path.endswith(".md"):
            made.not_taken["files that are not Markdown"] += 1
            continue
        if file.size > MOST_BYTES:
            made.left_out.append(f"{shown(file.path)} has more than {MOST_BYTES >> 20} MiB.")
            continue
        try:
            text = files.read(file, MOST_BYTES).decode().removeprefix("\ufeff").replace("\0", "")
        except UnicodeDecodeError:
            made.left_out.append(f"{shown(file.path)} is not UTF-8.")
            continue
        made.add(_item(file.path, text, _changed_at(source / file.path) if source.is_dir() else None))
    return made


def _item(path: str, text: str, changed_at: str | None) -> FoundItem:
    head = _HEAD.match(text)
    fields = _fields(head["head"]) if head else {}
    body = text[head.end() :] if head else text
    title = fields.get("title") or Path(path).stem
    if body.strip() and not body.lstrip().startswith("# "):
        body = f"# {title}\n\n{body}"
    tags = _tags(head["head"], fields) if head else []
    times = (chats.moment(fields[name]) for name in _TIMES if name in fields)
    said_at = next((moment for moment in times if moment), changed_at)
    return FoundItem("note", fields.get("permalink") or path, body, "observation", tags, said_at)


def _fields(head: str) -> Mapping[str, str]:
    return {one["name"]: one["value"].strip().strip("\"'") for one in _FIELD.finditer(head)}


def _tags(head: str, fields: Mapping[str, str]) -> list[str]:
    rows = _LIST.search(head)
    words = rows["rows"].splitlines() if rows else fields.get("tags", "").strip("[]").split(",")
    return [word.strip().removeprefix("-").strip().strip("\"'#") for word in words]


def _changed_at(path: Path) -> str:
    return datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
