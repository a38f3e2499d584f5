"""The offline LLM names notes: sentences that call themselves a decision, a todo or an issue, word for word."""

import json

from hypothesis import given
from hypothesis import strategies as st

from livemem.conversations import answer, prompt
from livemem.conversations.answer import CapturingAnswer, Source
from livemem.conversations.turn import Draft, Turn, made
from local.offline_llm import chat
from local.offline_llm.summary import NOTES as MOST
from tests.support.cases import each
from tests.support.world import START
from tests.unit.local.offline_llm.support import CONTENTS

CLEAR = {
    "We decided to keep S3 as the only store.": "decision",
    "We decide here: tickets are priced per kilometre.": "decision",
    "On décide que les billets se paient au kilomètre.": "decision",
    "Nous décidons de garder un seul fournisseur.": "decision",
    "Then it was decided not to support Windows 7.": "decision",
    "From now on we deploy on Tuesdays only.": "decision",
    "Nous avons décidé de garder le port de Kiel.": "decision",
    "Désormais, on livre le mardi matin.": "decision",
    "We still have to rotate the keys of staging.": "todo",
    "Il reste à mesurer l'import de nuit.": "todo",
    "The problem is that Kiel answers 503 at night.": "issue",
    "- **Decision:** the import tries three times.": "decision",
    "Agreed: Ines watches the queue from Monday on.": "decision",
    "C’est décidé : on livre le mardi matin.": "decision",
    "TODO: ask Bob for the keys of the crane.": "todo",
    "- [ ] Next step: measure the import at night.": "todo",
    "À faire : traduire la page des allergènes.": "todo",
    "Known issue: the parser drops tabs at the end.": "issue",
    "Known issue: on A5 the margin is cut, since the table has a fixed width.": "issue",
    "Problème connu : le four 3 fait sauter le disjoncteur.": "issue",
}
UNCLEAR = (
    "If we decided to keep S3, we would need a lock.",
    "We have not decided which store we keep.",
    "I wonder whether it was decided without Ines.",
    "On n'a pas décidé quel port on garde.",
    "Si on a décidé cela, alors il faut un verrou.",
    "Each month we decide who moors first at the quay.",
    "When we decide to keep S3, we need a lock.",
    "Quand on décide de garder S3, il faut un verrou.",
    "> We decided to keep S3 as the only store.",
    "Hello, how are you today, my friend?",
    "Have we decided to keep S3 as the only store?",
    "Known issue: the tabs, which is fixed now.",
    "TODO: nothing is left to do here.",
    "Decision: yes.",
    "> Decision: we keep S3 as the only store.",
    "# Decision: we keep S3 as the only store",
    "| Decision: | we keep S3 as the only store |",
    "```\n# TODO: ask Bob for the keys of the crane.\n```",
    "    # TODO: ask Bob for the keys of the crane.",
    "TODO: ask Bob for the \u200bkeys of the crane.",
    "The test fails with a KeyError, let me look into it.",
    "You decided well, I think, and the sun is shining.",
    "Let's see what the indecision: of all costs us here.",
)


def turn_of(user: str, assistant: str, index: int, role=None) -> Turn:
    draft = Draft.of_message(role, user) if role else Draft(user, assistant)
    return made(draft, f"m{index}", index, "ann", START)[0]


def asked(*turns: Turn, captures: bool = True) -> dict:
    messages = prompt.of_turns(
        [(one, one.user_message, one.assistant_message) for one in turns], "", 90, captures=captures
    )
    body = {"model": "offline-rules", "messages": messages}
    return json.loads(chat.complete_chat(body)["choices"][0]["message"]["content"])


def named(*said: str) -> list[dict]:
    return asked(*(turn_of("Go on.", text, number) for number, text in enumerate(said, 1)))["notes"]


@each("text, category", CLEAR.items())
def test_a_sentence_that_calls_itself_so_is_named(text, category):
    (note,) = named("Hello. Nothing yet.", f"I had a look.\n\n{text} That took an hour.")
    assert (note["category"], note["turns"]) == (category, [2])
    assert text.endswith(note["content"])
    assert len(note["content"]) >= len(text) - len("- [ ] ")


@each("text", UNCLEAR)
def test_what_does_not_clearly_say_so_names_nothing(text):
    assert named(text) == []


def test_a_sentence_over_several_lines_is_whole_and_its_neighbours_are_not_in_it():
    text = "Fine.\n1. Decision: we use a cache,\n     e.g. Redis, in\n   front. It is fast.\n2. More later."
    assert [note["content"] for note in named(text)] == ["Decision: we use a cache, e.g. Redis, in front."]


def test_a_sentence_that_the_end_of_a_large_block_may_have_cut_is_not_named():
    cut = "Agreed: we close the old pi"
    assert [note["content"] for note in named(cut)] == [cut]
    assert named("Nothing. " * 500 + cut) == []
    assert len(named("Nothing. " * 500 + f"{cut}er.")) == 1


def test_of_many_the_last_are_named_in_their_order_and_the_same_words_once():
    todos = [f"TODO: look at the pier number {number}." for number in range(9)]
    found = named(*todos, "Agreed: we close the old pier.", "agreed: we close the OLD pier!")
    assert len(found) == MOST
    assert [note["content"] for note in found] == [*todos[-4:], "agreed: we close the OLD pier!"]


def test_notes_are_named_only_where_they_are_asked_for_and_never_from_what_a_tool_or_a_system_says():
    text = "Decision: we keep S3 as the only store."
    assert "notes" not in asked(turn_of("Go on.", text, 1), captures=False)
    assert "notes" not in asked(turn_of("one more member, `notes`", text, 1), captures=False)
    roles = ("tool", "system", "user", "assistant")
    turns = [turn_of(f"{text[:-1]} {role}.", "", number, role) for number, role in enumerate(roles, 1)]
    assert [note["turns"] for note in asked(*turns)["notes"]] == [[3], [4]]


SAID = st.lists(st.sampled_from([*CLEAR, *UNCLEAR]) | CONTENTS, max_size=3).flatmap(
    lambda parts: st.sampled_from(["\n", "\n\n", " ", "\n- "]).map(lambda glue: glue.join(parts))
)


@given(st.lists(st.tuples(SAID, SAID), min_size=1, max_size=2))
def test_whatever_was_said_each_note_is_text_of_its_turn_and_all_keep_the_contract(said):
    found = asked(*(turn_of(user or "-", assistant, number) for number, (user, assistant) in enumerate(said, 1)))
    parsed = answer.parse(json.dumps(found), Source("x" * 99_999, ""), CapturingAnswer)
    assert [one.model_dump() for one in parsed.notes] == found["notes"]
    assert len(found["notes"]) <= MOST
    for note in found["notes"]:
        (number,) = note["turns"]
        assert any(note["content"] in " ".join(side.split()) for side in said[number - 1])


@given(CONTENTS)
def test_without_a_marker_there_is_no_note(text):
    words = ("deci", "agreed", "todo", "to do", "step", "issue", "bug", "problem")
    assert named(text) == [] or any(word in text.casefold() for word in words)


@each(
    "piece", ["we have ", "we decided ", "decision:", "```\n", "```\n~~~~\n", "a. ", "- ", "* decision ", "Agreed: \n"]
)
def test_long_texts_of_markers_are_read_once(piece):
    # A pattern that goes back over 10 kB does not end within minutes.
    assert len(named(piece * (10_000 // len(piece)))) <= MOST
