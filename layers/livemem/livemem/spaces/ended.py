"""Whether the work of a lease's holder has ended, as the bucket tells it."""

from pydantic import BaseModel

from livemem.process import Process
from livemem.spaces import head as heads
from livemem.store import keys

FINAL = ("ok", "nothing_to_do", "busy", "error", "refused", "superseded")
"""The statuses of a run that has ended."""

AT_REST = (*FINAL, "awaiting_approval")
"""The statuses of a run on which nobody works: it has ended, or its plan waits for a person."""


class _Run(BaseModel, defer_build=True):
    """The one field of a run (runs/run.py) that is asked for here."""

    status: str


def run(process: Process, space_id: str, run_id: str) -> bool:
    """Whether nobody works on the run any more: 1 GET. False where it can't be told."""
    found = process.store.get(keys.run(space_id, run_id))
    try:
        return bool(found and _Run.model_validate_json(found.body).status in AT_REST)
    except ValueError:
        return False


def change(process: Process, space_id: str, change_id: str) -> bool:
    """Whether the change by hand is committed and applied: 1 GET. False where it can't be told."""
    head = heads.find(process, space_id)
    return bool(head and head.meta.last_run == change_id and not head.meta.committed_run)
