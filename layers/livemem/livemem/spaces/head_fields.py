"""What the head of a space remembers of work under way, and of late requests that may still disturb it.

The rooms above do the work; these are fields alone. Why each is in the head:

- `Arrival` (restore/provisioning_job.py): until all of a space is there its head is a tombstone that says so. Then
  nobody sees it, nothing can be committed to it, and nobody creates another space under its id.
- `Erasing` (erasure/erasure.py): a write whose answer was lost is sent again, and may bring an erased note back. So the
  space is looked at once more when no request from before can come any more.
- `Review` (changes/proposals.py): a plan waits for a person from the swap that writes it here, and another swap decides
  it: whoever comes second sees what the first has decided. The run is told afterwards, perhaps by another process. So
  what was decided stays here until the run says it too.
- `LateWriteRepair` (changes/late_write_repair.py): where a change has brought back what was there before, as undo does,
  the condition of a late write holds once more. So such changes are watched until no request from before them can come
  any more.
"""

from typing import Literal

from pydantic import BaseModel

from livemem.store.stored_documents import Count, Line, Moment, Number, Seconds

Mode = Literal["auto", "review"]
"""Whether a consolidation commits by itself, or waits with its plan for a person."""


class Arrival(BaseModel, defer_build=True):
    """What a head says of it."""

    arrival_id: Line
    kind: Literal["restore", "fork", "import"]
    space_id: Line | None = None
    """The space that it comes from; of an import the one that the archive names, once it was read."""
    backup_id: Line | None = None
    """The backup of that space."""
    at: Number | None = None
    """The change as of which it was forked; None: as it stood."""
    upload_id: Line | None = None
    upload_etag: Line | None = None
    """The archive that is imported, exactly that version of it."""
    requested_by: Line
    options: dict[str, str] = {}
    """Of an import of Markdown files: description and rules."""
    started_at: Moment
    held_seconds: Seconds = 0
    """For how long after the head was written somebody is at work on it."""
    finished_at: Moment | None = None
    objects: Count | None = None
    """How many objects were brought, once they are all there."""
    error: dict[str, str] | None = None
    """Code and detail of why it was given up."""

    def ended(self) -> bool:
        """Whether it is all there, or was given up."""
        return self.finished_at is not None


class Erasing(BaseModel, defer_build=True):
    """Ids of erasures: the one `at_work`, and those that are `watched`, until when."""

    at_work: str | None = None
    watched: dict[str, Moment] = {}


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

    def waiting(self) -> str:
        """That the plan waits, for users."""
        return f"The plan of the run {self.run_id} waits for approval since {self.planned_at}."


class Watched(BaseModel, defer_build=True):
    """The newest change of one file since the space is watched, and whether it deleted the file."""

    number: Number
    gone: bool = False


class LateWriteRepair(BaseModel, defer_build=True):
    """What is watched: files by their path in the records, and the numbers of undo that brought notes back."""

    until: Moment
    files: dict[str, Watched] = {}
    returned: list[Number] = []
