"""When digests are begun: by the clock, at first use, by hand."""

from collections import Counter

import pytest

from livemem.errors import InvalidName, NotFound
from livemem.llm.client import LlmError
from livemem.rooms import digest_reading, digest_times, digest_work
from livemem.spaces import head as heads
from livemem.spaces import lifecycle
from livemem.store.bucket import CURRENT_DIGEST
from livemem.upkeep import job_lookup
from livemem.upkeep.job_lookup import JobFilter
from tests.support.chatter import Chatter, fact, notes_facts
from tests.support.world import EVERYONE, INVOCATION


@pytest.fixture
def chatter() -> Chatter:
    # 15:00 in Paris: the last slot was at 14:00, 13:00 UTC; the next one is at 17:00 UTC.
    return Chatter()


def hour(chatter: Chatter) -> dict[str, str]:
    """The schedule's look."""
    return digest_work.start_due(chatter.process, chatter.world.clock() + INVOCATION)


def test_the_slots_are_those_of_the_space(chatter):
    meta = heads.load(chatter.process, "demo").meta
    assert digest_times.latest_slot(chatter.process, meta) == "20260220T130000"

    elsewhere = heads.patch(chatter.process, "demo", timezone="Asia/Kolkata")
    assert digest_times.latest_slot(chatter.process, elsewhere) == "20260220T123000"
    other = Chatter(digest_hours="0", default_timezone="UTC")
    assert other.slot() == "20260220T000000"


def test_a_zone_that_somebody_broke_in_the_bucket_is_that_of_the_service(chatter):
    meta = heads.load(chatter.process, "demo").meta.model_copy(update={"timezone": "Mars/Base"})
    assert digest_times.latest_slot(chatter.process, meta) == "20260220T130000"


def test_what_waits_is_digested_when_its_slot_has_come(chatter):
    chatter.say(fact(1))
    assert hour(chatter) == {}
    chatter.world.clock.move(2 * 3_600)
    assert hour(chatter) == {}

    chatter.world.clock.move(3_600)
    assert hour(chatter) == {"demo": "20260220T170000"}
    chatter.world.settle()

    assert chatter.memories() == [fact(1)]
    assert chatter.done("20260220T170000").messages == 1
    assert hour(chatter) == {}
    assert not chatter.world.queued


def test_a_slot_that_was_missed_is_made_up_for_once_however_many_were_missed(chatter):
    chatter.say(fact(1))
    chatter.world.clock.move(30 * 3_600)

    assert hour(chatter) == {"demo": "20260221T170000"}
    assert hour(chatter) == {"demo": "20260221T170000"}
    chatter.world.settle()

    assert len(chatter.llm.asked) == 1
    assert chatter.slots() == ["20260221T170000"]


def test_what_is_said_after_a_slot_waits_for_the_next_one(chatter):
    chatter.world.clock.move(4 * 3_600)
    chatter.say(fact(1))

    assert hour(chatter) == {}
    assert [one.result for one in chatter.digest("20260220T170000")] == ["nothing"]
    chatter.world.clock.move(4 * 3_600)
    assert hour(chatter) == {"demo": "20260220T210000"}


def test_an_open_slot_is_gone_on_with_by_the_next_hour_whatever_is_due(chatter):
    chatter.say(fact(1))
    chatter.world.clock.move(4 * 3_600)
    chatter.llm.queue.append(LlmError("llm_unavailable", "503"))
    hour(chatter)
    chatter.world.settle()
    assert chatter.open_slot() == "20260220T170000"
    chatter.world.clock.move(3_600)

    assert hour(chatter) == {"demo": "20260220T170000"}
    chatter.world.settle()
    assert chatter.memories() == [fact(1)]


def test_an_open_slot_is_carried_over_to_the_next_one(chatter):
    chatter.say(fact(1))
    chatter.world.clock.move(4 * 3_600)
    chatter.llm.default = lambda messages: (_ for _ in ()).throw(LlmError("llm_unavailable", "503"))
    for _ in range(5):
        hour(chatter)
        chatter.world.settle()
        chatter.say(fact(2))
        chatter.world.clock.move(3_600)
    chatter.llm.default = notes_facts
    hour(chatter)
    chatter.world.settle()

    assert chatter.done("20260220T170000").messages == 1
    assert chatter.done("20260220T210000").messages == 5
    assert chatter.said() == []


def test_spaces_without_messages_cost_one_listing_and_nothing_is_begun(chatter):
    chatter.world.client.reset()
    assert hour(chatter) == {}
    assert chatter.world.client.counts == Counter(LIST=1)


def test_a_space_at_rest_costs_a_few_requests_and_leaves_the_due_index_when_nothing_can_come(chatter):
    chatter.say(fact(1))
    chatter.digested()
    chatter.world.client.reset()
    assert hour(chatter) == {}
    assert chatter.world.client.counts == Counter(LIST=2, GET=2)
    chatter.world.clock.move(7_200)
    hour(chatter)
    assert chatter.world.due("room") == []


def test_one_space_that_can_not_be_read_does_not_stop_the_others(chatter):
    chatter.world.create_space("zebra")
    from livemem.rooms import posting
    from livemem.rooms.message import MessageDraft

    chatter.say(fact(1))
    posting.post(chatter.process, "zebra", "general", MessageDraft("a", "fact z"))
    chatter.world.store.put("demo/_meta.json", b"broken")
    chatter.world.clock.move(4 * 3_600)

    assert hour(chatter) == {"zebra": "20260220T170000"}


def test_a_deleted_space_leaves_the_due_index(chatter):
    chatter.say(fact(1))
    lifecycle.delete(chatter.process, "demo", confirm="demo")
    chatter.world.clock.move(3 * 3_600)

    assert hour(chatter) == {}
    assert chatter.world.due("room") == []


def test_the_first_message_after_a_missed_slot_sets_it_off_once_per_process_and_slot(chatter):
    chatter.say(fact(1))
    chatter.world.clock.move(4 * 3_600)
    chatter.world.new_process()
    chatter.say(fact(2))
    chatter.world.client.reset()

    digest_work.catch_up(chatter.process, "demo")
    digest_work.catch_up(chatter.process, "demo")

    assert chatter.world.client.counts == Counter(GET=1)
    assert len(chatter.world.queued) == 1
    chatter.world.settle()
    assert chatter.memories() == [fact(1), fact(2)]
    chatter.world.clock.move(4 * 3_600)
    digest_work.catch_up(chatter.process, "demo")
    assert len(chatter.world.queued) == 1


def test_by_hand_a_digest_is_asked_for_and_can_be_polled(chatter):
    chatter.say(fact(1))

    slot = digest_work.start(chatter.process, "demo")

    assert slot == "20260220T140001"
    assert digest_reading.load(chatter.process, "demo", slot).status == "queued"
    assert digest_work.start(chatter.process, "demo") == slot
    chatter.world.settle()
    found = digest_reading.load(chatter.process, "demo", slot)
    assert (found.status, found.done.messages) == ("done", 1)
    assert len(chatter.llm.asked) == 1


def test_what_is_asked_for_by_hand_while_another_digest_is_at_work_is_done_behind_it(chatter):
    chatter.say(fact(1))
    asked = []

    def ask_for_more(messages):
        chatter.say(fact(2))
        asked.append(digest_work.start(chatter.process, "demo"))
        assert digest_reading.load(chatter.process, "demo", asked[0]).status == "queued"
        return notes_facts(messages)

    chatter.llm.queue.append(ask_for_more)
    first, second = chatter.digest()

    assert (second.slot, second.result, second.done.messages) == (asked[0], "done", 1)
    assert first.slot != second.slot
    chatter.world.settle()
    assert len(chatter.llm.asked) == 2


def test_two_digests_that_are_asked_for_in_one_second_take_what_was_posted_between_them(chatter):
    chatter.say(fact(1))
    first = digest_work.start(chatter.process, "demo")
    chatter.world.settle()
    chatter.say(fact(2), after=0)

    second = digest_work.start(chatter.process, "demo")

    assert (first, second) == ("20260220T140001", "20260220T140002")
    assert digest_reading.load(chatter.process, "demo", second).status == "queued"
    chatter.world.settle()
    assert chatter.done(second).messages == 1
    assert chatter.said() == []
    # And a third one, whose own second is taken too.
    assert digest_work.start(chatter.process, "demo") == "20260220T140003"


def test_what_is_posted_when_the_digest_of_this_second_has_looked_into_the_rooms_is_taken_by_the_next(chatter):
    chatter.say(fact(1))
    first, asked = digest_work.start(chatter.process, "demo"), []

    def ask_in_the_same_second(messages):
        chatter.say(fact(2), after=0)
        asked.append(digest_work.start(chatter.process, "demo"))
        return notes_facts(messages)

    chatter.llm.queue.append(ask_in_the_same_second)
    chatter.world.settle()

    assert asked != [first]
    assert [chatter.done(slot).messages for slot in (first, *asked)] == [1, 1]
    assert chatter.said() == []


def test_an_order_whose_invocation_was_lost_is_found_by_the_next_hour(chatter):
    chatter.say(fact(1))
    slot = digest_work.start(chatter.process, "demo")
    chatter.world.queued.clear()
    chatter.world.clock.move(3_600)

    assert hour(chatter)
    chatter.world.settle()
    assert chatter.done(slot).messages == 1


def test_a_digest_is_only_asked_for_in_a_space_that_there_is(chatter):
    with pytest.raises(NotFound):
        digest_work.start(chatter.process, "nowhere")
    with pytest.raises(NotFound):
        digest_reading.load(chatter.process, "demo", "20260220T140000")
    with pytest.raises(InvalidName):
        digest_reading.load(chatter.process, "demo", "../x")
    with pytest.raises(InvalidName):
        digest_work.DigestOrder.of({"slot": "20260230T140000"})


def test_digests_are_listed_the_newest_first_in_pages(chatter):
    slots = []
    for number in range(5):
        chatter.say(fact(number))
        slots.append(chatter.digested().slot)

    digests = JobFilter("digest")

    first, after = job_lookup.page(chatter.process, EVERYONE, "demo", limit=2, filter_by=digests)
    second, end = job_lookup.page(chatter.process, EVERYONE, "demo", limit=3, after=after, filter_by=digests)

    assert [job.name for job in first + second] == slots[::-1]
    assert end is None
    assert {job.status for job in first} == {"done"}


def test_hours_tell_how_long_messages_wait(chatter):
    assert digest_reading.hours_since_done(chatter.process, "demo") is None
    chatter.say(fact(1))
    chatter.world.clock.move(3 * 3_600)
    assert digest_reading.hours_since_done(chatter.process, "demo") == pytest.approx(3)
    chatter.digested()
    assert digest_reading.hours_since_done(chatter.process, "demo") is None
    chatter.world.clock.move(50 * 3_600)
    chatter.say(fact(2))
    chatter.world.clock.move(3_600)
    # Not since the last one: nothing waited for most of that time.
    assert digest_reading.hours_since_done(chatter.process, "demo") == pytest.approx(1)


def test_a_digest_that_runs_tells_how_far_it_is(chatter):
    for number in range(6):
        chatter.say(fact(number), room=f"room-{number}")
    seen = []

    def look(messages):
        slot = chatter.open_slot() or ""
        seen.append(digest_reading.load(chatter.process, "demo", slot))
        return notes_facts(messages)

    chatter.llm.default = look
    chatter.digested()

    assert {one.status for one in seen} == {"running"}
    assert (seen[-1].messages, seen[-1].chunks, seen[-1].settled) == (6, 6, 4)


def test_a_document_of_what_is_open_that_can_not_be_read_is_replaced(chatter):
    chatter.world.store.put(CURRENT_DIGEST.key("demo"), b"broken")
    chatter.say(fact(1))

    assert chatter.digested().new == 1


def test_what_was_said_before_a_slot_and_posted_after_it_is_made_up_for(chatter):
    chatter.say("fact: the import runs at night", timestamp="2026-02-20T12:00:00Z")
    assert hour(chatter) == {"demo": "20260220T130000"}
