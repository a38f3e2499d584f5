"""Notes of basic-memory: a folder of Markdown files with `permalink` in their front matter.

Each file becomes a note: its title, its text with observations and relations, the tags and the author of its front
matter, and as its time `created`, else `date`, else when the file was changed.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from live_memory.cli.imports import chats, files, heads, untaken
from live_memory.cli.imports.found_items import Found, FoundItem, titled
from live_memory.cli.imports.unfit import shown

SERVICE = "basic-memory"
MOST_BYTES = 1 << 20
_TIMES = ("created", "created_at", "date", "modified", "updated")


def is_one(text: str) -> bool:
    """Whether a Markdown file is a note of basic-memory."""
    head = heads.read(text)
    return head is not None and "permalink" in head[0]


def found(source: Path) -> Found:
    """The notes of a folder or an archive. Raises BadSource."""
    made = Found(SERVICE)
    for path, text, changed_at in texts(source, made):
        _take(made, path, text, changed_at)
    return made


def texts(source: Path, made: Found) -> Iterator[tuple[str, str, str | None]]:
    """The Markdown files of a folder or an archive: path, text, and in a folder when it was changed. `made` gets the
    names of the others. Raises BadSource.
    """
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
        yield file.path, text, _changed_at(source / file.path) if source.is_dir() else None


def _take(made: Found, path: str, text: str, changed_at: str | None) -> None:
    head = heads.read(text)
    if not head and heads.begins(text):
        made.changed.append(f"{shown(path)} {heads.UNREADABLE}.")
    fields, body = head or ({}, text)
    title = chats.text_of(fields.get("title")) or Path(path).stem
    body = titled(body, title)
    taken = heads.taken(fields, "permalink", "author")
    taken += ["title"] if body.lstrip().partition("\n")[0].strip() == f"# {title}" else []
    dated = next(((name, moment) for name in _TIMES if (moment := chats.moment(fields.get(name)))), None)
    taken += dated[:1] if dated else []
    untaken.count_fields(made.not_taken, "front matter", fields, taken)
    made.add(
        FoundItem(
            "note",
            chats.text_of(fields.get("permalink")) or path,
            body,
            "observation",
            heads.words(fields.get("tags")),
            dated[1] if dated else changed_at,
            chats.text_of(fields.get("author")) or None,
        )
    )


def _changed_at(path: Path) -> str:
    return datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
