"""Chats of Cursor: of the editor in `state.vscdb`, of its command line in `~/.cursor/chats/*/*/store.db`, by SQLite.

No format is promised. It is read as users of 2025 and 2026 describe it: in `cursorDiskKV` a row `composerData:<chat>`
with the order of its messages, and for each a row `bubbleId:<chat>:<message>`, of type 1 (the user) or 2 (the agent).
A store.db has a row of `meta` in hex and messages in `blobs`, whose order is in one of them. Nothing is written there.
"""

import json
import re
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from live_memory.cli.imports import chats
from live_memory.cli.imports.chats import Chat, Message
from live_memory.cli.imports.claude_sessions import chat_of
from live_memory.cli.imports.unfit import BadPart
from live_memory.cli.transcripts.entries import UNKNOWN, WITHOUT_WORDS, fields, string, text_of
from live_memory.cli.transcripts.long_lines import Line
from live_memory.cli.transcripts.messages import Messages, entry_of

SERVICE = "cursor"
EDITOR, TERMINAL = "state.vscdb", "store.db"
OF_AGENTS = "chats of sub-agents"
LOST = "messages that are named and not there"
VALUE_BYTES = 64 << 20
_ROLES = {1: "user", 2: "assistant"}
_ORDER = re.compile(rb"(?:\x0a\x20.{32})*", re.DOTALL)
"""The ids of messages, at the beginning of the blob with their order: field 1 of a protobuf message, 32 bytes each."""


def is_one(path: str) -> bool:
    """Whether a file has the name of a database of Cursor."""
    return path.rpartition("/")[2] in (EDITOR, TERMINAL)


def chats_in(path: Path) -> Iterator[Chat | BadPart]:
    """The chats of a database, the unfit ones as problems; raises BadPart, OSError."""
    try:
        with _opened(path) as database:
            if path.name == TERMINAL:
                yield _of_terminal(database, path.parent.name)
            elif database.has("cursorDiskKV"):
                yield from _of_editor(database)
    except sqlite3.Error:
        raise BadPart("is no database of Cursor, or is damaged") from None


@dataclass(frozen=True)
class _Database:
    connection: sqlite3.Connection

    def has(self, table: str) -> bool:
        """Whether there is a table: a view could take for ever."""
        asked = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
        return bool(self.connection.execute(asked, (table,)).fetchone())

    def rows(self, prefix: str) -> Iterator[Mapping[str, Any]]:
        """The values below a prefix that are JSON objects."""
        asked = "SELECT value FROM cursorDiskKV WHERE key >= ? AND key < ? AND length(value) <= ?"
        for (value,) in self.connection.execute(asked, (f"{prefix}:", f"{prefix};", VALUE_BYTES)):
            yield _entry(value)

    def one(self, asked: str, name: str) -> bytes:
        """A value, empty if there is none."""
        row = self.connection.execute(
            f"{asked} = ? AND length(value) <= ?", (chats.text_of(name), VALUE_BYTES)
        ).fetchone()
        return row[0] if row and isinstance(row[0], bytes) else b""


@contextmanager
def _opened(path: Path) -> Iterator[_Database]:
    """A database as it is, or a copy of it where Cursor has not merged its newest changes into it."""
    with tempfile.TemporaryDirectory() as folder:
        changes = path.with_name(f"{path.name}-wal")
        if changes.is_file() and not changes.is_symlink() and changes.stat().st_size:
            for one in (path, changes):
                shutil.copyfile(one, Path(folder, one.name))
            path = Path(folder, path.name)
            address = path.as_uri()
        else:
            address = f"{path.absolute().as_uri()}?immutable=1"
        with closing(sqlite3.connect(address, uri=True)) as connection:
            connection.text_factory = bytes
            connection.execute("PRAGMA trusted_schema = OFF")
            yield _Database(connection)


def _of_editor(database: _Database) -> Iterator[Chat | BadPart]:
    below: set[str] = set()
    for head in database.rows("composerData"):
        below |= {string(one) for one in chats.items(head.get("subComposerIds"))}
    for head in database.rows("composerData"):
        name = string(head.get("composerId"))
        reader = Messages(SERVICE)
        listed = chats.items(head.get("fullConversationHeadersOnly")) or chats.items(head.get("conversation"))
        if name in below or head.get("isBestOfNSubcomposer"):
            reader.left_out[OF_AGENTS] += 1
            listed = []
        for number, one in enumerate(map(fields, listed[: chats.MESSAGES])):
            bubble = one if "text" in one else _bubble(database, f"bubbleId:{name}:{string(one.get('bubbleId'))}")
            if not bubble:
                reader.left_out[LOST] += 1
                continue
            kind = bubble.get("type", one.get("type"))
            role = _ROLES.get(kind, "") if isinstance(kind, int) else ""
            said = {"content": string(bubble.get("text")), "id": string(bubble.get("bubbleId"))}
            _take(reader, number, {"role": role, **said, "timestamp": _moment(bubble.get("createdAt"))})
        yield _chat(reader, name, head, head.get("lastUpdatedAt"))


def _bubble(database: _Database, key: str) -> Mapping[str, Any]:
    return _entry(database.one("SELECT value FROM cursorDiskKV WHERE key", key))


def _of_terminal(database: _Database, folder: str) -> Chat | BadPart:
    if not (database.has("meta") and database.has("blobs")):
        raise BadPart("is no database of Cursor")
    reader = Messages(SERVICE)
    try:
        head = _entry(bytes.fromhex(database.one("SELECT value FROM meta WHERE key", "0").decode()))
    except ValueError:
        head = {}
    asked = "SELECT data AS value FROM (SELECT id, data, data AS value FROM blobs) WHERE id"
    found = _ORDER.match(database.one(asked, string(head.get("latestRootBlobId"))))
    order = found[0] if found else b""
    for at in range(0, min(len(order), 34 * chats.MESSAGES), 34):
        name = order[at + 2 : at + 34].hex()
        message = _entry(database.one(asked, name))
        role = string(message.get("role"))
        if not message:
            reader.left_out[LOST] += 1
        elif role in ("system", "tool"):
            reader.left_out[WITHOUT_WORDS] += 1
        else:
            _take(reader, at, {"role": role, "content": text_of(message.get("content"), role), "id": name})
    return _chat(reader, string(head.get("agentId")) or folder, head, None)


def _take(reader: Messages, number: int, entry: Mapping[str, Any]) -> None:
    if entry["role"] in _ROLES.values():
        reader.take(Line(json.dumps(entry).encode(), number, number))
    else:
        reader.left_out[f"{UNKNOWN} (messages of Cursor)" if entry["content"].strip() else WITHOUT_WORDS] += 1


def _chat(reader: Messages, name: str, head: Mapping[str, Any], updated_at: object) -> Chat | BadPart:
    try:
        session = chats.id_of(name, "a chat")
        began = _moment(head.get("createdAt"))
        messages = {
            said.key: Message(said.key, said.role, said.content, chats.moment(said.timestamp) or began)  # type: ignore[arg-type]
            for said in reader.all()
        }
        chat = chat_of(SERVICE, session, list(messages.values()))
    except BadPart as problem:
        return problem
    left_out = reader.not_taken()
    title = chats.title_of(reader.shown(reader.clean(string(head.get("name")))))
    newest = _moment(updated_at) or chat.updated_at
    return replace(chat, title=title or chat.title, updated_at=newest, left_out=left_out)


def _moment(value: object) -> str | None:
    """A time as Cursor writes it: in milliseconds, or as a text."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    with suppress(OverflowError):
        return chats.moment(value / 1000 if is_number else value)  # type: ignore[operator]
    return None


def _entry(value: object) -> Mapping[str, Any]:
    return (entry_of(value) if isinstance(value, bytes) else None) or {}
