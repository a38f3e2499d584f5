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
    return waits.job, service.plan(waits.job)


def test_notes_at_the_threshold_make_a_plan_and_nothing_else_until_somebody_approves_it(service, space):
    ids = post_notes(service, space, THRESHOLD)

    job, plan = next_plan(service, space)

    assert sorted(note.note_id for note in plan.sources) == sorted(ids)
    assert plan.changes
    assert service.bank.list(space).items == []
    assert service.jobs.get(job).status == "waiting"
    assert plan.plan_revision in service.markdown("get_job", {"job": job})
    assert "waits for approval" in service.markdown("get_summary", {"space_id": space})
    named = [problem.code for problem in service.service.health().spaces or [] if problem.space_id == space]
    assert named == ["plan_awaiting_approval"]

    change = service.consolidations.approve_plan(space, job=job, plan_revision=plan.plan_revision)

    assert [one.diff for one in change.changes] == [one.diff for one in plan.changes]
    assert (change.number, change.run_id, bool(change.approved_by)) == (1, job.rpartition(".")[2], True)
    assert {service.notes.get(space, note_id).status for note_id in ids} == {"consolidated"}
    assert service.jobs.get(job).status == "done"
    assert "approved by" in service.markdown("get_consolidation", {"space_id": space, "number": "1"})
    assert service.consolidations.approve_plan(space, job=job, plan_revision=plan.plan_revision).number == 1


def test_a_refused_plan_leaves_its_notes_live_and_the_space_paused(service, space):
    ids = post_notes(service, space, THRESHOLD)
    job, _ = next_plan(service, space)

    refused = service.consolidations.refuse_plan(space, job=job, reason="Not yet.")

    run = service.ended(job)
    assert (refused.status, run.code, run.message) == ("cancelled", "refused", "Not yet.")
    assert {service.notes.get(space, note_id).status for note_id in ids} == {"live"}
    assert service.spaces.get(space).auto_paused
    assert run.pending_plan is None


def test_a_plan_that_the_bank_has_outrun_is_made_anew(service, space):
    post_notes(service, space, THRESHOLD)
    job, plan = next_plan(service, space)
    with pytest.raises(LiveMemoryError) as conflict:
        service.consolidations.start(space)
    assert conflict.value.code == "conflict"
    service.bank.put_file(space, "by-hand.md", content="# By hand\n")
    assert service.plan(job).outdated

    with pytest.raises(LiveMemoryError) as outdated:
        service.consolidations.approve_plan(space, job=job, plan_revision=plan.plan_revision)

    assert outdated.value.code == "plan_outdated"
    again, newer = next_plan(service, space)
    assert again.rpartition(".")[2] in outdated.value.detail
    service.consolidations.approve_plan(space, job=again, plan_revision=newer.plan_revision)
    assert [file.path for file in service.bank.list(space).items if file.path == "by-hand.md"] == ["by-hand.md"]
    assert service.notes.list(space).items == []
