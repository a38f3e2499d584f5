"""A conversation as the export of Claude has it: messages in a row, among them those that were edited or tried again.

https://privacy.claude.com says how to get an export; its form is not documented. These fields are read: `uuid`, `name`,
`updated_at`, and of `chat_messages` `uuid`, `parent_message_uuid`, `sender`, `text` or `content`, `created_at`, and the
names of `attachments` and `files`.
"""

import json
from collections import Counter
from typing import Any

from live_memory.cli.imports import chats, untaken
from live_memory.cli.imports.chats import Chat, Message
from live_memory.cli.imports.unfit import BadPart, shown

SERVICE = "claude.ai"
_TAKEN = ("uuid", "name", "created_at", "updated_at", "chat_messages", "current_leaf_message_uuid")
_OF_MESSAGE = (
    "uuid", "parent_message_uuid", "sender", "text", "content", "created_at", "attachments", "files",
)  # fmt: skip
_OF_PART = {"text": ["type", "text"], "tool_use": ["type", "name", "input"], "tool_result": ["type", "name", "content"]}


def chat(value: dict[str, Any]) -> Chat:
    """The conversation; raises BadPart."""
    chat_id = chats.id_of(value.get("uuid"), "a conversation")
    left_out: Counter[str] = Counter()
    untaken.count_fields(left_out, "conversations", value, _TAKEN)
    listed = value.get("chat_messages")
    if not isinstance(listed, list):
        raise BadPart("has no list of messages")
    rows = [chats.dictionary(row) for row in listed]
    kept = _current(rows, value.get("current_leaf_message_uuid"))
    left_out["messages that were edited or tried again"] = len(rows) - len(kept)
    messages = [message for row in kept for message in _messages(row, left_out)]
    return Chat(
        SERVICE,
        chat_id,
        chats.title_of(value.get("name")),
        chats.moment(value.get("updated_at") or value.get("created_at")),
        chats.turns(messages, left_out),
        +left_out,
    )


def _current(rows: list[dict[str, Any]], leaf: object) -> list[dict[str, Any]]:
    """The messages that lead to the last one; all of them if the export does not give their order."""
    by_id = {chats.id_of(row.get("uuid"), "a message"): row for row in rows}
    if len(by_id) < len(rows):
        raise BadPart("holds a message twice")
    parents = {name: row.get("parent_message_uuid") for name, row in by_id.items()}
    if not rows or not all(isinstance(parent, str) for parent in parents.values()):
        return rows
    # Of those of one moment the last one.
    newest = max(reversed(by_id), key=lambda name: chats.moment(by_id[name].get("created_at")) or "")
    last = leaf if isinstance(leaf, str) and leaf in by_id else newest
    way = chats.branch(parents, last)
    # If the branch does not begin as the conversation does, a message between is missing. Then all messages are better.
    return [by_id[name] for name in way] if parents[way[0]] == rows[0]["parent_message_uuid"] else rows


def _messages(row: dict[str, Any], left_out: Counter[str]) -> list[Message]:
    message_id = chats.id_of(row.get("uuid"), "a message")
    sender, when = row.get("sender"), chats.moment(row.get("created_at"))
    if sender not in ("human", "assistant"):
        left_out["messages of others than user and assistant"] += 1
        return []
    role = "user" if sender == "human" else "assistant"
    parts = [chats.dictionary(part) for part in chats.items(row.get("content"))]
    untaken.count_fields(left_out, "messages", row, _OF_MESSAGE)
    _count_parts(parts, role, left_out)
    texts = [chats.text_of(part.get("text")) for part in parts if part.get("type") == "text"]
    text = "\n\n".join(text for text in texts if text.strip()) or chats.text_of(row.get("text"))
    names = _attached(row, left_out)
    said = "\n\n".join(part for part in (text, *names) if part.strip())
    calls = _calls(message_id, parts, when) if role == "assistant" else []
    own = [Message(message_id, role, said, when)] if said or not calls else []  # type: ignore[arg-type]
    return [*own, *calls]


def _count_parts(parts: list[dict[str, Any]], role: str, left_out: Counter[str]) -> None:
    for part in parts:
        kind = chats.text_of(part.get("type"))
        if kind == "text" or (kind in _OF_PART and role == "assistant"):
            untaken.count_fields(left_out, "parts of messages", part, _OF_PART[kind])
        else:
            untaken.add(left_out, {f"parts of messages: {shown(kind)[1:-1] or 'without a type'}": 1})


def _attached(row: dict[str, Any], left_out: Counter[str]) -> list[str]:
    """The names of attached files. The files themselves are not in an export, and their texts are no conversation."""
    names = []
    for kind in ("attachments", "files"):
        for one in chats.items(row.get(kind)):
            name = chats.title_of(chats.dictionary(one).get("file_name")) or "a file"
            left_out["attached files"] += 1
            names.append(f"[attached: {name}]")
    return names


def _calls(message_id: str, parts: list[dict[str, Any]], when: str | None) -> list[Message]:
    calls: list[Message] = []
    for number, part in enumerate(parts):
        name = chats.title_of(part.get("name")) or "tool"
        if part.get("type") == "tool_use":
            text = json.dumps(part.get("input"), ensure_ascii=False)
            calls.append(Message(f"{message_id}.{number}", "assistant", chats.text_of(text), when, name))
        elif part.get("type") == "tool_result":
            text = json.dumps(part.get("content"), ensure_ascii=False)
            calls.append(Message(f"{message_id}.{number}", "tool", chats.text_of(text), when, name))
    return calls
