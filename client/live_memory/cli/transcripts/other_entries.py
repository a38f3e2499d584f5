"""Entries of the log of a session of VS Code or Copilot's command line (1.0.102), and of messages that hooks of Cursor,
Cline and OpenCode have kept.
"""

from collections.abc import Mapping
from typing import Any

from live_memory.cli.transcripts.entries import WITHOUT_WORDS, Words, fields, string, text_of, unknown

_VSCODE = {"user.message": "user", "assistant.message": "assistant"}
_SILENT = ("session.", "tool.", "assistant.", "hook.", "abort", "subagent.", "skill.", "system.")
"""The beginnings of types of VS Code's events that hold no words of the user."""


def vscode(entry: Mapping[str, Any]) -> Words | None:
    """The words of an event of VS Code or Copilot's command line."""
    kind, data = string(entry.get("type")), fields(entry.get("data"))
    role = _VSCODE.get(kind)
    if not role:
        return None if kind.startswith(_SILENT) else unknown(entry, kind)
    source = data.get("source")
    own = not data.get("parentToolCallId") if role == "assistant" else source in (None, "user")
    text = text_of(data.get("content"), role) if own else ""
    if text:
        return Words(role, text, name=string(entry.get("id")))
    return Words(left_out=WITHOUT_WORDS)


def kept(entry: Mapping[str, Any]) -> Words | None:
    """The words of a message that a hook has kept."""
    role, content = entry.get("role"), entry.get("content")
    if role not in ("user", "assistant") or not isinstance(content, str):
        return unknown(entry, "kept")
    text = text_of(content, str(role))
    return Words(str(role), text, name=string(entry.get("id"))) if text else Words(left_out=WITHOUT_WORDS)
