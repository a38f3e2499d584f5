"""Memories of mem0: the answer of `get_all` as JSON, or the file of its export.

Read are `memory` (or `text`), `id`, `user_id`, `agent_id`, `actor_id`, `categories`, `updated_at`, `created_at` and
`expiration_date` of each. They are in a list, or in `results` or `memories` of an object. A memory was said at the
later of its two times, by its actor.

An expiration date is a day in UTC, and the memory holds to the end of it. A date that can't be read is none
(https://docs.mem0.ai/platform/features/memory-expiration).
"""

import json
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from typing import Any

from live_memory.cli.imports import chats, untaken
from live_memory.cli.imports.found_items import Found, FoundItem
from live_memory.cli.imports.unfit import BadSource, shown

SERVICE = "mem0"
MOST_BYTES = 64 << 20
_LISTS = ("results", "memories")
_WHO = ("user_id", "agent_id", "actor_id")
_TIMES = ("updated_at", "created_at")
_END = "expiration_date"
_TEXTS = (*_WHO, "memory", "text", "id")
_TAKEN = (*_TIMES, _END, "relations")
_OF_PAGES = (*_LISTS, "relations", "next", "previous", "count", "total", "page", "page_size")
_UNITS = (
    ("m", timedelta(minutes=1)),
    ("h", timedelta(hours=1)),
    ("d", timedelta(days=1)),
    ("w", timedelta(weeks=1)),
    ("y", timedelta(days=365)),
)
_COUNT = 9_999
"""The largest number of a `ttl` that the service takes."""


def rows(content: bytes) -> list[Any] | None:
    """The list of memories in a file, None where it has none."""
    return _listed(_loaded(content))


def _loaded(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def _listed(value: Any) -> list[Any] | None:
    if isinstance(value, dict):
        value = next((value[name] for name in _LISTS if isinstance(value.get(name), list)), None)
    if not isinstance(value, list) or not value:
        return None
    return value if any(_text(chats.dictionary(one)) for one in value) else None


def found(content: bytes, now: datetime) -> Found:
    """The memories of a file that hold at `now`. Raises BadSource."""
    value = _loaded(content)
    listed = _listed(value)
    if listed is None:
        raise BadSource("The source has no memory of mem0.")
    made = Found(SERVICE)
    whole = chats.dictionary(value)
    made.not_taken["relations of a graph"] += len(chats.items(whole.get("relations")))
    untaken.count_fields(made.not_taken, "the file", whole, _OF_PAGES)
    if whole.get("next"):
        made.left_out.append("The file is one page of several: get the next pages, and import them too.")
    for number, row in enumerate(listed, 1):
        _take(made, f"memory {number}", chats.dictionary(row), now)
    made.not_taken = +made.not_taken
    return made


def _take(made: Found, place: str, one: dict[str, Any], now: datetime) -> None:
    text = _text(one)
    name = chats.text_of(one.get("id")) or place
    if not text:
        made.left_out.append(f"{name} has no text.")
        return
    end = _end(one.get(_END))
    if end and end <= now:
        made.left_out.append(f"{name} has expired ({one[_END]}).")
        return
    ttl = _ttl(end - now, now) if end else None
    if one.get(_END) and not ttl:
        made.changed.append(f"{name} comes without an end: {shown(str(one[_END]))} is no date, or too late for one.")
    made.not_taken["relations of a graph"] += len(chats.items(one.get("relations")))
    texts = [name for name in _TEXTS if isinstance(one.get(name), str)]
    listed = ["categories"] if chats.items(one.get("categories")) else []
    untaken.count_fields(made.not_taken, "memories", one, [*_TAKEN, *texts, *listed])
    words = [*(one.get(who) for who in _WHO), *chats.items(one.get("categories"))]
    said_at = next((moment for field in _TIMES if (moment := chats.moment(one.get(field)))), None)
    tags, author = [chats.text_of(word) for word in words], chats.text_of(one.get("actor_id")) or None
    # An end at midnight is the end of the day before.
    until = (end - timedelta(microseconds=1)).date().isoformat() if end and ttl else None
    made.add(FoundItem("memory", name, text, None, tags, said_at, author, until, ttl))


def _end(value: object) -> datetime | None:
    """The moment from which a memory holds no longer. None for a value that is no date."""
    text = chats.text_of(value).strip()
    with suppress(ValueError, OverflowError):
        day = date.fromisoformat(text)
        return datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(days=1)
    moment = chats.moment(text or value)
    return datetime.fromisoformat(moment) if moment else None


def _ttl(left: timedelta, now: datetime) -> str | None:
    """A time to live, rounded up: in minutes, or in a larger unit where there are too many. None: it never ends."""
    for unit, length in _UNITS:
        count = -(-left // length)
        if count <= _COUNT:
            try:
                now + count * length
            except OverflowError:
                break
            return f"{count}{unit}"
    return None


def _text(row: dict[str, Any]) -> str:
    return next((text for name in ("memory", "text") if (text := chats.text_of(row.get(name)).strip())), "")
