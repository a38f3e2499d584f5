"""A summary by fixed rules: the whole sentences that tell most, in their order. It is an extract, and says so.

A sentence counts by its words (frequent in the source, but not in every sentence), by what it holds (a decision, a
reason, a number, code), and by how little of it an earlier choice has said. A sentence that begins with "Decision:",
"À faire :" or the like, or says "we decided to" or "il reste à", is a note, where these are asked for. Questions,
conditions and denials are none. Most turns have none.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from local.offline_llm import sentences
from local.offline_llm.prompt import Prompt, PromptError
from local.offline_llm.words import VOCABULARY, alternatives, content_stems, normalise, pattern

MADE_BY = "Extract by fixed rules: "
"""How every summary begins: no language model has made it."""
LEAST = 200
"""Characters that an extract has room for, however short its source is: a whole sentence, in most cases."""
FINDINGS, TOPICS, NAMES, NOTES = 5, 5, 20, 5
FEWEST_WORDS = 4
"""Of a sentence that tells something: the number of an item of a list is none."""
LONGEST, CUT_FROM = 500, 4_000
"""Characters of a note, and of a side of a turn from which on its end may cut a sentence (docs/conversations.md)."""

_TARGET = re.compile(r"in about ([0-9]{1,9}) characters\.")
_WITH_NOTES = "one more member, `notes`"
"""Words of the system message that asks for notes, too."""
_CODE = re.compile(r"`([^`\n]{1,80})`")
_FILE = re.compile(r"(?<![\w/.])(?:[\w.-]+/)*[\w-]{2,}\.[A-Za-z][A-Za-z0-9]{0,9}(?![\w/])")
_TIME = re.compile(r"\b[0-9]{4}-[0-9]{2}-[0-9]{2}\b")
_SIDE = re.compile(r"^(User|Assistant): ", re.MULTILINE)
"""The speaker of a side, in a block of turns that is its own summary."""
_FACTORS = [(pattern(cue), factor) for factor, cue in VOCABULARY["summary"]["cues"]]
_SAYS: Mapping[str, Any] = VOCABULARY["patterns"]
_PATTERNS = {
    category: re.compile(
        rf"\W*(?:{labels})\W{{0,3}}:\W*(?P<label>.*)|(?P<before>.*?)(?<![\w'’-])(?:{alternatives(_SAYS['statements'][category])})(?!\w)(?P<rest>.*)",
        re.IGNORECASE | re.DOTALL,
    )
    for category, labels in _SAYS["labels"].items()
}
_DENIED, _OVER = pattern(_SAYS["note"]["denied"]), pattern(_SAYS["note"]["over"])


class _Sentence(NamedTuple):
    part: tuple[int, str]
    who: str
    text: str
    stems: frozenset[str]


def summarise(prompt: Prompt) -> dict[str, Any]:
    """The answer to a prompt for a summary of turns, or of summaries of earlier parts. Raises PromptError."""
    target, turns = _TARGET.search(prompt.text), "Turns" in prompt.values
    items = prompt.items("Turns" if turns else "Summaries")
    if not target:
        raise PromptError("The length that is wanted is missing.")
    text = "\n".join(text for item in items for _, text in _sides(item))
    said = _sentences(items)
    counts = Counter(stem for sentence in said for stem in sentence.stems)
    weights = _weights(said, counts)
    chosen = _chosen(said, weights, max(LEAST, int(target[1]) - len(MADE_BY)))
    ranked = sorted(range(len(said)), key=lambda place: (-weights[place], place))
    findings = [str(finding) for item in items for finding in (item.get("key_findings") or [])[:1]]
    findings += [said[place].text for place in ranked if said[place].who != "user"]
    answer = {
        "summary": f"{MADE_BY}{' '.join(chosen)}",
        "key_findings": list(dict.fromkeys(findings))[:FINDINGS],
        "files_mentioned": _names(_FILE, text),
        "topics": [stem for stem, _ in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:TOPICS]],
        "entities": {
            **{kind: [] for kind in ("persons", "organisations", "places", "other")},
            "artifacts": _names(_CODE, text),
            "times": _names(_TIME, text),
        },
        "signals": [],
    }
    # The same words count once.
    notes = {normalise(note["content"]): note for turn in items for note in _named_notes(turn)}
    return answer | ({"notes": list(notes.values())[-NOTES:]} if turns and _WITH_NOTES in prompt.system else {})


def _names(pattern: re.Pattern[str], text: str) -> list[str]:
    return list(dict.fromkeys(pattern.findall(text)))[:NAMES]


def _sides(item: dict[str, Any]) -> list[tuple[str, str]]:
    """The speakers of a turn with what each says. A summary has none, or is the text of turns."""
    if "summary" not in item:
        return [(who, str(item.get(who) or "")) for who in ("user", "assistant")]
    begin, *sides = _SIDE.split(str(item["summary"] or "").removeprefix(MADE_BY))
    return [("", begin), *((name.lower(), text) for name, text in zip(sides[::2], sides[1::2], strict=True))]


def _sentences(items: Sequence[dict[str, Any]]) -> list[_Sentence]:
    """Those that are more than a fragment. All of them where there is no other."""
    said = [
        _Sentence((number, "" if "summary" in item else who), who, sentence, frozenset(content_stems(sentence)))
        for number, item in enumerate(items)
        for who, text in _sides(item)
        for sentence in sentences.split(text)
    ]
    return [sentence for sentence in said if len(sentence.text.split()) >= FEWEST_WORDS] or said


def _weights(said: Sequence[_Sentence], counts: Counter[str]) -> list[float]:
    """How much each sentence tells, by itself."""
    worth = {stem: math.log1p(min(count, 8)) * math.log1p(len(said) / count) for stem, count in counts.items()}
    weights = []
    for sentence in said:
        # fsum, because the order of a set's words differs between processes and the result must not.
        weight = math.fsum(worth[stem] for stem in sentence.stems) / (len(sentence.stems) + 4) ** 0.75
        weight *= math.prod(factor for cue, factor in _FACTORS if cue.match(sentence.text))
        weight *= 1.2 if sentence.who == "assistant" else 1
        # Few words tell little, and of a very long sentence only a part tells something.
        weight *= 0.6 if len(sentence.text.split()) < 6 or len(sentence.text) > 320 else 1
        weights.append(weight)
    return weights


def _chosen(said: Sequence[_Sentence], weights: Sequence[float], room: int) -> list[str]:
    """The sentences that tell most together and have room, in their order. Where none has room: a part of the best."""
    spread = len({sentence.part for sentence in said}) > 2  # a turn has two sides
    left, gains, unused = room, list(weights), set(range(len(said)))
    while fitting := [place for place in unused if len(said[place].text) <= left]:
        best = max(fitting, key=lambda place: (gains[place], -place))
        unused.remove(best)
        left -= len(said[best].text) + 1
        for place in unused:
            # What was said before counts little, and a part less for each sentence of it.
            alike = len(said[place].stems & said[best].stems) / max(1, len(said[place].stems))
            gains[place] *= (1 - 0.9 * alike**2) * (0.8 if spread and said[place].part == said[best].part else 1)
    chosen = [sentence.text for place, sentence in enumerate(said) if place not in unused]
    if said and not chosen:
        return [sentences.fitted(said[max(unused, key=lambda place: (weights[place], -place))].text, room)]
    return chosen


def _named_notes(turn: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The notes that a turn names, word for word."""
    # Others are results of tools, or instructions.
    if turn.get("role") in (None, "user", "assistant") and type(turn.get("turn")) is int:
        for text in (str(turn.get(who) or "") for who in ("user", "assistant")):
            said, whole = sentences.said(text), len(text) < CUT_FROM or sentences.is_whole(text)
            for sentence in said if whole else said[:-1]:
                if category := _category(sentence):
                    yield {"category": category, "content": sentence, "turns": [turn["turn"]]}


def _category(sentence: str) -> str | None:
    if "?" in sentence or not sentence.isprintable() or len(sentence) > LONGEST:
        return None
    for category, form in _PATTERNS.items():
        if match := form.match(sentence):
            rest = match["label"] or match["rest"] or ""
            over = category != "decision" and _OVER.match(rest)
            fits = len(rest.split()) >= FEWEST_WORDS - 1 and not over and not _DENIED.search(match["before"] or "")
            return category if fits else None
    return None
