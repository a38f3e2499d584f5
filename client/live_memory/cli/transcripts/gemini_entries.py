"""Entries of Gemini CLI's transcripts, as 0.61.0 writes them."""

from collections.abc import Mapping
from typing import Any

from live_memory.cli.transcripts.entries import WITHOUT_WORDS, Words, fields, string, text_of, unknown

_ROLES = {"user": "user", "gemini": "assistant"}
_SILENT = ("info", "error", "warning")
"""Types of messages of the client itself."""


class GeminiCli:
    """Reads entries in their order: a message is written again with the calls of tools that follow it."""

    def __init__(self) -> None:
        self._read: set[tuple[str, str]] = set()

    def read(self, entry: Mapping[str, Any]) -> Words | None:
        """The words of an entry, None where it holds none."""
        kind = string(entry.get("type"))
        role = _ROLES.get(kind)
        if not role:
            # The others describe the session, or write its messages again.
            own = kind in _SILENT or "$set" in entry or "$rewindTo" in entry or "projectHash" in entry
            return None if own else unknown(entry, kind)
        # What was typed, without the files that it names.
        content = entry.get("displayContent") or entry.get("content")
        parts = content if isinstance(content, list) else [content]
        text = text_of([each if isinstance(each, str) else string(fields(each).get("text")) for each in parts], role)
        named = (string(entry.get("id")), text)
        if not text or named in self._read:
            return Words(left_out=WITHOUT_WORDS)
        self._read.add(named)
        return Words(role, text, name=named[0])
