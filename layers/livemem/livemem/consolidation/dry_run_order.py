"""The order of a run by hand, with what only a dry run can have: other rules, or the notes of an earlier change."""

from dataclasses import replace

from livemem.access.principal import Principal
from livemem.bank import time_travel
from livemem.changes import records
from livemem.errors import Conflict, InvalidRequest
from livemem.jobs import queue
from livemem.jobs.queue import RunOrder
from livemem.jobs.run import Run
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.spaces import rules

ONLY_DRY = "works only in a dry run: set `dry_run`"


def order(process: Process, principal: Principal, space_id: str, request: RunOrder) -> Run:
    """Queue a run by hand: the requests of queue.order. With `notes_of` also 1 GET, 1 LIST, and 1 GET for the record.

    Raises as queue.order does; also InvalidRequest, TooLarge, NotFound for a change that there is not, and Conflict for
    one that is too long ago.
    """
    if request.tidy:
        for name in ("agent", "max_notes", "notes_of"):
            if getattr(request, name) is not None:
                raise InvalidRequest.of(name, "is about notes, and a tidy run folds none: leave `tidy` or this out")
    text = rules.chosen(request.rules, request.rules_template)
    if not request.dry_run:
        if text is not None:
            raise InvalidRequest.of("rules" if request.rules is not None else "rules_template", ONLY_DRY)
        if request.notes_of is not None:
            raise InvalidRequest.of("notes_of", ONLY_DRY)
    if request.notes_of is not None:
        _check_change(process, space_id, request.notes_of)
    return queue.order(process, principal, space_id, replace(request, rules=text, rules_template=None))


def _check_change(process: Process, space_id: str, number: int) -> None:
    """Answer now what the run would say later."""
    meta = heads.load(process, space_id).meta
    record = records.get(process, space_id, number)
    if record.kind != "consolidation" or not record.notes:
        raise InvalidRequest.of("notes_of", "must be the number of a consolidation, which has notes")
    if meta.changes - number > time_travel.MOST_CHANGES:
        raise Conflict(
            f"More than {time_travel.MOST_CHANGES} changes were made after change {number}. Choose a later one."
        )
