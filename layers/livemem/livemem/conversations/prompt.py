"""The prompts: turns or summaries as JSON values on one line each, so that no text can forge the prompt's structure."""

from collections.abc import Sequence
from functools import lru_cache, partial
from string import Template
from typing import Any, Literal

from livemem import clock
from livemem.conversations.summaries import Summary
from livemem.conversations.turn import Turn
from livemem.llm import templates
from livemem.llm.client import Messages
from livemem.llm.templates import json_line
from livemem.store.keys import CATEGORIES

NAMES = ("system", "turns", "summaries", "capture")
_MOMENT = "2026-02-20T14:00:00.000Z"
_FRAME_OF_TURN = {"turn": 100, "at": _MOMENT, "role": "user"}
_text = partial(templates.text, "conversations")


@lru_cache(maxsize=1)
def version() -> str:
    """A short hash of all prompt texts."""
    return templates.version([*map(_text, NAMES), *CATEGORIES])


def system() -> str:
    """The instructions, the same for all prompts."""
    return _text("system")


def of_turns(parts: Sequence[tuple[Turn, str, str]], before: str, target: int, *, captures: bool) -> Messages:
    """The prompt for a block: each turn with the parts of its user's and its assistant's side that are in the block.

    `before` is the text just before the block. `target` is in characters. `captures`: the answer also names notes.
    """
    turns = [_shown(turn, user, assistant) for turn, user, assistant in parts]
    categories = ", ".join(f"`{category}`" for category in CATEGORIES)
    more = Template(_text("capture")).substitute(categories=categories) if captures else ""
    return _messages("turns", target, more, before=json_line(before or None), turns=json_line(turns))


def _shown(turn: Turn, user: str, assistant: str) -> dict[str, Any]:
    return {
        "turn": turn.turn_index,
        "at": clock.iso(turn.said_at()),
        "role": turn.role,
        "by": {side: turn.said_by(side) for side in ("user", "assistant")} if turn.user or turn.written_by else None,
        "user": user,
        "assistant": assistant,
        "tools": list(dict.fromkeys(call.name for call in turn.tool_calls)),
    }


def of_summaries(children: Sequence[Summary], target: int) -> Messages:
    """The prompt for a group of summaries. `target` is in characters."""
    shown = [
        {
            "turns": list(child.covers.turns),
            "until": child.range_end,
            "summary": child.summary,
            "key_findings": child.key_findings,
            "topics": child.topics,
            "signals": child.signals,
        }
        for child in children
    ]
    return _messages("summaries", target, summaries=json_line(shown))


@lru_cache(maxsize=2)
def question_chars(name: Literal["turns", "summaries"]) -> int:
    """Characters of a prompt without its source: the instructions of both messages."""
    return len(system()) + len(_text(name))


@lru_cache(maxsize=1)
def turn_chars() -> int:
    """Characters of a turn in a prompt without its text: names of fields, number, time and role."""
    return len(json_line({**_FRAME_OF_TURN, "user": "", "assistant": "", "tools": []})) + len(",")


@lru_cache(maxsize=1)
def child_chars() -> int:
    """Characters of a summary in a prompt without the text that the model wrote."""
    lists: dict[str, list[str]] = {"key_findings": [], "topics": [], "signals": []}
    return len(json_line({"turns": [100, 100], "until": _MOMENT, "summary": "", **lists})) + len(",")


def _messages(name: str, target: int, more: str = "", **values: str) -> Messages:
    user = Template(_text(name)).substitute(target=target, **values)
    return [{"role": "system", "content": system() + more}, {"role": "user", "content": user}]
