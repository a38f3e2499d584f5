"""Approval from outside: a plan that waits, is read, refused, approved, and made anew when the bank has changed."""

from collections.abc import Iterator

import pytest

from live_memory import LiveMemoryError
from tests.e2e.client import Service
from tests.e2e.spaces import fresh_space, post_notes

THRESHOLD = 3


@pytest.fixture
def space(service: Service) -> Iterator[str]:
    with fresh_space(service, THRESHOLD) as space_id:
        service.spaces.patch(space_id, consolidation_mode="review")
        yield space_id


def next_plan(service: Service, space: str):
    """The plan that waits, as soon as one does."""
    waits = service.wait_until(lambda: service.spaces.get(space).pending_plan, bool)
    return service.runs.get_plan(space, waits.run_id)


def test_notes_at_the_threshold_make_a_plan_and_nothing_else_until_somebody_approves_it(service, space):
    ids = post_notes(service, space, THRESHOLD)

    plan = next_plan(service, space)

    assert sorted(note.note_id for note in plan.sources) == sorted(ids)
    assert plan.changes
    assert service.bank.list(space).items == []
    assert service.runs.get(space, plan.run_id).status == "waiting"
    assert plan.plan_revision in service.markdown("get_plan", {"space_id": space, "run_id": plan.run_id})
    assert "waits for approval" in service.markdown("get_summary", {"space_id": space})
    named = [problem.code for problem in service.service.health().spaces or [] if problem.space_id == space]
    assert named == ["plan_awaiting_approval"]

    change = service.runs.approve_plan(space, plan.run_id, plan_revision=plan.plan_revision)

    assert [one.diff for one in change.changes] == [one.diff for one in plan.changes]
    assert (change.number, change.run_id, bool(change.approved_by)) == (1, plan.run_id, True)
    assert {service.notes.get(space, note_id).status for note_id in ids} == {"consolidated"}
    assert service.runs.get(space, plan.run_id).status == "done"
    assert "approved by" in service.markdown("get_consolidation", {"space_id": space, "number": "1"})
    assert service.runs.approve_plan(space, plan.run_id, plan_revision=plan.plan_revision).number == 1


def test_a_refused_plan_leaves_its_notes_live_and_the_space_paused(service, space):
    ids = post_notes(service, space, THRESHOLD)
    plan = next_plan(service, space)

    refused = service.runs.refuse_plan(space, plan.run_id, reason="Not yet.")

    assert (refused.code, refused.message) == ("refused", "Not yet.")
    assert {service.notes.get(space, note_id).status for note_id in ids} == {"live"}
    assert service.spaces.get(space).auto_paused
    with pytest.raises(LiveMemoryError) as error:
        service.runs.get_plan(space, plan.run_id)
    assert error.value.code == "plan_not_found"


def test_a_plan_that_the_bank_has_outrun_is_made_anew(service, space):
    post_notes(service, space, THRESHOLD)
    plan = next_plan(service, space)
    with pytest.raises(LiveMemoryError) as conflict:
        service.runs.start(space)
    assert conflict.value.code == "conflict"
    service.bank.put_file(space, "by-hand.md", content="# By hand\n")
    assert service.runs.get_plan(space, plan.run_id).outdated

    with pytest.raises(LiveMemoryError) as outdated:
        service.runs.approve_plan(space, plan.run_id, plan_revision=plan.plan_revision)

    assert outdated.value.code == "plan_outdated"
    again = next_plan(service, space)
    assert again.run_id in outdated.value.detail
    service.runs.approve_plan(space, again.run_id, plan_revision=again.plan_revision)
    assert [file.path for file in service.bank.list(space).items if file.path == "by-hand.md"] == ["by-hand.md"]
    assert service.notes.list(space).items == []
