"""Facts worth remembering of messages, by fixed rules: whole sentences that tell a decision, a change or a state.
Nothing is put in other words, so nothing is made up. And whether two of them are the same: those of the same words.
"""

import re
from typing import Any

from livemem.text import wording
from local.offline_llm import sentences
from local.offline_llm.prompt import Prompt, PromptError
from local.offline_llm.words import VOCABULARY, content_stems, normalise, pattern, stems

MOST, SUBJECTS = 40, 4
FEWEST_WORDS, STATEMENT_WORDS, LONGEST = 4, 7, 500
"""Of a sentence, of one without any word of decision or change, and characters of one that may be a single fact."""
SHARED = 2
"""Words that a change has in common with what it changes."""

_PATTERNS = {name: pattern(text) for name, text in VOCABULARY["patterns"]["digest"].items()}
_FOR_A_TIME = {ttl: pattern(text) for ttl, text in VOCABULARY["patterns"]["for_a_time"].items()}
_NAME = re.compile(r"(?<![\w.])[A-ZÀ-ÖØ-Þ][\w-]{2,40}")
_WORD = re.compile(r"[^\W\d_][\w-]{3,40}")


def listen(prompt: Prompt) -> dict[str, Any]:
    """The answer to a prompt for a digest, in the form of the contract. Raises PromptError."""
    known = [str(memory.get("content") or "") for memory in prompt.items("Known already")]
    known_words, said = [stems(text) for text in known], {normalise(text) for text in known}
    facts: list[dict[str, Any]] = []
    for message in prompt.items("Messages of the room"):
        content, author = str(message.get("content") or ""), str(message.get("author") or "")
        if type(message.get("number")) is not int or sentences.gives_orders(content):
            continue
        for sentence in filter(_tells, sentences.split(content)):
            # Alone, a sentence does not tell who "we" are.
            fact = f"{author}: {sentence}" if author and _PATTERNS["first_person"].search(sentence) else sentence
            words = stems(fact)
            # Known is also what has all words, numbers too, in one memory.
            if normalise(fact) in said or (words and any(words <= other for other in known_words)):
                continue
            said.add(normalise(fact))
            shared = max((len(stems(sentence) & other) for other in known_words), default=0)
            names = [name.lower() for name in _NAME.findall(sentence[1:])]
            longest = sorted((word.lower() for word in _WORD.findall(sentence) if content_stems(word)), key=len)[::-1]
            facts.append(
                {
                    "kind": "fact",
                    "category": None,
                    "content": fact,
                    "subjects": list(dict.fromkeys([*names, *longest]))[:SUBJECTS],
                    "ttl": next((ttl for ttl, when in _FOR_A_TIME.items() if when.search(sentence)), None),
                    "replace": _PATTERNS["changes"].search(sentence) is not None and shared >= SHARED,
                    "messages": [message["number"]],
                }
            )
    return {"memories": facts[:MOST]}


def _tells(sentence: str) -> bool:
    """Whether a sentence tells a decision or a change, or holds something to find it by: a number, a name, or code."""
    words, body = len(sentence.split()), sentence[1:]
    if words < FEWEST_WORDS or len(sentence) > LONGEST or sentence.endswith("?"):
        return False
    if _PATTERNS["small_talk"].fullmatch(sentence.rstrip(".! ")):
        return False
    states = words >= STATEMENT_WORDS and (re.search(r"[0-9_`:;]", body) or _NAME.search(body))
    return bool(_PATTERNS["tells"].search(sentence) or states)


def judge(prompt: Prompt) -> dict[str, Any]:
    """The answer about all pairs of a prompt. Of other words it says both, which is no verdict. Raises PromptError."""
    try:
        pairs = [(one["pair"], one["there"], new["new"]) for new in prompt.items("Pairs") for one in new["pairs"]]
    except (KeyError, TypeError) as error:
        raise PromptError("Each entry must have a new note and its pairs.") from error
    verdicts = [
        {"pair": number, "verdict": verdict}
        for number, there, new in pairs
        for verdict in (["same"] if wording.same(str(there), str(new)) else ["same", "different"])
    ]
    return {"verdicts": verdicts}
