"""Bringing the summaries of a conversation up to its log, on behalf of events, callers and the sweep.

A look that finds nothing to do writes nothing and calls no LLM. Otherwise the work is a job (jobs/worker.py), one at a
time under the lease of the conversation. To make one summary again is a job of its own, which may run beside another.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from livemem.conversations import conversation as conversations
from livemem.conversations import due, levels, log, making, names, summaries_job, summary_versions
from livemem.conversations import summaries as found
from livemem.conversations.levels import Done
from livemem.conversations.making import Made
from livemem.conversations.summaries import Vanished
from livemem.conversations.summaries_job import Redo, SummariesJob
from livemem.conversations.summary_versions import At, Standing
from livemem.errors import (
    ConversationBroken,
    LiveMemoryError,
    ObjectUnreadable,
    OutOfTime,
    PreconditionLost,
    RunError,
    StillAtWork,
)
from livemem.jobs import counter, places, shares, worker
from livemem.jobs.job import Failure, Progress
from livemem.jobs.lease import LeasePlace
from livemem.jobs.shares import Share, Waited
from livemem.jobs.worker import End, Kind, Work, Worked
from livemem.llm.answering import OUT_OF_TIME
from livemem.llm.usage import Usage
from livemem.process import Process
from livemem.store import keys
from livemem.store.bucket import SUMMARIES_JOB, TURN
from livemem.store.capability_check import require_conditional_writes
from livemem.store.stored import Stored

LOOKED_AT_AGAIN = timedelta(minutes=10)
"""After which the sweep checks whether a rebuild still runs."""
INTERRUPTED = Failure(
    code="interrupted", detail="The summaries that it worked on were replaced. They are checked again."
)
REPLACED = Failure(code="replaced", detail="All summaries were made again in the meantime.")


def carry_out(
    process: Process,
    payload: Mapping[str, Any],
    deadline: datetime,
    delivery: str = "",
    waited: timedelta = timedelta(),
) -> list[Worked[SummariesJob]]:
    """Carry out the job of an invocation, or look at a conversation, until shortly before `deadline`. Another
    invocation does the rest. `delivery` is the id of the invocation, which its retries share. `waited`: how long it has
    waited for a slot.

    Raises KeyError for an unknown kind, InvalidName, and so that Lambda tries again StoreUnavailable and StillAtWork.
    """
    space_id = keys.check_space_id(payload["space_id"])
    if "kind" not in payload:
        conversation_id = keys.check_conversation_id(payload["conversation_id"])
        result = Waited(waited, in_line=bool(payload.get(shares.IN_LINE)))
        return [_look_in_turn(process, space_id, conversation_id, deadline, delivery, result)]
    kind, conversation_id = KINDS[payload["kind"]], keys.check_conversation_id(payload["subject"])
    worked = worker.work(
        process,
        kind,
        space_id,
        payload["job_id"],
        deadline,
        subject=conversation_id,
        delivery=delivery,
        by_hand=bool(payload.get("by_hand")),
    )
    done = [_looked_once_more(process, space_id, conversation_id, worked)]
    if kind is REDO and worked.result == "ended":
        # The summaries above it follow: now, or by the running job, or by the sweep.
        with suppress(StillAtWork):
            done.append(look(process, space_id, conversation_id, deadline, delivery=delivery))
    return done


def _look_in_turn(
    process: Process, space_id: str, conversation_id: str, deadline: datetime, delivery: str, waited: Waited
) -> Worked[SummariesJob]:
    """Look at a conversation if its space may have one more in progress now. Else it is called later."""
    share = Share(
        "summarize",
        space_id,
        conversation_id,
        process.settings.work_at_once_per_space,
        lambda other: {"space_id": space_id, "conversation_id": other},
    )
    with shares.shared(process, share, waited) as may_begin:
        if not may_begin:
            return Worked("waiting")
        return look(process, space_id, conversation_id, deadline, delivery=delivery)


def hear(
    process: Process,
    event_keys: Sequence[str],
    deadline: datetime,
    delivery: str = "",
    waited: timedelta = timedelta(),
) -> list[Worked[SummariesJob]]:
    """Bring up the conversations to which the turns of these keys belong, once each. Other keys are ignored. `waited`:
    how long the event has waited for a slot.

    Raises as carry_out. StillAtWork is raised after all of them were looked at.
    """
    parsed = (TURN.parse(key) for key in event_keys)
    fromkeys = dict.fromkeys(item[:2] for item in parsed if item)
    done, waits = [], None
    for fromkey in fromkeys:
        try:
            done.append(_look_in_turn(process, *fromkey, deadline, delivery, Waited(waited)))
        except StillAtWork as error:
            waits = error
    if waits:
        raise waits
    return done


def look(
    process: Process,
    space_id: str,
    conversation_id: str,
    deadline: datetime,
    *,
    level: int | None = None,
    delivery: str = "",
    by_hand: bool = False,
) -> Worked[SummariesJob]:
    """Bring the conversation up to `level` (None: all levels), if anything is to be done. With `by_hand` a caller waits
    for the answer, so levels above the first are left to an invocation.

    Raises StoreUnavailable, StillAtWork.
    """
    require_conditional_writes(process.store)
    conversation = conversations.find(process, space_id, conversation_id)
    if not conversation:
        return Worked("gone")
    standing = summary_versions.read(process, space_id, conversation)
    try:
        if not standing.known.building and not levels.is_due(process, _at(standing), _up_to(level)):
            _fold_after_session(process, space_id, conversation_id)
            return Worked("nothing")
    except Vanished:
        return Worked("gone")
    rebuild = _rebuild_at_work(process, standing)
    if rebuild:
        # Resume the ordered job: another job would count the rebuild's calls as its own, and keep that one waiting.
        try:
            worked = worker.work(
                process,
                KIND,
                space_id,
                rebuild.value.job_id,
                deadline,
                subject=conversation_id,
                delivery=delivery,
                by_hand=by_hand,
                brief=by_hand,
                current=rebuild,
            )
        except StillAtWork:
            if not by_hand:
                raise
            # A caller is told that it is in progress.
            return Worked("busy", rebuild, rebuild.value.job_id)
        return _looked_once_more(process, space_id, conversation_id, worked)
    if by_hand:
        # Without this entry, no entry of a turn may lead the sweep here if this worker dies.
        due.mark_at(process, space_id, conversation_id, process.clock() + due.LOST_AFTER)
    job = summaries_job.new(process, space_id, conversation, "incremental", standing.current().version, level=level)
    worked = worker.begin(process, KIND, job, deadline, delivery=delivery, by_hand=by_hand, brief=by_hand)
    return _looked_once_more(process, space_id, conversation_id, worked)


def _rebuild_at_work(process: Process, standing: Standing) -> Stored[SummariesJob] | None:
    """The job that a caller ordered to build the next version, if it has not ended. No request where none is being
    built, else 1 GET.
    """
    building = standing.known.building
    if not building or not building.job_id:
        return None
    conversation_id = standing.conversation.conversation_id
    result = KIND.find(process, standing.space_id, building.job_id, subject=conversation_id)
    return result if result and not result.value.ended() else None


def _looked_once_more(
    process: Process, space_id: str, conversation_id: str, worked: Worked[SummariesJob]
) -> Worked[SummariesJob]:
    """Queue another look where a turn, a closing or an order of a rebuild came while the job ran: its event found the
    conversation busy. Else its session may be over. 1 LIST, 1 GET.
    """
    job = worked.job if worked.outcome == "done" else None
    if not job or job.redo:
        return worked
    if not _is_behind(process, space_id, conversation_id, job):
        _fold_after_session(process, space_id, conversation_id)
    else:
        due.mark_at(process, space_id, conversation_id, process.clock() + due.LOST_AFTER)
        # Where the look can't be queued, the sweep finds the conversation in the due index.
        with suppress(LiveMemoryError):
            process.enqueue("summarize", {"space_id": space_id, "conversation_id": conversation_id})
    return worked


def _fold_after_session(process: Process, space_id: str, conversation_id: str) -> None:
    """Start a consolidation if the conversation is closed, where the memory is one person's: 1 GET, 1 LIST."""
    if not process.settings.session_folds:
        return
    # It is a service to the next session. The summaries are made, and the sweep folds what waits for a day.
    with suppress(LiveMemoryError):
        conversation = conversations.find(process, space_id, conversation_id)
        if conversation and log.last_index(process, space_id, conversation_id) in conversation.closings:
            counter.start_if_possible(process, space_id, "session_end")


def _is_behind(process: Process, space_id: str, conversation_id: str, job: SummariesJob) -> bool:
    if job.leaves_rebuild or log.last_index(process, space_id, conversation_id) > job.last_turn:
        return True
    existing = conversations.find(process, space_id, conversation_id)
    return existing is not None and len(existing.closings) > job.closings


def _at(standing: Standing) -> At:
    return At(standing.space_id, standing.conversation, standing.current())


def _up_to(level: int | None) -> Sequence[int]:
    return [item for item in keys.LEVELS if level is None or item <= level]


def _bring_up(work: Work[SummariesJob], standing: Standing, done: Done) -> bool:
    """Bring up the versions. False where work is left for another invocation, or could not be done."""
    process, wanted = work.process, _up_to(work.job.level)
    at, building = _at(standing), standing.known.building
    if not levels.bring_up(process, at, work.deadline, done, levels=[1] if work.brief else wanted):
        return False
    if work.brief and (building or levels.is_due(process, at, wanted)):
        return False
    if not building:
        return True
    ordered = _rebuild_at_work(process, standing) if building.job_id != work.job.job_id else None
    done.leaves_rebuild = ordered is not None
    return True if ordered else _rebuild(work, standing, done)


def _rebuild(work: Work[SummariesJob], standing: Standing, done: Done) -> bool:
    """Build the next version, and let it count when nothing of it is missing."""
    process, building = work.process, standing.known.building
    assert building
    work.kind.look_again(work, LOOKED_AT_AGAIN)
    at = At(standing.space_id, standing.conversation, building)
    before = len(done.failures)
    earlier = found.read(process, _at(standing))
    if not levels.bring_up(process, at, work.deadline, done, earlier=earlier):
        return False
    if len(done.failures) > before:
        return False
    with suppress(PreconditionLost):
        newest = summary_versions.read(process, standing.space_id, standing.conversation)
        if summary_versions.switch(process, newest, building, levels.covered(process, earlier)):
            # Failures of the former version do not count any more. They may be why the rebuild was ordered.
            done.settled = len(done.made)
    return True


def _vanished(work: Work[SummariesJob], done: Done) -> End:
    """End the job: the conversation was removed, or its version replaced, while the job worked on it."""
    process, job = work.process, work.job
    existing = conversations.find(process, job.space_id, job.subject or "")
    # Where the conversation is gone, the job's document is an orphan beside the tombstone by now.
    work.kind.look_again(work, due.LOST_AFTER if existing else timedelta())
    return End("failed" if existing else "cancelled", {**_counted(job, done), "error": INTERRUPTED})


def _redo(work: Work[SummariesJob], at: At, redo: Redo) -> Made | None:
    """Make the summary. None where an earlier delivery has made it, or where it is made later, when its source is
    there.
    """
    process, layers = work.process, found.read(work.process, at)
    if redo.number > layers.boundaries[redo.level]:
        return None
    below = found.current(process, layers, redo.level - 1) if redo.level > 1 else {}
    existing = found.current(process, layers, redo.level).get(redo.number)
    if existing and names.redo_of(existing) >= redo.count:
        return None
    if not existing and redo.number not in found.missing(process, layers, redo.level):
        return None
    material = making.gather(process, layers, redo.level, redo.number, below)
    return making.make(process, layers, material, work.deadline, redo=redo.count)


def _report(work: Work[SummariesJob], done: Done) -> None:
    work.used += sum((item.usage for item in done.made), Usage())
    work.counts.update(made=len(done.generated), failed=len([item for item in done.made if item.error]))


def _counted(job: SummariesJob, done: Done) -> dict[str, Any]:
    """The fields of the job's document: the stored values plus the work of this worker."""
    generated, sealed = dict(job.generated), dict(job.sealed)
    for item in done.generated:
        generated[str(item.level)] = generated.get(str(item.level), 0) + 1
    for level, count in done.boundaries.items():
        sealed[str(level)] = sealed.get(str(level), 0) + count
    millis = [summary.seconds * 1_000 for summary in done.generated]
    latency = {"mean": round(sum(millis) / len(millis), 1), "max": round(max(millis), 1)} if millis else {}
    whole, reused = done.missing + done.present, job.reused + sum(summary.reused for summary in done.made)
    made, rest = (
        sum(generated.values()) + reused,
        max(0, done.missing - len([summary for summary in done.made if summary.name])),
    )
    return {
        "generated": generated,
        "sealed": sealed,
        "reused": reused,
        "usage": sum((summary.usage for summary in done.made), job.usage),
        "latency_ms": latency or job.latency_ms,
        "dirty_share": round(done.missing / whole, 4) if whole and job.dirty_share is None else job.dirty_share,
        "queue_length": rest,
        "progress": Progress(done=made, total=made + rest),
        "last_turn": done.last_turn,
        "closings": done.closings,
        "leaves_rebuild": done.leaves_rebuild,
    }


class _SummaryJobs(Kind[SummariesJob]):
    """What jobs that make summaries have in common."""

    function = "summarize"
    document = SummariesJob
    lasts = timedelta(days=2)
    """When the tokens of a day are used up, it continues on the next day."""
    swept = True

    def key(self, space_id: str, job_id: str, subject: str | None = None) -> str:
        return SUMMARIES_JOB.key(space_id, subject or "", job_id)

    def is_final(self, error: LiveMemoryError) -> bool:
        # A retry would meet the same error.
        return isinstance(error, ObjectUnreadable)

    def look_again(self, work: Work[SummariesJob], after: timedelta) -> None:
        job = work.job
        due.mark_at(work.process, job.space_id, job.subject or "", work.process.clock() + after)


class _Updates(_SummaryJobs):
    """Bringing all summaries of a conversation up to its log."""

    name = "summaries"

    def place(self, job: SummariesJob) -> LeasePlace:
        return places.of_conversation(job.space_id, job.subject or "")

    def step(self, work: Work[SummariesJob]) -> End | None:
        """Bring up the version that counts, then the one that is being built. Raises RunError, OutOfTime."""
        job, done = work.job, Done(tell=lambda done: work.save(**_counted(job, done)))
        conversation = conversations.find(work.process, job.space_id, job.subject or "")
        try:
            if not conversation:
                return _vanished(work, done)
            whole = _bring_up(work, summary_versions.read(work.process, job.space_id, conversation), done)
        except Vanished:
            return _vanished(work, done)
        except ConversationBroken:
            work.save(**_counted(job, done))
            raise
        finally:
            _report(work, done)
        failed = next(iter(done.failures), None)
        if not failed and whole:
            return End(changes=_counted(job, done))
        if done.anything or (failed and failed.usage.calls):
            work.save(**_counted(job, done))
        if failed and failed.error != OUT_OF_TIME:
            raise RunError(failed.error or "", failed.detail)
        raise OutOfTime("Another invocation does the rest.")


class _Redos(_SummaryJobs):
    """One summary that is made again."""

    name = "redo_summary"

    def step(self, work: Work[SummariesJob]) -> End | None:
        """Make one summary again, also while another job is at work: no listing would show the order later."""
        process, job, done = work.process, work.job, Done()
        conversation = conversations.find(process, job.space_id, job.subject or "")
        if not conversation or not job.redo:
            return _vanished(work, done)
        standing = summary_versions.read(process, job.space_id, conversation)
        if job.generation != standing.current().version:
            return End("failed", {"error": REPLACED})
        try:
            made = _redo(work, _at(standing), job.redo)
        except Vanished:
            return _vanished(work, done)
        if made:
            done.missing, done.made = 1, [made]
            _report(work, done)
        if made and made.error == OUT_OF_TIME:
            raise OutOfTime("Another invocation does the rest.")
        if made and made.error:
            return End("failed", {**_counted(job, done), "error": Failure(code=made.error, detail=made.detail)})
        return End(changes=_counted(job, done))


KIND = _Updates()
REDO = _Redos()
KINDS: Mapping[str, Kind[SummariesJob]] = {kind.name: kind for kind in (KIND, REDO)}
