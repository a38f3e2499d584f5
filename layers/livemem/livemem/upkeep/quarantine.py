"""The record of an object that was set aside because it could not be read."""

from livemem.store.stored_documents import Moment, StoredDocument


class Quarantined(StoredDocument):
    """`_quarantine/{id}.json`: beside it, in `{id}.object`, the bytes as they were. `name` is the key below the space
    under which the object was; `instead` the SHA-256 of what took its place, None where nothing did.
    """

    quarantine_id: str
    name: str
    size: int
    etag: str
    sha256: str
    written_at: Moment
    """When the object was written, by the store's clock."""
    content_type: str = ""
    metadata: dict[str, str] = {}
    by: str
    at: Moment
    reason: str
    instead: str | None = None
    put_back_by: str | None = None
    put_back_at: Moment | None = None
