"""Kills or breaks exports and imports at every request, and looks at what is there then and after a recovery."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from hashlib import sha256
from typing import Any

from livemem.archives import expiry, export
from livemem.archives.export import Archive
from livemem.arrivals import arrivals, bringing, importing
from livemem.arrivals.importing import NewImport
from livemem.errors import LiveMemoryError, NotFound, SpaceExists
from livemem.spaces import head as heads
from livemem.store import keys
from tests.support.archives import download, exported, objects, targz, unpack
from tests.support.counting import WRITES, Killed
from tests.support.crash import Fault
from tests.support.world import EVERYONE, INVOCATION, World

SPACE, COPY = "demo", "copy"
PART = 10_000
"""Bytes of a part, so that an archive of three notes has several."""
REQUEST_OVER = 26
"""Seconds after which nobody who answered a request is at work."""
LEASE_OVER = 301
"""Seconds after which the lease of who died is free: nobody waits for it, because time stands still in this world."""
DAY = 86_400


def space(world: World) -> None:
    world.create_space(SPACE)
    world.note("first")
    world.consolidate(SPACE)
    world.note("".join(sha256(b"%d" % index).hexdigest() for index in range(700)))
    world.note("".join(sha256(b"x%d" % index).hexdigest() for index in range(700)))


def small_space(world: World) -> None:
    world.create_space(SPACE)
    world.note("first")
    world.consolidate(SPACE)
    world.note("second")


def fork(world: World) -> World:
    twin = world.fork()
    twin.inner.smallest_part = PART
    return twin


@dataclass(frozen=True)
class Operation:
    """What is killed; `prepare` makes the world before it."""

    name: str
    prepare: Callable[[World], None]
    act: Callable[[World], Any]
    works: bool = False
    """It works off an invocation, which is delivered again if that fails."""


def _backed_up(world: World) -> None:
    space(world)
    world.back_up(SPACE)


def _put_aside(world: World) -> None:
    """An archive whose first part is there when the time of the request is over."""
    _backed_up(world)

    def slow(index: int, verb: str) -> None:
        if verb == "PART":
            world.clock.move(18)

    world.client.after = slow
    _download(world)
    world.new_process()
    assert world.queued


def _export(world: World) -> Any:
    return export.export(world.process, EVERYONE, SPACE, world.clock() + timedelta(seconds=20))


def _download(world: World) -> Any:
    (backup_id,) = (name for name in world.store.folders(keys.backups_prefix(SPACE)))
    return export.download(world.process, SPACE, backup_id, world.clock() + timedelta(seconds=20))


def _work(world: World) -> Any:
    return world.work(world.queued[0])


EXPORTS = (
    Operation("export", space, _export),
    Operation("download", _backed_up, _download),
    Operation("rest of an export", _put_aside, _work, works=True),
)


UPLOAD = "01KHXNKAR000000000000000AA"


def _order(world: World) -> heads.Head:
    return importing.order(world.process, EVERYONE, NewImport(COPY, UPLOAD), world.clock() + INVOCATION)


def _uploaded(world: World) -> None:
    small_space(world)
    world.store.put(keys.upload(UPLOAD), exported(world, SPACE))


def _folder_uploaded(world: World) -> None:
    files = [("m/a.md", b"# A\n"), ("m/b/c.md", b"---\nx: 1\n---\n# C\n")]
    world.store.put(keys.upload(UPLOAD), targz(files))


def _import(world: World) -> Any:
    head = _order(world)
    return bringing.carry_on(world.process, head, world.clock() + INVOCATION)


def _queued(world: World) -> None:
    _uploaded(world)
    head = _order(world)
    assert bringing.carry_on(world.process, head, world.clock()) is None


IMPORTS = (
    Operation("import", _uploaded, _import),
    Operation("import of Markdown files", _folder_uploaded, _import),
    Operation("rest of an import", _queued, _work, works=True),
)


@cache
def prepared(operation: Operation) -> World:
    world = World()
    world.inner.smallest_part = PART
    operation.prepare(world)
    return world


def start(operation: Operation) -> World:
    """The world just before it, uploads in parts included."""
    before = prepared(operation)
    world = fork(before)
    world.inner.uploads = {name: dict(parts) for name, parts in before.inner.uploads.items()}
    world.inner.begun = dict(before.inner.begun)
    world.inner.ended_uploads = set(before.inner.ended_uploads)
    world.new_process()
    return world


@cache
def expected(operation: Operation) -> tuple[list[str], Any]:
    """The requests that it makes undisturbed, and what is there then."""
    world = start(operation)
    operation.act(world)
    verbs = [verb for verb, _ in world.client.requests]
    world.settle()
    return verbs, found(world)


def points(operation: Operation, fault: Fault) -> list[int]:
    """The requests that can go wrong so: no read is answered with a lost condition unless it was lost."""
    verbs, _ = expected(operation)
    only_writes = fault.code == "PreconditionFailed"
    return [point for point, verb in enumerate(verbs) if not only_writes or verb in WRITES.values()]


def found(world: World) -> Any:
    """The archive, whatever its name, and the objects of the imported space."""
    archives = [stored.body for key, stored in world.inner.objects.items() if key.endswith(".tar.gz")]
    return archives, objects(world, COPY) if COPY in {key.partition("/")[0] for key in world.inner.objects} else {}


@cache
def contents(body: bytes) -> Mapping[str, bytes]:
    """The files of a whole archive but its manifest, which names the time of its backup."""
    files = unpack(body)
    assert files.pop(f"{SPACE}/{keys.MANIFEST}")
    return files


def crash(operation: Operation, fault: Fault, point: int) -> tuple[World, bool]:
    """The world after a crash, and whether whoever did it was told of an error."""
    world = start(operation)
    fault.arm(world, point)
    failed = False
    try:
        operation.act(world)
    except (Killed, LiveMemoryError):
        failed = True
    world.new_process()
    if operation.works and not failed:
        world.queued.popleft()
    return world, failed


def repeat_export(world: World, operation: Operation) -> bytes:
    """Whoever wants it asks again, until it is there."""
    if operation.works:
        world.settle()
    world.clock.move(LEASE_OVER if operation.act is _export else REQUEST_OVER)
    for _ in range(5):
        answer = (_export if operation.act is _export else _download)(world)
        if isinstance(answer, Archive):
            return download(world, answer)
        world.settle()
        world.clock.move(LEASE_OVER)
    raise AssertionError("the archive does not come")


def repeat_import(world: World, operation: Operation) -> None:
    """The same order again; or the invocation is delivered again."""
    if operation.works:
        world.settle()
        head = heads.find_any(world.process, COPY)
        if head and head.meta.arriving():
            # An invocation that found somebody else at work ended well; the sweep queues another one.
            world.enqueue("backup", {"do": "bring", "space_id": COPY, "arrival_id": head.meta.arrival.arrival_id})
            world.settle()
        return
    # NotFound: the upload has gone, because the space is there.
    with suppress(SpaceExists, NotFound):
        _import(world)
    world.settle()


def check_hidden_or_whole(world: World, operation: Operation) -> bool:
    """Whether the imported space is there; then all of it is."""
    there = heads.find(world.process, COPY)
    if there:
        assert objects(world, COPY) == expected(operation)[1][1] or _same(world, operation)
        assert arrivals.view(world.process, COPY)[1] == there.meta
    return bool(there)


def _same(world: World, operation: Operation) -> bool:
    """Runs and records name the life of the space, which another try has another id for."""
    own = ("_runs/", "_consolidations/")
    now, then = objects(world, COPY), expected(operation)[1][1]
    if len(now) != len(then):
        return False
    changed = {name for name in now.keys() & then.keys() if now[name] != then[name]}
    return all(name.startswith(own) or (name.startswith("bank/") and now[name][0] == then[name][0]) for name in changed)


def forget(world: World) -> None:
    """More than a day later the daily sweep comes by."""
    world.clock.move(DAY + 60)
    world.queued.clear()
    expiry.expire(world.process)
