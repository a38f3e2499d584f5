"""The oracles notice what they are there for, and the scenes are what they say."""

from dataclasses import replace
from itertools import combinations

import pytest

from livemem.errors import Conflict
from livemem.text import similarity
from tests.simulation.kinds.bank import BankScene
from tests.simulation.kinds.consolidation import CONSOLIDATION
from tests.simulation.kinds.erasures import ERASURES, FOLDED, SECRET
from tests.simulation.kinds.memory_law import TOPICS, plain, text
from tests.simulation.pairs import Play, walk
from tests.simulation.scene import prepared
from tests.support.erased import WATCHED, left_of


def test_the_audit_notices_a_lost_note_and_one_folded_twice():
    scene = BankScene.new()
    scene.create()
    scene.fold()
    folded = set(scene.notes)
    objects = scene.world.inner.objects
    (record_key,) = [key for key in objects if "/_consolidations/" in key]
    objects[record_key.replace("000001_", "000002_")] = objects[record_key]
    scene.notes["20990101T000000_x_todo_00000000"] = str(scene.space)
    found = scene._checked()
    assert found.lost == ["20990101T000000_x_todo_00000000"]
    assert set(found.folded_twice) == folded


@pytest.mark.parametrize(
    "pair", [pair for pair in CONSOLIDATION.pairs if "at the earliest" in pair.name], ids=lambda pair: pair.name
)
def test_a_creation_at_the_earliest_is_not_refused_and_one_a_little_earlier_is(pair):
    for early, refused in ((0, False), (5, True)):
        sooner = Play(CONSOLIDATION, replace(pair, gap=pair.gap - early))
        scene = sooner.scene()
        first = scene.enter(pair.first)
        while not first.done:
            walk(scene, first, pair.first)
        sooner.meanwhile(scene)
        second = scene.enter(pair.second)
        second.finish()
        assert isinstance(second.error, Conflict) is refused


def test_the_look_for_what_is_left_finds_a_text_wherever_it_is():
    scene = prepared(ERASURES, FOLDED).fork()
    scene.do(FOLDED)
    scene.world.clock.move(WATCHED)
    assert list(left_of(scene.world, SECRET)) == []

    found = "\n".join(left_of(prepared(ERASURES, FOLDED).world, SECRET))

    for where in ("_backups/", "_exports/", "_consolidations/", "bank/log.md", "a version of"):
        assert where in found


def test_the_texts_of_memories_mean_to_the_service_what_they_mean_to_the_oracle():
    for topic, things in enumerate(TOPICS):
        told = [(thing, text(topic, thing, place)) for thing, words in enumerate(things) for place in range(len(words))]
        for (thing, one), (other, another) in combinations(told, 2):
            assert similarity.differs(one, another) == (thing != other), (one, another)
            assert (similarity.normalised(one) == similarity.normalised(another)) == (plain(one) == plain(another))
