"""Former versions of objects that hold what is erased, in a bucket that keeps them."""

from collections import defaultdict
from dataclasses import dataclass, replace

from livemem.erasure import erased
from livemem.erasure.occurrences import AT_ONCE, LEFT_ALONE, Known, check_time
from livemem.erasure.rewriting import concerns
from livemem.erasure.scrubbing import ErasureTask
from livemem.jobs.receipt import Receipt
from livemem.jobs.worker import Work
from livemem.process import Process
from livemem.store import versions
from livemem.store.bucket import (
    BACKUP_OBJECT,
    EXPORT,
    EXPORT_STATE,
    IN_SPACE,
    MEMORY_VECTORS,
    NOTE,
    SEARCH_SNAPSHOT,
    SEGMENT,
    VERDICT,
)
from livemem.store.objects import Store
from livemem.store.versions import Version

FEW = 50
"""Keys up to which each is listed by itself."""


@dataclass(frozen=True)
class Cleared:
    """How many versions were removed, and whether the bucket keeps any."""

    removed: int
    kept: bool


def clear_quoting(work: Work[Receipt], task: ErasureTask, clean: set[Known], skip: str) -> Cleared:
    """Remove the former versions that hold erased text, of all that belongs to the space. Without pieces to look for
    only those of objects that can hold or name a note.

    1 ListObjectVersions per 1,000 versions, 1 GET for each former one that is not `clean`, 1 DeleteObjects per 64 at
    most. Raises VersionsUnreachable, OutOfTime, StoreUnavailable.
    """
    task = replace(task, kept=frozenset(), held=frozenset())
    removed, kept = 0, False
    for prefix in (
        IN_SPACE.prefix(task.space_id),
        BACKUP_OBJECT.prefix(task.space_id),
        EXPORT.prefix(task.space_id),
    ):
        batch: list[Version] = []
        for version in versions.below(work.process.store, prefix):
            kept = kept or version.version_id != versions.NO_ID
            if not version.latest and _to_look_at(version, task, clean, skip):
                batch.append(version)
            if len(batch) == AT_ONCE:
                removed += _clear(work, batch, task, clean)
                batch = []
        removed += _clear(work, batch, task, clean)
    return Cleared(removed, kept)


def _to_look_at(version: Version, task: ErasureTask, clean: set[Known], skip: str) -> bool:
    name = _name(version.key, task.space_id)
    if version.marker or name == skip or name in LEFT_ALONE or name.startswith(("_search/", "_vectors/")):
        return False
    if (name, version.etag, version.size) in clean:
        return False
    return concerns(name, task) or version.key.startswith(EXPORT.prefix())


def _clear(work: Work[Receipt], batch: list[Version], task: ErasureTask, clean: set[Known]) -> int:
    if not batch:
        return 0
    check_time(work)
    store = work.process.store
    holds = store.map(lambda version: _holds(store, version, task, clean), batch)
    doomed = [version for version, bad in zip(batch, holds, strict=True) if bad]
    versions.remove(store, doomed)
    return len(doomed)


def _holds(store: Store, version: Version, task: ErasureTask, clean: set[Known]) -> bool:
    name = _name(version.key, task.space_id)
    if version.key.startswith(EXPORT.prefix()) or _is_erased_note(name, task):
        return True
    if task.is_of_memories and MEMORY_VECTORS.parse(f"x/{name}"):
        # Of what they were made can't always be told.
        return True
    body = versions.read(store, version)
    if body is None:
        return False
    if erased.fate(name, body, task).body != body:
        return True
    clean.add((name, version.etag, version.size))
    return False


def _is_erased_note(name: str, task: ErasureTask) -> bool:
    return NOTE.last(f"x/{name}") in task.ids


def _name(key: str, space_id: str) -> str:
    """The object's name below the space, also of one in a backup."""
    backups = BACKUP_OBJECT.prefix(space_id)
    if key.startswith(backups):
        return key.removeprefix(backups).partition("/")[2]
    return key.removeprefix(IN_SPACE.prefix(space_id))


def clear_former(work: Work[Receipt]) -> Cleared:
    """Remove all former versions of the keys in the receipt's `removing`, and their delete markers: 1
    ListObjectVersions for each of up to 50 keys, for more per 1,000 versions of all; 1 to 2 DeleteObjects per 1,000.
    Raises as above.
    """
    by_prefix: dict[str, set[str]] = defaultdict(set)
    store, doomed_keys = work.process.store, set(work.job.removing)
    for key in doomed_keys:
        by_prefix[key if len(doomed_keys) <= FEW else _folder(key)].add(key)
    former: list[Version] = []
    markers: list[Version] = []
    kept = False
    for prefix, batch in by_prefix.items():
        check_time(work)
        for version in versions.below(store, prefix):
            kept = kept or version.version_id != versions.NO_ID
            if version.key in batch and not version.latest:
                former.append(version)
            elif version.key in batch and version.marker:
                markers.append(version)
    versions.remove(store, former)
    # Last: without it the version before would be there again.
    versions.remove(store, markers)
    return Cleared(sum(not version.marker for version in former), kept)


def _folder(key: str) -> str:
    return key.rpartition("/")[0] + "/"


def clear_derived(process: Process, space_id: str) -> Cleared:
    """Remove all versions of the objects that searches made of the space's texts, and of the LLM's answers about
    memories, by their hashes. The present ones go too: they are made again.

    3 ListObjectVersions and 3 LIST, and 1 DeleteObjects per 1,000 of each. Raises VersionsUnreachable,
    StoreUnavailable; the present ones are removed either way.
    """
    verdicts = VERDICT.prefix(space_id)
    prefixes = (SEARCH_SNAPSHOT.prefix(space_id), SEGMENT.prefix(space_id), verdicts)
    for prefix in prefixes:
        process.store.delete_many([entry.key for entry in process.store.scan(prefix)])
    found = [version for prefix in prefixes for version in versions.below(process.store, prefix)]
    versions.remove(process.store, [version for version in found if not version.marker])
    # Last: without it the version before would be there again.
    versions.remove(process.store, [version for version in found if version.marker])
    return Cleared(0, any(version.version_id != versions.NO_ID for version in found))


def clear_archives(process: Process, space_id: str, *, without_job: bool = False) -> int:
    """Remove the archives of the space that wait to be downloaded, and their jobs; returns how many archives. With
    `without_job` only archives whose job is gone, which a worker wrote late. 1 LIST and 1 DeleteObjects per 1,000.
    """
    doomed = [entry.key for entry in process.store.scan(EXPORT.prefix(space_id))]
    if without_job:
        parsed = {key: EXPORT.parse(key) for key in doomed}
        doomed = [key for key, name in parsed.items() if name and EXPORT_STATE.key(*name[:2]) not in parsed]
    process.store.delete_many(doomed)
    return sum(not key.endswith(".json") for key in doomed)
