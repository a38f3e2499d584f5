"""Plans that wait for a person: how they are decided, and how their runs are ended (spaces/head_fields.py).

One swap of the head decides. After it the same process, or the next holder of the space, ends the run and removes its
plan. Both steps may be repeated.
"""

from livemem import clock
from livemem.errors import PreconditionLost
from livemem.jobs import run as runs
from livemem.jobs.job import TRIES
from livemem.jobs.run import Run
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.spaces.head import Head, Meta
from livemem.spaces.head_fields import Decision
from livemem.store.bucket import REVIEW

REPLACED = "Another run replaced it. Its notes go into that run."
CHANGED = "Bank, rules or notes have changed since the plan was made. Its notes are live."
ERASED = "Content of the space was erased, and the plan might have quoted it. Its notes are live."
LOST = "Its plan is missing. Its notes are live."


def supersede(process: Process, head: Head, message: str) -> Head:
    """Give up the plan that waits, if there is one. Its notes stay live. Raises PreconditionLost."""
    return decide(process, head, Decision(code="superseded", message=message, at=clock.iso(process.clock())))


def decide(process: Process, head: Head, decision: Decision, **changes: object) -> Head:
    """Decide on the plan that waits, if there is one, by a swap over exactly this head, and end its run: 2 GET, 3 PUT
    and 1 DELETE. Raises PreconditionLost.
    """
    decided = head.meta.decided(decision)
    return finish(process, heads.swap(process, head, **decided, **changes)) if decided else head


def finish(process: Process, head: Head) -> Head:
    """End the run whose plan was decided, remove the plan, and return the head after it. No request where none was
    decided.

    The run of an approved plan is ended when its change is applied (changes/commit.py).
    """
    review = head.meta.review
    if not review or not review.decision or head.meta.committed_run:
        return head
    end(process, head.meta, review.run_id, review.decision)
    return heads.update(process, head.meta.space_id, lambda meta: {"review": None} if meta.review == review else {})


def end(process: Process, meta: Meta, run_id: str, decision: Decision, **more: object) -> None:
    """Write the decision and the fields of `more` into the run, and remove its plan. A repeat changes nothing."""
    for _ in range(TRIES):
        saved = runs.find(process, meta.space_id, run_id)
        if not saved or saved.value.uid != meta.uid or saved.value.ended():
            break
        try:
            runs.change(process, saved, **_ended(process, saved.value, decision), **more)
            break
        except PreconditionLost:
            continue
    else:
        raise PreconditionLost("The run was changed too often at the same time. Try again.")
    process.store.delete(REVIEW.key(meta.space_id, run_id))


def outcome(decision: Decision) -> dict[str, object]:
    """The fields of a run whose plan was decided so."""
    code = decision.code
    return runs.with_status("done") if code == "approved" else runs.with_status("cancelled", code)


def _ended(process: Process, run: Run, decision: Decision) -> dict[str, object]:
    return {
        **outcome(decision),
        "ended_at": run.ended_at or clock.iso_millis(process.clock()),
        "message": decision.message,
        "error": None,
        "consolidation": decision.consolidation,
        "decided_by": decision.by,
        "decided_at": decision.at,
    }
