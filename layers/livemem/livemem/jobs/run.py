"""Runs: one attempt each to consolidate, as a small JSON document that its worker updates and users poll.

Each write is conditional on what was read. So an end is final, and of several deliveries of one run the one that is
named in it as its worker ends it (changes/recovery.py says when it may).
"""

from typing import Any, ClassVar, Literal

from livemem import clock
from livemem.errors import PreconditionLost
from livemem.llm.usage import Usage
from livemem.process import Process
from livemem.spaces import unreadable, usage
from livemem.store import keys, stored
from livemem.store.documents import Count, Line, Moment, Position
from livemem.store.stored import Revised, Stored

Status = Literal[
    "queued", "running", "ok", "nothing_to_do", "busy", "error", "awaiting_approval", "refused", "superseded"
]
Trigger = Literal["api", "threshold", "sweep", "gc"]
BY_HAND: tuple[Trigger, ...] = ("api", "gc")
"""Triggers of runs that somebody ordered: also where the space does not consolidate by itself."""
FINAL, AT_REST = usage.FINAL, usage.AT_REST
TRIES = 20
MESSAGE_NOTHING = "No new notes to consolidate"


class Run(Revised):
    """`_runs/{run_id}.json`."""

    most_bytes: ClassVar[int] = 64 << 20

    run_id: Line
    space_id: Line
    uid: Line
    status: Status = "queued"
    step: str | None = None
    """While running: collecting, asking, applying."""
    trigger: Trigger
    agent: Line | None = None
    max_notes: Count | None = None
    dry_run: bool = False
    replace: bool = False
    """Whether it may take the place of a plan that waits for approval."""
    requested_by: Line | None = None
    queued_at: Moment
    started_at: Moment | None = None
    expires_at: Moment | None = None
    """When a running worker is surely dead, by its own clock."""
    worker: Line | None = None
    """Which delivery of its invocation runs it."""
    base: Position | None = None
    """Number of the newest change when it began: what it commits has the next one."""
    finished_at: Moment | None = None
    consolidation: Position | None = None
    model: Line | None = None
    metrics: dict[str, Any] = {}
    asking: Usage = Usage()
    """What its worker asks of the LLM now, estimated before it does so."""
    spent: Usage = Usage()
    """What earlier workers of it had asked of the LLM."""
    message: str | None = None
    error: dict[str, str] | None = None
    plan: dict[str, Any] | None = None
    """What a dry run would do."""
    decided_by: Line | None = None
    """Who approved or refused its plan."""
    decided_at: Moment | None = None
    came: bool = False
    """Whether it came with a space that was restored or imported: what it used counts where it ran."""

    def by_hand(self) -> bool:
        """Whether somebody ordered it."""
        return self.trigger in BY_HAND


def create(process: Process, run: Run) -> Stored[Run]:
    """Write a new run: 1 PUT."""
    return stored.create(process.store, keys.run(run.space_id, run.run_id), run, process.new_id)


def find(process: Process, space_id: str, run_id: str, missing: list[str] | None = None) -> Stored[Run] | None:
    """The run as stored, or None; one that cannot be read is none, and its key is added to `missing`."""
    found = stored.find(
        process.store, keys.run(space_id, run_id), lambda one: unreadable.tolerated(process, Run, one, missing)
    )
    # In a copied folder it may name another space, which must not be written to.
    if not found or not found.value or (found.value.space_id, found.value.run_id) != (space_id, run_id):
        return None
    return Stored(found.key, found.value, found.etag, found.age, found.seen_at)


def change(process: Process, found: Stored[Run], **changes: object) -> Stored[Run]:
    """Write `changes` over exactly the run that was read; raises PreconditionLost (it is gone, or changed).

    A run that comes to rest by that is counted (spaces/usage.py).
    """
    written = stored.swap(process.store, found, found.value.model_copy(update=changes), process.new_id)
    usage.come_to_rest(process, found.value.space_id, written.value, found.value.status)
    return written


def finish(process: Process, found: Stored[Run], status: Status, **changes: object) -> Run:
    """Write the run's end, and return the run as it stands then.

    A run that is gone or has ended stays as it is, and so does one that another worker runs by now; but that its
    change is committed (`ok`) holds whoever runs it.
    """
    end: dict[str, object] = {
        "status": status,
        "step": None,
        "finished_at": clock.iso_millis(process.clock()),
        **changes,
    }
    for _ in range(TRIES):
        try:
            return change(process, found, **end).value
        except PreconditionLost:
            newer = find(process, found.value.space_id, found.value.run_id)
        if not newer:
            return found.value
        found = newer
        if found.value.status in FINAL or status != "ok":
            return found.value
    raise PreconditionLost("The run changes too often.")
