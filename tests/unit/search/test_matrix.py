"""Vectors in memory: of few each number has 32 bits, of many 16, and both rank alike."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from livemem.search import matrix
from livemem.search.matrix import Matrix
from livemem.search.vectors import Pool

WIDTH, BLOCK = 6, 4
HALF_PRECISION = 1e-3


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """From ten rows on there are 16 bits, in blocks of four."""
    monkeypatch.setattr(matrix, "FULL_BYTES", 10 * WIDTH * 4)
    monkeypatch.setattr(matrix, "BLOCK", BLOCK)


def units(count: int, seed: int = 1) -> np.ndarray:
    found = np.random.default_rng(seed).standard_normal((count, WIDTH)).astype(np.float32)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def filled(rows: np.ndarray, sizes: list[int]) -> Matrix:
    found, first = Matrix(WIDTH), 0
    for size in sizes:
        found.append(rows[first : first + size].copy())
        first += size
    return found


@given(st.lists(st.integers(0, 9), max_size=12), st.randoms(use_true_random=False))
def test_rows_come_back_in_their_order_however_they_were_added(sizes: list[int], chance):
    rows = units(sum(sizes))
    found = filled(rows, sizes)
    wanted = np.array(chance.choices(range(len(rows)), k=20) if len(rows) else [], dtype=np.int64)
    first = chance.randrange(len(rows) + 1)

    assert len(found) == len(rows)
    assert found.shape == (len(rows), WIDTH)
    assert found[wanted].dtype == np.float32
    assert np.allclose(found[wanted], rows[wanted], atol=HALF_PRECISION)
    parts = [part.astype(np.float32) for part in found.parts(first)]
    assert np.allclose(np.concatenate([*parts, rows[:0]]), rows[first:], atol=HALF_PRECISION)


def test_few_rows_are_exact_and_many_take_half_the_memory():
    few, many = units(10), units(200)

    assert (filled(few, [3, 7])[np.arange(10)] == few).all()
    assert filled(many, [50] * 4).nbytes <= many.nbytes / 2 + BLOCK * WIDTH * 4


def test_a_pool_of_many_vectors_tells_the_same_cosines_as_one_of_32_bits(monkeypatch: pytest.MonkeyPatch):
    rows, question = units(300), units(1, seed=2)[0]
    names = [bytes([number // 256, number % 256]) for number in range(300)]
    some = np.array([0, 7, 150, 299, 3], dtype=np.int64)
    found = {}
    for full_bytes in (0, 1 << 30):
        monkeypatch.setattr(matrix, "FULL_BYTES", full_bytes)
        pool = Pool(WIDTH)
        for first in range(0, 300, 70):
            pool.add(names[first : first + 70], rows[first : first + 70].copy())
            pool.cosines(question)
        found[full_bytes] = [pool.cosines(question), pool.cosines(question, some), pool.products(question, some)]

    for halves, whole in zip(*found.values(), strict=True):
        assert np.allclose(halves, whole, atol=5e-3)
    assert np.allclose(found[0][2], rows[some] @ question, atol=HALF_PRECISION)


def test_the_lens_of_a_pool_is_made_of_the_vectors_that_are_shown_to_it():
    rows, others, question = units(100), units(900, seed=5), units(1, seed=2)[0]
    # All of one half space: their mean is not that of the others.
    others[:, 0] = np.abs(others[:, 0]) + 1
    others /= np.linalg.norm(others, axis=1, keepdims=True)
    names = [bytes([number // 256, number % 256]) for number in range(1_000)]
    apart, mixed = Pool(WIDTH), Pool(WIDTH)
    apart.add(names[:100], rows)
    mixed.add(names, np.concatenate([others[:450], rows, others[450:]]))
    shown = np.arange(450, 550)

    assert not np.allclose(mixed.cosines(question, shown), apart.cosines(question), atol=0.01)
    later = Pool(WIDTH)
    later.add(names, np.concatenate([others[:450], rows, others[450:]]))
    later.show(shown)
    assert np.allclose(later.cosines(question, shown), apart.cosines(question), atol=1e-4)
    assert np.isfinite(later.cosines(question)).all()


def test_the_lens_of_a_pool_stays_until_what_is_shown_has_grown_by_a_tenth():
    rows, question = units(200), units(1, seed=2)[0]
    names = [bytes([number]) for number in range(200)]
    pool = Pool(WIDTH)
    pool.add(names[:100], rows[:100])
    pool.show(np.arange(50))
    before = pool.cosines(question)

    pool.add(names[100:], rows[100:])
    assert pool.cosines(question)[:100].tolist() == before.tolist()
    pool.show(np.arange(55))
    assert pool.cosines(question)[:100].tolist() == before.tolist()
    pool.show(np.arange(56))
    assert pool.cosines(question)[:100].tolist() != before.tolist()
