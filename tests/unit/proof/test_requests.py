"""The budget of S3 requests per operation (docs/consolidation.md): costs are counted, not hoped for."""

import json

import pytest

from livemem.access import principal
from livemem.access import registry as registries
from livemem.bank import files, review
from livemem.consolidation import tidying
from livemem.notes import appending, idempotency, pages
from livemem.notes.appending import NoteDraft
from livemem.notes.pages import NotesFilter
from livemem.spaces import directory, lifecycle
from livemem.spaces import head as heads
from livemem.store.capability_check import has_conditional_writes
from livemem.store.objects import MARKDOWN
from tests.support.space_fixtures import put
from tests.support.world import EVERYONE, World, several_files


def counts(world: World) -> dict[str, int]:
    return dict(world.client.counts)


@pytest.fixture
def world() -> World:
    made = World()
    made.create_space(threshold=3)
    made.client.reset()
    return made


def fill(world: World, count: int) -> None:
    for index in range(count):
        world.note(f"note {index}")
        world.clock.move(1)


def test_creating_a_space_takes_1_get_and_4_put():
    world = World()
    world.create_space()
    assert counts(world) == {"GET": 1, "PUT": 4}


def test_appending_takes_1_put_once_the_space_is_known(world):
    world.note("first")
    world.client.reset()
    world.note("second")
    assert counts(world) == {"PUT": 1}


def test_appending_with_an_idempotency_key_takes_2_put(world):
    world.note("first")
    world.client.reset()
    idempotency.append_once(world.process, "demo", "ann", NoteDraft("todo", "x"), "k")
    assert counts(world) == {"PUT": 2}


def test_a_batch_takes_1_put_a_note(world):
    world.note("first")
    world.client.reset()
    drafts = [NoteDraft("todo", str(index)) for index in range(100)]
    appending.append_batch(world.process, "demo", "ann", drafts)
    assert counts(world) == {"PUT": 100}


@pytest.mark.parametrize(("count", "lists"), [(900, 1), (1_050, 2), (2_050, 2)])
def test_a_page_of_notes_takes_1_or_2_lists_and_1_get_a_note_shown(world, count, lists):
    fill(world, count)
    heads.refresh(world.process, "demo")
    world.client.reset()
    pages.page(world.process, "demo", NotesFilter(), limit=20)
    assert counts(world) == {"LIST": lists, "GET": 20}


def test_bank_list_file_and_all_take_what_they_show(world):
    world.llm.default = several_files
    fill(world, 5)
    world.consolidate()
    files.listing(world.process, "demo")
    for read, expected in (
        (lambda: files.listing(world.process, "demo"), {"LIST": 1}),
        (lambda: files.read(world.process, "demo", "log.md"), {"GET": 1}),
        (lambda: files.listing(world.process, "demo", content=True), {"LIST": 1, "GET": 2}),
    ):
        world.client.reset()
        read()
        assert counts(world) == expected


def test_the_counter_below_the_threshold_takes_1_get_and_1_list_and_1_put_in_ten_minutes(world):
    fill(world, 2)
    for expected in ({"PUT": 1, "GET": 1, "LIST": 1}, *[{"GET": 1, "LIST": 1}] * 9, {"PUT": 1, "GET": 1, "LIST": 1}):
        world.client.reset()
        assert world.count().result == "below_threshold"
        assert counts(world) == expected
        world.clock.move(60)


@pytest.mark.parametrize("rounds", [0, 2])
@pytest.mark.parametrize("count", [3, 40, 150])
def test_a_consolidation_keeps_its_budget(world, rounds, count):
    world.llm.default = several_files
    for _ in range(rounds):
        fill(world, 3)
        world.consolidate()
    files = len(world.bank())
    fill(world, count)
    world.count()
    world.client.reset()
    run = world.work()
    assert run is not None
    assert run.metrics["notes_processed"] == count
    written = run.metrics["bank_files_created"] + run.metrics["bank_files_updated"]
    made = world.client.counts
    assert made["GET"] + made["LIST"] <= 12 + count + files
    # One of them counts what was used: no order and no other run writes that any more.
    assert made["PUT"] <= written + 9
    assert made["DeleteObjects"] == 1
    # Single deletions are free of charge: the plan and the lease.
    assert made["DELETE"] == 2


@pytest.mark.parametrize("files", [1, 20])
def test_a_tidy_run_keeps_its_budget(world, files):
    items = "".join(f"- The crane K{number} lifts {number + 40} tons.\n" for number in range(80))
    for number in range(files):
        put(world, f"bank/port-{number}.md", f"# Port {number}\n\n{items}".encode(), MARKDOWN)
    heads.patch(world.process, "demo", bank_chars=2_000)
    world.order(tidy=True)
    world.new_process()
    world.client.reset()
    run = world.work()
    assert run is not None
    made, written = world.client.counts, run.metrics["files_tidied"]
    assert written == min(files, tidying.FILES)
    assert made["GET"] + made["LIST"] <= 10 + files
    assert made["PUT"] <= written + 9
    assert (made["DELETE"], made["DeleteObjects"]) == (2, 0)


@pytest.mark.parametrize("count", [3, 40])
def test_a_plan_that_waits_and_its_approval_keep_their_budgets(count):
    world = World()
    world.create_space(mode="review")
    world.llm.default = several_files
    fill(world, count)
    world.order()
    world.new_process()
    run = world.work()
    planned = counts(world)
    waits = world.plan()
    world.new_process()
    review.approve(world.process, EVERYONE, "demo", run.job_id, waits.revision)
    approved = counts(world)

    written = run.metrics["bank_files_created"]
    assert planned["GET"] + planned["LIST"] <= 12 + count
    # One of them counts what was used.
    assert planned["PUT"] == 6
    # And what was folded is counted.
    assert approved["GET"] <= 12 + count + written
    assert approved == {**approved, "PUT": written + 9, "DELETE": 3, "DeleteObjects": 1}
    assert "LIST" not in approved


def test_deleting_a_space_takes_a_list_and_a_deletion_per_1000_objects_and_4_more(world):
    fill(world, 1_100)
    world.client.reset()
    lifecycle.delete(world.process, "demo", "demo")
    # 1 GET and 1 PUT make sure that no run can commit into the deleted space; the second PUT is the marker for the
    # sweep, the second GET for the tokens' lists.
    assert counts(world) == {"GET": 2, "PUT": 2, "LIST": 2, "DeleteObjects": 2}


def test_authorisation_costs_nothing_for_30_seconds_and_then_1_get(world):
    registry = {"version": 1, "tokens": []}
    world.inner.put_object(Bucket="b", Key="_system/tokens.json", Body=json.dumps(registry).encode())
    registries.registry(world.process)
    world.client.reset()
    registries.registry(world.process)
    assert counts(world) == {}
    registries.registry(world.process, fresh=True)
    assert counts(world) == {"GET": 1}


def test_a_list_of_spaces_takes_1_list_and_1_get_a_space(world):
    for name in ("a", "b", "c"):
        world.create_space(name)
    world.client.reset()
    caller = principal.Principal("admin", frozenset(("read",)), frozenset())
    directory.page(world.process, caller, limit=2, after=None)
    assert counts(world) == {"LIST": 1, "GET": 2}


def test_the_probe_of_conditional_writes_takes_2_put_once_a_process(world):
    world.store.capability_checked.clear()
    world.client.reset()
    assert has_conditional_writes(world.store)
    assert has_conditional_writes(world.store)
    assert counts(world) == {"PUT": 2}
