"""A shape that is brought along with what changes is the one that would be made anew."""

import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from livemem.search import shape as shapes
from livemem.search.documents import Document, Reading
from livemem.search.index import Index

WORDS = st.sampled_from(["a", "I ask?", "long " * 250, "", "plain text"])
CHANGES = st.lists(
    st.tuples(st.integers(0, 9), st.none() | st.lists(st.tuples(st.integers(0, 3), WORDS), max_size=3)), max_size=6
)


def read(number, texts):
    """An object that tells of documents in several groups."""
    documents = tuple(
        Document(
            f"{number}-{place}",
            "turn" if number % 2 else "note",
            text,
            f"group {part}",
            f"{number:03d}",
            time=f"2026-02-20T14:00:{number:02d}Z" if number else "",
            author=f"author {part}",
            role=("", "user", "assistant", "tool")[part],
        )
        for place, (part, text) in enumerate(texts)
    )
    return Reading(f"k{number}", "1", documents)


def assert_same(left, right):
    for name in ("documents", "passages", "owner", "beginnings", "lengths"):
        assert np.array_equal(getattr(left, name), getattr(right, name)), name
    assert list(left.hashes) == list(right.hashes)
    assert list(left.order) == list(right.order)
    assert [left.authors[one] for one in left.author] == [right.authors[one] for one in right.author]
    for name, value in vars(right.corpus).items():
        mine = getattr(left.corpus, name)
        for one, other in zip(mine, value, strict=True) if isinstance(value, tuple) else [(mine, value)]:
            assert np.array_equal(one, other, equal_nan=True), name


@given(st.lists(CHANGES, min_size=1, max_size=4))
def test_it_is_the_same_whatever_came_and_went(history):
    with tempfile.TemporaryDirectory() as folder:
        index = Index(Path(folder) / "x.sqlite")
        known = shapes.shape(index)
        for changes in history:
            readings = {number: read(number, texts) for number, texts in changes if texts is not None}
            gone = [f"k{number}" for number, texts in changes if texts is None]
            index.update(list(readings.values()), gone)
            fresh, old = shapes.updated(index, known, index.touched), known
            index.touched.clear()
            assert_same(fresh, shapes.shape(index))
            assert fresh.before is not None
            stays = fresh.before >= 0
            assert np.array_equal(fresh.passages[stays], old.passages[fresh.before[stays]])
            known = fresh
        index.close()
