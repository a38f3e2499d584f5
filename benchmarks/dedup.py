"""Whom a model is asked about, and what likeness alone would do: over labelled pairs, by vectors and by letters.

First the candidates: of the pairs that are one fact, or have a new value, the place of the older text among all older
texts of its language, and the least likeness. From both follow how many candidates a memory needs, and from which
likeness on (`memories/nearest.py`). Over dedup_pairs.jsonl and fact_pairs.jsonl (200 pairs:
different facts in nearly the same words, new values, the same in other words).

Then precision and recall of merging by likeness, which is what MEMORY_MERGE=similarity does.

`python -m benchmarks.dedup` measures the lexical likeness, the offline model if it is installed, and the model of the
settings if EMBEDDINGS_API_URL is set (EMBEDDINGS_API_KEY, EMBEDDINGS_MODEL, EMBEDDINGS_TEXT_PREFIX, as the functions
have them). `--over` also prints each threshold. The pairs (dedup_pairs.jsonl, half French and half English) are `same`
words in another dress, `restated` in others, `updated` to a new value, which all should merge, and `different`: close
by purpose, about something else. The newer text of each pair also meets a `stranger`: the nearest text of all other
pairs of its language and kind, as it would in a store. docs/memories.md tells how to read the table.

The threshold is the one of the best F0.5, in which a wrong merge weighs more than a fact that stands twice. So that it
is measured on pairs that it was not chosen on, each half of the pairs is measured with the threshold of the other.
"""

import argparse
import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from livemem.llm import embeddings
from livemem.llm.embeddings import EmbeddingError
from livemem.settings import Settings
from livemem.store.keys import MemoryKind
from livemem.text import similarity, wording
from local.offline_llm import encoder

PAIRS = Path(__file__).with_name("dedup_pairs.jsonl")
FACTS = Path(__file__).with_name("fact_pairs.jsonl")
BETA = 0.5
ZONE = 0.9
"""Share of the pairs below the threshold, and yet one fact, that the ambiguous zone should hold."""
STRANGERS = 0.1
"""Share of texts about something else for which a model may be asked all the same."""
STEP = 0.01
SECONDS = 120.0

LABELS = ("same", "restated", "updated", "different", "stranger")

Likenesses: TypeAlias = NDArray[np.float32]
"""Of the newer text of each pair (row) with the older one of each (column)."""
Compare = Callable[[Sequence[str], Sequence[str]], Likenesses]


class Known(BaseModel):
    """Two texts, and whether they are one fact."""

    model_config = ConfigDict(extra="ignore")

    lang: Literal["en", "fr", "fr-en"]
    label: str
    one: str
    other: str


class Pair(BaseModel):
    """What was stored first, and what comes then."""

    id: str
    lang: Literal["en", "fr", "fr-en"]
    kind: MemoryKind
    one: str
    other: str
    label: Literal["same", "restated", "updated", "different"]
    topic: str | None = None
    """Shared by pairs that are about the same: they are no strangers to each other."""

    def is_stranger(self, to: "Pair") -> bool:
        """Whether its older text is in the same store, and surely about something else."""
        return (
            self.id != to.id
            and (self.lang, self.kind) == (to.lang, to.kind)
            and (not self.topic or self.topic != to.topic)
        )


@dataclass(frozen=True)
class Judged:
    """Two texts, how near they are, and what the guard says."""

    lang: str
    label: str
    score: float
    differs: bool

    @property
    def is_one(self) -> bool:
        """Whether they should be merged."""
        return self.label not in ("different", "stranger")

    def merges(self, threshold: float, *, guarded: bool) -> bool:
        """Whether it is, without asking anybody."""
        return self.score >= threshold and not (guarded and self.differs)


@dataclass(frozen=True)
class Quality:
    """Of what was merged, the share that should be; of what should be, the share that was."""

    precision: float
    recall: float

    @property
    def f(self) -> float:
        """Both in one number, precision twice as heavy."""
        weighted = BETA**2 * self.precision + self.recall
        return (1 + BETA**2) * self.precision * self.recall / weighted if weighted else 0.0


def read(path: Path = PAIRS) -> list[Pair]:
    """The labelled pairs."""
    return [Pair.model_validate_json(line) for line in path.read_text("utf-8").splitlines()]


def judge(pairs: Sequence[Pair], compare: Compare) -> list[Judged]:
    """Every pair, and then the newer text of each with its nearest stranger."""
    found = compare([pair.other for pair in pairs], [pair.one for pair in pairs])
    judged = [_judged(pair, pair, pair.label, found[at, at]) for at, pair in enumerate(pairs)]
    for at, pair in enumerate(pairs):
        strangers = [place for place, other in enumerate(pairs) if other.is_stranger(pair)]
        if strangers:
            nearest = max(strangers, key=lambda place: found[at, place])
            judged.append(_judged(pair, pairs[nearest], "stranger", found[at, nearest]))
    return judged


def _judged(new: Pair, old: Pair, label: str, score: float) -> Judged:
    return Judged(new.lang, label, float(score), similarity.differs(new.other, old.one))


def quality(judged: Sequence[Judged], threshold: float, *, guarded: bool) -> Quality:
    """What a threshold does; what merges nothing is precise."""
    merged = [one for one in judged if one.merges(threshold, guarded=guarded)]
    right = sum(one.is_one for one in merged)
    wanted = sum(one.is_one for one in judged)
    return Quality(right / len(merged) if merged else 1.0, right / wanted if wanted else 1.0)


def best(judged: Sequence[Judged], *, guarded: bool) -> float:
    """The threshold of the best F; the highest of those that are as good."""
    steps = [round(STEP * number, 2) for number in range(1, round(1 / STEP))]
    return max(steps, key=lambda threshold: (quality(judged, threshold, guarded=guarded).f, threshold))


def halves(judged: Sequence[Judged]) -> tuple[list[Judged], list[Judged]]:
    """The pairs in two halves that are alike: of each language and label every other one."""
    seen: dict[tuple[str, str], int] = {}
    found: tuple[list[Judged], list[Judged]] = ([], [])
    for one in judged:
        place = (one.lang, one.label)
        seen[place] = seen.get(place, 0) + 1
        found[seen[place] % 2].append(one)
    return found


def elsewhere(judged: Sequence[Judged], *, guarded: bool) -> Quality:
    """The quality on each half of the pairs with the threshold of the other half."""
    one, other = halves(judged)
    found = [
        quality(there, best(here, guarded=guarded), guarded=guarded) for here, there in ((one, other), (other, one))
    ]
    return Quality(*(sum(part) / len(found) for part in zip(*((q.precision, q.recall) for q in found), strict=True)))


def ambiguous_from(judged: Sequence[Judged], threshold: float) -> float:
    """Where the zone begins: low enough to hold most of what is one fact below the threshold, and high enough that few
    new facts are asked about.
    """
    missed = sorted((one.score for one in judged if one.is_one and one.score < threshold), reverse=True)
    strangers = sorted((one.score for one in judged if one.label == "stranger"), reverse=True)
    lowest = missed[math.ceil(ZONE * len(missed)) - 1] if missed else threshold
    dearest = strangers[math.floor(STRANGERS * len(strangers))] + STEP if strangers else 0.0
    return min(threshold, math.floor(round(max(lowest, dearest) / STEP, 6)) * STEP)


def asked(judged: Sequence[Judged], threshold: float, lowest: float) -> tuple[float, float]:
    """Of the pairs that are one fact, and of those that are not, the share of which a model is asked."""
    zone = [one for one in judged if lowest <= one.score and (one.score < threshold or one.differs)]
    labels = ("different", "stranger"), ("same", "restated", "updated")
    two, one = (
        sum(found.label in some for found in zone) / sum(found.label in some for found in judged) for some in labels
    )
    return one, two


def lexical(new: Sequence[str], old: Sequence[str]) -> Likenesses:
    """By letters alone."""
    rows, columns = ([similarity.prepare(text) for text in texts] for texts in (new, old))
    return np.array([[similarity.like(one, other) for other in columns] for one in rows], np.float32)


def by_vectors(embed: Callable[[Sequence[str]], Sequence[Sequence[float]]]) -> Compare:
    """By the cosine of vectors of length 1."""

    def compare(new: Sequence[str], old: Sequence[str]) -> Likenesses:
        vectors = np.array(embed([*new, *old]), np.float32)
        cosines: Likenesses = vectors[: len(new)] @ vectors[len(new) :].T
        return cosines

    return compare


def scores() -> Iterator[tuple[str, Compare]]:
    """What can be measured here."""
    yield "lexical", lexical
    if encoder.has_package():
        yield encoder.MODEL, by_vectors(encoder.Encoder().encode)
    if os.environ.get("EMBEDDINGS_API_URL"):
        settings = Settings(admin_bootstrap_key="")
        embed = embeddings.connect(settings)
        if embed:
            yield settings.embeddings_model, by_vectors(lambda texts: embed(texts, query=False, timeout=SECONDS))


def percent(found: Quality) -> str:
    """As it stands in the table."""
    return f"{100 * found.precision:.0f} / {100 * found.recall:.0f}"


def row(name: str, judged: Sequence[Judged]) -> str:
    """One line of the Markdown table."""
    threshold = best(judged, guarded=True)
    plain = best(judged, guarded=False)
    lowest = ambiguous_from(judged, threshold)
    one, other = asked(judged, threshold, lowest)
    return (
        f"| {name} | {plain:.2f}: {percent(quality(judged, plain, guarded=False))} | {threshold:.2f}: "
        f"{percent(quality(judged, threshold, guarded=True))} | {percent(elsewhere(judged, guarded=True))} | "
        f"{lowest:.2f} | {100 * one:.0f} / {100 * other:.0f} |"
    )


def over(name: str, judged: Sequence[Judged]) -> Iterator[str]:
    """The lines of a table of thresholds."""
    yield f"\n| {name}: threshold | without guard | with guard | {' | '.join(LABELS)} |"
    yield "|---|---|---|" + "---|" * len(LABELS)
    for number in range(20):
        threshold = round(0.98 - 0.04 * number, 2)
        merged = (share(judged, label, threshold) for label in LABELS)
        plain, guarded = (percent(quality(judged, threshold, guarded=guarded)) for guarded in (False, True))
        yield f"| {threshold:.2f} | {plain} | {guarded} | {' | '.join(merged)} |"


def share(judged: Sequence[Judged], label: str, threshold: float) -> str:
    """How much of a label is merged, in percent."""
    some = [one for one in judged if one.label == label]
    return f"{100 * sum(one.merges(threshold, guarded=True) for one in some) / max(1, len(some)):.0f}"


@dataclass(frozen=True)
class Place:
    """Where the older text of a pair that is one fact stands among all of its language, 0 for the nearest."""

    rank: int
    score: float


def places(pairs: Sequence[Known], compare: Compare) -> list[Place]:
    """Of each pair that a model must be asked about."""
    found = []
    for lang in dict.fromkeys(pair.lang for pair in pairs):
        some = [pair for pair in pairs if pair.lang == lang]
        scores = compare([pair.other for pair in some], [pair.one for pair in some])
        for at, pair in enumerate(some):
            if pair.label != "different" and not wording.same(pair.one, pair.other):
                found.append(Place(int((scores[at] > scores[at, at]).sum()), float(scores[at, at])))
    return found


def known_pairs() -> list[Known]:
    """The pairs of both sets."""
    old = [Known(lang=pair.lang, label=pair.label, one=pair.one, other=pair.other) for pair in read()]
    new = [Known.model_validate_json(line) for line in FACTS.read_text("utf-8").splitlines()]
    return [*old, *new]


def candidates_row(name: str, found: Sequence[Place]) -> str:
    """One line of the Markdown table."""
    ranks, scores = sorted(one.rank for one in found), sorted(one.score for one in found)
    within = " | ".join(f"{100 * sum(rank < count for rank in ranks) / len(ranks):.1f}" for count in (1, 4, 10, 40))
    return f"| {name} | {len(found)} | {within} | {scores[0]:.2f} | {scores[len(scores) // 50]:.2f} |"


def main(arguments: Sequence[str]) -> int:
    """The program; its exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--over", action="store_true", help="also print what each threshold does")
    options = parser.parse_args(arguments)
    everything = known_pairs()
    print(f"Candidates of {len(everything)} pairs: the share, in percent, whose older text is among the nearest\n")
    print("| model | pairs | 1 | 4 | 10 | 40 | least likeness | of all but 2 % |")
    print("|---|---|---|---|---|---|---|---|")
    for name, compare in scores():
        try:
            print(candidates_row(name, places(everything, compare)), flush=True)
        except (EmbeddingError, encoder.Unavailable) as error:
            print(f"{name}: {error}", file=sys.stderr)
            return 2
    pairs = read()
    print(f"\nBy likeness alone (MEMORY_MERGE=similarity), {len(pairs)} pairs; precision / recall in percent\n")
    print(
        "| model | threshold without guard | with guard | on the other half | ambiguous from | asked: one / two facts |"
    )
    print("|---|---|---|---|---|---|")
    tables: list[str] = []
    for name, compare in scores():
        try:
            judged = judge(pairs, compare)
        except (EmbeddingError, encoder.Unavailable) as error:
            print(f"{name}: {error}", file=sys.stderr)
            return 2
        print(row(name, judged), flush=True)
        tables += over(name, judged)
    if options.over:
        print("\n".join(tables))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
