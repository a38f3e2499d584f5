"""The question whether notes are of the same fact, read from the chat messages, and its answer by a fixed rule.

The user message holds one line of JSON below a heading: notes that somebody wants to add, each with the numbered notes
that are there. Of a pair this model knows only whether it says the same in the same words. A pair that an answer leaves
out is different, so of all others it says both, which is no verdict: a model that can tell may be asked later.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from local.offline_llm.prompt import PromptError, text_of

_HEADING = "# Pairs (JSON)"
_OPENING, _CLOSING = "«“(", ".,;:!…»”)"
_ARTICLES = frozenset({"the"})
"""Others are words too: plan A, the LA office, le poste and la poste."""

Pair = tuple[int, str, str]
"""Its number, the text that is stored, and the new note."""


def read_verdict_request(messages: Sequence[Mapping[str, Any]]) -> list[Pair]:
    """The pairs; raises PromptError if the messages ask for no verdict."""
    for message in messages:
        if message.get("role") == "user":
            found = _read(text_of(message.get("content")))
            if found is not None:
                return found
    raise PromptError("There is no request for a verdict.")


def judge(pairs: Sequence[Pair]) -> dict[str, Any]:
    """The answer: of pairs in the same words that they are the same, of all others both verdicts."""
    told = [
        {"pair": number, "verdict": verdict}
        for number, there, new in pairs
        for verdict in (["same"] if _words(there) == _words(new) else ["same", "different"])
    ]
    return {"verdicts": told}


def _words(text: str) -> list[str]:
    bare = (word.lstrip(_OPENING).rstrip(_CLOSING) for word in text.casefold().split())
    return [word for word in bare if word and word not in _ARTICLES]


def _read(text: str) -> list[Pair] | None:
    # Split at \n alone: other ends of lines are spelled in JSON.
    lines = text.split("\n")
    try:
        entries = json.loads(lines[lines.index(_HEADING) + 1])
        return [(one["pair"], str(one["there"]), str(entry["new"])) for entry in entries for one in entry["pairs"]]
    except (ValueError, IndexError, KeyError, TypeError):
        return None
