"""Whatever happens between two operations: the promise stands, and nobody is told what is not so."""

from dataclasses import replace

import pytest

from livemem.errors import Conflict
from tests.support.pairs import PAIRS, Pair, step


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_two_operations_keep_the_promise_whatever_happens_between_them(pair: Pair):
    broken = [f"{where} -> {found}" for where, found in pair.play() if not found.clean()]
    assert not broken, f"{len(broken)}:\n" + "\n".join(broken[:20])


@pytest.mark.parametrize("pair", [pair for pair in PAIRS if "at the earliest" in pair.name], ids=lambda pair: pair.name)
def test_a_creation_at_the_earliest_is_not_refused_and_one_a_little_earlier_is(pair: Pair):
    for early, refused in ((0, False), (5, True)):
        scene = pair.scene()
        first = scene.enter(pair.first)
        while not first.done:
            step(scene, first, pair.first)
        replace(pair, gap=pair.gap - early).meanwhile(scene)
        second = scene.enter(pair.second)
        second.finish()
        assert isinstance(second.error, Conflict) is refused


def test_every_way_between_two_operations_is_gone():
    ways = {way.__name__ for pair in PAIRS for way in pair.ways}
    assert ways == {"late", "overtaken", "echoed", "lost", "cut", "crossed", "together", "failing"}
