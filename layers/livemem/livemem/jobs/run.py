"""Runs: each is one attempt to consolidate, as a job that its worker updates and users poll.

Of several deliveries of one run, the one that the run names as its worker ends it (changes/recovery.py says when it
may).
"""

from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import model_validator

from livemem.jobs import job as jobs
from livemem.jobs.job import Job, Status
from livemem.llm.usage import Usage
from livemem.process import Process
from livemem.spaces import unreadable, usage_counts
from livemem.store.bucket import RUN
from livemem.store.stored import Read, Stored
from livemem.store.stored_documents import Count, LazyModel, Line, Moment, NoteId, Number, Position

RunCode = Literal["nothing_to_do", "busy", "awaiting_approval", "refused", "superseded"]
"""Why a run has its status, where that alone does not say it."""
Trigger = Literal["api", "threshold", "session_end", "daily", "sweep", "gc", "agent"]
BY_HAND: tuple[Trigger, ...] = ("api", "gc", "agent")
"""Triggers of runs that a user ordered. They work in spaces without automatic consolidation too."""
ENOUGH: Mapping[Trigger, int] = {"session_end": 3, "daily": 1}
"""Notes that are enough for a run that is so triggered, where they are fewer than the space's threshold."""


def enough(trigger: Trigger, threshold: int) -> int:
    """How many notes a run needs that starts by itself."""
    return min(ENOUGH.get(trigger, threshold), threshold)


class AgentFold(LazyModel):
    """The part of a run's model that an agent has. Once the run is at rest, nothing of the answers is kept."""

    by: Line
    """The one who began, and who alone may answer: the digest of what identifies the token."""
    notes: list[NoteId] = []
    """The notes that the agent was shown. Empty: it was asked nothing yet."""
    collected: Line | None = None
    """The digest of all that it was shown."""
    until: Moment | None = None
    """The end of the time for its next answer. None: the next question sets it."""
    answers: list[str] = []
    digests: list[Line] = []
    """Those of all its answers."""


class Run(Job):
    """`_runs/{job_id}.json`. A run whose plan waits for a person is `waiting`: it has not ended, but is at rest."""

    kind: Line = "consolidation"
    uid: Line
    code: RunCode | None = None
    step: str | None = None
    """While the run is at work: `asking` or `applying`."""
    trigger: Trigger
    agent: Line | None = None
    max_notes: Count | None = None
    dry_run: bool = False
    tidy: bool = False
    """Whether it shortens the bank. It folds no notes then."""
    replace: bool = False
    """Whether the run may replace a plan that waits for approval."""
    rules: str | None = None
    """Of a dry run by other rules than the space's: these rules."""
    notes_of: Number | None = None
    """Of a dry run over the notes of an earlier change: its number."""
    base: Position | None = None
    """Number of the newest change when the run began. Its commit gets the next number."""
    consolidation: Position | None = None
    model: Line | None = None
    metrics: dict[str, Any] = {}
    asking: Usage = Usage()
    """The present call of the LLM, estimated before it is made. `usage` counts the calls before it."""
    message: str | None = None
    plan: dict[str, Any] | None = None
    """The changes that a dry run would make."""
    decided_by: Line | None = None
    """The person who approved or refused its plan."""
    decided_at: Moment | None = None
    fold: AgentFold | None = None
    """Of a run that an agent folds."""
    came: bool = False
    """Whether the run came with a space that was restored or imported. Its usage counts where it ran."""

    @model_validator(mode="before")
    @classmethod
    def _without_result(cls, document: Any) -> Any:
        return usage_counts.without_result(document)

    @model_validator(mode="after")
    def _waits_for_approval_alone(self) -> Self:
        if (self.status == "waiting") != (self.code == "awaiting_approval"):
            raise ValueError(f"a run is {self.status!r} with the code {self.code!r}")
        return self

    @property
    def state(self) -> str:
        """Its code, or without one its status."""
        return self.code or self.status

    def at_rest(self) -> bool:
        """Whether no worker works on the run: it has ended, or its plan waits for a person."""
        return self.status not in ("queued", "running")

    def by_hand(self) -> bool:
        """Whether a user ordered it."""
        return self.trigger in BY_HAND

    def changed(self, changes: Mapping[str, Any]) -> Self:
        """The run with `changes`. If they bring it to rest, it also gets its total usage."""
        after = super().changed(changes)
        if self.at_rest() or not after.at_rest():
            return after
        last_call = Usage.of(after.metrics) if "llm_calls" in after.metrics else after.asking
        fold = after.fold and after.fold.model_copy(update={"notes": [], "answers": []})
        return after.model_copy(update={"usage": after.usage + last_call, "asking": Usage(), "fold": fold})


def with_status(status: Status, code: RunCode | None = None) -> dict[str, Any]:
    """The fields of a run that has come to rest."""
    return {"status": status, "code": code, "step": None}


def find(process: Process, space_id: str, run_id: str, missing: list[str] | None = None) -> Stored[Run] | None:
    """The run as stored, or None. None also for a run that can't be read, whose key is added to `missing`."""
    return jobs.find(process, RUN.key(space_id, run_id), _read(process, missing), space_id, run_id)


def _read(process: Process, missing: list[str] | None = None) -> Read[Run | None]:
    return lambda document: unreadable.tolerated(process, Run, document, missing)


def change(process: Process, saved: Stored[Run], **changes: object) -> Stored[Run]:
    """Write `changes` over exactly the run that was read. Raises PreconditionLost: the run is gone, or was changed.

    If the write brings the run to rest, its usage is counted (spaces/usage_counts.py).
    """
    written = jobs.change(process, saved, **changes)
    usage_counts.come_to_rest(process, written.value.space_id, written.value, saved.value.status)
    return written


def finish(process: Process, saved: Stored[Run], status: Status, code: RunCode | None = None, **changes: object) -> Run:
    """Write the run's end, count its usage, and return the run as it is then.

    A run that is gone or has ended stays as it is. So does one that another worker has taken, except for `done`
    without a code: the change of the run is committed then, and that holds for every worker.
    """
    end = with_status(status, code) | changes
    ended = jobs.finish(process, saved, read=_read(process), anyway=lambda _: status == "done" and not code, **end)
    stands = (ended or saved).value
    usage_counts.come_to_rest(process, stands.space_id, stands, saved.value.status)
    return stands
