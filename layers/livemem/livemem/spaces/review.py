"""What a head remembers of a plan that waits for a person (changes/proposals.py).

A plan waits from the swap that writes it here, and is decided by another one: whoever comes second sees what the first
has decided. The run itself is told afterwards, by the same process or by whoever comes next; so what was decided stays
here until the run says it too.
"""

from typing import Literal

from pydantic import BaseModel

from livemem.store.documents import Count, Moment, Number

Mode = Literal["auto", "review"]
"""Whether a consolidation commits by itself, or waits with its plan for a person."""


class Decision(BaseModel, defer_build=True):
    """What became of a plan: approved (`ok`), refused, or superseded because something else has changed."""

    status: Literal["ok", "refused", "superseded"]
    message: str | None = None
    by: str | None = None
    at: Moment | None = None
    consolidation: Number | None = None
    """The number of the change that an approved one has made."""


class Review(BaseModel, defer_build=True):
    """The run whose plan waits, or was decided just now; `revision` tells the plan's bytes from any others."""

    run_id: str
    revision: str
    planned_at: Moment
    number: Number
    """Of the change that it would make: it can be committed as long as that is the next one."""
    notes_count: Count
    decision: Decision | None = None
