"""The messages of a session, from the file that its client writes: lines of JSON, of which some are messages.

Only messages of the user and the assistant are read, without texts that look like secrets. Results of tools hold whole
files. The formats are the clients' own and change; a line that is not understood is left out. No instruction in a line
is followed.
"""

import hashlib
import json
import os
import re
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from live_memory._redaction import Redaction

MOST_CHARS = 60_000
"""Characters of one message. A longer one was pasted."""
MOST_BYTES = 4 * 1_048_576
"""Bytes of a file in one look. The next event reads the rest."""
MOST_LINE = 2 * 1_048_576

_ELEMENTS = ("system-reminder", "environment_context", "user_instructions")
"""Texts that a client itself puts before the words of the user, from the opening tag to its end."""
_ELEMENT = re.compile(rf"\s*+<({'|'.join(_ELEMENTS)})>")
_WRAPPED = ("<command-", "<local-command", *(f"<{name}" for name in _ELEMENTS), "# AGENTS.md")
"""The beginnings of texts that a client itself wrote in the user's name."""


@dataclass(frozen=True)
class Said:
    """A message. `key` identifies it in the session, also when the file is read again."""

    key: str
    role: str
    content: str
    timestamp: str | None


@dataclass(frozen=True)
class Part:
    """Messages of a file, each with the position after it. `end` is the position where this look ended. `redacted` is
    the number of texts that look like secrets and were removed.
    """

    messages: list[tuple[Said, int]]
    end: int
    redacted: int = 0


Parse = Callable[[Mapping[str, Any]], tuple[str, str] | None]
"""Role and text of a line, None if it is no message."""


def read(path: Path, start: int, parse: Parse, until: int = 0) -> Part:
    """The messages from a position on, up to another position if that is later.

    A line without its end is still being written and is read next time. A file that is shorter than the position was
    begun again, and is read from its start. Raises OSError.
    """
    # Never wait for the other end of a pipe that a hostile name leads to.
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise OSError(f"{path} is not a regular file")
        if not 0 <= start <= found.st_size:
            start = until = 0
        file.seek(start)
        held = file.read(min(MOST_BYTES, until - start) if until > start else MOST_BYTES)
    end = held.rfind(b"\n") + 1
    if not end and len(held) == MOST_BYTES:
        # One line larger than a look: it is skipped, piece by piece.
        return Part([], start + len(held))
    messages = []
    redaction = Redaction()
    at = start
    for line in held[:end].split(b"\n")[:-1]:
        said = _said(line, at, parse, redaction)
        at += len(line) + 1
        if said:
            messages.append((said, at))
    # Before they are cut, since the cut may split a secret.
    messages = [(replace(said, content=_cut(redaction.again(said.content))), at) for said, at in messages]
    return Part(messages, start + end, redaction.found.total())


def _said(line: bytes, at: int, parse: Parse, redaction: Redaction) -> Said | None:
    if len(line) > MOST_LINE:
        return None
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(entry, dict):
        return None
    found = parse(entry)
    if found is None:
        return None
    role, text = found
    # A lone surrogate can be written in JSON, but not be sent.
    text = text.encode(errors="replace").decode().replace("\0", "").strip()
    if not text:
        return None
    shown = redaction.text(text)
    # The name stays that of the original message.
    text = _cut(text)
    name = next((value for field in ("uuid", "id") if isinstance(value := entry.get(field), str) and value), str(at))
    key = hashlib.sha256(f"{name}\0{role}\0{text}".encode(errors="replace")).hexdigest()[:32]
    return Said(key, role, shown, _instant(entry.get("timestamp")))


def _cut(text: str) -> str:
    if len(text) <= MOST_CHARS:
        return text
    return f"{text[:MOST_CHARS]}\n[{len(text) - MOST_CHARS:,} characters left out]"


def _instant(stamp: Any) -> str | None:
    """The time of a line, if it is one: the service refuses all lines for a wrong one."""
    try:
        instant = datetime.fromisoformat(stamp)
    except (ValueError, TypeError):
        return None
    return instant.astimezone(UTC).isoformat() if instant.tzinfo and instant.year > 1 else None


def _texts(content: Any, role: str) -> str:
    """The text of a message: a string, or blocks of which some are texts. Each block is judged by itself: texts that a
    client adds to the words of the user are in blocks of their own, or before them.
    """
    if isinstance(content, str):
        return _own(content, role)
    if not isinstance(content, list):
        return ""
    kinds = ("text", "input_text", "output_text")
    blocks = [block for block in content if isinstance(block, dict) and block.get("type") in kinds]
    texts = (_own(text, role) for block in blocks if isinstance(text := block.get("text"), str))
    return "\n\n".join(text for text in texts if text)


def _own(text: str, role: str) -> str:
    """The part of a text that the user said, "" for none. An assistant's text stays as it is."""
    if role != "user":
        return text
    at = 0
    while element := _ELEMENT.match(text, at):
        closing = f"</{element[1]}>"
        end = text.find(closing, element.end())
        if end < 0:
            return ""
        at = end + len(closing)
    own = text[at:].lstrip()
    return "" if own.startswith(_WRAPPED) else own


def _claude_code(entry: Mapping[str, Any]) -> tuple[str, str] | None:
    role, message = entry.get("type"), entry.get("message")
    if role not in ("user", "assistant") or not isinstance(message, dict):
        return None
    # Messages of subagents, or the client's own words.
    if any(entry.get(flag) for flag in ("isSidechain", "isMeta", "isCompactSummary", "isApiErrorMessage")):
        return None
    return str(role), _texts(message.get("content"), str(role))


def _codex(entry: Mapping[str, Any]) -> tuple[str, str] | None:
    item = entry.get("payload")
    if entry.get("type") != "response_item" or not isinstance(item, dict) or item.get("type") != "message":
        return None
    role = item.get("role")
    return (str(role), _texts(item.get("content"), str(role))) if role in ("user", "assistant") else None


def _vscode(entry: Mapping[str, Any]) -> tuple[str, str] | None:
    data = entry.get("data")
    role = {"user.message": "user", "assistant.message": "assistant"}.get(str(entry.get("type")))
    return (role, _texts(data.get("content"), role)) if role and isinstance(data, dict) else None


def _kept(entry: Mapping[str, Any]) -> tuple[str, str] | None:
    role, content = entry.get("role"), entry.get("content")
    return (role, _texts(content, role)) if role in ("user", "assistant") and isinstance(content, str) else None


PARSERS: Mapping[str, Parse] = {
    "claude-code": _claude_code,
    "codex": _codex,
    "vscode": _vscode,
    "cursor": _kept,
    "cline": _kept,
}
