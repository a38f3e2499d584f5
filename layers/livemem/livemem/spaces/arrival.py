"""A space that is brought here as a whole: restored from a backup, forked from another space, or imported.

Until all of it is there its head is a tombstone that says so: then nobody sees it, nothing can be committed to it, and
nobody creates another one under its id. What brings it is in arrivals/arrivals.py.
"""

from typing import Literal

from pydantic import BaseModel

from livemem.store.documents import Count, Moment, Number


class Arrival(BaseModel, defer_build=True):
    """What a head says of it."""

    arrival_id: str
    kind: Literal["restore", "fork", "import"]
    space_id: str | None = None
    """The space that it comes from; of an import the one that the archive names, once it was read."""
    backup_id: str | None = None
    """The backup of that space."""
    at: Number | None = None
    """The change as of which it was forked; None: as it stood."""
    upload_id: str | None = None
    upload_etag: str | None = None
    """The archive that is imported, exactly that version of it."""
    requested_by: str
    options: dict[str, str] = {}
    """Of an import of Markdown files: description and rules."""
    started_at: Moment
    finished_at: Moment | None = None
    objects: Count | None = None
    """How many objects were brought, once they are all there."""
    error: dict[str, str] | None = None
    """Code and detail of why it was given up."""

    def ended(self) -> bool:
        """Whether it is all there, or was given up."""
        return self.finished_at is not None
