"""Runs: one attempt each to consolidate, as a job that its worker updates and users poll.

Of several deliveries of one run the one that is named in it as its worker ends it (changes/recovery.py says when it
may).
"""

from collections.abc import Mapping
from typing import Any, Literal, Self, cast

from pydantic import model_validator

from livemem.jobs import job as jobs
from livemem.jobs.job import ENDED, Job
from livemem.jobs.job import Status as JobStatus
from livemem.llm.usage import Usage
from livemem.process import Process
from livemem.spaces import unreadable, usage_counts
from livemem.spaces.usage_counts import WAITS
from livemem.store import keys
from livemem.store.stored import Read, Stored
from livemem.store.stored_documents import Count, Line, Moment, Position

Result = Literal["ok", "nothing_to_do", "busy", "error", "awaiting_approval", "refused", "superseded"]
State = Literal["queued", "running", Result]
"""How a run stands, as the API says it."""
STATUS: Mapping[Result, JobStatus] = {
    "ok": "done",
    "nothing_to_do": "done",
    "awaiting_approval": "done",
    "busy": "failed",
    "error": "failed",
    "refused": "cancelled",
    "superseded": "cancelled",
}
Trigger = Literal["api", "threshold", "sweep", "gc"]
BY_HAND: tuple[Trigger, ...] = ("api", "gc")
"""Triggers of runs that somebody ordered: also where the space does not consolidate by itself."""


class Run(Job):
    """`_runs/{job_id}.json`. It ends with its `result`; one whose plan waits for a person has not ended, but is at
    rest.
    """

    kind: Line = "consolidation"
    uid: Line
    result: Result | None = None
    step: str | None = None
    """While running: asking, applying."""
    trigger: Trigger
    agent: Line | None = None
    max_notes: Count | None = None
    dry_run: bool = False
    replace: bool = False
    """Whether it may take the place of a plan that waits for approval."""
    base: Position | None = None
    """Number of the newest change when it began: what it commits has the next one."""
    consolidation: Position | None = None
    model: Line | None = None
    metrics: dict[str, Any] = {}
    asking: Usage = Usage()
    """What its worker asks of the LLM now, estimated before it does so; `usage` is what was asked before that."""
    message: str | None = None
    plan: dict[str, Any] | None = None
    """What a dry run would do."""
    decided_by: Line | None = None
    """Who approved or refused its plan."""
    decided_at: Moment | None = None
    came: bool = False
    """Whether it came with a space that was restored or imported: what it used counts where it ran."""

    @model_validator(mode="after")
    def _has_a_result_if_at_rest(self) -> Self:
        if self.at_rest() != (self.result is not None):
            raise ValueError(f"a run is {self.status!r} with the result {self.result!r}")
        return self

    @property
    def state(self) -> State:
        """How it stands, as the API says it."""
        return self.result or cast(State, self.status)

    def ended(self) -> bool:
        """Whether nothing more happens to it."""
        return self.at_rest() and self.result != WAITS

    def at_rest(self) -> bool:
        """Whether nobody works on it: it has ended, or its plan waits for a person."""
        return self.status in ENDED

    def by_hand(self) -> bool:
        """Whether somebody ordered it."""
        return self.trigger in BY_HAND

    def changed(self, changes: Mapping[str, Any]) -> Self:
        """The run with `changes`. One that comes to rest by them says what it used in all."""
        after = super().changed(changes)
        if self.at_rest() or not after.at_rest():
            return after
        asked = Usage.of(after.metrics) if "llm_calls" in after.metrics else after.asking
        return after.model_copy(update={"usage": after.usage + asked, "asking": Usage()})


def with_result(result: Result) -> dict[str, Any]:
    """What a run says with this result."""
    return {"status": STATUS[result], "result": result, "step": None}


def create(process: Process, run: Run) -> Stored[Run]:
    """Write a new run: 1 PUT."""
    return jobs.create(process, keys.run(run.space_id, run.job_id), run)


def find(process: Process, space_id: str, run_id: str, missing: list[str] | None = None) -> Stored[Run] | None:
    """The run as stored, or None; one that cannot be read is none, and its key is added to `missing`."""
    return jobs.find(process, keys.run(space_id, run_id), _read(process, missing), space_id, run_id)


def _read(process: Process, missing: list[str] | None = None) -> Read[Run | None]:
    return lambda found: unreadable.tolerated(process, Run, found, missing)


def change(process: Process, found: Stored[Run], **changes: object) -> Stored[Run]:
    """Write `changes` over exactly the run that was read; raises PreconditionLost (it is gone, or changed).

    A run that comes to rest by that is counted (spaces/usage_counts.py).
    """
    written = jobs.change(process, found, **changes)
    usage_counts.come_to_rest(process, written.value.space_id, written.value, found.value.result)
    return written


def finish(process: Process, found: Stored[Run], result: Result, **changes: object) -> Run:
    """Write the run's end, and return the run as it stands then; it is counted.

    A run that is gone or has ended stays as it is, and so does one that another worker runs by now; but that its
    change is committed (`ok`) holds whoever runs it.
    """
    end = with_result(result) | changes
    ended = jobs.finish(process, found, read=_read(process), anyway=lambda _: result == "ok", **end)
    stands = (ended or found).value
    usage_counts.come_to_rest(process, stands.space_id, stands, found.value.result)
    return stands
