"""The trigger: events are hints, so one that comes twice, late or out of order changes nothing."""

from typing import Any

import pytest

from livemem.bank import corrections
from livemem.errors import ConditionalWritesUnsupported, StoreUnavailable
from livemem.jobs import counter, lease, places
from livemem.llm.client import LlmError
from livemem.spaces import head as heads
from livemem.spaces import lifecycle
from livemem.store.bucket import CAPABILITY_CHECK, NOTE
from livemem.store.objects import Store
from tests.support.bucket import FakeS3
from tests.support.counting import Killed
from tests.support.world import World, append_everything


def space_with_notes(count: int, threshold: int = 3) -> World:
    world = World()
    world.create_space(threshold=threshold)
    for number in range(count):
        world.note(f"note {number}")
        world.clock.move(1)
    world.new_process()
    return world


def test_below_the_threshold_nothing_is_started_and_it_costs_two_requests_beside_the_marker():
    world = space_with_notes(2)
    world.count()
    world.client.reset()

    outcome = world.count()

    assert outcome.result == "below_threshold"
    assert world.client.counts == {"GET": 1, "LIST": 1}
    assert not world.queued


@pytest.mark.parametrize("notes", [3, 4, 9])
def test_at_the_threshold_one_run_is_started(notes: int):
    world = space_with_notes(notes)

    outcome = world.count()

    assert outcome.result == "started"
    assert [item["job_id"] for item in world.queued] == [outcome.run_id]
    assert outcome.run_id is not None
    run = world.view(outcome.run_id)
    assert (run.state, run.trigger) == ("queued", "threshold")
    assert dict(world.queued[0]) == {"kind": "consolidation", "space_id": "demo", "job_id": run.job_id}


def test_redelivered_events_start_no_second_run():
    world = space_with_notes(5)

    results = [world.count().result for _ in range(10)]

    assert results == ["started", *["busy"] * 9]
    assert len(world.queued) == 1
    assert len(world.keys("demo/_runs/")) == 1


def test_an_event_from_before_a_consolidation_that_comes_after_it_starts_nothing():
    world = space_with_notes(3)
    world.count()
    world.work()
    world.note("one more")

    assert world.count().result == "below_threshold"
    assert not world.queued


def test_the_run_of_redelivered_events_folds_every_note_once():
    world = space_with_notes(3)
    for _ in range(3):
        world.count()

    world.settle()

    assert len(world.llm.prompts) == 1
    assert world.bank()["log.md"].count("- note") == 3


def test_events_name_spaces_by_their_notes_and_every_other_key_is_ignored():
    world = space_with_notes(3)
    note_key = NOTE.key("demo", world.live_ids()[0])
    other = NOTE.key("other", world.live_ids()[0])
    written = [
        note_key, note_key, other, "demo/_meta.json", "demo/live/.keep", "demo/bank/live/x.md", "demo/live/notes.md",
        f"_backups/{note_key}", "_system/tokens.json", "", note_key.replace("live", "archive"),
    ]  # fmt: skip

    found = counter.notice(world.process, written)

    assert found == {"demo": "started", "other": "unknown_space"}
    assert len(world.queued) == 1


def test_objects_that_are_no_notes_do_not_count():
    world = space_with_notes(2)
    for name in ("zzz.md", "20260220T150000_ann_gossip_00000000.md", "20270220T150000_ann_todo_00000000.txt"):
        world.inner.put_object(Bucket="b", Key=f"demo/live/{name}", Body=b"x")

    assert world.count().result == "below_threshold"


def test_a_space_that_is_consolidated_by_hand_only_is_not_even_listed():
    world = space_with_notes(5, threshold=0)

    assert world.count().result == "not_automatic"
    assert world.client.counts == {"PUT": 1, "GET": 1}


def test_a_put_event_during_a_run_finds_the_space_busy_and_the_run_counts_again_at_its_end():
    world = space_with_notes(3)
    seen: list[str] = []

    def three_more_meanwhile(prompt: dict[str, Any]) -> str:
        for number in range(3):
            world.note(f"late {number}")
            seen.append(world.count().result)
        return append_everything(prompt)

    world.count()
    world.llm.queue.append(three_more_meanwhile)
    world.work()

    assert seen == ["busy"] * 3
    assert len(world.queued) == 1
    world.settle()
    assert world.live_ids() == []
    assert world.bank()["log.md"].count("- late") == 3


def test_an_event_below_the_threshold_during_a_run_starts_nothing_at_its_end():
    world = space_with_notes(3)

    def one_more_meanwhile(prompt: dict[str, Any]) -> str:
        world.note("late")
        return append_everything(prompt)

    world.count()
    world.llm.queue.append(one_more_meanwhile)
    world.work()

    assert not world.queued
    assert len(world.live_ids()) == 1


def test_a_run_that_finds_fewer_notes_than_the_threshold_leaves_them():
    world = space_with_notes(3)
    world.count()
    world.inner.delete_object(Bucket="b", Key=NOTE.key("demo", world.live_ids()[0]))

    run = world.work()

    assert run is not None
    assert (run.state, run.message) == ("nothing_to_do", "The space has fewer live notes than its threshold.")
    assert world.llm.prompts == []
    assert len(world.live_ids()) == 2


def test_a_run_that_can_not_be_queued_says_so_and_frees_the_space():
    world = space_with_notes(3)

    def refuse(function: str, payload: Any) -> None:
        raise StoreUnavailable("The run could not be queued.")

    with pytest.raises(StoreUnavailable):
        counter.start_if_due(world.with_parts(enqueue=refuse), "demo", "threshold")

    run = world.view(world.keys("demo/_runs/")[0].rpartition("/")[2].removesuffix(".json"))
    assert (run.state, run.error.code, run.error.detail) == ("failed", "not_started", "The run could not be queued.")
    assert world.count().result == "started"


def test_a_queued_run_keeps_its_place_for_as_long_as_its_invocation_can_come():
    world = space_with_notes(3)
    first = world.count()
    world.clock.move(59 * 60)
    assert world.count().result == "busy"
    world.clock.move(2 * 60)

    second = world.count()

    assert second.result == "started"
    # The first invocation comes late, after the second one has done the work: it does nothing.
    late = world.queued.popleft()
    world.settle()
    assert world.work(late) is None
    assert len(world.llm.prompts) == 1
    assert first.run_id is not None
    assert world.view(first.run_id).error.code == "not_started"


def test_who_dies_before_the_invocation_is_handed_over_blocks_the_space_for_a_minute_only():
    world = space_with_notes(3)

    def die(function: str, payload: Any) -> None:
        raise Killed

    process = world.with_parts(enqueue=die)
    with pytest.raises(Killed):
        counter.start_if_due(process, "demo", "threshold")
    world.clock.move(59)
    assert world.count().result == "busy"
    world.clock.move(1)
    assert world.count().result == "started"


def test_a_correction_goes_ahead_of_a_queued_run_and_leaves_it_its_place():
    world = space_with_notes(3)
    world.count()

    corrections.write_file(world.process, "admin", "demo", "new.md", "# New\n", None)

    assert world.count().result == "busy"
    assert len(world.queued) == 1
    run = world.work()
    assert run is not None
    assert run.state == "done"
    assert lease.look(world.process, places.of_space("demo")) is None


def test_pausing_between_event_and_run_keeps_the_notes():
    world = space_with_notes(3)
    world.count()
    heads.patch(world.process, "demo", auto_paused=True)

    run = world.work()

    assert run is not None
    assert (run.state, run.message) == ("nothing_to_do", "Automatic consolidation is switched off or paused.")
    assert len(world.live_ids()) == 3
    assert world.count().result == "not_automatic"


def test_a_deleted_space_is_unknown_to_a_late_event():
    world = space_with_notes(3)
    lifecycle.delete(world.process, "demo", "demo")

    assert world.count().result == "unknown_space"
    assert world.keys("demo/") == ["demo/_meta.json"]


class IgnoringS3(FakeS3):
    """A store that ignores the headers of conditional writes, as some do."""

    def put_object(self, **arguments: Any) -> dict[str, Any]:
        return super().put_object(**{k: v for k, v in arguments.items() if k not in ("IfMatch", "IfNoneMatch")})


def test_without_conditional_writes_no_run_is_started_and_nothing_is_written():
    world = space_with_notes(3)
    ignoring = IgnoringS3(world.clock)
    ignoring.objects = world.inner.objects
    process = world.with_parts(store=Store("bucket", ignoring, ignoring, threads=1))  # type: ignore[arg-type]
    before = dict(ignoring.objects)

    with pytest.raises(ConditionalWritesUnsupported):
        counter.start_if_due(process, "demo", "threshold")

    assert {key for key in ignoring.objects if key not in before} <= {CAPABILITY_CHECK}
    assert not world.queued
    assert lease.look(process, places.of_space("demo")) is None


# A model that spends somebody's subscription


def with_subscription(notes: int, *, threshold: int = 3) -> World:
    world = space_with_notes(notes, threshold=threshold)
    world.settings = world.settings.model_copy(update={"llmaas_model": "claude-code/sonnet"})
    world.new_process()
    return world


def test_automatic_runs_of_a_space_that_spend_a_subscription_are_an_hour_apart():
    world = with_subscription(3)
    world.count()
    assert world.work().state == "done"
    for number in range(3):
        world.note(f"later {number}")
    results = [world.count().result]
    world.clock.move(3_599)
    results.append(world.count().result)
    world.clock.move(1)
    results.append(world.count().result)

    assert results == ["resting", "resting", "started"]


def test_after_a_failure_that_spends_a_subscription_the_next_run_waits_an_hour_too():
    world = with_subscription(3)
    world.llm.queue.append(LlmError("llm_unavailable", "No answer."))
    world.count()
    assert world.work().state == "failed"
    world.clock.move(3_590)
    early = world.count().result
    world.clock.move(11)

    assert (early, world.count().result) == ("busy", "started")


def test_the_end_of_a_session_needs_its_own_number_of_notes_and_no_pause():
    world = with_subscription(3)
    world.count()
    world.work()
    for number in range(2):
        world.note(f"later {number}")
    few = counter.start_if_due(world.process, "demo", "session_end").result
    world.note("the third")

    assert few == "below_threshold"
    assert counter.start_if_due(world.process, "demo", "session_end").result == "started"


def test_a_space_without_automatic_runs_has_none_at_the_end_of_a_session():
    world = with_subscription(5, threshold=0)

    assert counter.start_if_due(world.process, "demo", "session_end").result == "not_automatic"
