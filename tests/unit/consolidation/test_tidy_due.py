"""When a tidy run starts by itself: after a consolidation or by the sweep, at most once a day, for no request more."""

import json
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from livemem.consolidation import space_change
from livemem.consolidation.space_change import SpaceUpdate
from livemem.jobs import counter, tidy_due
from livemem.llm.client import LlmError
from livemem.spaces import head as heads
from livemem.spaces import lifecycle
from livemem.spaces.head_fields import Tidied
from livemem.store.bucket import HEAD, LEASE
from tests.support.cases import each
from tests.support.counting import Killed
from tests.support.faults import LATER
from tests.support.world import EVERYONE, World, file_to_tidy, forked

LENGTH, NOTES = 2_000, 10
DAY = 86_400


@forked
def automatic_space() -> World:
    """A space with automatic consolidation, whose bank is longer than it should be after its next consolidation."""
    world = World()
    world.create_space(threshold=NOTES)
    heads.patch(world.process, "demo", bank_chars=LENGTH)
    write(world)
    world.count()
    return world


def write(world: World) -> None:
    for number in range(NOTES):
        world.note(f"Port {number} of the ferry has the crane K{number}, which lifts {number + 40} tons." * 6)


def meta(world: World) -> heads.Meta:
    return heads.load(world.process, "demo").meta


def tidied(world: World) -> list[int]:
    """The numbers of the tidy runs' changes."""
    names = [key for key in world.keys("demo/_consolidations/") if '"kind": "tidy"' in world.text(key)]
    return [int(key.split("/")[-1][:6]) for key in names]


def asked(world: World) -> set[str]:
    """The files that tidy runs asked for."""
    return {
        file_to_tidy(prompt)["filename"] for prompt in world.llm.prompts if "# The file (JSON" in prompt[1]["content"]
    }


def test_a_tidy_run_follows_the_consolidation_that_made_the_bank_too_long():
    world = automatic_space()

    world.work()
    (queued,) = world.queued
    assert world.view(queued["job_id"]).tidy
    assert world.view(queued["job_id"]).trigger == "threshold"
    world.settle()

    assert tidied(world) == [2]
    assert meta(world).bank_length == len(world.bank()["log.md"]) == meta(world).tidied.chars


def test_the_end_of_a_consolidation_and_a_sweep_cost_the_same_requests_where_no_tidy_run_is_due():
    counted = []
    for bank_chars in (0, 500_000):
        world = automatic_space()
        heads.patch(world.process, "demo", bank_chars=bank_chars)
        world.new_process()
        world.work()
        folded = len(world.client.requests)
        world.new_process()
        world.sweep()
        counted.append((folded, len(world.client.requests)))

    assert counted[0] == counted[1]
    assert not world.queued


def test_at_most_one_run_a_day_starts_by_itself_and_none_before_the_bank_has_grown():
    world = automatic_space()
    world.llm.tidier = lambda text: text[: int(len(text) * 0.9)]
    world.settle()
    first = meta(world).tidied

    write(world)
    world.count()
    world.settle()
    assert meta(world).tidied == first

    world.clock.move(DAY)
    world.count()
    world.settle()
    assert len(tidied(world)) == 2

    world.clock.move(DAY)
    world.count()
    world.settle()
    assert len(tidied(world)) == 2


def test_a_run_without_effect_is_not_repeated_until_the_bank_has_grown():
    world = automatic_space()
    world.llm.tidier = lambda text: text
    world.settle()
    assert (tidied(world), meta(world).tidied.chars) == ([], meta(world).bank_length)

    world.clock.move(DAY)
    world.count()
    world.sweep_all()
    assert not world.queued

    write(world)
    world.count()
    world.settle()
    assert meta(world).tidied.chars == meta(world).bank_length


@pytest.mark.parametrize(("length", "starts"), [(10_500, False), (10_501, True)])
def test_none_starts_before_the_bank_has_grown_by_a_twentieth_since_the_last(length: int, starts: bool):
    world = automatic_space()
    last = Tidied(run_id=world.process.new_id(), at="2026-02-01T14:00:00Z", chars=10_000)
    heads.update(world.process, "demo", lambda _: {"tidied": last, "bank_length": length})

    assert tidy_due.is_due(world.process, heads.load(world.process, "demo")) == starts


def test_a_file_that_is_as_the_last_run_wrote_it_is_not_asked_for_again_unless_a_user_orders_it():
    world = automatic_space()
    world.store.put("demo/bank/other.md", ("# Other\n\n" + "- A line of the other file.\n" * 200).encode())
    world.llm.tidier = lambda text: text[: int(len(text) * 0.9)]
    world.settle()
    assert asked(world) == {"log.md", "other.md"}

    # The first of these runs has no effect.
    for tidier in (lambda text: text, lambda text: text[: int(len(text) * 0.9)]):
        world.llm.tidier = tidier
        world.clock.move(DAY)
        write(world)
        world.count()
        world.llm.prompts.clear()
        world.settle()
        assert asked(world) == {"log.md"}

    world.llm.prompts.clear()
    world.consolidate(tidy=True)
    assert asked(world) == {"log.md", "other.md"}


def paused(world: World) -> None:
    heads.patch(world.process, "demo", auto_paused=True)


def tidy_paused(world: World) -> None:
    heads.patch(world.process, "demo", tidy_paused=True)


def by_hand_alone(world: World) -> None:
    heads.patch(world.process, "demo", threshold=0)


def without_length(world: World) -> None:
    heads.patch(world.process, "demo", bank_chars=0)


def long_enough(world: World) -> None:
    heads.patch(world.process, "demo", bank_chars=3_100)


def offline(world: World) -> None:
    world.settings = world.settings.model_copy(update={"llmaas_model": "offline-rules"})
    world.new_process()


def with_a_plan(world: World) -> None:
    heads.patch(world.process, "demo", consolidation_mode="review")
    world.note("one more")
    world.consolidate()


@each("hold", [paused, tidy_paused, by_hand_alone, without_length, long_enough, offline, with_a_plan])
def test_no_run_starts_by_itself_where_it_should_not(hold: Callable[[World], None]):
    world = automatic_space()
    world.work()
    queued = world.queued.pop()
    world.inner.delete_object(Bucket="b", Key=LEASE.key("demo"))

    hold(world)
    assert counter.start_if_due(world.process, "demo", "threshold").run_id is None
    world.sweep_all()
    assert not world.queued

    # And one that was queued before does nothing.
    world.llm.prompts.clear()
    world.work(queued)
    assert world.view(queued["job_id"]).state == "nothing_to_do"
    assert not world.llm.prompts


def test_the_end_of_the_pause_starts_a_run_that_is_due():
    world = automatic_space()
    tidy_paused(world)
    world.settle()
    assert tidied(world) == []

    changed = space_change.change(world.process, EVERYONE, "demo", SpaceUpdate(tidy_paused=False))

    assert changed.started_run == world.queued[0]["job_id"]
    world.settle()
    assert tidied(world) == [2]


def test_the_sweep_starts_the_run_that_a_dead_worker_did_not():
    world = automatic_space()

    def die(index: int, verb: str) -> None:
        if meta_of(world).get("bank_length") and not meta_of(world).get("committed_run"):
            raise Killed

    world.client.after = die
    with suppress(Killed):
        world.work()
    world.new_process()
    world.clock.move(LATER)
    assert (world.queued, tidied(world)) == (deque(), [])

    for _ in range(3):
        world.sweep()
        world.settle()

    assert tidied(world) == [2]


def meta_of(world: World) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(world.inner.objects[HEAD.key("demo")].body)
    return found


def test_a_model_that_is_down_makes_automatic_runs_wait_and_the_run_is_tried_again_on_that_day():
    world = automatic_space()
    world.work()
    world.llm.queue.append(LlmError("llm_unreachable", "No answer."))
    run = world.work()
    assert (run.state, run.error.code) == ("failed", "llm_unreachable")
    assert meta(world).tidied is None

    world.count()
    assert not world.queued
    world.clock.move(120)
    world.sweep()
    world.settle()
    assert tidied(world) == [2]


def test_a_worker_that_dies_over_the_question_asks_once_a_day():
    world = automatic_space()
    world.work()

    def die(prompt: str) -> str:
        raise Killed

    world.llm.tidier = die
    for _ in range(5):
        with suppress(Killed):
            world.settle()
        world.clock.move(LATER)
        world.sweep()
    asked = [one for one in world.llm.prompts if "# The file" in one[1]["content"]]
    assert len(asked) == 1
    assert tidied(world) == []


def test_of_two_runs_at_once_one_tidies():
    world = automatic_space()
    world.work()
    first = world.queued.popleft()
    second = world.order(tidy=True, trigger="threshold")
    world.work(first)
    world.settle()

    assert tidied(world) == [2]
    assert world.view(second.job_id).state == "nothing_to_do"


def test_a_bank_that_somebody_shortened_in_the_bucket_starts_one_run_and_no_more():
    world = automatic_space()
    world.work()
    world.store.put("demo/bank/log.md", b"# Log\n\n## Log\n")

    world.settle()
    world.count()

    assert not world.queued
    assert (tidied(world), meta(world).bank_length) == ([], 14)
    assert not tidy_due.is_due(world.process, heads.load(world.process, "demo"))


def test_a_deletion_while_the_model_is_asked_leaves_nothing_of_the_run():
    world = automatic_space()
    world.work()

    def delete(text: str) -> str:
        lifecycle.delete(world.process, "demo", "demo")
        return text[:100]

    world.llm.tidier = delete
    world.settle()

    assert not [key for key in world.keys("demo/") if key != HEAD.key("demo")]


def test_a_correction_by_hand_while_the_model_is_asked_comes_after_the_run():
    world = automatic_space()
    world.work()
    busy: list[str] = []

    def correct(text: str) -> str:
        try:
            world.undo(1)
        except Exception as error:  # noqa: BLE001
            busy.append(type(error).__name__)
        return text[:100]

    world.llm.tidier = correct
    world.settle()

    assert busy == ["LeaseTaken"]
    assert tidied(world) == [2]
