"""A space in which something was erased: how the erasure ends, and what is left of the text in all that a bucket holds
or keeps: objects, former versions, backups, archives.
"""

import gzip
from collections.abc import Iterator

from livemem.changes.late_write_repair import WATCHED_FOR
from livemem.conversations import reading
from livemem.copies.manifest import Manifest
from livemem.jobs.receipt import Receipt
from livemem.spaces import head as heads
from livemem.store import keys
from livemem.store.bucket import TURN
from livemem.upkeep import job_lookup
from livemem.upkeep.job_lookup import JobFilter
from tests.support.audit import audit, records_of
from tests.support.faults import LATER
from tests.support.world import EVERYONE, World

SPACE = "demo"
WATCHED = WATCHED_FOR.total_seconds() + 60


def come_to_end(world: World, others: list[str]) -> list[str]:
    """Let the sweep do what is left to do, that of what is due if the space was entered; say what is wrong then."""
    for seconds in (60, WATCHED, WATCHED, WATCHED):
        world.clock.move(seconds)
        if SPACE in world.due("space"):
            world.sweep()
        else:
            world.sweep_all()
        world.settle()
        if not heads.load(world.process, SPACE).meta.erasing:
            break
    # What the last look removed of a conversation is made anew.
    world.clock.move(LATER)
    world.sweep()
    world.settle()
    return list(wrong_at_end(world, others))


def receipts(world: World) -> list[Receipt]:
    """The receipts that are shown, the newest first."""
    jobs, _ = job_lookup.page(world.process, EVERYONE, SPACE, limit=10, filter_by=JobFilter("erasure"))
    return [job.result for job in jobs]


def wrong_at_end(world: World, others: list[str]) -> Iterator[str]:
    """What is not as it must be in a space in which an erasure has ended. `others`: notes that nobody erased."""
    for receipt in receipts(world):
        if receipt.status != "done":
            yield f"the receipt says {receipt.status}"
    head = heads.load(world.process, SPACE)
    if head.meta.erasing:
        yield f"the head says {head.meta.erasing}"
    found = audit(world.inner.objects, SPACE, others)
    if not found.clean():
        yield str(found)
    yield from damaged_backups(world)
    yield from _unfinished_conversations(world)


def _unfinished_conversations(world: World) -> Iterator[str]:
    """Conversations whose turns are not dense, or which lack a summary that was there."""
    folders = {key.split("/")[2] for key in world.inner.objects if key.startswith(TURN.prefix(SPACE))}
    for conversation_id in folders:
        told = reading.detail(world.process, SPACE, conversation_id)
        turns = reading.turns(world.process, SPACE, conversation_id, limit=100).turns
        if [turn.turn_index for turn in turns] != list(range(len(turns), 0, -1)):
            yield "the numbers of turns are not dense"
        yield from (
            f"summaries of level {one.level} are not made anew" for one in told.levels if one.summarised < one.sealed
        )


def damaged_backups(world: World) -> Iterator[str]:
    """Complete backups over objects that are missing or another than the manifest says."""
    objects = world.inner.objects
    for key in list(objects):
        if not key.endswith(f"/{keys.MANIFEST}"):
            continue
        manifest = Manifest.from_bytes(objects[key].body)
        prefix = key.removesuffix(keys.MANIFEST)
        for item in manifest.items or () if manifest.complete else ():
            stored = objects.get(prefix + item.name)
            if not stored or (stored.etag, len(stored.body)) != (item.etag, item.size):
                yield f"{prefix}{item.name} is not what the manifest says"


def left_of(world: World, text: str) -> Iterator[str]:
    """Where the text still is, of all that the bucket holds or keeps."""
    wanted = text.encode()
    kept = [(key, stored.body) for key, stored in world.inner.objects.items()]
    kept += [(f"a version of {version.key}", version.stored.body) for version in world.inner.versions]
    for where, body in kept:
        if wanted in (gzip.decompress(body) if body.startswith(b"\x1f\x8b") else body):
            yield f"the text is left in {where}"


def notes_of(world: World) -> list[str]:
    """All notes that the space holds, live or in a record."""
    records = records_of(world.inner.objects, SPACE)
    return sorted({*world.live_ids(SPACE), *(source.note_id for record in records for source in record.notes)})
