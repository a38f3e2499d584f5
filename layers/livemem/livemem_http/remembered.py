"""Memories as Markdown, ready for a prompt: each is an item, and no text can forge an item."""

from collections.abc import Sequence

from livemem.text.items import joined, within_item
from livemem.text.speakers import said_by
from livemem_http.views.memories import (
    FormerView,
    MemoriesFound,
    MemoryChangePage,
    MemoryChangeView,
    MemoryDetail,
    MemoryView,
)
from livemem_http.views.rooms import RoomMessagePage, RoomMessageView


def found(answer: MemoriesFound) -> str:
    """The memories, one item each."""
    return joined(_memories(answer.items), _more(answer.next_cursor))


def memory(answer: MemoryDetail) -> str:
    """A memory with what it said before."""
    history = "\n".join(map(_former, answer.history))
    return joined(_memory(answer), "# Before" if history else "", history)


def changes(answer: MemoryChangePage) -> str:
    """The changes of memories, one item each."""
    return joined("\n".join(map(_change, answer.items)) or "Nothing was stored.", _more(answer.next_cursor))


def messages(answer: RoomMessagePage) -> str:
    """A page of what was said in a room, one item each."""
    return joined("\n".join(map(_message, answer.items)) or "No messages.", _more(answer.next_cursor))


def _more(cursor: str | None) -> str:
    return f"There are more: cursor={cursor}" if cursor else ""


def _memories(memories: Sequence[MemoryView]) -> str:
    return joined("\n".join(map(_memory, memories)) or "No memories.")


def _memory(one: MemoryView) -> str:
    facts = [one.memory_id, one.kind, one.updated_at]
    facts += [within_item(one.category)] if one.category else []
    facts += [f"said {one.said_at}"] if one.said_at else []
    who, token = one.author or one.provenance.user, one.provenance.author
    facts += [within_item(f"by {who}" if who == token else said_by(who, token))] if who else []
    facts += [f"until {one.expires_at}"] if one.expires_at else []
    facts += [f"perhaps the same as {' '.join(one.similar_to)}"] if one.similar_to else []
    tags = "".join(f" #{within_item(subject).replace(' ', '-')}" for subject in one.subjects)
    return f"- [{', '.join(facts)}{tags}] {within_item(one.content)}"


def _former(one: FormerView) -> str:
    return f"- [{one.at}, {one.author}] {within_item(one.content)}"


def _message(one: RoomMessageView) -> str:
    return f"- [{one.timestamp}] {within_item(one.author)}: {within_item(one.content)}"


def _change(one: MemoryChangeView) -> str:
    facts = [one.at, one.author, f"{one.kind} {one.number}", one.memory_id]
    lines = [f"- {one.what} [{', '.join(facts)}] {within_item(one.content)}"]
    if one.former is not None:
        name = "Split off" if one.what == "split" else "Restated" if one.kept == "former" else "Before"
        lines.append(f"  {name}: {within_item(one.former)}")
    if one.reason is not None:
        lines.append(f"  Reason: {within_item(one.reason)}")
    return "\n".join(lines)
