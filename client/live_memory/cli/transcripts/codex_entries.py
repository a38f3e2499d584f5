"""Entries of Codex's transcripts (rollouts), as 0.171.0 writes them, and as users of 0.20 to 0.100 report them.

The oldest have items of the model's input as they are, without an entry around them.
"""

import json
from collections.abc import Mapping
from typing import Any

from live_memory.cli.transcripts.entries import (
    WITHOUT_WORDS,
    Words,
    fields,
    string,
    text_of,
    unknown,
    unknown_part,
)

_QUESTION = "request_user_input"
_SILENT = frozenset(
    "session_meta turn_context world_state retained_context compacted token_usage_record event_msg ghost_snapshot "
    "inter_agent_communication".split()
)
_ITEMS = frozenset(
    "reasoning function_call function_call_output custom_tool_call custom_tool_call_output local_shell_call "
    "tool_search_call tool_search_output web_search_call image_generation_call ghost_snapshot compaction "
    "compaction_summary compaction_trigger context_compaction additional_tools".split()
)
"""Kinds of items that hold no words of the user."""


class Codex:
    """Reads entries in their order. The words of the user are in events and in items of the model's input, which also
    hold what Codex itself adds. `events`: whether the events are the user's words, and items of the user none.
    """

    def __init__(self, *, events: bool) -> None:
        self._events = events
        self._questions: dict[str, Mapping[str, str]] = {}

    def read(self, entry: Mapping[str, Any]) -> Words | None:
        """The words of an entry, None where it holds none."""
        kind, item = string(entry.get("type")), fields(entry.get("payload"))
        if "payload" not in entry and (kind == "message" or kind in _ITEMS):
            kind, item = "response_item", entry
        if kind == "event_msg" and item.get("type") == "user_message":
            # Events of older versions are of the client too, by their kind.
            text = text_of(item.get("message"), "user", typed=True) if item.get("kind", "plain") == "plain" else ""
            if text:
                return Words("user", text) if self._events else None
            return Words(left_out=WITHOUT_WORDS) if item.get("message") else None
        if kind == "event_msg" and string(item.get("type")).startswith("user_"):
            return unknown(item, f"event_msg:{string(item.get('type'))}")
        if kind != "response_item":
            return None if kind in _SILENT else unknown(entry, kind)
        form = string(item.get("type"))
        if form == "message":
            # The summary of a compaction is an answer of the model to the client.
            compaction = fields(entry.get("metadata")).get("compaction_output")
            return Words(left_out=WITHOUT_WORDS) if compaction else self._message(item)
        if form == "function_call" and item.get("name") == _QUESTION:
            self._questions[string(item.get("call_id"))] = _questions(item.get("arguments"))
        if form == "function_call_output" and string(item.get("call_id")) in self._questions:
            return self._chosen(item)
        return Words(left_out=WITHOUT_WORDS) if form in _ITEMS else unknown(entry, f"response_item:{form}")

    def _message(self, item: Mapping[str, Any]) -> Words | None:
        role, content = string(item.get("role")), item.get("content")
        if role in ("developer", "system"):
            return Words(left_out=WITHOUT_WORDS)
        if role not in ("user", "assistant"):
            return unknown({"content": content}, f"message:{role}")
        kinds = fields(item.get("internal_chat_message_metadata_passthrough")).get("content_item_kinds")
        listed = isinstance(kinds, list) and isinstance(content, list) and len(kinds) == len(content)
        if role == "user" and listed:
            # Codex marks the parts of a message that it added itself.
            content = [
                block for block, kind in zip(content or (), kinds or (), strict=True) if str(kind).startswith("user.")
            ]
        elif role == "user" and self._events:
            return Words(left_out=WITHOUT_WORDS)
        text = text_of(content, role)
        odd = unknown_part(content) if role == "user" else ""
        if text or odd:
            return Words(role, text, name=string(item.get("id")), left_out=odd)
        return Words(left_out=WITHOUT_WORDS)

    def _chosen(self, item: Mapping[str, Any]) -> Words | None:
        questions = self._questions[string(item.get("call_id"))]
        output = item.get("output")
        answers = fields(_parsed(output if isinstance(output, str) else text_of(output, ""))).get("answers")
        lines = []
        for name, answer in fields(answers).items():
            chosen = fields(answer).get("answers", answer)
            said = ", ".join(map(str, chosen)) if isinstance(chosen, list) else string(chosen)
            lines += [f"{questions.get(name, name)} {said}"] if said else []
        return Words("user", "\n".join(lines), name=string(item.get("id"))) if lines else None


def _questions(arguments: Any) -> Mapping[str, str]:
    asked = fields(_parsed(string(arguments))).get("questions")
    listed = [fields(each) for each in asked] if isinstance(asked, list) else []
    return {string(each.get("id")): string(each.get("question")) for each in listed}


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
