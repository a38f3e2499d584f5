"""Memories of mem0: the answer of `get_all` as JSON, or the file of its export.

Read are `memory` (or `text`), `id`, `user_id`, `agent_id`, `actor_id`, `categories`, `updated_at` and `created_at` of
each. They are in a list, or in `results` or `memories` of an object. A memory was said at the later of its two times,
by its actor.
"""

import json
from typing import Any

from live_memory.cli.imports import chats
from live_memory.cli.imports.found_items import Found, FoundItem
from live_memory.cli.imports.unfit import BadSource

SERVICE = "mem0"
MOST_BYTES = 64 << 20
_LISTS = ("results", "memories")
_WHO = ("user_id", "agent_id", "actor_id")
_TIMES = ("updated_at", "created_at")


def rows(content: bytes) -> list[Any] | None:
    """The list of memories in a file, None where it has none."""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, dict):
        value = next((value[name] for name in _LISTS if isinstance(value.get(name), list)), None)
    if not isinstance(value, list) or not value:
        return None
    return value if any(_text(chats.dictionary(one)) for one in value) else None


def found(content: bytes) -> Found:
    """The memories of a file. Raises BadSource."""
    listed = rows(content)
    if listed is None:
        raise BadSource("The source has no memory of mem0.")
    made = Found(SERVICE)
    for number, row in enumerate(listed, 1):
        one = chats.dictionary(row)
        text = _text(one)
        name = chats.text_of(one.get("id")) or f"memory {number}"
        if not text:
            made.left_out.append(f"{name} has no text.")
            continue
        words = [*(one.get(who) for who in _WHO), *chats.items(one.get("categories"))]
        made.not_taken["relations of a graph"] += len(chats.items(one.get("relations")))
        said_at = next((moment for field in _TIMES if (moment := chats.moment(one.get(field)))), None)
        tags, author = [chats.text_of(word) for word in words], chats.text_of(one.get("actor_id")) or None
        made.add(FoundItem("memory", name, text, None, tags, said_at, author))
    made.not_taken = +made.not_taken
    return made


def _text(row: dict[str, Any]) -> str:
    return next((text for name in ("memory", "text") if (text := chats.text_of(row.get(name)).strip())), "")
