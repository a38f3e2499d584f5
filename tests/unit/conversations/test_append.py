"""Appending: each message once, with dense numbers, in three round trips; what is large lies apart."""

import json
from contextlib import suppress
from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livemem import clock
from livemem.conversations import log, reading, turn_import
from livemem.conversations import turn as turns_module
from livemem.conversations.log import Closed
from livemem.conversations.turn import RESULT_BYTES, RESULT_SHOWN, Draft, ToolCall
from livemem.errors import InvalidRequest, NotFound, TooLarge
from livemem.store.bucket import MESSAGE_ID, TURN
from tests.support import items
from tests.support.bucket import error
from tests.support.cases import each
from tests.support.counting import Killed
from tests.support.talk import Talk
from tests.support.world import World

SECRET = "AKIA" + "Q7ZK3WNB5XRM2TLD"


def turns(talk):
    return reading.turns(talk.process, "demo", talk.id, limit=1_000, order="oldest").turns


def asked(talk):
    return [verb for verb, _ in talk.world.client.requests]


def test_an_append_with_an_id_takes_six_requests_in_three_round_trips():
    talk = Talk()
    talk.world.client.reset()
    talk.say("a", "b", message_id="m")
    first, second, third = asked(talk)[:3], asked(talk)[3:5], asked(talk)[5:]
    assert (sorted(first), second, third) == (["GET", "GET", "LIST"], ["PUT", "PUT"], ["PUT"])
    assert "/turns/" in talk.world.client.requests[-1][1], "the turn is what is written last"


def test_further_appends_in_the_same_five_minutes_leave_no_marker_again():
    talk = Talk()
    talk.say("a", message_id="m1")
    talk.world.client.reset()
    talk.say("b", message_id="m2")
    talk.say("c")
    assert sorted(asked(talk)) == sorted(["GET", "GET", "LIST", "PUT", "PUT", "GET", "LIST", "PUT"])


def test_a_repeat_writes_nothing_and_gives_the_turn_that_is_there():
    talk = Talk()
    first = talk.say("a", "b", message_id="m")
    talk.say("c", "d")
    talk.world.client.reset()
    again = talk.say("a", "b", message_id="m")
    assert (again.turn, again.fresh) == (first.turn, False)
    assert "PUT" not in asked(talk)
    assert len(turns(talk)) == 2


@pytest.mark.parametrize("other", [{"user": "x"}, {"assistant": "x"}, {"role": "user"}])
def test_an_id_with_another_content_is_refused_and_names_the_field(other):
    talk = Talk()
    talk.say("a", "b", message_id="m")
    more = {"role": other["role"]} if "role" in other else {}
    with pytest.raises(InvalidRequest) as refused:
        talk.say(other.get("user", "a"), other.get("assistant", "b"), message_id="m", **more)
    assert refused.value.fields[0].field == "message_id"
    assert len(turns(talk)) == 1


def test_messages_sent_in_any_order_and_again_are_in_the_log_once_each():
    for order in permutations(["m1", "m2", "m3"]):
        talk = Talk()
        for one in [*order, *reversed(order), *order]:
            talk.say(one, message_id=one)
        assert [turn.message_id for turn in turns(talk)] == list(order)
        assert [turn.turn_index for turn in turns(talk)] == [1, 2, 3]


def test_without_an_id_each_is_a_turn_of_its_own():
    talk = Talk()
    assert [talk.say("a").turn.turn_index for _ in range(3)] == [1, 2, 3]


@pytest.mark.parametrize(("size", "apart"), [(RESULT_BYTES - 2, False), (RESULT_BYTES - 1, True)])
def test_a_result_of_a_tool_above_the_limit_lies_apart_and_is_read_whole(size, apart):
    talk = Talk()
    talk.say("a", "b", message_id="m", tool_calls=(ToolCall(name="read", result="r" * size),))
    (shown,) = turns(talk)[0].tool_calls
    assert (shown.result_size, len(shown.result)) == ((size + 2, RESULT_SHOWN) if apart else (None, size))
    assert bool(talk.names("tools/")) is apart
    assert reading.whole_turn(talk.process, "demo", talk.id, 1).tool_calls[0].result == "r" * size


def test_large_results_of_a_turn_whose_writer_died_come_with_the_repeat():
    talk = Talk()
    draft = Draft("a", "b", (ToolCall(name="read", result="r" * 40_000),), "m")

    def die(index, verb):
        if "/tools/" in talk.world.client.requests[index][1]:
            raise Killed

    talk.world.client.before = die
    with pytest.raises(Killed):
        talk.append(draft)
    talk.world.new_process()
    assert not talk.names("tools/")
    assert talk.append(draft).fresh is False
    assert reading.whole_turn(talk.process, "demo", talk.id, 1).tool_calls[0].result == "r" * 40_000


def test_no_secret_is_stored_on_either_side_nor_in_what_tools_were_given_or_gave():
    # Whatever the settings say.
    talk = Talk(world=World(redact_secrets=False))
    call = ToolCall(name="run", arguments={"env": [{"KEY": SECRET}]}, result={"out": [SECRET * 1, "r" * 40_000]})
    appended = talk.say(f"my key is {SECRET}", f"so {SECRET}", message_id="m", tool_calls=(call,))
    assert not [key for key, stored in talk.world.inner.objects.items() if SECRET.encode() in stored.body]
    again = talk.say(f"my key is {SECRET}", f"so {SECRET}", message_id="m", tool_calls=(call,))
    assert (again.turn, again.fresh) == (appended.turn, False)


def test_a_turn_that_was_written_before_turns_were_redacted_is_the_same_when_it_comes_again():
    talk = Talk()
    raw = Draft(f"my key is {SECRET}", "so", (ToolCall(name="run", result=[SECRET, "r" * 40_000]),), "m")
    written, _ = turns_module.made(raw, "m", 1, "bob", talk.world.clock())
    talk.world.store.put(TURN.key("demo", talk.id, 1), written.to_bytes())
    talk.world.store.put(MESSAGE_ID.key("demo", talk.id, "m"), log.Floor(floor=0).to_bytes())

    assert talk.append(raw).fresh is False
    with pytest.raises(InvalidRequest):
        talk.append(replace(raw, assistant_message="other"))
    assert len(turns(talk)) == 1


def test_an_id_that_somebody_entered_a_moment_ago_is_looked_for_behind_that_turn():
    talk = Talk()
    other = talk.world.with_parts()
    draft = Draft("a", "b", message_id="m")
    begun = []

    def carry(request):
        # The three looks of an append are under way at once: that for the id is the first to be answered.
        if request.verb == "GET" and "/ids/" in request.key and len(begun) == 1:
            begun.append(True)
            raise error("NoSuchKey", 404, "GetObject")
        if request.verb == "LIST" and not begun:
            begun.append(True)
            talk.world.client.carry, mine = (lambda request: request.send(talk.world.inner)), carry
            log.append(other, "demo", talk.id, "bob", draft)
            talk.world.client.carry = mine
        return request.send(talk.world.inner)

    talk.world.client.carry = carry
    assert talk.append(draft).fresh is False
    assert len(turns(talk)) == 1


@each(
    "draft",
    [
        Draft(),
        Draft(" ", "\n"),
        Draft(role="user"),
        Draft("a", message_id=""),
        Draft("a", message_id="m" * 201),
        Draft("a", tool_calls=(ToolCall(name=""),)),
    ],
)
def test_what_says_nothing_or_has_no_fit_id_is_refused_and_nothing_is_written(draft):
    talk = Talk()
    before = talk.world.keys()
    with pytest.raises(InvalidRequest):
        talk.append(draft)
    assert talk.world.keys() == before


def test_too_many_calls_of_tools_are_refused():
    talk = Talk()
    with pytest.raises(TooLarge):
        talk.append(Draft("a", tool_calls=(ToolCall(name="x"),) * 1_001))


def test_a_conversation_that_there_is_not_takes_in_nothing():
    talk = Talk()
    with pytest.raises(NotFound):
        log.append(talk.process, "demo", talk.world.ids(), "ann", Draft("a"))
    with pytest.raises(NotFound):
        log.append(talk.process, "other", talk.id, "ann", Draft("a"))


def test_closing_twice_is_closing_once_and_an_empty_conversation_has_nothing_to_close():
    talk = Talk()
    assert log.close(talk.process, "demo", talk.id) is None
    talk.say("a", "b")
    first = log.close(talk.process, "demo", talk.id)
    talk.world.client.reset()
    again = log.close(talk.process, "demo", talk.id)
    assert (first, again) == (Closed(1, fresh=True), Closed(1, fresh=False))
    assert {verb for verb, _ in talk.world.client.requests} <= {"GET", "LIST"}
    talk.say("c", "d")
    # It is no turn.
    assert log.close(talk.process, "demo", talk.id) == Closed(2, fresh=True)
    (listed,), _ = reading.page(talk.process, "demo", cwd=None, host=None, limit=9, after=None)
    assert (listed.turn_count, listed.last.assistant_message) == (2, "d")


def lines(count):
    return "\n".join(json.dumps({"message_id": f"m{n}", "role": "user", "content": f"text {n}"}) for n in range(count))


@given(st.integers(0, 45), st.booleans())
def test_an_import_that_died_anywhere_goes_on_when_the_same_is_sent_again(point, done):
    talk = Talk()
    drafts = items.drafts(lines(10))
    talk.world.client.reset()
    talk.world.client.kill_at(point, done=done)
    with suppress(Killed):
        turn_import.take_in(talk.process, "demo", talk.id, "ann", drafts)
    talk.world.new_process()
    came = turn_import.take_in(talk.process, "demo", talk.id, "ann", drafts)
    assert came.imported + came.repeated == came.last_turn == 10
    assert [turn.message_id for turn in turns(talk)] == [f"m{n}" for n in range(10)]
    assert turn_import.take_in(talk.process, "demo", talk.id, "ann", drafts).imported == 0


def test_an_import_that_meets_a_later_line_of_its_own_on_the_way_does_not_write_it_again():
    talk = Talk()
    drafts = items.drafts(lines(2))
    other = talk.world.with_parts()
    begun = []

    def meanwhile(index, verb):
        key = talk.world.client.requests[index][1]
        if "/turns/" in key and verb == "PUT" and not begun:
            begun.append(True)
            log.append(other, "demo", talk.id, "bob", drafts[1])

    talk.world.client.before = meanwhile
    turn_import.take_in(talk.process, "demo", talk.id, "ann", drafts)
    assert [turn.message_id for turn in turns(talk)] == ["m1", "m0"]


def test_a_turn_of_an_import_without_an_id_is_named_and_none_is_written():
    talk = Talk()
    said = [Draft("a", message_id="m"), Draft("b")]
    with pytest.raises(InvalidRequest) as refused:
        turn_import.take_in(talk.process, "demo", talk.id, "ann", said)
    assert refused.value.fields[0].field == "items.1.message_id"
    assert turns(talk) == []


def test_a_message_has_its_own_time_but_none_after_its_arrival_and_one_of_no_clock_has_that_of_its_arrival():
    talk = Talk()
    told = ("2023-05-08T13:56:00+02:00", "2099-01-01T00:00:00Z", None)

    moments = [talk.say("a", "b", client_timestamp=one).turn.size().moment for one in told]

    now = clock.parse(turns(talk)[0].timestamp)
    assert moments[0] == clock.parse("2023-05-08T11:56:00Z")
    assert [abs((moment - now).total_seconds()) < 60 for moment in moments[1:]] == [True, True]


def test_who_speaks_is_one_line_without_secrets_and_part_of_what_a_repeat_must_say_again():
    talk = Talk()
    wrong: list[dict[str, Any]] = [{"user": "a\nb"}, {"author": "x" * 201}, {"user": " "}, {"author": "a\x00"}]
    for more in wrong:
        with pytest.raises((InvalidRequest, TooLarge), match=next(iter(more))):
            talk.append(Draft("a", "b", **more))
    talk.say("a", "b", message_id="m", user="ines")
    talk.say("c", message_id="n", role="user", author=SECRET)

    assert talk.say("a", "b", message_id="m", user="ines").fresh is False
    others: list[dict[str, Any]] = [{"user": "dev"}, {}]
    for other in others:
        with pytest.raises(InvalidRequest, match="another turn"):
            talk.append(Draft("a", "b", message_id="m", **other))
    assert turns(talk)[0].user == "ines"
    assert SECRET not in turns(talk)[1].model_dump_json()
    assert turns(talk)[1].written_by == "ann"


def test_a_password_that_one_part_of_a_turn_calls_so_is_stored_in_no_other_part():
    talk = Talk()
    call = ToolCall(name="run", arguments={"cmd": "psql kiel7port"}, result=["kiel7port: denied", "r" * 40_000])

    draft = Draft("Use kiel7port.", "The password for the base is kiel7port.", (call,), "m1")
    appended = talk.append(draft)

    assert not [key for key, stored in talk.world.inner.objects.items() if b"kiel7port" in stored.body]
    assert appended.redacted == {"password": 4}
    assert talk.append(draft).fresh is False
