"""Vector files: what is written is read, with NumPy and without, and what does not fit its header costs no memory."""

import struct
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from livemem.search import vectors
from livemem.store import vector_file
from livemem.store.vector_file import HEADER_BYTES, MAGIC, MOST_DIMENSIONS, MOST_ROWS, BadVectors
from tests.support.cases import Failures

NAME = b"n" * 16
MOST = 1 << 20
"""Bytes beside the object itself."""


@st.composite
def some_vectors(draw):
    size = draw(st.integers(1, 70))
    names = draw(st.lists(st.binary(min_size=16, max_size=16), min_size=1, max_size=12, unique=True))
    directions = np.eye(size)
    return {name: list(directions[draw(st.integers(0, size - 1))]) for name in names}


def header(magic=MAGIC, version=1, dimensions=8, rows=1) -> bytes:
    return struct.pack("<4sHHL", magic, version, dimensions, rows)


def one_row(*numbers: float) -> bytes:
    return header(dimensions=len(numbers)) + NAME + np.array(numbers, dtype="<f2").tobytes()


@given(some_vectors())
def test_numpy_and_struct_read_and_write_the_same_files(given_vectors):
    size = len(next(iter(given_vectors.values())))
    body = vectors.encode(given_vectors)

    rows = vector_file.read(body)
    names, read = vectors.decode(body, size)

    assert list(rows) == names == list(given_vectors)
    assert np.array_equal(read, np.array(list(given_vectors.values()), dtype=np.float32))
    assert vector_file.write(rows, size) == body
    assert len(body) == HEADER_BYTES + len(names) * vector_file.shape_of(body).row_bytes


@given(some_vectors(), st.data())
def test_whatever_was_done_to_a_file_it_is_refused_or_read_to_the_byte(given_vectors, data):
    body = vectors.encode(given_vectors)
    place = data.draw(st.integers(0, len(body)))
    end = data.draw(st.integers(place, len(body)))
    damaged = body[:place] + data.draw(st.binary(max_size=20)) + body[end:]
    try:
        shape = vector_file.shape_of(damaged)
    except BadVectors:
        return
    # Of two rows of one name the last one counts.
    assert len(vector_file.read(damaged)) <= shape.rows
    assert len(damaged) == HEADER_BYTES + shape.rows * shape.row_bytes


def test_no_header_is_believed_and_none_costs_memory():
    hostile = {
        "empty": b"",
        "JSON": b"{}",
        "the header cut off": header()[:-1],
        "an archive": b"PK\x03\x04" + bytes(60),
        "another magic": header(magic=b"LMVG") + bytes(32),
        "another version": header(version=2) + bytes(32),
        "no dimensions": header(dimensions=0) + bytes(16),
        "too many dimensions": header(dimensions=MOST_DIMENSIONS + 1) + bytes(16 + 2 * MOST_DIMENSIONS + 2),
        "most rows without one": header(dimensions=MOST_DIMENSIONS, rows=MOST_ROWS),
        "more rows than numbers": header(dimensions=0xFFFF, rows=0xFFFFFFFF) + bytes(64),
        "the last row cut off": one_row(1.0)[:-1],
        "something behind": one_row(1.0) + b"x",
    }
    failures = Failures()
    for case, body in hostile.items():
        for read in (vector_file.shape_of, vector_file.read, lambda bad: vectors.decode(bad, 8)):
            with failures.of(case):
                tracemalloc.start()
                try:
                    with pytest.raises(BadVectors):
                        read(body)
                    assert tracemalloc.get_traced_memory()[1] < MOST + 2 * len(body)
                finally:
                    tracemalloc.stop()
    failures.report()


def test_what_is_searched_must_be_of_the_dimensions_that_are_asked_for_and_of_unit_length():
    failures = Failures()
    for case in ((0.0, 1.0), (1.0,), (3.0, 0.0, 0.0), (float("nan"), 0.0, 0.0), (float("inf"), 0.0, 0.0)):
        with failures.of(case), pytest.raises(BadVectors):
            vectors.decode(one_row(*case), 3)
    failures.report()
    # Else the refusals would prove little.
    assert vectors.decode(one_row(0.0, 1.0, 0.0), 3)[1].tolist() == [[0.0, 1.0, 0.0]]


def test_a_file_may_have_no_row_left():
    body = vector_file.write({}, 3)

    assert (vector_file.read(body), len(vectors.decode(body, 3)[0])) == ({}, 0)


def test_what_fits_into_no_file_is_not_written():
    failures = Failures()
    cases = [({NAME: b"1234", b"m" * 16: b"12"}, 2), ({b"short": b"12"}, 1), ({NAME: b"12"}, MOST_DIMENSIONS + 1)]
    for rows, dimensions in cases:
        with failures.of(rows), pytest.raises(BadVectors):
            vector_file.write(rows, dimensions)
    failures.report()
