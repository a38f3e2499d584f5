"""Runs: one attempt each to consolidate, as a small JSON document that its worker updates and users poll.

A worker that dies can't say so. What a run shows is therefore derived when it is read: one whose time ran out is an
error, one whose consolidation is committed is being applied.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from typing import Any, Literal

from livemem import clock
from livemem.access import decision
from livemem.access.principal import Principal
from livemem.errors import NotFound, PreconditionLost
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.spaces.head import Meta
from livemem.store import documents, keys, timeline
from livemem.store.documents import Document, Moment
from livemem.store.timeline import Timeline

QUEUE_LIFE = timedelta(hours=1)
"""How long the function service keeps an asynchronous invocation (MaximumEventAgeInSeconds in the template)."""

LAST_MOMENT = 2**48 - 1
"""Of an ULID, in milliseconds since 1970."""

Status = Literal["queued", "running", "ok", "nothing_to_do", "busy", "error"]
Trigger = Literal["api", "threshold", "sweep"]
FINAL = ("ok", "nothing_to_do", "busy", "error")
MESSAGE_NOTHING = "No new notes to consolidate"


class Run(Document):
    """`_runs/{run_id}.json`."""

    run_id: str
    space_id: str
    uid: str
    status: Status = "queued"
    step: str | None = None
    """While running: collecting, asking, applying."""
    trigger: Trigger
    agent: str | None = None
    max_notes: int | None = None
    dry_run: bool = False
    requested_by: str | None = None
    queued_at: Moment
    started_at: Moment | None = None
    expires_at: Moment | None = None
    """When a running worker is surely dead."""
    finished_at: Moment | None = None
    consolidation: int | None = None
    model: str | None = None
    metrics: dict[str, Any] = {}
    message: str | None = None
    error: dict[str, str] | None = None
    plan: dict[str, Any] | None = None
    """What a dry run would do."""


@dataclass(frozen=True)
class Saved:
    """A run as read or written, with its ETag."""

    run: Run
    etag: str


def create(process: Process, run: Run) -> Saved:
    """Write a new run: 1 PUT."""
    return Saved(
        run, process.store.put(keys.run(run.space_id, run.run_id), run.to_bytes(), content_type=documents.JSON)
    )


def find(process: Process, space_id: str, run_id: str) -> Saved | None:
    """The run as stored, or None."""
    found = process.store.get(keys.run(space_id, run_id))
    try:
        saved = Saved(Run.from_bytes(found.body), found.etag) if found else None
    except ValueError:
        return None
    # In a copied folder it may name another space, which must not be written to.
    return saved if saved and (saved.run.space_id, saved.run.run_id) == (space_id, run_id) else None


def change(process: Process, saved: Saved, **changes: object) -> Saved:
    """Write `changes` over exactly the run that was read; raises PreconditionLost (it is gone, or changed)."""
    run = saved.run.model_copy(update=changes)
    key = keys.run(run.space_id, run.run_id)
    return Saved(run, process.store.put(key, run.to_bytes(), if_match=saved.etag, content_type=documents.JSON))


def finish(process: Process, saved: Saved, status: Status, **changes: object) -> Saved:
    """Write the run's end; a run that is gone, or that another worker has ended, is left as it is."""
    end: dict[str, object] = {
        "status": status,
        "step": None,
        "finished_at": clock.iso_millis(process.clock()),
        **changes,
    }
    try:
        return change(process, saved, **end)
    except PreconditionLost:
        return Saved(saved.run.model_copy(update=end), saved.etag)


def view(process: Process, space_id: str, run_id: str) -> Run:
    """The run as it stands in truth at `now`; raises InvalidName, NotFound (also for a run of a deleted namesake)."""
    keys.check_run_id(run_id)
    meta = heads.load(process, space_id).meta
    saved = find(process, space_id, run_id)
    if not saved or saved.run.uid != meta.uid:
        raise NotFound("run", run_id)
    return _as_it_stands(process, meta, saved.run)


def page(
    process: Process, caller: Principal, space_id: str, *, limit: int, before: str | None = None
) -> tuple[list[Run], str | None]:
    """Runs of a space that the caller may see, newest first, as `view` shows them, those before the id `before`; and
    the id to go on before, or None.

    1 GET for the head and for each run shown, and a few LIST however many runs there were. Raises InvalidName,
    Forbidden, NotFound.
    """
    decision.check_space(caller, keys.check_space_id(space_id))
    meta = heads.load(process, space_id).meta
    # One more than is shown tells whether there is another page.
    found = list(islice(_newest_first(process, space_id, before), limit + 1))
    shown = process.store.map(lambda run_id: find(process, space_id, run_id), found[:limit])
    runs = [_as_it_stands(process, meta, saved.run) for saved in shown if saved and saved.run.uid == meta.uid]
    return runs, found[limit - 1] if len(found) > limit else None


def _newest_first(process: Process, space_id: str, before: str | None) -> Iterator[str]:
    line = Timeline(keys.runs_prefix(space_id), keys.run_moment, _moment)
    now = int(process.clock().timestamp() * 1_000)
    last = keys.parse_run(keys.run(space_id, before)) if before else None
    end = last[1] + 1 if last and last[1] < LAST_MOMENT else None
    for batch in timeline.newest_first(process.store, line, now=now, before=end):
        ids = [parsed[0] for entry in batch if (parsed := keys.parse_run(entry.key))]
        yield from (run_id for run_id in sorted(ids, reverse=True) if before is None or run_id < before)


def _moment(key: str) -> int | None:
    parsed = keys.parse_run(key)
    return parsed[1] if parsed else None


def _as_it_stands(process: Process, meta: Meta, run: Run) -> Run:
    if run.status in FINAL:
        return run
    deadline = clock.parse(run.expires_at) if run.expires_at else clock.parse(run.queued_at) + QUEUE_LIFE
    if meta.committed_run == run.run_id:
        if process.clock() < deadline:
            return run.model_copy(update={"status": "running", "step": "applying"})
        return _died(run, "The worker died after the commit; the next run or the sweep writes the rest.")
    if process.clock() < deadline:
        return run
    if run.status == "queued":
        return _died(run, "The run was never started; start another one.", code="not_started")
    return _died(run, "The worker died before the commit; all notes are still live.")


def _died(run: Run, detail: str, code: str = "interrupted") -> Run:
    return run.model_copy(update={"status": "error", "step": None, "error": {"code": code, "detail": detail}})
