"""Erasing a turn: nothing of what was said in it is left anywhere, and the conversation goes on as it was."""

import json
from datetime import timedelta

import pytest

from livemem.access.principal import Principal
from livemem.changes.late_write_repair import WATCHED_FOR
from livemem.conversations import log, reading, summaries, turn_import
from livemem.conversations.turn import Draft, ToolCall
from livemem.erasure import erasure
from livemem.errors import InvalidRequest, NotFound
from livemem.recall import search
from livemem.recall.search_request import SearchRequest
from livemem.store import keys
from livemem.store.bucket import SEARCH_SNAPSHOT
from tests.support.counting import Killed
from tests.support.erased import damaged_backups, left_of
from tests.support.searching import find, holdings, searching_world
from tests.support.talk import Talk, frank, look_at_due
from tests.support.world import EVERYONE, INVOCATION

SECRET = "The treasure lies below the old oak in the yard"
ANSWERED = "Noted: I shall tell nobody about the oak tree"
RESULT = "r" * 40_000 + SECRET
SECRETS = (SECRET, ANSWERED)
WATCHED = WATCHED_FOR.total_seconds() + 60
GROUPS = {"group_raw_chars": 500, "group_chars": 1_000}
TURNS = 10


def talked(**parameters):
    """Ten turns of which the third one is to be erased; summaries of all levels say it too."""
    world = searching_world()[0]
    world.inner.versioned = True
    talk = Talk("turns", world=world, ratio=0.5, **{**GROUPS, **parameters})
    talk.llm.default = frank
    call = ToolCall(name="read", arguments={"path": "oak.md", "why": SECRET}, result=RESULT)
    for number in range(1, TURNS + 1):
        if number == 3:
            talk.append(secret(call))
        else:
            words = f"about the ferry {number} " * 8
            talk.say(f"Question {words}", f"Answer {words}", message_id=f"m{number}")
        world.pass_time(1)
    talk.update()
    return talk


def secret(*calls):
    return Draft(SECRET, ANSWERED, message_id="m3", tool_calls=calls)


def everything(talk):
    """The same with a backup, an archive, what a search keeps, and others that quote it."""
    world = talk.world
    world.back_up()
    assert find(talk.process, "treasure", scope="conversations").hits
    world.store.put("demo/bank/places.md", f"# Places\n\n- {SECRET}.\n".encode())
    world.store.put("demo/_asks/01KHXNKAR00000000000000009.json", json.dumps({"answer": {"message": SECRET}}).encode())
    world.store.put(SEARCH_SNAPSHOT.key("demo", 4, 1, 9), SECRET.encode())
    world.note(f"He said: {SECRET}.", agent="bob")
    return talk


def erase(talk, index=3, within=INVOCATION, by: Principal = EVERYONE):
    return erasure.erase(talk.process, by, "demo", [f"{talk.id}/{index}"], talk.world.clock() + within)


def left(talk):
    return [where for one in SECRETS for where in left_of(talk.world, one)]


def brought_up(talk):
    """What the next sweep starts, and the day after."""
    for _ in range(3):
        talk.world.pass_time(600)
        look_at_due(talk.world.new_process(), talk.world.clock() + INVOCATION)
        talk.world.settle()


def boundaries(talk):
    return {name: talk.world.text(f"demo/conversations/{talk.id}/{name}") for name in talk.names("v1/boundaries/")}


def all_summaries(talk):
    _, at = reading.standing(talk.process, "demo", talk.id)
    layers = summaries.read(talk.process, at)
    return {
        (level, one.number): one
        for level in keys.LEVELS
        for one in summaries.load(talk.process, layers, level, summaries.current(talk.process, layers, level))
    }


def test_nothing_of_a_turn_is_left_in_a_space_that_has_everything_but_in_what_others_wrote():
    talk = everything(talked())
    assert len(left(talk)) > 12
    assert {level for level, _ in all_summaries(talk)} == {1, 2, 3}
    (note,) = talk.world.live_ids()

    receipt = erase(talk)

    assert [where for where in left(talk) if note not in where] == []
    assert receipt.status == "done"
    assert receipt.turns == [f"{talk.id}/3"]
    assert receipt.quoted_in == [note]
    assert receipt.files == ["places.md"]
    assert receipt.counts["turns"] == 1
    assert receipt.counts["tool_results"] == 1
    assert receipt.counts["summaries"] >= 3
    assert receipt.counts["backups"] == 1
    assert receipt.versions == "removed"
    assert list(damaged_backups(talk.world)) == []


def test_the_turn_stays_in_its_place_and_boundaries_stay_and_summaries_are_made_anew_without_it():
    talk = talked()
    turn = reading.whole_turn(talk.process, "demo", talk.id, 3)
    boundaries = {
        name: talk.world.text(f"demo/conversations/{talk.id}/{name}") for name in talk.names("v1/boundaries/")
    }
    before = all_summaries(talk)

    erase(talk)
    brought_up(talk)

    now = reading.whole_turn(talk.process, "demo", talk.id, 3)
    assert (now.user_message, now.tool_calls) == ("Erased on 2026-02-20.", [])
    assert now.erased_on == "2026-02-20"
    kept = ("turn_index", "timestamp", "char_count", "author", "open", "role")
    assert all(getattr(now, name) == getattr(turn, name) for name in kept)
    assert {
        name: talk.world.text(f"demo/conversations/{talk.id}/{name}") for name in talk.names("v1/boundaries/")
    } == boundaries
    after = all_summaries(talk)
    assert after.keys() == before.keys()
    assert "Erased on" in after[1, 3].summary
    same = [key for key in before if before[key] == after[key]]
    assert (1, 1) in same
    assert (1, 5) in same
    assert left(talk) == []


def test_a_turn_that_is_longer_than_a_block_is_summarised_anew_in_each_of_its_blocks():
    world = searching_world()[0]
    talk = Talk("windows", world=world, window_chars=500, min_flush_chars=100, ratio=0.5)
    talk.llm.default = frank
    talk.say("x " * 100, "y " * 100)
    talk.say(f"{SECRET}. " * 30, f"{ANSWERED}. " * 30)
    talk.say("x " * 100, "y " * 100)
    talk.update()
    before = all_summaries(talk)
    assert sum(SECRET in one.summary for one in before.values()) > 1

    erase(talk, 2)
    brought_up(talk)

    # The pause has ended the last block by now.
    assert before.keys() <= all_summaries(talk).keys()
    assert left(talk) == []


def test_a_summary_that_comes_back_late_beside_one_made_anew_is_shown_to_no_model():
    world = searching_world()[0]
    talk = Talk(
        "windows",
        world=world,
        window_chars=500,
        min_flush_chars=100,
        group_chars=1_000,
        group_raw_chars=500,
        ratio=0.5,
    )
    talk.llm.default = frank
    talk.say("x " * 100, "y " * 100)
    talk.say(f"{SECRET}. " * 30, f"{ANSWERED}. " * 30)
    talk.say("x " * 100, "y " * 100)
    talk.update()
    blocks = sorted(key for key in world.inner.objects if "/summaries/l1/" in key)
    telling = [key for key in blocks if SECRET.encode() in world.inner.objects[key].body]
    assert len(telling) > 1
    late = world.inner.objects[telling[-1]].body

    erase(talk, 2)
    world.inner.put_object(Bucket="", Key=telling[-1], Body=late)
    asked = len(talk.llm.asked)
    brought_up(talk)
    # Before the erasure has looked once more.
    assert left(talk) == []
    assert not [one for one in talk.llm.asked[asked:] if SECRET in str(one)]
    assert {level for level, _ in all_summaries(talk)} >= {1, 2}


def test_what_follows_and_was_shown_the_end_of_the_turn_is_made_anew_too():
    world = searching_world()[0]
    talk = Talk("windows", world=world, window_chars=500, min_flush_chars=100, ratio=0.5, overlap_chars=100)
    talk.llm.default = lambda messages: json.dumps({"summary": messages[1]["content"], "key_findings": ["x"]})
    for _ in range(2):
        talk.say("x " * 120, f"{'y ' * 120} {ANSWERED}")
    for _ in range(2):
        talk.say("x " * 120, "y " * 120)
    talk.update()
    told = [number for (_, number), one in all_summaries(talk).items() if ANSWERED in one.summary]
    assert len(told) == 3

    erase(talk, 2)
    brought_up(talk)
    third = all_summaries(talk)[1, 3]
    assert (third.overlaps, third.erased) == (True, [2])
    assert ANSWERED not in third.summary
    assert all_summaries(talk)[1, 1].overlaps is False


def test_a_late_repeat_of_the_message_or_of_an_import_brings_nothing_back():
    talk = talked()
    erase(talk)
    call = ToolCall(name="read", result=RESULT)
    repeated = talk.append(secret(call))
    assert (repeated.fresh, repeated.turn.turn_index, repeated.turn.message_id) == (False, 3, "m3")
    lines = [secret(call), Draft("More", "and more", message_id="new")]
    taken = turn_import.take_in(talk.process, "demo", talk.id, "ann", lines)
    assert (taken.imported, taken.repeated) == (1, 1)
    assert [where for where in left(talk) if "/tools/" in where or "/turns/" in where] == []
    assert log.last_index(talk.process, "demo", talk.id) == TURNS + 1


def test_what_a_request_brings_back_late_goes_once_more():
    talk = talked()
    before = {
        key: one.body for key, one in talk.world.inner.objects.items() if "/tools/" in key or "/summaries/" in key
    }
    erase(talk)
    brought_up(talk)
    for key, body in before.items():
        talk.world.inner.put_object(Bucket="", Key=key, Body=body)
    assert left(talk)
    talk.world.pass_time(WATCHED)
    talk.world.sweep()
    talk.world.settle()
    assert left(talk) == []
    brought_up(talk)
    talk.world.pass_time(WATCHED)
    talk.world.sweep()
    talk.world.settle()
    assert {level for level, _ in all_summaries(talk)} == {1, 2, 3}


@pytest.mark.parametrize("when", ["while the model answers", "behind the last look"])
def test_a_summary_that_is_made_meanwhile_is_taken_back_and_made_anew(when):
    talk = talked()
    talk.say(SECRET, ANSWERED, message_id="new")
    other = talk.world.with_parts()

    def now():
        talk.world.client.before = lambda index, verb: None
        talk.llm.default = frank
        erasure.erase(other, EVERYONE, "demo", [f"{talk.id}/{TURNS + 1}"], talk.world.clock() + INVOCATION)

    def answer(messages):
        told = frank(messages)
        now()
        return told

    def meanwhile(index, verb):
        verb, key = talk.world.client.requests[index]
        if verb == "PUT" and "/summaries/" in key:
            now()

    if when == "while the model answers":
        talk.llm.default = answer
    else:
        talk.world.client.before = meanwhile
    outcome = talk.update()
    assert outcome.outcome == "failed"
    assert outcome.job.error.code == "interrupted"
    assert not talk.names("v1/summaries/l1/000011")
    brought_up(talk)
    assert "Erased on" in all_summaries(talk)[1, TURNS + 1].summary
    talk.world.pass_time(WATCHED)
    talk.world.sweep()
    talk.world.settle()
    assert not [where for where in left_of(talk.world, SECRET) if "/l1/000011" in where], "nor in a former version"


def test_warm_searches_know_nothing_of_it_at_once_and_cold_ones_the_same():
    talk = talked()
    warm = talk.world.with_parts(embed=talk.process.embed)
    asked = SearchRequest.of("treasure oak", conversation_id=talk.id, limit=50)
    assert search.search(warm, "demo", asked).hits
    erase(talk)

    for process in (warm, talk.world.with_parts()):
        told = search.search(process, "demo", asked).hits
        assert not [hit for hit in told if SECRET in hit.document.text or ANSWERED in hit.document.text]
        assert not [one for one in holdings(process).values() if SECRET in one[1] or ANSWERED in one[1]]


def test_a_turn_that_only_a_backup_holds_is_erased_there():
    talk = talked()
    talk.world.back_up()
    talk.world.store.delete_many([f"demo/conversations/{talk.id}/{name}" for name in talk.names()])
    talk.world.inner.versions.clear()
    assert left(talk)
    assert erase(talk).counts["backups"] == 1
    assert left(talk) == []


def test_a_turn_that_says_next_to_nothing_is_erased_all_the_same():
    talk = talked()
    talk.say("ok", "", message_id="new", tool_calls=(ToolCall(name="read", result="zebra"),))
    talk.update()
    erase(talk, TURNS + 1)
    turn = reading.whole_turn(talk.process, "demo", talk.id, TURNS + 1)
    assert (turn.user_message, turn.assistant_message, turn.tool_calls) == ("Erased on 2026-02-20.", "", [])
    assert list(left_of(talk.world, "zebra")) == []


def test_erasing_it_again_finds_it_done_and_what_there_is_not_is_told():
    talk = talked()
    first = erase(talk)
    assert erase(talk).job_id == first.job_id
    with pytest.raises(NotFound) as missing:
        erase(talk, 99)
    assert missing.value.code == "turn_not_found"
    with pytest.raises(InvalidRequest):
        erasure.erase(talk.process, EVERYONE, "demo", ["../x/3"], talk.world.clock() + INVOCATION)


def test_without_time_it_is_gone_on_with():
    talk = talked()
    assert erase(talk, within=timedelta(seconds=1)).status == "running"
    talk.world.settle()
    assert left(talk) == []


def test_a_worker_that_died_before_it_looked_again_is_cleared_up_behind():
    talk = talked()
    talk.say(SECRET, ANSWERED, message_id="new")
    other = talk.world.with_parts()

    def meanwhile(index, verb):
        if verb == "PUT" and "/summaries/" in talk.world.client.requests[index][1]:
            talk.world.client.before = lambda index, verb: None
            erasure.erase(other, EVERYONE, "demo", [f"{talk.id}/{TURNS + 1}"], talk.world.clock() + INVOCATION)
            talk.world.client.after = dies

    def dies(index, verb):
        raise Killed

    talk.world.client.before = meanwhile
    with pytest.raises(Killed):
        talk.update()
    talk.world.new_process()
    assert [where for where in left_of(talk.world, SECRET) if "/summaries/" in where]
    talk.world.pass_time(WATCHED)
    talk.world.sweep()
    talk.world.settle()
    assert not [where for where in left_of(talk.world, SECRET) if "/l1/000011" in where]
