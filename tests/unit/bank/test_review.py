"""Approval: a run of a space in review stops after its plan, and what is committed is what a person has read."""

from functools import cache

import pytest

from livemem.access.principal import Principal
from livemem.bank import corrections, history, plans, review
from livemem.bank.plans import WaitingPlan
from livemem.changes import records, rules_change
from livemem.changes.rules_change import NewRules
from livemem.consolidation import space_change
from livemem.consolidation.space_change import SpaceUpdate
from livemem.erasure import erasure
from livemem.errors import Busy, Conflict, Forbidden, NotFound, PlanOutdated, PreconditionLost, TooLarge
from livemem.jobs import counter, lease, places
from livemem.jobs.run import Run
from livemem.spaces import head as heads
from livemem.spaces.head import Meta
from livemem.store.bucket import BANK_FILE, NOTE, REVIEW, RUN, SYNTHESIS_FILE
from livemem.upkeep import health
from tests.support.cases import each
from tests.support.world import EVERYONE, INVOCATION, World, forked

ADMIN = EVERYONE
WRITER = Principal("will", frozenset({"read", "write"}), frozenset())


@forked
def space_in_review(threshold: int = 2) -> World:
    """A space with a bank, in which plans wait, and notes at its threshold."""
    world = World()
    world.create_space(threshold=threshold, mode="review")
    world.note("one")
    world.consolidate()
    world.approve()
    world.note("two")
    world.note("three")
    return world


def planned() -> tuple[World, Run]:
    """The same with a plan that waits."""
    world, run = _planned()
    return world.fork(), run


@cache
def _planned() -> tuple[World, Run]:
    world = space_in_review()
    world.count()
    run = world.work()
    return world, run


def meta(world: World) -> Meta:
    return heads.load(world.process, "demo").meta


def approve(world: World, run: Run, principal: Principal = ADMIN, revision: str | None = None) -> history.RecordDetail:
    plan = world.plan()
    known = revision or (plan.revision if plan else "as it was")
    return review.approve(world.process, principal, "demo", run.job_id, known)


def refuse(world: World, run: Run, reason: str | None = None, principal: Principal = ADMIN) -> Run:
    return review.refuse(world.process, principal, "demo", run.job_id, reason)


def set_mode(world: World, mode, principal: Principal = ADMIN) -> space_change.Changed:
    return space_change.change(world.process, principal, "demo", SpaceUpdate(consolidation_mode=mode))


def plan_of(world: World, run: Run) -> WaitingPlan:
    plan = plans.find(world.process, "demo", run.job_id)
    assert plan
    return plan


def test_a_run_stops_after_its_plan_and_gives_the_space_back():
    world = space_in_review()
    before, noted = world.bank(), world.live_ids()
    world.count()

    run = world.work()

    assert (run.state, run.consolidation) == ("awaiting_approval", None)
    assert (run.metrics["notes_processed"], run.metrics["llm_calls"]) == (2, 1)
    assert (world.bank(), world.live_ids(), meta(world).changes) == (before, noted, 1)
    assert lease.look(world.process, places.of_space("demo")) is None
    waits = world.plan()
    assert (waits.run_id, waits.number, waits.notes_count) == (run.job_id, 2, 2)
    assert world.view(run.job_id) == run


def test_the_plan_shows_what_a_change_would_show():
    world, run = planned()

    plan = plan_of(world, run)

    assert (plan.review, plan.outdated) == (world.plan(), False)
    assert [note.content for note in plan.detail.sources] == ["two", "three"]
    assert {note.status for note in plan.detail.sources} == {"live"}
    assert "+- two\n+- three\n" in plan.detail.changes[0]["diff"]
    assert plan.detail.synthesis == {"before": "1 notes.", "after": "2 notes."}


def test_reading_a_plan_costs_two_requests():
    world, run = planned()
    world.new_process()

    assert plans.find(world.process, "demo", run.job_id)

    assert dict(world.client.counts) == {"GET": 2}


def test_an_approved_plan_is_committed_as_it_was_read_and_says_by_whom():
    world, run = planned()
    read = plan_of(world, run)
    world.clock.move(3600)

    made = approve(world, run)

    assert (made.changes, made.synthesis) == (read.detail.changes, read.detail.synthesis)
    assert (made.summary.number, made.summary.run_id) == (2, run.job_id)
    assert (made.summary.approved_by, made.summary.approved_at) == ("admin", "2026-02-20T15:00:00Z")
    assert made.summary.committed_at == "2026-02-20T15:00:00Z"
    assert {note.status for note in made.sources} == {"consolidated"}
    assert "- two\n- three\n" in world.bank()["log.md"]
    assert world.live_ids() == []
    ended = world.view(run.job_id)
    assert (ended.state, ended.consolidation, ended.decided_by) == ("done", 2, "admin")
    assert ended.metrics == run.metrics
    head = meta(world)
    assert (head.changes, head.consolidation_count, head.total_notes_processed, head.review) == (2, 2, 3, None)
    assert [key for key in world.keys("demo/_runs/") if "plan" in key or "review" in key] == []
    assert history.read(world.process, "demo", 2) == made
    assert world.llm.prompts == []


def test_approving_twice_is_approving_once():
    world, run = planned()
    made = approve(world, run)
    assert approve(world, run) == made
    assert meta(world).changes == 2


@pytest.mark.parametrize("decide", [approve, refuse])
def test_a_run_whose_plan_never_waited_is_not_decided_on(decide):
    world = World()
    world.create_space()
    world.note("one")
    run = world.consolidate()
    with pytest.raises(Conflict, match="'done'"):
        decide(world, run)


def test_new_notes_are_no_obstacle_and_wait_for_the_next_run():
    world, run = planned()
    late = world.note("four")

    approve(world, run)

    assert world.live_ids() == [late.note_id]
    assert "four" not in world.bank()["log.md"]


def test_while_a_plan_waits_neither_events_nor_sweeps_ask_the_llm_again():
    world, _ = planned()
    for index in range(5):
        world.note(f"more {index}")

        assert world.count() == counter.Counted("not_automatic")
    world.sweep_all()
    world.settle()

    assert world.llm.prompts == []
    assert not world.queued


def test_notes_that_came_meanwhile_start_the_next_run_once_the_plan_is_approved():
    world, run = planned()
    world.note("four")
    world.note("five")

    approve(world, run)
    world.settle()

    assert world.plan().notes_count == 2
    assert world.plan().run_id != run.job_id


def test_a_run_by_hand_is_refused_while_a_plan_waits_and_the_plan_is_named():
    world, run = planned()

    with pytest.raises(Conflict, match=run.job_id):
        world.order()

    assert not world.queued
    assert world.consolidate(dry_run=True).state == "done"


def test_a_run_that_was_ordered_before_the_plan_was_there_leaves_the_plan_alone():
    world = space_in_review()
    world.order()
    world.order()

    first, second = world.work(), world.work()

    assert (first.state, second.state) == ("awaiting_approval", "nothing_to_do")
    assert first.job_id in second.message
    assert world.plan().run_id == first.job_id
    assert len(world.llm.prompts) == 1


def test_a_run_may_take_the_place_of_the_plan():
    world, run = planned()
    world.note("four")

    other = world.consolidate(replace=True)

    assert (other.state, world.plan().run_id, world.plan().notes_count) == ("awaiting_approval", other.job_id, 3)
    assert world.view(run.job_id).state == "superseded"
    assert REVIEW.key("demo", run.job_id) not in world.inner.objects
    with pytest.raises(Conflict, match="superseded"):
        approve(world, run)


def test_a_run_that_fails_to_ask_leaves_the_plan_where_it_would_have_replaced_it_for_want_of_budget():
    world = World(llm_daily_token_budget=100)
    world.create_space(mode="review")
    world.note("one")
    run = world.consolidate()

    failed = world.consolidate(replace=True)

    assert failed.error.code == "token_budget_exhausted"
    assert world.plan().run_id == run.job_id


def test_a_refused_plan_leaves_its_notes_live_and_pauses_what_would_plan_them_again():
    world, run = planned()
    noted = world.live_ids()

    refused = refuse(world, run, "Not so.")

    assert (refused.state, refused.message, refused.decided_by) == ("refused", "Not so.", "admin")
    assert refused == world.view(run.job_id)
    assert world.live_ids() == noted
    assert (meta(world).auto_paused, meta(world).review) == (True, None)
    assert world.count() == counter.Counted("not_automatic")
    assert REVIEW.key("demo", run.job_id) not in world.inner.objects
    assert plans.find(world.process, "demo", run.job_id) is None


def test_refusing_twice_is_refusing_once_and_what_is_refused_is_not_approved():
    world, run = planned()
    refused = refuse(world, run, "Not so.")
    assert refuse(world, run, "Otherwise.") == refused
    with pytest.raises(Conflict, match="refused"):
        approve(world, run)
    assert meta(world).changes == 1


def test_what_is_approved_is_not_refused_any_more():
    world, run = planned()
    approve(world, run)
    with pytest.raises(Conflict, match="'done'"):
        refuse(world, run)


def test_an_approved_run_by_hand_ends_the_pause_of_a_refusal():
    world, run = planned()
    refuse(world, run)

    other = world.consolidate()
    approve(world, other)

    assert meta(world).auto_paused is False
    assert world.live_ids() == []


def test_who_names_another_revision_than_the_one_that_waits_approves_nothing():
    world, run = planned()
    with pytest.raises(Conflict, match="plan_revision"):
        approve(world, run, revision="0" * 32)
    assert world.plan().run_id == run.job_id


def by_hand(world: World) -> None:
    corrections.write_file(world.process, "admin", "demo", "other.md", "# Other\n", None)


def other_rules(world: World) -> None:
    rules_change.change(world.process, "admin", "demo", NewRules("Keep two logs."))


def undo(world: World) -> None:
    world.undo(1)


def bank_in_the_bucket(world: World) -> None:
    world.store.put(BANK_FILE.key("demo", "log.md"), b"# Log\n\n## Log\n\n- by somebody\n")


def synthesis_in_the_bucket(world: World) -> None:
    world.store.delete(SYNTHESIS_FILE.key("demo"))


def note_in_the_bucket(world: World) -> None:
    world.store.put(NOTE.key("demo", world.live_ids()[0]), b"something else")


def note_gone(world: World) -> None:
    world.store.delete(NOTE.key("demo", world.live_ids()[0]))


def plan_in_the_bucket(world: World) -> None:
    key = REVIEW.key("demo", world.plan().run_id)
    world.store.put(key, world.text(key).replace("- two", "- 2").encode())


def plan_gone(world: World) -> None:
    world.store.delete(REVIEW.key("demo", world.plan().run_id))


@each(
    "disturb",
    [
        by_hand,
        other_rules,
        undo,
        bank_in_the_bucket,
        synthesis_in_the_bucket,
        note_in_the_bucket,
        note_gone,
        plan_in_the_bucket,
        plan_gone,
    ],
)
def test_a_plan_whose_grounds_have_changed_is_not_committed_but_made_anew(disturb):
    world, run = planned()
    revision = world.plan().revision
    disturb(world)
    before, changes = world.bank(), meta(world).changes

    with pytest.raises(PlanOutdated) as outdated:
        approve(world, run, revision=revision)

    assert (world.bank(), meta(world).changes) == (before, changes)
    assert world.view(run.job_id).state == "superseded"
    assert len(world.queued) == 1
    again = world.work()
    assert again.job_id in outdated.value.detail
    assert (again.state, world.plan().run_id) == ("awaiting_approval", again.job_id)
    approve(world, again)
    assert world.live_ids() == []


def test_a_plan_says_when_it_can_not_be_committed_as_it_stands():
    world, run = planned()
    by_hand(world)
    assert plan_of(world, run).outdated


@pytest.mark.parametrize("decide", [approve, refuse])
def test_who_may_correct_the_bank_may_decide(decide):
    world, run = planned()
    with pytest.raises(Forbidden):
        decide(world, run, principal=WRITER)

    space_change.change(world.process, ADMIN, "demo", SpaceUpdate(corrections="write"))
    decide(world, run, principal=WRITER)

    assert world.view(run.job_id).decided_by == "will"


def test_only_an_admin_says_whether_plans_wait():
    world = space_in_review()
    with pytest.raises(Forbidden):
        set_mode(world, "auto", WRITER)
    with pytest.raises(Forbidden):
        set_mode(world, "review", WRITER)
    assert set_mode(world, "auto").meta.consolidation_mode == "auto"


def test_where_nobody_has_to_approve_any_more_the_plan_is_given_up_and_a_run_starts_that_commits():
    world, run = planned()

    changed = set_mode(world, "auto")
    world.settle()

    assert changed.started_run is not None
    assert world.view(changed.started_run).state == "done"
    assert world.view(run.job_id).state == "superseded"
    assert (meta(world).review, world.live_ids()) == (None, [])
    assert REVIEW.key("demo", run.job_id) not in world.inner.objects


def test_a_run_under_way_while_review_begins_does_not_commit_but_waits():
    world = World()
    world.create_space()
    world.note("one")

    def meanwhile(index: int, verb: str) -> None:
        if verb == "PUT" and world.client.requests[index][1].endswith(".plan.json"):
            world.client.after = lambda index, verb: None
            space_change.change(world.with_parts(), ADMIN, "demo", SpaceUpdate(consolidation_mode="review"))

    world.order()
    world.client.after = meanwhile
    run = world.work()

    assert (run.state, meta(world).changes, world.bank()) == ("awaiting_approval", 0, {})
    assert world.keys("demo/_runs/") == [RUN.key("demo", run.job_id), REVIEW.key("demo", run.job_id)]
    world.approve()
    assert world.live_ids() == []


def test_an_approval_that_the_end_of_review_comes_before_commits_nothing():
    world, run = planned()
    revision = world.plan().revision

    def meanwhile(index: int, verb: str) -> None:
        if verb == "PUT" and world.client.requests[index][1].endswith(".plan.json"):
            world.client.after = lambda index, verb: None
            elsewhere = world.with_parts()
            space_change.change(elsewhere, ADMIN, "demo", SpaceUpdate(consolidation_mode="auto"))

    world.client.after = meanwhile
    with pytest.raises(PreconditionLost):
        approve(world, run, revision=revision)

    assert meta(world).changes == 1
    world.sweep()
    world.settle()
    assert (meta(world).changes, world.live_ids(), meta(world).review) == (2, [], None)
    assert world.view(run.job_id).state == "superseded"


def test_a_run_under_way_while_review_ends_commits():
    world = World()
    world.create_space(mode="review")
    world.note("one")

    def meanwhile(index: int, verb: str) -> None:
        if verb == "PUT" and world.client.requests[index][1].endswith(".review.json"):
            world.client.after = lambda index, verb: None
            set_mode_elsewhere = SpaceUpdate(consolidation_mode="auto")
            space_change.change(world.with_parts(), ADMIN, "demo", set_mode_elsewhere)

    world.order()
    world.client.after = meanwhile
    run = world.work()

    assert (run.state, meta(world).changes, world.live_ids()) == ("done", 1, [])
    assert world.keys("demo/_runs/") == [RUN.key("demo", run.job_id)]


def test_an_approval_beside_a_run_that_works_is_refused_as_busy():
    world, run = planned()
    world.order(replace=True)

    def ask(*_: object, **__: object) -> None:
        # By then the plan is given up.
        with pytest.raises((Busy, Conflict)):
            approve(world, run)

    world.llm.queue.append(lambda prompt: ask() or '{"bank_files": []}')
    world.work()
    assert meta(world).changes == 1


def test_an_approval_while_somebody_holds_the_space_is_refused_as_busy():
    world, run = planned()
    lease.acquire(world.process, places.of_space("demo"), world.ids(), "backup")
    with pytest.raises(Busy):
        approve(world, run)


def test_a_run_that_nobody_knows_has_no_plan():
    world, _ = planned()
    assert plans.find(world.process, "demo", f"{0:026d}") is None
    with pytest.raises(NotFound):
        review.refuse(world.process, ADMIN, "demo", f"{0:026d}", None)


def test_a_reason_that_is_too_long_is_refused_and_the_plan_waits_on():
    world, run = planned()
    with pytest.raises(TooLarge):
        refuse(world, run, "é" * 251)
    assert world.plan().run_id == run.job_id


def test_an_approved_consolidation_is_undone_like_any_other():
    world, run = planned()
    noted = world.live_ids()
    approve(world, run)

    world.undo(2)

    assert world.live_ids() == noted
    assert "two" not in world.bank()["log.md"]
    assert meta(world).auto_paused


def test_what_a_section_rests_on_is_told_after_an_approval():
    world, run = planned()
    approve(world, run)
    record = records.get(world.process, "demo", 2)
    assert record.files[0].sources is not None
    assert (record.run_id != run.job_id, record.run()) == (True, run.job_id)


def problems(world: World) -> dict[str, bool]:
    process = world.with_parts(settings=world.settings.model_copy(update={"llmaas_api_url": ""}))
    return {problem.code: problem.wrong for problem in health.deep(process, EVERYONE).problems}


def test_health_names_a_plan_that_waits_and_is_degraded_once_it_seems_forgotten():
    world, _ = planned()
    assert problems(world) == {"plan_awaiting_approval": False}
    world.clock.move(14 * 86_400 - 1)
    assert problems(world) == {"plan_awaiting_approval": False}
    world.clock.move(1)
    assert problems(world) == {"plan_awaiting_approval": True}


def test_a_plan_that_waits_for_years_is_still_there_to_be_approved():
    world, run = planned()
    for _ in range(4):
        world.clock.move(300 * 86_400)
        world.sweep_all()

    assert world.view(run.job_id).state == "awaiting_approval"
    approve(world, run)
    assert world.view(run.job_id).state == "done"


def test_a_plan_that_is_written_again_after_it_was_decided_is_removed_by_the_sweep():
    world, run = planned()
    key = REVIEW.key("demo", run.job_id)
    body = world.text(key).encode()
    refuse(world, run)
    world.store.put(key, body)

    world.sweep()

    assert key not in world.inner.objects
    assert meta(world).review is None


def test_a_space_that_is_restored_has_no_plan_that_waits():
    world, run = planned()
    backup = world.back_up()

    world.restore("demo", backup.job_id, "copy")

    copy = heads.load(world.process, "copy").meta
    assert (copy.consolidation_mode, copy.review) == ("review", None)
    assert world.view(run.job_id, "copy").state == "superseded"
    assert not any("review.json" in key for key in world.keys("copy/"))
    assert world.count("copy").result == "started"


def test_an_erasure_gives_the_plan_up_and_nothing_of_the_note_is_left():
    world, run = planned()
    note_id = world.live_ids()[0]
    deadline = world.clock() + INVOCATION

    erasure.erase(world.process, EVERYONE, "demo", [note_id], deadline)

    assert world.view(run.job_id).state == "superseded"
    assert meta(world).review is None
    assert not any(b"two" in stored.body for stored in world.inner.objects.values())
    with pytest.raises(Conflict, match="superseded"):
        approve(world, run)


def test_the_tokens_of_a_plan_count_once_whatever_becomes_of_it():
    world, run = planned()
    planned_with = world.view(run.job_id).metrics["llm_prompt_tokens"]
    approve(world, run)
    assert world.view(run.job_id).metrics["llm_prompt_tokens"] == planned_with == 100
