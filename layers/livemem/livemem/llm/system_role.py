"""Models without a system role: their text for the system goes before the first message of the user.

The chat templates of Gemma and of older Mistral models refuse the role, and so do some providers. They have no code in
common: a refusal is known by words of its message. The words are those of these templates (behind vLLM, llama.cpp,
SGLang, TGI), Google, OpenAI, Anthropic, Bedrock and Mistral.
"""

import re
from collections.abc import Sequence
from typing import Any

_REFUSED = re.compile(
    r"""
    system['"`]?\ (?:role|message|prompt|instruction)s?\b.{0,40}
      (?:not\ (?:be\ )?(?:support|allow|enable|accept)|unsupported|disabled)
    | \bsystem['"`]?\ is\ (?:invalid|unsupported
      |not\ (?:support|allow|accept|(?:an?\ )?(?:valid|known|allowed|supported)))
    | \b(?:not|n't)\ have\ an?\ system\ role | \bno\ system\ role
    | (?:not|n't)\ (?:support|allow|accept)\b.{0,40}\bsystem\b
    | (?:unsupported|invalid|unknown|unrecognized|unexpected)\b.{0,30}\brole\b.{0,20}\bsystem\b
    | \bonly\b.{0,50}\broles?\ (?:are|is)\ (?:supported|allowed)
    | roles\ must\ alternate
    | developer\ instruction\ is\ not\ enabled
    | first\ message\ (?:must|should)\ be\b.{0,20}\buser
    | should\ be\ ['"`]user['"`](?:,|\ or)\ ['"`]assistant
    """,
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_STATUSES = (400, 422, 500)
"""llama.cpp answers 500 where a template raises an error."""
MOST_CHARACTERS = 20_000
"""Of an error's body that are looked at."""


def is_refused(status: int, body: object) -> bool:
    """Whether an error of the API, its status and body, says that the model takes no message of the system."""
    return status in _STATUSES and bool(_REFUSED.search(str(body)[:MOST_CHARACTERS]))


def moved(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same messages without a system role: its texts stand before the first message of the user.

    Neighbours of the user become one message, for templates that want user and assistant by turns.
    """
    system = [message["content"] for message in messages if message["role"] == "system"]
    rest = [message for message in messages if message["role"] != "system"]
    first = next((place for place, message in enumerate(rest) if message["role"] == "user"), 0)
    merged = [*rest[:first], *({"role": "user", "content": text} for text in system), *rest[first:]]
    joined: list[dict[str, Any]] = []
    for message in merged:
        if joined and message["role"] == joined[-1]["role"] == "user":
            joined[-1] = message | {"content": f"{joined[-1]['content']}\n\n{message['content']}"}
        else:
            joined.append(message)
    return joined
