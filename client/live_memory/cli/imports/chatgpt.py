"""A conversation as the export of ChatGPT has it: a tree of messages, of which the user sees one branch.

The form of the export is not documented. These fields are read: `conversation_id` or `id`, `title`, `update_time`,
`current_node`, and of each node in `mapping` its `parent` and `message`.
"""

from collections import Counter
from typing import Any

from live_memory.cli.imports import chats, untaken
from live_memory.cli.imports.chats import Chat, Message
from live_memory.cli.imports.unfit import BadPart

SERVICE = "chatgpt.com"

_TAKEN = ("conversation_id", "id", "title", "update_time", "create_time", "current_node", "mapping")
_OF_NODE = ("id", "parent", "children", "message")
_OF_MESSAGE = ("id", "author", "content", "create_time", "recipient", "metadata")
_OF_AUTHOR = ("role", "name")
_OF_CONTENT = ("content_type", "parts", "text", "result")
_HIDDEN = "is_visually_hidden_from_conversation"
_INWARD = ("thoughts", "reasoning_recap", "user_editable_context", "model_editable_context")
"""Kinds of content that are no part of the conversation."""


def chat(value: dict[str, Any]) -> Chat:
    """The conversation; raises BadPart."""
    chat_id = chats.id_of(value.get("conversation_id") or value.get("id"), "a conversation")
    nodes = value.get("mapping")
    if not isinstance(nodes, dict):
        raise BadPart("has no tree of messages")
    left_out: Counter[str] = Counter()
    untaken.count_fields(left_out, "conversations", value, _TAKEN)
    way = _current(nodes, value.get("current_node"))
    left_out["messages of other branches"] = sum(bool(_said(nodes, name)) for name in set(nodes) - set(way))
    found = [_taken(name, chats.dictionary(nodes[name]), left_out) for name in way]
    return Chat(
        SERVICE,
        chat_id,
        chats.title_of(value.get("title")),
        chats.moment(value.get("update_time") or value.get("create_time")),
        chats.turns((message for message in found if message), left_out),
        +left_out,
    )


def _current(nodes: dict[str, Any], leaf: object) -> list[str]:
    """The nodes from the root to the current one. Without a current one, to the newest."""
    parents: dict[str, str | None] = {}
    for name, node in nodes.items():
        parent = chats.dictionary(node).get("parent")
        parents[name] = parent if isinstance(parent, str) else None
    if isinstance(leaf, str) and leaf in nodes:
        return chats.branch(parents, leaf)
    if not nodes:
        return []
    return chats.branch(parents, max(reversed(nodes), key=lambda name: chats.moment(_time(nodes, name)) or ""))


def _time(nodes: dict[str, Any], name: str) -> object:
    return chats.dictionary(chats.dictionary(nodes[name]).get("message")).get("create_time")


def _said(nodes: dict[str, Any], name: str) -> bool:
    message = chats.dictionary(chats.dictionary(nodes[name]).get("message"))
    return bool(_message(name, message, Counter()))


def _taken(name: str, node: dict[str, Any], left_out: Counter[str]) -> Message | None:
    """The message of a node. All other fields of both are counted."""
    message = chats.dictionary(node.get("message"))
    taken = _message(name, message, left_out)
    untaken.count_fields(left_out, "messages", {**node, **message}, {*_OF_NODE, *_OF_MESSAGE})
    untaken.count_fields(left_out, "metadata", chats.dictionary(message.get("metadata")), [_HIDDEN])
    untaken.count_fields(left_out, "authors", chats.dictionary(message.get("author")), _OF_AUTHOR)
    content = chats.dictionary(message.get("content"))
    left_out["messages that are no part of the conversation"] += not taken and _has_words(content)
    if taken:
        untaken.count_fields(left_out, "contents", content, _OF_CONTENT)
    return taken


def _has_words(content: dict[str, Any]) -> bool:
    values = [value for name, value in content.items() if name != "content_type"]
    parts = [*values, *(part for value in values for part in chats.items(value))]
    return any(part.strip() if isinstance(part, str) else isinstance(part, dict) and part for part in parts)


def _message(name: str, message: dict[str, Any], left_out: Counter[str]) -> Message | None:
    author = chats.dictionary(message.get("author"))
    content = chats.dictionary(message.get("content"))
    role, form = author.get("role"), content.get("content_type")
    hidden = chats.dictionary(message.get("metadata")).get(_HIDDEN) is True
    if role not in ("user", "assistant", "tool") or form in _INWARD or (hidden and role != "tool"):
        return None
    text = _text(content, left_out)
    if not text.strip():
        return None
    message_id = chats.id_of(name, "a message")
    when = chats.moment(message.get("create_time"))
    recipient = message.get("recipient")
    if role == "tool":
        return Message(message_id, "tool", text, when, chats.title_of(author.get("name")) or "tool")
    if role == "assistant" and isinstance(recipient, str) and recipient not in ("all", ""):
        return Message(message_id, "assistant", text, when, chats.title_of(recipient))
    return Message(message_id, "user" if role == "user" else "assistant", text, when)


def _text(content: dict[str, Any], left_out: Counter[str]) -> str:
    """The text of a message. Other content is counted, and shown by its kind."""
    texts = []
    for part in chats.items(content.get("parts")):
        if isinstance(part, str):
            texts.append(chats.text_of(part))
            continue
        fields = chats.dictionary(part)
        text = chats.text_of(fields.get("text"))
        kind = chats.title_of(fields.get("content_type")).removesuffix("_asset_pointer").replace("_", " ")
        if not text.strip() and kind:
            left_out["images, sounds and other media"] += 1
            text = f"[{kind}]"
        texts.append(text)
    if not texts:
        texts = [chats.text_of(content.get("text") or content.get("result"))]
    return "\n\n".join(text for text in texts if text.strip())
