"""The expiry of archives: the service keeps archives to download, and uploaded ones, for a day."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from livemem.copies import export_job
from livemem.process import Process
from livemem.store import large
from livemem.store.bucket import EXPORT, UPLOAD
from livemem.store.large import Begun
from livemem.store.objects import Entry

LIFE = timedelta(days=1)


@dataclass(frozen=True)
class Expired:
    """The expired objects: keys of archives and of their states, keys of uploads to import, and the number of abandoned
    uploads in parts. `bytes` of all objects.
    """

    exports: list[str]
    uploads: list[str]
    parts: int
    bytes: int


def expire(process: Process, now: datetime | None = None, *, dry_run: bool = False) -> Expired:
    """Remove archives that are older than a day, and their other objects. With `dry_run` only report them.

    2 LIST per 1,000 objects, 1 ListMultipartUploads, 1 GET for each expired archive, 1 abort for each upload in parts,
    2 DeleteObjects per 1,000. With `now` an object's age counts until then, else by the store's clock.
    """
    exports = [entry for entry in process.store.scan(EXPORT.prefix()) if _is_over(entry, now)]
    uploads = [entry for entry in process.store.scan(UPLOAD.prefix()) if _is_over(entry, now)]
    parts = [begun for begun in large.begun(process.store, EXPORT.prefix()) if _is_left_behind(process, begun, now)]
    expired = Expired(
        [entry.key for entry in exports],
        [entry.key for entry in uploads],
        len(parts),
        sum(entry.size for entry in (*exports, *uploads)),
    )
    if dry_run:
        return expired
    states = [entry.key for entry in exports if entry.key.endswith(".json")]
    process.store.map(lambda key: _abort(process, key), states)
    process.store.map(lambda begun: large.abort(process.store, begun.key, begun.upload_id), parts)
    # The states first: a state whose archive is gone would cost a caller a needless look.
    process.store.delete_many(states)
    process.store.delete_many([key for key in (*expired.exports, *expired.uploads) if key not in set(states)])
    return expired


def _is_over(entry: Entry, now: datetime | None) -> bool:
    return (entry.age if now is None else now - entry.last_modified) > LIFE


def _is_left_behind(process: Process, begun: Begun, now: datetime | None) -> bool:
    """Whether no worker will continue an upload in parts: it is old, and no unexpired job knows it."""
    if (now or begun.seen_at) - begun.begun_at <= LIFE:
        return False
    item = process.store.get(begun.key.removesuffix(".tar.gz") + ".json")
    saved = export_job.parse(item)
    return not item or not saved or item.age > LIFE or saved.value.upload_id != begun.upload_id


def _abort(process: Process, key: str) -> None:
    saved = export_job.parse(process.store.get(key))
    if saved and saved.value.upload_id:
        archive = EXPORT.key(saved.value.space_id, saved.value.job_id)
        large.abort(process.store, archive, saved.value.upload_id)
