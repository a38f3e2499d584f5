"""What the floor of a search costs in evidence, and what it refuses: the ranking as a function, over data sets.

`python -m benchmarks.floor --data FOLDER...` prints for each folder (docs/recall.md describes them) the evidence among
the first ten with the floor and without it, the questions that lose some, and how many of the queries of
`nonsense.jsonl` find nothing. With vectors, nonsense needs a folder whose vectors are those of the local runtime's
model.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks import recall
from benchmarks.recall import Conversation, Loaded, View
from livemem.recall.relevance import LOOKED_AT, RelevanceFloor
from livemem.search import words
from local.offline_llm.encoder import DIMENSIONS, Encoder

NONSENSE = Path(__file__).with_name("nonsense.jsonl")


class Answer(NamedTuple):
    """The places of the first documents, and whether the floor keeps them."""

    first: Sequence[int]
    kept: bool


def answer(held: View, talk: Conversation, question: str, vector: NDArray[np.float32] | None) -> Answer:
    """The first ten for a question."""
    ranked = recall.rank(held, question, vector)
    matched = np.flatnonzero(ranked.matched)
    first: list[int] = matched[np.lexsort((matched, -ranked.scores[matched]))][:LOOKED_AT].tolist()
    floor = RelevanceFloor.of_search(question, words.parse(question.replace('"', " ")))
    near = ranked.parts.get("near")

    def passes(place: int) -> bool:
        assert floor
        if floor.dated and near is not None and near[place] > 0:
            return True
        own = held.vectors[held.corpus.owner == place]
        return floor.admits(talk.documents[place].text, None if vector is None else float((own @ vector).max()))

    def enough(places: Sequence[int]) -> bool:
        # With a vector all hits have a cosine.
        assert floor
        if vector is not None or (floor.dated and near is not None and any(near[place] > 0 for place in places)):
            return True
        return floor.enough_together([talk.documents[place].text for place in places])

    return Answer(first, floor is None or (any(map(passes, first)) and enough(first)))


def views(loaded: Loaded) -> Iterator[tuple[Conversation, View, int]]:
    """Each conversation with its view, and the number of its first question."""
    first = number = 0
    for talk in loaded.dataset.conversations:
        inside = (loaded.owner >= first) & (loaded.owner < first + len(talk.documents))
        yield talk, recall.view(talk, loaded.vectors[inside], loaded.owner[inside] - first), number
        first += len(talk.documents)
        number += len(talk.questions)


def row(loaded: Loaded, nonsense: Sequence[str], by_meaning: bool) -> str:
    """The row of the table for a folder."""
    vectors = None
    if by_meaning and loaded.vectors.shape[1] == DIMENSIONS:
        vectors = np.array([np.asarray(one, np.float32) for one in Encoder().encode(nonsense)])
    before, after, refused = [], [], []
    for talk, held, number in views(loaded):
        for at, question in enumerate(talk.questions):
            vector = loaded.questions[number + at] if by_meaning else None
            found = answer(held, talk, question.text, vector)
            share = len(set(found.first) & set(question.evidence)) / len(set(question.evidence))
            before.append(share)
            after.append(share if found.kept else 0.0)
        if vectors is not None or not by_meaning:
            given = [None] * len(nonsense) if vectors is None else vectors
            asked = [answer(held, talk, says, one) for says, one in zip(nonsense, given, strict=True)]
            refused += [not one.first or not one.kept for one in asked]
    lost = sum(b > a for b, a in zip(before, after, strict=True))
    nothing = f"{sum(refused)} of {len(refused)}" if refused else "-"
    return f"{100 * np.mean(before):.1f} | {100 * np.mean(after):.1f} | {lost} of {len(before)} | {nothing}"


def main(arguments: Sequence[str]) -> int:
    """The program; its exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", type=Path, required=True, metavar="FOLDER")
    options = parser.parse_args(arguments)
    nonsense = [json.loads(line)["says"] for line in NONSENSE.read_text("utf-8").splitlines()]
    print("| data | @10 without the floor | with it | questions that lose evidence | nonsense finds nothing |")
    print("|---|---|---|---|---|")
    for folder in options.data:
        try:
            loaded = recall.read(folder)
        except recall.Unusable as unusable:
            print(unusable, file=sys.stderr)
            return 2
        for by_meaning in (True, False):
            ranking = "with vectors" if by_meaning else "by words"
            print(f"| {folder.name}, {ranking} | {row(loaded, nonsense, by_meaning)} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
