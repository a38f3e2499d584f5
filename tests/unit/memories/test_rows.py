"""Vectors read and written without NumPy are what NumPy reads and writes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from livemem.memories import rows
from livemem.search import vectors as segments
from tests.support.cases import each


@st.composite
def some_vectors(draw):
    size = draw(st.integers(1, 70))
    names = draw(st.lists(st.binary(min_size=16, max_size=16), min_size=1, max_size=12, unique=True))
    made = {}
    for place, name in enumerate(names):
        vector = [0.0] * size
        vector[place % size] = 1.0
        made[name] = vector
    return made


@given(some_vectors())
def test_what_numpy_wrote_is_read_and_written_again_just_so_that_numpy_reads_it(vectors):
    size = len(next(iter(vectors.values())))
    read = rows.read(segments.encode(vectors))
    names, again = segments.decode(rows.write(read), size)

    assert names == list(vectors)
    assert np.array_equal(again, np.array(list(vectors.values()), dtype=np.float32))


@given(some_vectors(), st.integers(0, 10_000), st.binary(max_size=4))
def test_a_damaged_object_is_read_or_refused_and_nothing_else_happens(vectors, place, damage):
    body = segments.encode(vectors)
    place %= len(body)
    try:
        found = rows.read(body[:place] + damage + body[place + len(damage) :])
    except ValueError:
        return
    assert all(len(name) == 16 for name in found)


# An archive holds the time: an id of a test must not, or two processes don't know each other's tests.
@each("body", [b"", b"PK", b"{}", rows.write({})[:40]], ids=["empty", "begun", "JSON", "cut off"])
def test_what_is_no_such_object_is_refused(body):
    with pytest.raises(ValueError, match=r"vectors|arrays|archive"):
        rows.read(body)


def test_rows_of_different_lengths_are_no_object():
    with pytest.raises(ValueError, match="different lengths"):
        rows.write({b"a" * 16: b"12", b"b" * 16: b"1234"})
