"""What a client's parser makes of an entry of a transcript."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from live_memory.cli.transcripts.client_words import words_of_user

Kind = Literal["said", "queued", "delivered", "taken back", "run"]


@dataclass(frozen=True)
class Words:
    """A message, or why an entry is none. `name`: the client's id of the message, also where a copy has another one.

    An entry may hold both: words, and a part that is not understood.

    `queued`: typed while the agent worked, `delivered`: given to the agent meanwhile, `taken back`: by the
    user, to change it, `run`: a command of the shell. `session`: the session in which it was said first, if the client
    names it.
    """

    role: str = ""
    text: str = ""
    kind: Kind = "said"
    name: str = ""
    session: str = ""
    left_out: str = ""


WITHOUT_WORDS = "lines without words, such as calls of tools"
UNKNOWN = "texts of a kind that is not known"
_TYPE = re.compile(r"[A-Za-z0-9_.:-]{1,60}")


def text_of(content: Any, role: str, *, typed: bool = False) -> str:
    """The text of a message: a string, or blocks of which some are texts. Each block is judged by itself: texts that a
    client adds to the words of the user are in blocks of their own, or before them. `typed`: the client says that the
    user typed it.
    """
    blocks = [content] if isinstance(content, str) else content if isinstance(content, list) else []
    texts = [block if isinstance(block, str) else _of_block(block) for block in blocks]
    said = (words_of_user(text, typed=typed) if role == "user" else text for text in texts)
    return "\n\n".join(text for text in said if text.strip())


def holds_text(content: Any) -> bool:
    """Whether there is any text in a message."""
    return bool(text_of(content, ""))


def fields(value: Any) -> Mapping[str, Any]:
    """A JSON object, an empty one for another value."""
    return value if isinstance(value, dict) else {}


def string(value: Any) -> str:
    """A text, "" for another value."""
    return value if isinstance(value, str) else ""


def _of_block(block: Any) -> str:
    kinds = ("text", "input_text", "output_text", "Text")
    return string(block.get("text")) if isinstance(block, dict) and block.get("type") in kinds else ""


def unknown(entry: Mapping[str, Any], what: str) -> Words | None:
    """How an entry of an unknown type is counted: if it holds text."""
    if not _has_text(entry):
        return None
    # A type that is none may be a text, which must be in no log.
    return Words(left_out=f"{UNKNOWN} ({what if _TYPE.fullmatch(what) else 'no type'})")


_BLOCKS = frozenset(
    "text input_text output_text Text image input_image local_image document tool_use tool_result tool_reference "
    "server_tool_use web_search_tool_result thinking redacted_thinking skill mention".split()
)
"""Types of blocks whose words are known, or that hold none of the user."""


def unknown_part(content: Any) -> str:
    """How a part of a message of the user is counted that holds text and is of an unknown type, "" for none."""
    for block in content if isinstance(content, list) else [content]:
        if isinstance(block, dict) and (kind := string(block.get("type"))) not in _BLOCKS:
            odd = unknown(block, f"part:{kind}")
            if odd:
                return odd.left_out
    return ""


_TEXTS = (
    "text",
    "transcript",
    "content",
    "prompt",
    "message",
    "lastPrompt",
    "answers",
    "data",
    "payload",
    "attachment",
    "item",
)


def _has_text(value: Any, depth: int = 4) -> bool:
    """Whether there is text in one of the fields that hold texts."""
    if isinstance(value, str):
        return bool(value.strip())
    if not depth:
        return False
    if isinstance(value, list):
        return any(_has_text(each, depth - 1) for each in value[:50] if not isinstance(each, str) or each.strip())
    return isinstance(value, dict) and any(_has_text(value[name], depth - 1) for name in _TEXTS if name in value)
