import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from livemem.search import vectors as whitened


def unit(seed, count, width):
    found = np.random.default_rng(seed).normal(size=(count, width)).astype(np.float32) + np.float32(1)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


@given(st.integers(0, 60), st.integers(1, 40), st.integers(0, 5))
def test_cosines_are_finite_and_between_minus_one_and_one(count, width, seed):
    vectors = unit(seed, count, width)
    lens = whitened.fit(vectors)
    found = whitened.cosines(lens, vectors, whitened.lengths(lens, vectors), unit(seed + 9, 1, width)[0])
    assert found.shape == (count,)
    assert (np.abs(found) <= 1.01).all()


def test_the_lens_of_no_vectors_leaves_cosines_as_they_are():
    vectors, query = unit(1, 5, 8), unit(2, 1, 8)[0]
    lens = whitened.fit(vectors[:0])
    found = whitened.cosines(lens, vectors, whitened.lengths(lens, vectors), query)
    assert found == pytest.approx(vectors @ query, abs=1e-5)


def test_the_lens_does_what_the_matrix_it_stands_for_does():
    vectors, query = unit(3, 200, 16), unit(4, 1, 16)[0]
    lens = whitened.fit(vectors)
    matrix = np.eye(16) + lens.directions.T @ np.diag(lens.gains) @ lens.directions
    moved, aimed = vectors - lens.mean, query - lens.mean
    plain = np.sqrt(np.einsum("nd,de,ne->n", moved, matrix, moved) * (aimed @ matrix @ aimed))
    found = whitened.cosines(lens, vectors, whitened.lengths(lens, vectors), query)
    assert found == pytest.approx(moved @ matrix @ aimed / plain, abs=1e-4)


def test_equal_vectors_and_a_zero_vector_are_no_error():
    same = np.tile(unit(5, 1, 6), (4, 1))
    zeros = np.zeros((3, 6), np.float16)
    for vectors in (same, zeros):
        lens = whitened.fit(vectors)
        assert np.isfinite(whitened.cosines(lens, vectors, whitened.lengths(lens, vectors), same[0])).all()


def test_half_precision_gives_about_the_same():
    vectors, query = unit(6, 300, 32), unit(7, 1, 32)[0]
    found = []
    for given_ in (vectors, vectors.astype(np.float16)):
        lens = whitened.fit(given_)
        found.append(whitened.cosines(lens, given_, whitened.lengths(lens, given_), query))
    assert found[0] == pytest.approx(found[1], abs=0.01)


def test_what_all_vectors_share_tells_nothing_apart():
    rng = np.random.default_rng(8)
    own = rng.normal(size=(400, 24)).astype(np.float32)
    shared = own + 5 * rng.normal(size=24).astype(np.float32)
    vectors = shared / np.linalg.norm(shared, axis=1, keepdims=True)
    lens = whitened.fit(vectors)
    found = whitened.cosines(lens, vectors, whitened.lengths(lens, vectors), vectors[17])
    assert found.argmax() == 17
    assert np.sort(found)[-2] < 0.9 < np.sort(vectors @ vectors[17])[-2]
