"""Titles of conversations of sessions: found again by their name, and without words that an erasure would not reach."""

from hypothesis import given
from hypothesis import strategies as st

from live_memory.cli.transcripts import titles
from livemem.conversations import conversation as conversations
from livemem.conversations import log
from livemem.conversations.conversation import NewConversation
from livemem.conversations.turn import Draft
from livemem.erasure import erasure
from livemem.text.redaction import redact
from tests.support.cases import each
from tests.support.world import EVERYONE, INVOCATION, World

NAME = "codex session 0a-1"
LONG = "Please write to Rosa Winkler that her knee operation at the clinic is on Monday. " * 2


@each(
    ("prompt", "title"),
    [
        ("Where is the queue?", f"Where is the queue? ({NAME})"),
        ("\n  Where is it?  \nAnd why?", f"Where is it? ({NAME})"),
        (LONG, NAME),
        ("", NAME),
        ("two  blanks", NAME),
        ("bell\x07", NAME),
        ("password: Kiel7Port", NAME),
        ("é" * 120, f"{'é' * 120} ({NAME})"),
        ("\U0001f600" * 121, NAME),
    ],
)
def test_a_title_is_the_whole_first_line_of_the_prompt_or_the_name_alone(prompt, title):
    assert titles.of("codex", "0a-1", prompt) == title


@given(st.text(), st.text(max_size=200))
def test_a_title_is_found_by_its_session_and_stays_as_it_is_in_the_service(prompt, session):
    title = titles.of("codex", session, prompt)
    assert titles.is_of(title, "codex", session)
    assert titles.is_of(titles.of("codex", session), "codex", session)
    assert not titles.is_of(title, "codex", f"{session}2")
    assert redact(title)[0] == title
    assert len(title.encode(errors="replace")) <= titles.TITLE_BYTES


@each("prompt", ["Rosa Winkler has a knee operation", f"Rosa Winkler is ill\n{LONG}", LONG])
def test_an_erasure_of_the_first_turn_takes_its_words_out_of_the_title(prompt):
    world = World()
    world.create_space()
    wanted = NewConversation(title=titles.of("codex", "0a-1", prompt))
    made = conversations.create(world.process, "demo", "ann", wanted).conversation_id
    log.append(world.process, "demo", made, "ann", Draft(prompt, "Done."))
    erasure.erase(world.process, EVERYONE, "demo", [f"{made}/1"], world.clock() + INVOCATION)

    title = conversations.load(world.process, "demo", made).title
    assert title
    assert "Rosa" not in title
    assert titles.is_of(title, "codex", "0a-1")
