"""What is known of a message, over all kinds: nothing for small talk, nothing twice, all with time and author."""

from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livemem.consolidation import space_change
from livemem.consolidation.space_change import SpaceUpdate
from livemem.conversations.turn import Draft
from livemem.errors import Forbidden, InvalidRequest
from livemem.memories import storing
from livemem.memories.memory import MemoryDraft
from livemem.notes import note as notes
from livemem.notes.note import CapturedFrom, CopiedFrom
from livemem.recall import context, message_context
from livemem.recall.relevance import RelevanceFloor
from livemem.rooms import posting
from livemem.rooms.message import MessageDraft
from livemem.search import words
from livemem.store.bucket import BANK_FILE, NOTE
from livemem_http.views.recall import ContextView
from tests.support.cases import each
from tests.support.searching import run_indexer
from tests.support.talk import Talk
from tests.support.world import EVERYONE, World

SMALL_TALK = (
    *(
        "ok thanks",
        "Thank you very much!",
        "Hello, how are you?",
        "Great, go on please.",
        "yes, do it",
        "👍",
        "",
        "...",
    ),
    *("merci beaucoup !", "d'accord, parfait", "Salut, ça va ?", "ok c'est bon, on continue", "bonne nuit", "oui"),
)


def known(talked, message, **wanted):
    return message_context.context(talked.process, "demo", message, **wanted)


@pytest.fixture(scope="module")
def filled():
    """A space with something about the harbour's crane of each kind, and something else. It is only read."""
    world = World()
    world.create_space()
    world.note("The harbour crane is folded into the bank.")
    world.consolidate()
    talked = Talk(world=world)
    world.note("The harbour crane is booked for December.")
    world.note("The oven needs gas.")
    storing.store(talked.process, "demo", "ann", MemoryDraft("Mickael looks after the harbour crane."))
    posting.post(talked.process, "demo", "salon", MessageDraft("Zoé", "The harbour crane is loud."))
    talked.append(Draft.of_message("user", "Who paints the harbour crane?", author="Ines"))
    talked.append(Draft.of_message("assistant", "Bob does.", author="planner", client_timestamp="2026-02-19T08:00:00Z"))
    talked.say("Is the harbour crane blue?", "It is red.", user="dev")
    return talked


def test_all_kinds_are_asked_and_each_item_says_when_it_was_said_and_by_whom(filled):
    found = known(filled, "What about the harbour crane?")

    assert {one.kind for one in found.items} >= {"note", "bank", "turn", "memory", "message"}
    assert all(one.time for one in found.items)
    assert "The oven needs gas." not in found.markdown
    by_kind = {one.kind: one for one in found.items}
    assert (by_kind["message"].by, by_kind["memory"].by) == ("Zoé", "ann")
    told = {one.text for one in found.items if one.kind == "turn"}
    assert told == {
        "Ines: Who paints the harbour crane?\nplanner (2026-02-19): Bob does.",
        "dev: Is the harbour crane blue?\nann: It is red.",
    }
    assert "- [message 2026-02-20 14:0" in found.markdown
    assert f"(conversations/{filled.id}/turns/1)\n  Ines: Who paints the harbour crane?\n  pl" in found.markdown


def test_a_note_that_nobody_wrote_here_says_where_it_is_from():
    world = World()
    world.create_space()
    world.note("The harbour crane was painted.")
    world.clock.move(60)
    original = "20260220T140000_bob_decision_00000000"
    passed_on = CopiedFrom("lab", original)
    for text, source in (("was sold", CapturedFrom("01ARZ3NDEKTSV4RRFFQ69G5FAV", (1, 2))), ("is old", passed_on)):
        note = world.note(f"The harbour crane {text}.")
        body = notes.format_note(replace(note, source=source))
        world.inner.put_object(Bucket="bucket", Key=NOTE.key("demo", note.note_id), Body=body)

    def told() -> list[tuple[str, str | None, str | None]]:
        world.new_process()
        found = message_context.context(world.process, "demo", "the harbour crane", kinds="note,archive")
        assert found.markdown.count(", captured]") == found.markdown.count(", from lab]") == 1
        items = ContextView.of(found).items
        return sorted((one.text, one.captured_from, one.from_space) for one in items)

    live = told()
    assert live == [
        ("The harbour crane is old.", None, "lab"),
        ("The harbour crane was painted.", None, None),
        ("The harbour crane was sold.", "01ARZ3NDEKTSV4RRFFQ69G5FAV", None),
    ]
    world.consolidate()
    assert told() == live


def test_small_talk_is_given_nothing_and_asks_nothing_of_the_bucket(filled):
    known(filled, "What about the harbour crane?")
    filled.world.client.reset()

    given = {message: known(filled, message).markdown for message in SMALL_TALK}

    assert set(given.values()) == {""}, given
    assert filled.world.client.requests == []


def test_kinds_are_those_that_searches_name_and_others_are_refused(filled):
    for kinds in ("memory", "message,turn", "note", "bank"):
        assert {one.kind for one in known(filled, "harbour crane", kinds=kinds).items} == set(kinds.split(","))
    for written in ("Memory, TURN", " memory,turn "):
        same = {one.kind for one in known(filled, "harbour crane", kinds=written).items}
        assert same == {one.kind for one in known(filled, "harbour crane", kinds="memory,turn").items}
    for wrong in ("live", "", "memory,", "memory turn"):
        with pytest.raises(InvalidRequest, match="kinds"):
            known(filled, "harbour crane", kinds=wrong)


def test_the_budget_is_kept_and_ten_items_are_the_most(filled):
    filled = filled.fork()
    for number in range(9):
        filled.world.note(f"The harbour crane number {number} " + "turns " * 300)

    assert len(known(filled, "harbour crane", max_chars=100_000).items) == 10
    for budget in (500, 1_000, 5_000):
        found = known(filled, "harbour crane", max_chars=budget)
        assert 0 < len(found.markdown) <= budget
        assert len(found.items) == found.markdown.count("- [")
    for wrong in (499, 100_001):
        with pytest.raises(InvalidRequest, match="max_chars"):
            known(filled, "harbour crane", max_chars=wrong)


def test_no_turn_stands_beside_the_summary_of_just_that_turn():
    talked = Talk()
    talked.say("Where is the harbour crane? " * 9, "In dock 3. " * 9)
    talked.update()

    assert [one.kind for one in known(talked, "harbour crane").items] in (["turn"], ["summary"])


@given(st.text(max_size=60), st.text(max_size=60), st.floats(0, 1) | st.none())
def test_a_text_that_holds_what_is_asked_is_always_relevant_unless_nothing_is_asked(message, more, relevance):
    floor = RelevanceFloor.of(message)

    assert floor.admits(f"{words.plain(message)} {more}", relevance) is not floor.small_talk


@each("name", ["Léa", "Mona", "Noé", "Sam", "Bob"])
def test_a_name_says_something_also_where_its_term_is_that_of_a_stop_word(name):
    floor = RelevanceFloor.of(f"And {name}?")

    assert not floor.small_talk
    assert floor.admits(f"{name} left the team.", 0.1)
    assert not floor.admits("Je le sais, on a le même mon ami, and no one is the same.", 0.1)


def test_one_word_of_several_is_chance_where_the_meaning_is_another():
    floor = RelevanceFloor.of("Is my flight to Lisbon on time?")

    assert [floor.admits("Saves time.", relevance) for relevance in (0.1, 0.2, None)] == [False, True, True]
    assert floor.admits("The flight needs time.", 0.1)
    assert RelevanceFloor.of("time?").admits("Saves time.", 0.1)


def test_a_search_takes_a_shared_word_of_a_text_that_a_context_does_not():
    question, line = "where do we keep data?", "- We keep S3 as the only store."
    of_search = RelevanceFloor.of_search(question, words.parse(question))

    assert of_search
    assert of_search.admits(line, 0.19)
    assert not RelevanceFloor.of(question).admits(line, 0.19)
    assert not of_search.admits(line, 0.11)


# What is clearly about a prompt


RECORDED = (
    *("The turnstile of the east wing speaks Modbus.", "Vouchers expire after two years."),
    *("The kiosk has no printer.", "The nightly export is XML.", "Every scheduled job takes a lock."),
    *("The audio guide stutters on the wireless network.", "Prices are rows that never change."),
    *("Lockers report their state by a webhook.", "Errors go to the room of the team."),
)


@cache
def space_of(recorded, bank=""):
    world = World()
    world.create_space()
    for text in recorded:
        world.note(text)
    if bank:
        world.store.put(BANK_FILE.key("demo", "facts.md"), bank.encode())
    return world


def asked(prompt, *, bank="", recorded=RECORDED):
    process = space_of(recorded, bank).process
    return [item.text for item in message_context.context(process, "demo", prompt, clear=True).items]


@each(
    ("prompt", "found"),
    [
        ("write the code that opens the turnstile over Modbus", [RECORDED[0]]),
        ("the kiosk at the door shall use the new printer driver", [RECORDED[2]]),
        # One rare word alone, or two that every second text holds, may be chance.
        ("rename the printer variable in this function please", []),
        ("please print the state of all rows again", []),
        # Too little is said.
        ("turnstile Modbus", []),
    ],
)
def test_a_prompt_finds_what_shares_two_rare_words_with_it_and_nothing_else(prompt, found):
    assert asked(prompt) == found


def test_of_a_section_that_is_clearly_about_a_prompt_only_the_line_is_shown():
    bank = "# Facts\n\n" + "".join(f"- {text}\n" for text in RECORDED)
    assert asked("open the turnstile by its Modbus address", bank=bank, recorded=()) == [f"- {RECORDED[0]}"]


def test_notes_that_were_folded_are_found_for_a_prompt_as_before_each_line_once():
    world = space_of(RECORDED).fork()
    world.consolidate()

    def told(prompt):
        return [item.text for item in message_context.context(world.process, "demo", prompt, clear=True).items]

    assert (len(world.live_ids("demo")), len(world.bank("demo"))) == (0, 1)
    (turnstile,) = told("write the code that opens the turnstile over Modbus")
    assert (RECORDED[0] in turnstile, len(turnstile) < 2 * len(RECORDED[0])) == (True, True)
    both = told("the vouchers expire, and the turnstile of the east wing is open, why two years?")
    assert [text in line for text, line in zip(RECORDED, both, strict=False)] == [True, True]
    assert told("rename the printer variable in this function please") == []


def test_the_same_prompt_of_an_earlier_session_does_not_hide_what_answers_it():
    prompt = "why does the east turnstile open slowly since Modbus got other firmware on Friday evening"
    assert RECORDED[0] in asked(prompt, recorded=(*RECORDED, prompt))


def test_in_a_young_space_half_of_what_a_prompt_says_must_be_there():
    young = ("We use Postgres for the bookings.", "Run the tests before you push.")
    assert asked("are bookings still kept in Postgres?", recorded=young) == [young[0]]
    assert asked("run the linter, write a summary and push the branch to the fork", recorded=young) == []


DECIDED = (
    "We decided to store manifests as Parquet, because the analysts read them with DuckDB.",
    "We decided that tickets are priced per zone, because stops move every season.",
    *("The nightly export writes CSV for the accountants.", "Sessions live in Postgres now."),
    *("Deploys run from the pipeline only, never from a laptop.", "The timetable is imported every Monday."),
)
TALKED = (
    ("How do we store manifests?", "Parquet."),
    ("In which format do we store manifests, CSV or Parquet?", "Parquet, because the analysts use DuckDB."),
    ("Are tickets priced per stop?", "No, per zone."),
    ("Are manifests stored as Parquet?", "Yes."),
    ("Why do we store manifests as Parquet?", "Because of DuckDB."),
)


@pytest.mark.parametrize("is_folded", [False, True])
def test_talk_about_a_decision_takes_it_out_of_no_prompt_and_its_questions_do_not_stand_beside_it(is_folded):
    still_found(World(), is_folded)


def still_found(world, is_folded):
    """What was decided is found for each prompt about it, alone, whatever of it was talked about before."""
    world.create_space()
    for text in DECIDED:
        world.note(text, category="decision")
    if is_folded:
        world.consolidate()
    talk = Talk(world=world)

    for said in TALKED:
        talk.say(*said)
        run_indexer(world)
        for prompt, _ in TALKED[1:]:
            (found,) = message_context.context(world.process, "demo", prompt, clear=True).items
            assert DECIDED["tickets" in prompt] in found.text


def test_what_was_said_to_a_question_is_found_where_nothing_else_answers_it():
    talk = Talk()
    talk.say("In which format do we store manifests?", "Parquet.")

    (found,) = known(talk, "Which format do manifests have in the store?", clear=True).items
    assert "Parquet." in found.text


def test_where_an_admin_has_switched_recall_off_a_prompt_finds_nothing_and_a_search_all():
    world = space_of(RECORDED).fork()
    prompt, off = "write the code that opens the turnstile over Modbus", SpaceUpdate(recall=False)
    with pytest.raises(Forbidden, match="recall"):
        space_change.change(world.process, replace(EVERYONE, permissions=frozenset({"read", "write"})), "demo", off)
    assert message_context.context(world.process, "demo", prompt, clear=True).items
    space_change.change(world.process, EVERYONE, "demo", off)

    for _ in range(2):
        assert not message_context.context(world.process, "demo", prompt, clear=True).items
        assert message_context.context(world.process, "demo", prompt).items
        world.new_process()
    space_change.change(world.process, EVERYONE, "demo", SpaceUpdate(recall=True))
    assert message_context.context(world.process, "demo", prompt, clear=True).items


def test_what_is_clear_does_not_go_with_a_room(filled):
    with pytest.raises(InvalidRequest, match="clear"):
        context.context(filled.process, "demo", context.ContextRequest("the harbour crane", room="salon", clear=True))
