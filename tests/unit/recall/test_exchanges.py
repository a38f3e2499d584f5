"""What is shown with a found message: what it answers, what answers it; and which answers are relevant by that."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livemem.conversations.turn import Draft
from livemem.notes import appending
from livemem.recall import context, message_context
from livemem.recall.context import TalkContextRequest
from tests.support.cases import each
from tests.support.talk import Talk
from tests.support.world import World

Said = tuple[str, str]
ASKED, ANSWERED = ("ann", "How long has the violin been in the family, Ben?"), ("ben", "Seven years now.")
LATER = ("ann", "The boat leaves at noon.")


def talk_of(*said: Said, minutes: float = 1, role: str = "user") -> Talk:
    """A talk of single messages, each so many minutes after the one before."""
    talked = Talk()
    for who, text in said:
        talked.world.pass_time(60 * minutes)
        talked.append(Draft.of_message(role, text, author=who))
    return talked


def shown(talked: Talk, message: str) -> list[str]:
    """The texts that a context of a message has, without the times of their lines, and without the token of a speaker
    (test_writers.py).
    """
    items = message_context.context(talked.process, "demo", message).items
    return [re.sub(r" \(2026-\d\d-\d\d\)|\bsaid by ann for ", "", item.text) for item in items]


def shown_beside(talked: Talk, message: str) -> list[list[int]]:
    """The numbers of the turns that the context of the conversation has found."""
    wanted = TalkContextRequest(message, max_turns=1)
    found = context.of_conversation(talked.process, "demo", talked.id, wanted).sections.turns
    return [[one.turn.turn_index, *(other.turn.turn_index for other in one.others)] for one in found]


def test_people_s_question_comes_with_the_answer_and_the_answer_with_the_question():
    talked = talk_of(ASKED, ANSWERED, LATER, LATER)
    for message in ("the violin in the family", "seven years now"):
        assert shown(talked, message) == [
            "ann: How long has the violin been in the family, Ben?\nben: Seven years now."
        ]
        assert shown_beside(talked, message) == [[1, 2]]


@each(
    "said, more",
    [
        ([("ann", "The violin is in the family."), ANSWERED], {}),
        ([ASKED, ("ann", ANSWERED[1])], {}),
        ([ASKED, ANSWERED], {"minutes": 61}),
    ],
    ids=["nobody asked", "one speaks alone", "an hour later"],
)
def test_only_an_answer_belongs_to_a_question(said, more):
    talked = talk_of(*said, LATER, **more)

    assert [text.split("\n") for text in shown(talked, "the violin in the family")] == [[f"ann: {said[0][1]}"]]


def test_an_answer_that_asks_has_both_and_no_message_comes_twice():
    talked = talk_of(
        ("ann", "Who plays the violin?"),
        ("ben", "My violin is played by Cleo. Who asks?"),
        ("ann", "The orchestra."),
        LATER,
    )
    whole = "ann: Who plays the violin?\nben: My violin is played by Cleo. Who asks?\nann: The orchestra."

    assert shown(talked, "violin played by Cleo") == [whole]
    assert shown_beside(talked, "violin played by Cleo") == [[1, 2, 3]]


def test_whole_turns_of_people_go_on_with_the_answer_in_the_next_one():
    talked = Talk()
    talked.append(Draft("The train is late.", "Where is the violin kept?", user="ann", author="ben"))
    talked.append(Draft("In the attic.", "The boat is red.", user="ann", author="ben"))
    talked.append(Draft("It leaves at noon.", "It does.", user="ann", author="ben"))
    lines = "ann: The train is late.\nben: Where is the violin kept?\nann: In the attic.\nben: The boat is red."

    assert shown(talked, "where is the violin kept") == [lines]
    assert shown(talked, "in the attic") == [lines]
    assert shown_beside(talked, "in the attic") == [[1, 2]]
    # The other side of each turn has nothing to do with it.
    assert shown(talked, "the late train") == ["ann: The train is late.\nben: Where is the violin kept?"]
    assert shown(talked, "the red boat") == ["ann: In the attic.\nben: The boat is red."]


def test_a_message_that_was_shown_with_another_one_is_not_found_again():
    talked = talk_of(
        ("ann", "Who plays the violin?"), ("ben", "Cleo. Who asks?"), ("ann", "The orchestra of the opera asks."), LATER
    )

    assert shown_beside(talked, "orchestra opera asks tonight") == [[2, 3]]
    assert len(shown(talked, "orchestra opera asks tonight")) == 1


def test_whole_turns_to_a_model_stand_alone():
    talked = Talk()
    talked.say("Where is the violin kept?", "In the attic. Shall I look?")
    talked.say("Yes, look for the violin bow too.", "It is there.")
    talked.say("The boat leaves.", "Fine.")

    assert [text.count("\n") for text in shown(talked, "the violin")] == [1, 1]


def known_of_notes(said: list[Said], message: str) -> list[str]:
    """The texts that a context has of notes that an agent took of a talk, or wrote itself where nobody said them."""
    world = World()
    world.create_space()
    for who, text in said:
        world.pass_time(60)
        draft = appending.NoteDraft("observation", text, author=who or None)
        appending.append(world.process, "demo", "agent", draft)
    return [item.text for item in message_context.context(world.process, "demo", message).items]


WORDY, SHORT = "The old violin is older than this year.", "Kept since I was seven, Ann."
"""The second one shares one word of four with the question, and with the first one all of them."""
SINCE_WHEN = "Since which year was the old violin kept?"


def test_what_is_said_beside_a_message_counts_for_its_relevance_where_people_talk():
    said = [("ann", WORDY), ("ben", SHORT), LATER, LATER]
    talked = talk_of(*said)
    apart = talk_of(*said, minutes=61)

    assert (f"ben: {SHORT}" in shown(talked, SINCE_WHEN), [2] in shown_beside(talked, SINCE_WHEN)) == (True, True)
    assert (f"ben: {SHORT}" in shown(apart, SINCE_WHEN), [2] in shown_beside(apart, SINCE_WHEN)) == (False, False)
    assert SHORT in known_of_notes(said, SINCE_WHEN)
    assert SHORT not in known_of_notes([("", text) for _, text in said], SINCE_WHEN)


def test_what_a_model_says_beside_a_message_does_not_count_for_its_relevance():
    talked = Talk()
    for role, text in (("user", "Go on."), ("assistant", WORDY), ("user", SHORT), ("assistant", "Fine.")):
        talked.append(Draft.of_message(role, text))

    assert [text.split("\n")[1] for text in shown(talked, SINCE_WHEN)] == [f"Assistant: {WORDY}"]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["ann", "ben", "cleo"]), st.sampled_from(["Violin?", "The violin.", "Boat?", "A boat."])
        ),
        min_size=1,
        max_size=6,
    ),
    st.sampled_from(["violin", "boat", "violin boat"]),
)
def test_no_message_is_shown_twice(said, message):
    talked = talk_of(*said)
    lines = [line for text in shown(talked, message) for line in text.split("\n")]
    numbers = [number for one in shown_beside(talked, message) for number in one]

    # As many lines at most as messages with the same words by the same speaker.
    assert all(lines.count(line) <= [f"{who}: {text}" for who, text in said].count(line) for line in lines)
    assert len(set(numbers)) == len(numbers)


@pytest.mark.parametrize("role", ["system", "tool"])
def test_what_nobody_said_belongs_to_no_exchange(role):
    talked = talk_of(ASKED, ANSWERED, LATER, role=role)

    assert all("\n" not in text for text in shown(talked, "the violin in the family"))
