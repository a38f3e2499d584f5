"""What an export of Claude holds beside the conversations: what Claude remembers of the user, and projects.

Each memory, each document of a project and the instructions of a project become a note. The form of the export is not
documented. These fields are read: of `memories.json` `conversations_memory` and `project_memories`, of `projects.json`
(or a file of each project in `projects/`) `uuid`, `name`, `description`, `prompt_template`, `created_at`, `creator`,
and of `docs` `uuid`, `filename`, `content` and `created_at`. A project with `is_starter_project` is Claude's own.
"""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from live_memory.cli.imports import chats, claude, files, untaken
from live_memory.cli.imports.detection import Source
from live_memory.cli.imports.found_items import Found, FoundItem, titled
from live_memory.cli.imports.members import File
from live_memory.cli.imports.unfit import BadSource, shown

MOST_BYTES = 64 << 20
_OF_MEMORY = ("conversations_memory", "project_memories")
_OF_PROJECT = ("uuid", "name", "description", "prompt_template", "created_at", "creator", "docs")
_OF_DOCUMENT = ("uuid", "filename", "content", "created_at")


def found(source: Source) -> Found:
    """The notes that the files beside the conversations make. Raises BadSource."""
    made = Found(claude.SERVICE)
    wanted = set(source.beside_chats())
    rows = [row for file in files.files(source.path) if file.path in wanted for row in _rows(file, made)]
    names = {chats.text_of(row.get("uuid")): chats.title_of(row.get("name")) for row in rows if _is_project(row)}
    for row in rows:
        if _is_project(row):
            _add_project(row, made)
        elif any(name in row for name in _OF_MEMORY):
            _add_memories(row, names, made)
        else:
            made.not_taken["entries of another form"] += 1
    return made


def _is_project(row: dict[str, Any]) -> bool:
    return "docs" in row or "prompt_template" in row


def _rows(file: File, made: Found) -> Iterator[dict[str, Any]]:
    try:
        value = json.loads(files.read(file, MOST_BYTES).decode("utf-8-sig"))
    except BadSource as error:
        made.left_out.append(str(error))
        return
    except (ValueError, RecursionError):
        made.left_out.append(f"{shown(file.path)} is not JSON in UTF-8.")
        return
    for row in value if isinstance(value, list) else [value]:
        yield chats.dictionary(row)


def _add_memories(row: dict[str, Any], names: dict[str, str], made: Found) -> None:
    untaken.count_fields(made.not_taken, "memories", row, _OF_MEMORY)
    projects = row.get("project_memories")
    values = [row.get("conversations_memory"), *(projects.values() if isinstance(projects, dict) else [projects])]
    strange = sum(bool(value) and not isinstance(value, str) for value in values)
    made.not_taken += Counter({"memories of another form": strange})
    whole = chats.text_of(row.get("conversations_memory"))
    if whole.strip():
        made.add(FoundItem("note", "memory of the conversations", whole, "observation"))
    for uuid, value in chats.dictionary(projects).items():
        text = chats.text_of(value)
        if text.strip():
            name = names.get(uuid) or uuid
            item = FoundItem("note", f"memory of the project {shown(uuid)}", titled(text, name), "observation", [name])
            made.add(item)


def _add_project(row: dict[str, Any], made: Found) -> None:
    name = chats.title_of(row.get("name")) or "project"
    author = chats.text_of(chats.dictionary(row.get("creator")).get("full_name")) or None
    key = chats.text_of(row.get("uuid")) or name
    if row.get("is_starter_project") is True:
        made.not_taken["projects that Claude wrote for a start"] += 1
        return
    untaken.count_fields(made.not_taken, "projects", row, _OF_PROJECT)
    told = [chats.text_of(row.get(field)) for field in ("description", "prompt_template")]
    text = "\n\n".join(part for part in told if part.strip())
    moment = chats.moment(row.get("created_at"))
    if text:
        item = FoundItem("note", f"project {shown(key)}", titled(text, name), "decision", [name], moment, author)
        made.add(item)
    for number, value in enumerate(chats.items(row.get("docs")), 1):
        document = chats.dictionary(value)
        untaken.count_fields(made.not_taken, "documents", document, _OF_DOCUMENT)
        filename = chats.title_of(document.get("filename")) or f"document {number}"
        where = f"document {shown(filename)} of the project {shown(name)}"
        content = chats.text_of(document.get("content"))
        if not content.strip():
            made.left_out.append(f"{where} is empty.")
            continue
        said_at = chats.moment(document.get("created_at")) or moment
        made.add(FoundItem("note", where, titled(content, filename), "observation", [name], said_at, author))
