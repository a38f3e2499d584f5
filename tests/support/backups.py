"""What holds of all backups of a bucket, checked from its objects alone."""

import json
from collections.abc import Mapping

from livemem.copies.manifest import Manifest
from livemem.store import keys
from livemem.store.bucket import BACKUP_OBJECT, RECORD
from tests.support.bucket import Stored


def all_of(objects: Mapping[str, Stored]) -> dict[str, Manifest]:
    """The manifests, by the folder that they are in."""
    found = {}
    for key, stored in sorted(objects.items()):
        folder, _, name = key.rpartition("/")
        if key.startswith(BACKUP_OBJECT.prefix()) and name == keys.MANIFEST and folder.count("/") == 2:
            found[f"{folder}/"] = Manifest.from_bytes(stored.body)
    return found


def complete(objects: Mapping[str, Stored], space_id: str = "demo") -> list[str]:
    """The ids of the space's complete backups, oldest first."""
    folder = BACKUP_OBJECT.prefix(space_id)
    return [
        manifest.job_id for name, manifest in all_of(objects).items() if name.startswith(folder) and manifest.complete
    ]


def broken(objects: Mapping[str, Stored]) -> list[str]:
    """What is wrong with complete backups: objects that are missing or not as the manifest says, notes of the head's
    consolidation that no record holds, numbers that are not those of the objects.
    """
    wrong = []
    for folder, manifest in all_of(objects).items():
        if not manifest.complete:
            continue
        items = manifest.items or ()
        for item in items:
            there = objects.get(folder + item.name)
            if not there or (there.etag, len(there.body)) != (item.copy_etag or item.etag, item.size):
                wrong.append(f"{folder}{item.name} is {'not what the manifest says' if there else 'missing'}")
        if (manifest.objects_count, manifest.bytes) != (len(items), sum(item.size for item in items)):
            wrong.append(f"{folder} counts {manifest.objects_count} objects")
        wrong += _mixed(objects, folder, {item.name for item in items})
    return wrong


def _mixed(objects: Mapping[str, Stored], folder: str, names: set[str]) -> list[str]:
    """Whether head and records of a backup are of different moments."""
    head = objects.get(folder + keys.META)
    if not head or keys.META not in names:
        return [f"{folder} has no head"]
    meta = json.loads(head.body)
    numbers = [found.number for name in names if (found := RECORD.last(f"x/{name}"))]
    wrong = [f"{folder} has {len(numbers)} records, not {meta['changes']}"] if len(numbers) != meta["changes"] else []
    open_ends = [f"{folder} has {field}" for field in ("committed_run", "deleted_at", "late_duplicates") if meta[field]]
    return wrong + open_ends


def left_over(objects: Mapping[str, Stored]) -> list[str]:
    """What lies below `_backups/` and is part of no complete backup."""
    held = {
        f"{folder}{name}"
        for folder, manifest in all_of(objects).items()
        if manifest.complete
        for name in (keys.MANIFEST, *(item.name for item in manifest.items or ()))
    }
    return sorted(key for key in objects if key.startswith(BACKUP_OBJECT.prefix()) and key not in held)
