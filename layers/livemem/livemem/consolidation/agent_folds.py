"""An agent folds: a run whose model is the agent that began it. Nothing else differs from other runs (pipeline.py).

The agent gets the prompt with one request, and sends its answer with the next one. In between its run has the space's
lease, as `agent` (jobs/lease.py). A run that lost the lease is over: its answer comes too late, and all notes are live.
"""

import hashlib
from dataclasses import dataclass
from datetime import timedelta

from livemem import clock
from livemem.access import decision
from livemem.access.principal import Principal
from livemem.changes import run_progress
from livemem.consolidation import announcing, pipeline
from livemem.consolidation.agent_answers import AnswerWanted
from livemem.errors import (
    Busy,
    Conflict,
    Forbidden,
    LiveMemoryError,
    NotFound,
    StillAtWork,
    TooSoon,
)
from livemem.jobs import describable, lease, places
from livemem.jobs import job as jobs
from livemem.jobs import run as runs
from livemem.jobs.lease import Hold, LeaseTaken
from livemem.jobs.run import AgentFold, Run
from livemem.process import Process
from livemem.spaces import due_index
from livemem.spaces import head as heads
from livemem.store import keys, stored, timing
from livemem.store.bucket import RUN
from livemem.store.capability_check import require_conditional_writes
from livemem.store.stored import Stored

PER_HOUR = 2
HOUR = timedelta(hours=1)
AGAIN = "All notes are live: begin again."
REPEATED = "This answer came already. The run needs another one, to this question:"


@dataclass(frozen=True)
class Folding:
    """The run, and what the agent is to answer next. None: the run is at rest."""

    run: Run
    question: AnswerWanted | None = None


def begin(process: Process, principal: Principal, space_id: str, max_notes: int | None = None) -> Folding:
    """Begin a run, and ask the agent. Without notes to fold the run ends at once. An agent that begins again before its
    first answer is asked the same once more.

    2 GET, 1 LIST, 1 GET for each run of the last hour, 4 PUT, and the requests of a run until it asks its model. Raises
    NotFound, Forbidden, Conflict, Busy, TooSoon, StoreUnavailable.
    """
    require_conditional_writes(process.store)
    decision.check_permission(principal, "read")
    head = heads.load(process, space_id)
    if not head.meta.agent_folds:
        raise Forbidden("No agent folds this space: an admin switches `agent_folds` on.")
    if waits := head.meta.pending_plan:
        raise Conflict(f"{waits.waiting()} No other plan is made before that. All notes are live.")
    due_index.leave_now(process, space_id, "space")
    run_id, place = process.new_id(), places.of_space(space_id)
    try:
        hold = lease.acquire(process, place, run_id, "agent", worker=process.new_id(), life=timing.AGENT, by_hand=True)
    except LeaseTaken as taken:
        return _asked_again(process, principal, space_id, taken)
    try:
        _check_pause(process, space_id)
        run = Run(
            job_id=run_id,
            space_id=space_id,
            uid=head.meta.uid,
            created_at=clock.iso_millis(process.clock()),
            trigger="agent",
            max_notes=max_notes,
            requested_by=principal.name,
            fold=AgentFold(by=_identity(principal)),
        )
        saved = jobs.create(process, RUN.key(space_id, run_id), run)
    except LiveMemoryError:
        lease.quietly_release(process, hold)
        raise
    return _carried_out(process, saved, hold)


def _asked_again(process: Process, principal: Principal, space_id: str, taken: LeaseTaken) -> Folding:
    """The question of the run that the agent has begun before: the reply was lost. Raises LeaseTaken for others."""
    saved = runs.find(process, space_id, taken.lease.owner) if taken.lease.kind == "agent" else None
    fold = saved and saved.value.fold
    if not saved or not fold or fold.by != _identity(principal) or fold.answers:
        raise taken
    return _carried_out(process, saved, _taken(process, saved.value))


def answer(process: Process, principal: Principal, job: str, text: str) -> Folding:
    """Take the agent's answer to the job, and apply it or ask once more. An answer that comes again gets the same
    reply, whose question says so.

    4 GET, 3 PUT, and the requests of a run. Raises InvalidRequest, NotFound, Forbidden, Conflict for an answer that
    comes too late, Busy, StoreUnavailable.
    """
    require_conditional_writes(process.store)
    space_id = keys.check_space_id(job.partition(".")[0])
    principal = decision.check_space(process, principal, space_id)
    decision.check_permission(principal, "read")
    run_id = describable.name_of(job, space_id, "consolidation")
    head = heads.load(process, space_id)
    saved = runs.find(process, space_id, keys.check_run_id(run_id))
    if not saved or saved.value.uid != head.meta.uid:
        raise NotFound("run", run_id)
    fold = saved.value.fold
    if not fold:
        raise Conflict("The run asks no agent.")
    if fold.by != _identity(principal):
        raise Forbidden("Only the token that began the run may answer.")
    digest = _digest(text)
    if saved.value.at_rest():
        if digest in fold.digests:
            return Folding(run_progress.view(process, space_id, run_id))
        raise Conflict(f"The run has ended ({saved.value.state}). {AGAIN}")
    due_index.leave_now(process, space_id, "space")
    hold = _taken(process, saved.value)
    repeated = digest in fold.digests
    try:
        if not repeated:
            # After its first answer the agent has the time once more, and then no more.
            fold = fold.model_copy(
                update={
                    "answers": [*fold.answers, text],
                    "digests": [*fold.digests, digest],
                    "until": fold.until if fold.answers else None,
                }
            )
            with stored.race(lost=Busy("Another request has just changed the run. Send the answer again.")):
                saved = runs.change(process, saved, fold=fold)
    except LiveMemoryError:
        lease.let_go(process, hold)
        raise
    folding = _carried_out(process, saved, hold)
    if repeated and folding.question:
        folding.question.messages = [{"role": "user", "content": REPEATED}, *folding.question.messages]
    return folding


def _taken(process: Process, run: Run) -> Hold:
    """The lease that waits for this answer, or that a worker of the same run has left behind. Raises Conflict, Busy."""
    place = places.of_space(run.space_id)
    current = lease.look(process, place)
    mine = current and current.lease.owner == run.job_id and (current.live() or current.lease.kind != "agent")
    if not mine:
        raise Conflict(f"The answer comes too late, or other work has begun in the space since. {AGAIN}")
    return lease.acquire(process, place, run.job_id, "consolidation", worker=process.new_id())


def _carried_out(process: Process, saved: Stored[Run], hold: Hold) -> Folding:
    run = saved.value
    deadline = process.clock() + timing.AGENT + announcing.APPLY_MARGIN
    try:
        ended = pipeline.work_under_lease(process, run.space_id, saved, hold, deadline)
        if not ended:
            raise NotFound("space", run.space_id)
        return Folding(ended)
    except AnswerWanted as question:
        return Folding(run.changed({"status": "running"}), question)
    except StillAtWork as error:
        raise Conflict(f"Other work has begun in the space. {AGAIN}") from error


def _identity(principal: Principal) -> str:
    """A text that identifies the token, and the client that acts for its holder."""
    return _digest(f"{principal.token_hash or 'bootstrap'} {principal.connection or ''}")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _check_pause(process: Process, space_id: str) -> None:
    """Raise TooSoon if agents were asked often enough in the last hour."""
    begun = process.clock() - HOUR
    below = RUN.prefix(space_id)
    entries = process.store.scan(below, start_after=f"{below}{keys.run_moment(int(begun.timestamp() * 1_000))}")
    run_ids = [run_id for entry in entries if (run_id := RUN.last(entry.key))]
    documents = process.store.map(lambda run_id: runs.find(process, space_id, run_id), run_ids)
    folds = (saved.value for saved in documents if saved and saved.value.fold and saved.value.fold.collected)
    moments = sorted(run.created_at for run in folds)
    if len(moments) < PER_HOUR:
        return
    wait = clock.parse(moments[-PER_HOUR]) - begun
    raise TooSoon(
        f"Agents have begun {PER_HOUR} runs of this space within an hour. All notes are live.",
        retry_after=max(int(wait.total_seconds()) + 1, 1),
    )
