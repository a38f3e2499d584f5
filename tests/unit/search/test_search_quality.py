"""French, identifiers and both: how often the right note comes first, of notes that are made to be mistaken for others.

By words alone, and with the small model that the local runtime bundles. The bounds are what was measured, less one: a
change of words or weights that costs answers is to be seen.
"""

from array import array
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from livemem.search import engine, shape, words
from livemem.search.documents import Document, Reading
from livemem.search.engine import Matches, Meaning, SpaceQuery
from livemem.search.index import DocumentFilter, Index
from livemem.search.vectors import Pool
from tests.support.search_pairs import NOTES, PAIRS, Pair
from tests.support.searching import ENCODER, URL
from tests.support.world import World
from tests.unit.recall.test_message_context import still_found


class Found:
    """At which place each question finds its note, from 0; with the model, and by words alone."""

    def __init__(self, folder: Path) -> None:
        self.index = Index(folder / "pairs.sqlite")
        notes = [
            Document(name, "note", text, "notes", f"{place:03d}", time=f"2026-02-20T14:{place:02d}:00Z", author="ann")
            for place, (name, text) in enumerate(NOTES.items())
        ]
        self.index.update([Reading(f"demo/live/{note.id}.md", "1", (note,)) for note in notes])
        self.shape = shape.shape(self.index)
        self.encode = ENCODER.encode
        texts = self.index.texts([int(number) for number in self.shape.passages])
        self.pool = Pool(512)
        hashes = [bytes(name) for name in self.shape.hashes]
        self.pool.add(hashes, vectors(self.encode(list(texts.values()))))
        self.rows = self.pool.rows_of(hashes)
        self.questions = vectors(self.encode([pair.query for pair in PAIRS]))

    def place(self, pair: Pair, *, by_meaning: bool) -> int:
        vector = self.questions[PAIRS.index(pair)]
        meaning = Meaning(vector, self.pool, self.rows) if by_meaning else None
        question = SpaceQuery(words.parse(pair.query), DocumentFilter())
        hits = Matches(self.index, self.shape, meaning, question).first(50)
        ids = [hit.document.id for hit in hits]
        return ids.index(pair.note) if pair.note in ids else 99

    def within(self, kind: str, *most: int, by_meaning: bool) -> list[int]:
        """How many of a kind are found within the first so many."""
        places = [self.place(pair, by_meaning=by_meaning) for pair in PAIRS if pair.kind == kind]
        return [sum(place < first for place in places) for first in most]


def vectors(found: Sequence[Sequence[float]]) -> np.ndarray:
    return np.array([np.asarray(vector, dtype=np.float32) for vector in found])


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Found]:
    made = Found(tmp_path_factory.mktemp("pairs"))
    yield made
    made.index.close()


LEAST = {
    # (kind, with the model): within the first 1, within the first 5.
    ("french", True): (25, 26),
    ("probe", True): (6, 9),
    ("identifier", True): (27, 29),
    ("mixed", True): (13, 14),
    ("french", False): (25, 26),
    ("identifier", False): (25, 29),
    ("mixed", False): (12, 14),
}


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "by_meaning"), LEAST)
def test_the_right_note_is_found(found: Found, kind: str, by_meaning: bool):
    shares = found.within(kind, 1, 5, by_meaning=by_meaning)

    assert all(share >= least for share, least in zip(shares, LEAST[kind, by_meaning], strict=True)), shares


@pytest.mark.slow
def test_what_is_asked_in_other_words_is_found_by_meaning_alone(found: Found):
    assert found.within("probe", 5, by_meaning=False) == [0]


@pytest.mark.slow
def test_what_may_not_be_found_changes_nothing_though_it_is_not_compared(found: Found, monkeypatch: pytest.MonkeyPatch):
    # One note of all: its neighbours are compared, the others are left out.
    day = DocumentFilter(since="2026-02-20T14:07:00Z", until="2026-02-20T14:09:00Z")
    pair = PAIRS[0]
    meaning = Meaning(found.questions[0], found.pool, found.rows)
    question = SpaceQuery(words.parse(pair.query), day)

    few = Matches(found.index, found.shape, meaning, question).first(5)
    compare = engine._cosines
    monkeypatch.setattr(engine, "_cosines", lambda whole, meaning, _: compare(whole, meaning, None))
    all_of_them = Matches(found.index, found.shape, meaning, question).first(5)

    assert [(hit.document.id, hit.score) for hit in few] == [
        (hit.document.id, pytest.approx(hit.score, abs=1e-4)) for hit in all_of_them
    ]
    assert len(few) == 3


@cache
def encoded(text: str) -> "array[float]":
    return array("f", ENCODER.encode([text])[0])


@pytest.mark.slow
@pytest.mark.parametrize("is_folded", [False, True])
def test_talk_about_a_decision_takes_it_out_of_no_prompt_by_meaning_either(is_folded: bool):
    world = World(embeddings_api_url=URL)
    world.process = world.with_parts(embed=lambda texts, **_: [encoded(text) for text in texts])
    still_found(world, is_folded)
