"""The use of the LLM, counted as it happens (totals.py): calls with their tokens, and how runs ended.

A call counts when it has ended. Where a budget is set (jobs/budget.py) it counts from before it is made. A run counts
when it has ended or waits for approval, for the day (UTC) on which it was queued. A run that had nothing to do and made
no call leaves no trace. A failure to count is logged, and fails nothing else.
"""

import logging
from collections.abc import Iterable
from datetime import date, timedelta
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, model_validator

from livemem import clock
from livemem.errors import LiveMemoryError
from livemem.llm.usage import Usage
from livemem.process import Process
from livemem.spaces import totals
from livemem.spaces.totals import Added, Sums
from livemem.store.bucket import RUN
from livemem.store.stored_documents import StoredDocument

logger = logging.getLogger(__name__)

KEPT_DAYS = 31
"""Most days that one answer shows."""

UNENDED = timedelta(days=1)
"""A run that was queued longer ago has ended. The sweep ensures that."""


class RunTold(StoredDocument):
    """The fields of a run (jobs/run.py) that this module reads."""

    model_config = ConfigDict(extra="ignore")
    most_bytes: ClassVar[int] = 64 << 20

    job_id: str
    created_at: str
    status: str
    code: str | None = None
    dry_run: bool = False
    came: bool = False
    metrics: dict[str, Any] = {}
    usage: Usage = Usage()
    asking: Usage = Usage()

    @model_validator(mode="before")
    @classmethod
    def _without_result(cls, document: Any) -> Any:
        return without_result(document)

    def at_rest(self) -> bool:
        """Whether it has ended, or waits for a person."""
        return self.status not in ("queued", "running")

    def used(self) -> Usage:
        """Its use of the LLM by now, with the call under way. Of a call whose worker died nothing else is known."""
        return self.usage + self.asking

    def parts(self, before: str | None) -> list[Added]:
        """The counts of the run that were not made yet when its status was `before` (None: it is not known). Each has
        the id under which it is counted once.
        """
        usage, added = self.used(), []
        done, failed = (self.status == status and self.code is None for status in ("done", "failed"))
        if before in (None, "queued", "running") and (usage.calls or done or failed):
            added.append(Added(self.job_id, Sums.of(usage, runs=1)))
        notes = self.metrics.get("notes_processed", 0) if done and not self.dry_run else 0
        outcome = Sums.of(Usage(), failed_runs=int(failed), notes=notes if isinstance(notes, int) and notes > 0 else 0)
        if before in (None, "queued", "running", "waiting") and outcome != Sums():
            added.append(Added(f"{self.job_id}/end", outcome))
        return added


def without_result(document: Any) -> Any:
    """A run as it is written now, of one that was written with a `result` in the place of a code."""
    if not isinstance(document, dict) or "result" not in document:
        return document
    rest = dict(document)
    result = rest.pop("result")
    waits = {"status": "waiting"} if result == "awaiting_approval" else {}
    return rest | waits | {"code": None if result in ("ok", "error") else result}


def end_call(process: Process, day: date, space_id: str, call_id: str, used: Usage) -> None:
    """Count a call of the LLM that has ended, whose id is `call_id`: 1 GET, 1 PUT (totals.change)."""
    if not used.calls:
        return
    try:
        totals.add(process, day, space_id, [Added(call_id, Sums.of(used))], closes=call_id)
    except LiveMemoryError as error:
        _not_counted(space_id, error)


def come_to_rest(process: Process, space_id: str, run: BaseModel, before: str | None) -> None:
    """Count a run (jobs/run.py) that has ended, or waits for approval, and whose status was `before`. None:
    this is a repeat, in case the worker that ended it died before it counted. 1 GET, 1 PUT (totals.change),
    or none where the run had nothing to do.
    """
    counted = RunTold.model_validate(run.model_dump())
    if counted.came or not counted.at_rest() or not (parts := counted.parts(before)):
        return
    day = clock.parse(counted.created_at).date()
    if process.clock().date() - day > timedelta(days=KEPT_DAYS):
        # A plan has waited for so long that no answer shows its day any more.
        return
    try:
        totals.add(process, day, space_id, parts, closes=counted.job_id)
    except LiveMemoryError as error:
        _not_counted(space_id, error)


def keep(process: Process, space_id: str, run_keys: Iterable[str]) -> None:
    """Count the use of a space's runs that are about to be removed before they have ended: 1 GET for each run that was
    queued in the last day, and 1 GET and 1 PUT for each that made calls. It may be repeated.
    """
    since = process.clock() - UNENDED
    recent = [run_id for key in run_keys if (run_id := RUN.last(key)) and clock.id_time(run_id) >= since]
    process.store.map(lambda run_id: _keep_one(process, space_id, run_id), recent)


def _keep_one(process: Process, space_id: str, run_id: str) -> None:
    document = process.store.get(RUN.key(space_id, run_id))
    try:
        run = RunTold.from_bytes(document.body) if document else None
        if not run or run.came or run.at_rest():
            return
        day = clock.parse(run.created_at).date()
    except ValueError:
        return
    if run.used().calls:
        totals.add(process, day, space_id, run.parts(None), closes=run.job_id)


def _not_counted(space_id: str, error: LiveMemoryError) -> None:
    logger.warning("what the LLM was used for was not counted", extra={"space_id": space_id, "error_code": error.code})
