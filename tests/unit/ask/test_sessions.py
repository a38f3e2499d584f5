import json
from datetime import timedelta

import pytest

from livemem.ask.sessions import QUESTIONS, SILENCE, Session
from livemem.conversations import conversation as conversations
from livemem.conversations import log, removal
from livemem.errors import NotFound
from livemem.store.bucket import SESSION
from tests.support.agent import responds
from tests.support.asking import Asking, left_open, talk_of
from tests.support.searching import find
from tests.support.talk import Summariser


def before(asking: Asking):
    """What the model was told last of the session before."""
    opening = asking.agent.asked[-1][1]["content"].split("\n")
    heading = next(place for place, line in enumerate(opening) if line.startswith("# Before in this session"))
    return [(one["user"], one["you"]) for one in json.loads(opening[heading + 2])]


def session_of(asking: Asking, user: str = "ann") -> Session:
    return Session.model_validate_json(asking.world.text(SESSION.key("demo", user)))


def is_closed(asking: Asking, conversation_id: str) -> bool:
    last = log.last_index(asking.process, "demo", conversation_id)
    return last in conversations.load(asking.process, "demo", conversation_id).closings


def test_a_question_knows_those_before_it_and_is_the_next_turn_of_their_conversation():
    asking = Asking()
    asking.script(responds("It is blue."), responds("It goes to Kiel."))
    first = asking.ask("Which colour has the ferry?")
    second = asking.ask("And where does it go?")

    assert before(asking) == [("Which colour has the ferry?", "It is blue.")]
    assert first.conversation_id == second.conversation_id
    assert log.last_index(asking.process, "demo", talk_of(first)) == 2
    assert session_of(asking).requests == [first.job_id, second.job_id]
    assert conversations.load(asking.process, "demo", talk_of(first)).author == "ann"
    turns = log.read(asking.process, "demo", talk_of(first), range(1, 3))
    assert all(turn.asked for turn in turns)
    assert not find(asking.process, "Which colour has the ferry?", scope="conversations").hits
    assert len(find(asking.process, "Which colour has the ferry?", scope="questions").hits) == 1


def test_each_user_has_a_session_of_its_own_whoever_asks_for_them():
    asking = Asking()
    one = asking.ask(user="ines")
    two = asking.ask(user="jonas")
    three = asking.ask(user="ines", author="bob")
    four = asking.ask(author="bob")

    assert one.conversation_id == three.conversation_id
    assert len({one.conversation_id, two.conversation_id, four.conversation_id}) == 3
    assert four.user == "bob"


@pytest.mark.parametrize(("silence", "goes_on"), [(SILENCE - timedelta(seconds=1), True), (SILENCE, False)])
def test_silence_ends_a_session(silence: timedelta, goes_on: bool):
    asking = Asking()
    first = asking.ask("One?")
    asking.world.clock.move(silence.total_seconds())

    second = asking.ask("Two?")

    assert (first.conversation_id == second.conversation_id) is goes_on
    assert bool(before(asking)) is goes_on
    assert is_closed(asking, talk_of(first)) is not goes_on


def test_a_session_ends_with_its_last_question_and_is_closed_at_once():
    asking = Asking()
    asked = [asking.ask(f"Question {place}?") for place in range(QUESTIONS)]

    assert {one.conversation_id for one in asked} == {asked[0].conversation_id}
    assert len(before(asking)) == QUESTIONS - 1
    assert is_closed(asking, talk_of(asked[0]))

    after = asking.ask("One more?")

    assert after.conversation_id != asked[0].conversation_id
    assert before(asking) == []
    assert session_of(asking).questions == 1


def test_a_session_that_is_named_goes_on_or_the_question_is_refused():
    asking = Asking()
    first = asking.ask()
    other = asking.ask(user="bob")

    assert asking.ask(session=first.conversation_id).conversation_id == first.conversation_id
    for wrong in (other.conversation_id, "0" * 26):
        with pytest.raises(NotFound, match="session"):
            asking.ask(session=wrong)
    asking.world.clock.move(SILENCE.total_seconds())
    with pytest.raises(NotFound) as raised:
        asking.ask(session=first.conversation_id)
    assert raised.value.code == "session_not_found"
    assert left_open(asking.world) == []


def test_a_session_that_ends_while_its_next_question_waits_fails_that_question():
    asking = Asking()
    asking.world.llm = Summariser()  # type: ignore[assignment]
    first = asking.ask()

    def slow(thread):
        asking.world.clock.move(3)
        return responds()

    for _ in range(QUESTIONS - 2):
        asking.ask()
    asking.agent.default = slow
    waiting = []

    def meanwhile(thread):
        # Somebody asks while the last question of the session is answered.
        waiting.append(asking.order("Late?", session=first.conversation_id, seconds=0.1))
        return responds("Last.")

    asking.script(meanwhile)
    asking.ask("Last?")
    asking.world.settle()

    assert waiting[0].outcome == "unfinished"
    late = asking.world.text(f"demo/_asks/{waiting[0].job.job_id}.json")
    assert json.loads(late)["error"]["code"] == "session_ended"


def test_a_conversation_that_was_deleted_is_no_session_any_more():
    asking = Asking()
    first = asking.ask()
    removal.delete(asking.process, "demo", talk_of(first))

    second = asking.ask()

    assert second.status == "done"
    assert second.conversation_id != first.conversation_id


def test_an_answer_is_given_also_if_its_conversation_is_deleted_while_it_is_made():
    asking = Asking()
    first = asking.ask()

    def deletes(thread):
        removal.delete(asking.process, "demo", talk_of(first))
        return responds("Still.")

    asking.script(deletes)

    assert asking.ask().answer.message == "Still."
    assert asking.ask().conversation_id != first.conversation_id


def test_a_question_that_failed_is_in_no_conversation():
    from livemem.llm.client import LlmError

    asking = Asking()
    asking.script(LlmError("llm_refused", "No."), responds("Yes."))
    asking.ask("One?")
    asking.ask("Two?")

    assert before(asking) == []
    assert session_of(asking).questions == 1


def test_a_pointer_that_nobody_can_read_costs_a_new_session_and_nothing_else():
    asking = Asking()
    first = asking.ask()
    asking.world.store.put(SESSION.key("demo", "ann"), b"{")

    second = asking.ask()

    assert second.status == "done"
    assert second.conversation_id != first.conversation_id
    assert session_of(asking).conversation_id == second.conversation_id
