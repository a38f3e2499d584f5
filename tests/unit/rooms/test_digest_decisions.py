"""A digest of many decisions in nearly the same words: each is a memory of its own."""

import pytest

from livemem.memories import similar
from tests.support.chatter import Chatter, answer, memory, shown
from tests.support.memories import contents

DECISIONS = 40
OF_A_ROOM = 20
MESSAGES = [
    f"Decision: team {number} keeps the tool number {number * 7 % 503} for its reports." for number in range(DECISIONS)
]


def all_of(messages):
    return answer(*(memory(one["content"], one["number"]) for one in shown(messages)))


@pytest.mark.slow
@pytest.mark.parametrize("llm_answers", [True, False], ids=["judged", "not judged"])
def test_of_40_different_decisions_none_is_merged_and_a_call_is_made_for_ten(llm_answers):
    chatter = Chatter()
    chatter.llm.default = all_of
    chatter.llm.judges = llm_answers
    for place in range(0, DECISIONS, OF_A_ROOM):
        chatter.say_all(MESSAGES[place : place + OF_A_ROOM], room=f"room-{place}")

    done = chatter.digested()

    assert (done.chunks, done.new, done.merged) == (DECISIONS // OF_A_ROOM, DECISIONS, 0)
    assert sorted(contents(chatter.process)) == sorted(MESSAGES)
    # One for ten memories, and a few for those that are linked.
    assert chatter.llm.compared <= DECISIONS / 10 + similar.CALLS
