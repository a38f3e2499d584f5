"""A summary by fixed rules: the whole sentences that tell most, in their order.

It is an extract, and says so: nothing is put in other words, so nothing is made up.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from local.offline_llm.summary_prompt import Part, SummaryRequest
from local.offline_llm.words import content_stems

MADE_BY = "Extract by fixed rules: "
"""How every summary begins: no language model has made it."""
LEAST = 60
"""Characters that an extract has room for, however short its source is."""
FINDINGS, TOPICS, FILES, NAMES = 3, 5, 20, 10
FEWEST_WORDS = 4
"""Of a sentence that tells something: the number of an item of a list is none."""
LONGEST = 300
"""Characters of a sentence, after which it is cut."""

_SENTENCE = re.compile(r"(?<=[.!?…])\s+|\n+")
_CODE = re.compile(r"`([^`\n]{1,80})`")
_FILE = re.compile(r"(?<![\w/.])(?:[\w.-]+/)*[\w-]{2,}\.[A-Za-z][A-Za-z0-9]{0,9}(?![\w/])")
_TIME = re.compile(r"\b[0-9]{4}-[0-9]{2}-[0-9]{2}\b")
_NUMBER = re.compile(r"[0-9]")
_TELLS = re.compile(
    r"\b(because|decided|decision|fixed|failed|fails|found|must|never|instead|reason|so that|measured|"
    r"parce que|décidé|il faut|jamais|mesuré|weil|entschieden|muss|nie)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class _Sentence:
    place: int
    who: str
    text: str


def summarise(request: SummaryRequest) -> dict[str, Any]:
    """The answer to a request for a summary, in the form of the contract."""
    sentences = _telling(_sentences(request.parts))
    text = "\n".join(part.text for part in request.parts)
    frequent = Counter(stem for sentence in sentences for stem in content_stems(sentence.text))
    ranked = sorted(sentences, key=lambda sentence: (-_weight(sentence, frequent, len(sentences)), sentence.place))
    chosen = _chosen(ranked, max(LEAST, request.target - len(MADE_BY)))
    told = " ".join(sentence.text for sentence in sorted(chosen, key=lambda sentence: sentence.place))
    findings = [*request.findings[:FINDINGS], *(sentence.text for sentence in ranked if sentence.who != "user")]
    return {
        "summary": f"{MADE_BY}{told}",
        "key_findings": list(dict.fromkeys(findings))[:FINDINGS],
        "files_mentioned": list(dict.fromkeys(_FILE.findall(text)))[:FILES],
        "topics": [stem for stem, _ in frequent.most_common(TOPICS)],
        "entities": {
            "persons": [],
            "organisations": [],
            "artifacts": list(dict.fromkeys(_CODE.findall(text)))[:NAMES],
            "places": [],
            "times": list(dict.fromkeys(_TIME.findall(text)))[:NAMES],
            "other": [],
        },
        "signals": [],
    }


def _sentences(parts: Sequence[Part]) -> list[_Sentence]:
    found: list[_Sentence] = []
    for part in parts:
        for text in _SENTENCE.split(part.text.removeprefix(MADE_BY)):
            told = " ".join(text.split())
            if told:
                found.append(_Sentence(len(found), part.who, told if len(told) <= LONGEST else f"{told[:LONGEST]}…"))
    return found


def _telling(sentences: list[_Sentence]) -> list[_Sentence]:
    """Those that are more than a fragment; all of them where there is no other."""
    whole = [sentence for sentence in sentences if len(sentence.text.split()) >= FEWEST_WORDS]
    return [_Sentence(place, one.who, one.text) for place, one in enumerate(whole)] or sentences


def _weight(sentence: _Sentence, frequent: Counter[str], count: int) -> float:
    """How much a sentence tells: its words by how often they come, numbers, code, and words that give reasons."""
    stems = set(content_stems(sentence.text))
    weight = sum(min(frequent[stem], 5) for stem in stems) / (5 + len(stems))
    weight += 0.5 * bool(_NUMBER.search(sentence.text)) + 0.5 * bool(_CODE.search(sentence.text))
    weight += 1.0 * bool(_TELLS.search(sentence.text)) + 0.5 * (sentence.who == "assistant")
    # What was wanted stands at the beginning, what came of it at the end.
    return weight + 0.5 * (sentence.place in (0, count - 1))


def _chosen(ranked: Sequence[_Sentence], room: int) -> list[_Sentence]:
    """The best sentences that have room; where not even the best has, its beginning."""
    chosen: list[_Sentence] = []
    left = room
    for sentence in ranked:
        if len(sentence.text) <= left:
            chosen.append(sentence)
            left -= len(sentence.text) + 1
    if not chosen and ranked:
        best = ranked[0]
        cut = best.text[:room].rsplit(" ", 1)[0] or best.text[:room]
        chosen = [_Sentence(best.place, best.who, f"{cut}…")]
    return chosen
