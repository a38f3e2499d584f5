"""The prompt of a block shows the summary of the block before, and nothing depends on that but the words."""

import json

import pytest

from livemem.conversations import log, making, orders, summaries, summary_versions
from livemem.conversations.summary_versions import At
from livemem.conversations.turn import Draft
from livemem.erasure import erasure
from tests.support.talk import Talk
from tests.support.world import EVERYONE, INVOCATION

SECRET = "The treasure lies below the old oak"
BLOCK = {"window_chars": 500, "min_flush_chars": 100}


def shown(messages):
    """What the prompt of a block says of the time before it. None for a prompt of a group."""
    lines = messages[1]["content"].split("\n")
    found = [lines[place + 1] for place, line in enumerate(lines) if line.startswith("# What came just before")]
    return json.loads(found[0]) if found else None


def numbered(messages):
    """A summary that names the turns of its block."""
    (line,) = [one for one in messages[1]["content"].split("\n") if one.startswith("[")]
    return json.dumps({"summary": f"Of the turns {[part['turn'] for part in json.loads(line)]}."})


def echo(messages):
    """The worst model: it repeats all that it is shown."""
    lines = messages[1]["content"].rstrip("\n").split("\n")
    return json.dumps({"summary": f"{shown(messages) or ''} {lines[-1]}"})


def talk_of(*sizes, model=numbered, **parameters):
    talk = Talk("windows", **{**BLOCK, **parameters})
    talk.llm.default = model
    talk.said(*sizes)
    return talk


def stored(talk):
    at = At("demo", talk.conversation, summary_versions.read(talk.process, "demo", talk.conversation).current())
    layers = summaries.read(talk.world.new_process(), at)
    return summaries.load(talk.process, layers, 1, summaries.current(talk.process, layers, 1))


def test_each_block_of_a_conversation_is_shown_the_summary_of_the_one_before():
    talk = talk_of()
    for _ in range(3):
        talk.said(250)
        talk.update()

    assert [shown(one) for one in talk.llm.asked] == [None, "Of the turns [1].", "Of the turns [2]."]
    assert [one.since for one in stored(talk)] == [None, 1, 1]


def test_the_text_just_before_stands_behind_the_summary():
    talk = talk_of(250, overlap_chars=10)
    talk.update()
    talk.said(250)
    talk.update()

    assert shown(talk.llm.asked[1]) == "Of the turns [1].\naaaaaaaaaa"


@pytest.mark.parametrize(("verbatim", "seen"), [(False, f"{'b' * 299}…"), (True, f"…{'b' * 299}")])
def test_at_most_300_characters_are_shown(verbatim, seen):
    talk = talk_of(250)
    talk.update()
    (one,) = stored(talk)

    assert making.excerpt_of(one.model_copy(update={"summary": "b" * 400, "verbatim": verbatim})) == seen
    assert making.excerpt_of(one.model_copy(update={"summary": "b" * 300})) == "b" * 300


def test_the_blocks_of_one_wave_wait_for_none_of_them():
    talk = talk_of(*[250] * 7, concurrency=3)
    talk.update()

    # The first of a wave follows a block of the wave before.
    seen = {json.loads(one[1]["content"].split("\n")[-2])[0]["turn"]: shown(one) for one in talk.llm.asked}
    assert [number for number in range(1, 8) if seen[number]] == [4, 7]
    assert len(talk.llm.asked) == 7


def test_names_and_captured_notes_are_the_same_whether_the_block_before_was_shown_or_not():
    def made(concurrency):
        talk = talk_of(*[250] * 3, concurrency=concurrency)
        talk.update()
        return talk, [name.partition("/")[2] for name in talk.names("v1/summaries/l1/")]

    one, three = made(1), made(3)
    assert one[1] == three[1]
    assert [bool(shown(asked)) for asked in one[0].llm.asked] == [False, True, True]
    assert [bool(shown(asked)) for asked in three[0].llm.asked] == [False] * 3


def test_one_new_block_costs_one_call_and_no_more_requests_than_a_block_that_is_shown_nothing():
    def counted(shows):
        talk = talk_of(250)
        talk.update()
        talk.said(250)
        with pytest.MonkeyPatch.context() as patch:
            if not shows:
                patch.setattr(making, "block_before", lambda *_: None)
            talk.world.client.reset()
            asked = len(talk.llm.asked)
            talk.update()
        assert bool(shown(talk.llm.asked[-1])) == shows
        assert len(talk.llm.asked) == asked + 1
        return talk.world.client.counts

    assert counted(True) == counted(False)


def test_an_erased_turn_is_in_no_summary_though_each_repeats_what_it_is_shown():
    talk = talk_of(model=echo)
    talk.say(SECRET, "y" * 480, message_id="secret")
    talk.update()
    for _ in range(12):
        talk.said(250)
        talk.update()
    telling = [one.number for one in stored(talk) if SECRET in one.summary]
    assert telling[0] == 1
    assert 1 < len(telling) <= making.CHAIN
    asked = len(talk.llm.asked)

    erasure.erase(talk.process, EVERYONE, "demo", [f"{talk.id}/1"], talk.world.clock() + INVOCATION)
    talk.update()

    assert [key for key, one in talk.world.inner.objects.items() if SECRET.encode() in one.body] == []
    again = {one[1]["content"] for one in talk.llm.asked[asked:] if "# Turns" in one[1]["content"]}
    assert len(again) <= making.CHAIN
    assert len(stored(talk)) == 13
    assert talk.update().outcome == "nothing"


def test_a_late_write_that_brings_the_block_before_back_is_not_shown():
    talk = talk_of(model=echo)
    talk.say(SECRET, "y" * 480, message_id="secret")
    talk.update()
    (key,) = [key for key in talk.world.keys("demo/") if "/summaries/l1/" in key]
    late = talk.world.inner.objects[key]
    erasure.erase(talk.process, EVERYONE, "demo", [f"{talk.id}/1"], talk.world.clock() + INVOCATION)
    talk.world.inner.objects[key] = late
    talk.said(250)
    asked = len(talk.llm.asked)
    talk.update()

    assert len(talk.llm.asked) > asked
    assert all(SECRET not in str(one) for one in talk.llm.asked[asked:])


def test_words_of_another_token_are_not_shown_to_a_block_that_it_did_not_write():
    talk = talk_of()
    log.append(talk.process, "demo", talk.id, "eve", Draft("x" * 300, "y" * 300, message_id="e"))
    talk.update()
    talk.said(250)
    talk.update()

    assert shown(talk.llm.asked[1]) is None


@pytest.mark.parametrize("body", [b"", b"{}", b"\xff"])
def test_a_broken_summary_holds_up_no_block_behind_it(body):
    talk = talk_of(250)
    talk.update()
    (key,) = [key for key in talk.world.keys("demo/") if "/summaries/l1/" in key]
    talk.world.inner.put_object(Bucket="", Key=key, Body=body)
    talk.world.new_process()
    talk.said(250)
    talk.update()

    assert shown(talk.llm.asked[1]) is None
    assert len(talk.names("v1/summaries/l1/")) == 2


def test_a_summary_that_is_made_again_by_hand_is_shown_the_block_before():
    talk = talk_of(250, 250, concurrency=2)
    talk.update()
    orders.redo(talk.process, "demo", talk.id, 1, 2)
    talk.world.settle()

    assert [shown(one) for one in talk.llm.asked] == [None, None, "Of the turns [1]."]
