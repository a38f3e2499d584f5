"""A conversation goes with its space, through an archive and a fork, and goes on there."""

import pytest

from livemem.conversations import log, reading, update
from livemem.conversations.turn import Draft
from livemem.copies import fork, provisioning
from tests.support.archives import exported, import_it
from tests.support.talk import Talk
from tests.support.world import EVERYONE, INVOCATION


def taken_by_archive(talk: Talk) -> None:
    import_it(talk.world, exported(talk.world))


def taken_by_fork(talk: Talk) -> None:
    deadline = talk.world.clock() + INVOCATION
    provisioning.carry_on(talk.process, fork.order(talk.process, EVERYONE, "demo", "copy", None, deadline), deadline)


@pytest.mark.parametrize("way", [taken_by_archive, taken_by_fork])
def test_a_conversation_is_whole_in_another_space_and_asks_for_nothing_again(way):
    talk = Talk(cwd="/home/ann/ferry")
    talk.said(*[700] * 9)
    talk.update()
    before = talk.names()
    asked = len(talk.llm.asked)
    way(talk)

    prefix = f"copy/conversations/{talk.id}/"
    kept = {name for name in before if not name.startswith("claims/")}
    assert {key.removeprefix(prefix) for key in talk.world.keys(prefix)} == kept
    listed, _ = reading.page(talk.process, "copy", cwd="/home/ann/ferry", host=None, limit=9, after=None)
    assert [one.conversation.conversation_id for one in listed] == [talk.id]
    outcome = update.look(talk.process, "copy", talk.id, talk.world.clock() + INVOCATION)
    assert outcome.outcome == "nothing"
    assert len(talk.llm.asked) == asked
    assert log.append(talk.process, "copy", talk.id, "ann", Draft("On", "we go")).turn.turn_index == 10
    assert log.last_index(talk.process, "demo", talk.id) == 9
