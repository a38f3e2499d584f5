"""The question whether two notes are of the same fact, read from the chat messages, and its answer by fixed rules.

The user message holds two JSON strings, each on a line of its own below its heading: the note that is there, and the
one that somebody wants to add.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from local.offline_llm.prompt import PromptError, text_of
from local.offline_llm.words import all_stems, content_stems

_HEADINGS = ("# The note that is there (JSON string)", "# The note that somebody wants to add (JSON string)")
LEAST = 0.5
"""Share of the words of the shorter note that the other one has too, below which they are taken for two facts."""
_NAME = re.compile(r"(?<=[\w,;:] )[A-Z\u00c0-\u00de]\w+")
"""A word with a capital within a sentence."""
_NEGATIONS = frozenset("not no never none without don doesn isn aren won can cannot ne pas jamais aucun sans".split())


def read_verdict_request(messages: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """The note that is there and the new one; raises PromptError if the messages ask for no verdict."""
    for message in messages:
        if message.get("role") == "user":
            found = _read(text_of(message.get("content")))
            if found:
                return found
    raise PromptError("There is no request for a verdict.")


def judge(old: str, new: str) -> dict[str, Any]:
    """The answer: of another name, or with few words in common, is another fact; a number or a "not" contradicts."""
    names, former = frozenset(_NAME.findall(new)), frozenset(_NAME.findall(old))
    begun_otherwise = old.split()[:1] != new.split()[:1] and old.split()[1:] == new.split()[1:]
    if begun_otherwise or (names - former and former - names) or _share(old, new) < LEAST:
        return {"verdict": "different"}
    contradicts = _numbers(new) - _numbers(old) or _says_no(new) != _says_no(old)
    return {"verdict": "contradicts" if contradicts else "same"}


def _share(one: str, other: str) -> float:
    few, many = sorted((frozenset(content_stems(one)), frozenset(content_stems(other))), key=len)
    return len(few & many) / len(few) if few else 0.0


def _numbers(text: str) -> frozenset[str]:
    return frozenset(word for word in all_stems(text) if any(sign.isdigit() for sign in word))


def _says_no(text: str) -> bool:
    return bool(_NEGATIONS & all_stems(text))


def _read(text: str) -> tuple[str, str] | None:
    # Split at \n alone: other ends of lines are spelled in JSON.
    lines = text.split("\n")
    try:
        old, new = (json.loads(lines[lines.index(heading) + 1]) for heading in _HEADINGS)
    except (ValueError, IndexError):
        return None
    return (old, new) if isinstance(old, str) and isinstance(new, str) else None
