"""Fields of a space's head about work under way, and about late requests that may still disturb it.

Other packages do the work. These are fields alone. Why each is in the head:

- Restore, fork and import (copies/new_space.py): until a space is complete its head is a tombstone that says
  so. Until then nobody sees it, nothing can be committed to it, and nobody creates another space under its id.
- `Erasing` (erasure/erasure.py): a write whose answer was lost is sent again, and may bring an erased note back. So the
  sweep looks at the space once more when no earlier request can come any more.
- `Review` (changes/proposals.py): a plan waits for a person from the swap that writes it here, and another swap decides
  it. A second caller sees what the first has decided. The run's document is updated afterwards, perhaps by another
  process. So the decision stays here until the run says it too.
- `LateWriteRepair` (changes/late_write_repair.py): if a change restores an earlier state, as undo does, the condition
  of a late write holds once more. So such changes are watched until no earlier request can come any more.
- `Tidied` (consolidation/tidying.py): a tidy run writes itself here before it asks the model. So there is at most one a
  day that starts by itself, and none for a bank that the last one left as it is.
"""

from typing import Any, Literal

from pydantic import model_validator

from livemem.store.stored_documents import Count, Held, LazyModel, Line, Moment, Number

Mode = Literal["auto", "review"]
"""Whether a consolidation commits by itself, or its plan waits for a person."""


class ProvisioningState(Held):
    """A restore, fork or import, as the head of its space describes it."""

    provisioning_id: Line
    kind: Literal["restore", "fork", "import"]
    space_id: Line | None = None
    """The space that it comes from. Of an import: the space that the archive names, once it was read."""
    backup_id: Line | None = None
    """The backup of that space."""
    at: Number | None = None
    """The change as of which the space was forked. None: as it stood."""
    upload_id: Line | None = None
    upload_etag: Line | None = None
    """The ETag of the imported archive. Only that version is imported."""
    more_uploads: dict[str, str] = {}
    """The ETags of the further archives of the space, by the ids of their uploads, in order."""
    requested_by: Line
    options: dict[str, str] = {}
    """Of an import of Markdown files: description and rules."""
    started_at: Moment
    finished_at: Moment | None = None
    objects: Count | None = None
    """How many objects were written, once they all are."""
    error: dict[str, str] | None = None
    """Code and detail of why it was given up."""

    def uploads(self) -> dict[str, str | None]:
        """The ETags of the imported archives by the ids of their uploads, in order."""
        return {self.upload_id: self.upload_etag, **self.more_uploads} if self.upload_id else {}

    def ended(self) -> bool:
        """Whether it is complete, or was given up."""
        return self.finished_at is not None


class Tidied(LazyModel):
    """The last tidy run. `chars`: the length of the bank in characters that it found, or left. `record`: that of the
    last change that one made (keys.record_text), None if none did.
    """

    run_id: Line
    at: Moment
    chars: Count
    record: Line | None = None


class Erasing(LazyModel):
    """Ids of erasures: the one `at_work`, and those that are `watched`, until when."""

    at_work: str | None = None
    watched: dict[str, Moment] = {}


class Decision(LazyModel):
    """What became of a plan: approved, refused, or superseded because something else has changed."""

    code: Literal["approved", "refused", "superseded"]
    message: str | None = None
    by: str | None = None
    at: Moment | None = None
    consolidation: Number | None = None
    """The number of the change that the approved plan has made."""

    @model_validator(mode="before")
    @classmethod
    def _without_status(cls, document: Any) -> Any:
        # A head that was written when the code was called a status.
        if not isinstance(document, dict) or "status" not in document:
            return document
        code = "approved" if document["status"] == "ok" else document["status"]
        return {name: value for name, value in document.items() if name != "status"} | {"code": code}


class Review(LazyModel):
    """The run whose plan waits, or was decided just now. `revision` identifies the plan's bytes."""

    run_id: str
    revision: str
    planned_at: Moment
    number: Number
    """Number of the change that the plan would make. The plan can be committed as long as this is the next number."""
    notes_count: Count
    decision: Decision | None = None

    def waiting(self) -> str:
        """A sentence for users: the plan waits."""
        return f"The plan of the run {self.run_id} has waited for approval since {self.planned_at}."


class Watched(LazyModel):
    """The newest change of one file since the space is watched, and whether it deleted the file."""

    number: Number
    gone: bool = False


class LateWriteRepair(LazyModel):
    """The watched objects: files by their path in the records, and the numbers of undos that brought notes back."""

    until: Moment
    files: dict[str, Watched] = {}
    returned: list[Number] = []
