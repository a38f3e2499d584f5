"""A summary by fixed rules: the whole sentences that tell most, in their order.

It is an extract, and says so: nothing is put in other words, so nothing is made up, and the language stays. A sentence
counts by its words (frequent in the source, but not in every sentence), by what it holds (a decision, a reason, a
number, code), and by how little of it an earlier choice has said.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from local.offline_llm import sentences
from local.offline_llm.summary_prompt import Part, SummaryRequest
from local.offline_llm.words import content_stems

MADE_BY = "Extract by fixed rules: "
"""How every summary begins: no language model has made it."""
LEAST = 200
"""Characters that an extract has room for, however short its source is: a whole sentence, in most cases."""
FINDINGS, TOPICS, FILES, NAMES = 5, 5, 20, 10
FEWEST_WORDS = 4
"""Of a sentence that tells something: the number of an item of a list is none."""
FEW_WORDS, LONG = 6, 320
"""Words below which, and characters above which, a sentence counts for less."""
REPEATED = 0.9
"""How much less a sentence counts whose words were all said by one that was chosen before."""
SPREAD = 0.8
"""The factor by which a part counts less for each sentence that was chosen of it."""

_CODE = re.compile(r"`([^`\n]{1,80})`")
_FILE = re.compile(r"(?<![\w/.])(?:[\w.-]+/)*[\w-]{2,}\.[A-Za-z][A-Za-z0-9]{0,9}(?![\w/])")
_TIME = re.compile(r"\b[0-9]{4}-[0-9]{2}-[0-9]{2}\b")
_SIDE = re.compile(r"^(User|Assistant): ", re.MULTILINE)
"""The speaker of a side, in a block of turns that is its own summary."""
_CUES = (
    (
        2.0,
        re.compile(r"\b(?:decided|decision|agreed|from now on|décidé|décision|désormais|entschieden)\b", re.IGNORECASE),
    ),
    (
        1.4,
        re.compile(
            r"\b(?:because|therefore|so that|instead|must|never|cause[ds]?|fix(?:ed|es)|fail(?:s|ed)|found|open|todo|"
            r"measured|parce que|il faut|jamais|mesuré|donc|weil|muss|nie|gemessen)\b",
            re.IGNORECASE,
        ),
    ),
    (1.3, re.compile(r"[0-9]")),
    (1.15, _CODE),
    # It goes on from a sentence that may be missing here.
    (
        0.45,
        re.compile(
            r"(?:that|this|these|those|it|its|they|he|she|so|then|there|here|and|but|or|also|both|neither|right|yes|no|"
            r"otherwise|instead|for that|with (?:it|that|them)|in (?:that|this) case|the (?:other|rest|same|latter)|ça|"
            r"cela|c['’]est|ce|ces|il|ils|elles?|donc|mais|et|alors|oui|non|sinon|dann|das|dies|aber|und|ja|nein)\b",
            re.IGNORECASE,
        ),
    ),
    (0.4, re.compile(r".*[?？][)\"'”»]*$", re.DOTALL)),
    (0.5, re.compile(r".*[:,;]$", re.DOTALL)),
)
"""What a sentence holds, or begins and ends with, and the factor by which it counts for it."""


@dataclass(frozen=True)
class _Sentence:
    place: int
    part: int
    who: str
    text: str
    stems: frozenset[str]


def summarise(request: SummaryRequest) -> dict[str, Any]:
    """The answer to a request for a summary, in the form of the contract."""
    said = _sentences(request.parts)
    text = "\n".join(part.text for part in request.parts)
    counts = Counter(stem for sentence in said for stem in sentence.stems)
    weights = _weights(said, counts)
    chosen = _chosen(said, weights, max(LEAST, request.target - len(MADE_BY)))
    ranked = sorted(said, key=lambda one: (-weights[one.place], one.place))
    own = [sentence.text for sentence in ranked if sentence.who != "user"]
    return {
        "summary": f"{MADE_BY}{' '.join(chosen)}",
        "key_findings": list(dict.fromkeys([*_spread(request.findings, FINDINGS), *own]))[:FINDINGS],
        "files_mentioned": list(dict.fromkeys(_FILE.findall(text)))[:FILES],
        "topics": [stem for stem, _ in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:TOPICS]],
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
    """Those that are more than a fragment. All of them where there is no other."""
    found = [
        (number, who, sentence)
        for number, part in enumerate(parts)
        for who, text in _sides(part)
        for sentence in sentences.split(text)
    ]
    whole = [one for one in found if len(one[2].split()) >= FEWEST_WORDS] or found
    return [
        _Sentence(place, part, who, text, frozenset(content_stems(text)))
        for place, (part, who, text) in enumerate(whole)
    ]


def _sides(part: Part) -> list[tuple[str, str]]:
    """The speakers of a part, with what each says. A summary may be the text of turns."""
    if part.who:
        return [(part.who, part.text)]
    begin, *sides = _SIDE.split(part.text.removeprefix(MADE_BY))
    return [("", begin), *((name.lower(), text) for name, text in zip(sides[::2], sides[1::2], strict=True))]


def _weights(said: Sequence[_Sentence], counts: Counter[str]) -> list[float]:
    """How much each sentence tells, by itself."""
    worth = {stem: math.log1p(min(count, 8)) * math.log1p(len(said) / count) for stem, count in counts.items()}
    weights = []
    for sentence in said:
        # fsum, because the order of a set's words differs between processes and the result must not.
        weight = math.fsum(worth[stem] for stem in sentence.stems) / (len(sentence.stems) + 4) ** 0.75
        for factor, cue in _CUES:
            weight *= factor if (cue.match if factor < 1 else cue.search)(sentence.text) else 1
        weight *= 1.2 if sentence.who == "assistant" else 1
        weight *= 0.6 if len(sentence.text.split()) < FEW_WORDS or len(sentence.text) > LONG else 1
        weights.append(weight)
    return weights


def _chosen(said: Sequence[_Sentence], weights: Sequence[float], room: int) -> list[str]:
    """The sentences that tell most together and have room, in their order. Where none has room: a part of the best."""
    if not said:
        return []
    spreads = len({sentence.part for sentence in said}) > 2  # a turn has two sides
    left, gains = room, list(weights)
    open_ = {sentence.place for sentence in said}
    while fitting := [place for place in open_ if len(said[place].text) <= left]:
        best = max(fitting, key=lambda place: (gains[place], -place))
        open_.remove(best)
        left -= len(said[best].text) + 1
        for place in open_:
            alike = len(said[place].stems & said[best].stems) / max(1, len(said[place].stems))
            gains[place] *= 1 - REPEATED * alike**2
            gains[place] *= SPREAD if spreads and said[place].part == said[best].part else 1
    chosen = [sentence.text for sentence in said if sentence.place not in open_]
    return chosen or [sentences.fitted(said[max(open_, key=lambda place: (weights[place], -place))].text, room)]


def _spread(texts: Sequence[str], most: int) -> list[str]:
    """At most so many of the texts, from all over them."""
    step = max(1, math.ceil(len(texts) / most))
    return list(texts[::step])
