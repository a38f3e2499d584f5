"""Exports: an archive is whole or not there, a repeat makes the same bytes, and after a day nothing is left of it."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import cache
from hashlib import sha256
from typing import Any

from livemem.copies import export, packing
from livemem.copies.export import Archive
from livemem.process import Process
from livemem.store import keys
from livemem.store.bucket import BACKUP_OBJECT
from tests.simulation.scene import SPACE, WORK_SECONDS, Action, Kind, Sampled, Scene
from tests.support.archives import download, unpack
from tests.support.counting import READS
from tests.support.world import EVERYONE, World

PART = 10_000
"""Bytes of a part, so that an archive of three notes has several."""
FREE = 301
"""Seconds after which the lease of who died is free: nobody waits for it, because time stands still in this world."""
DAY = 86_400


class ArchiveWorld(World):
    """A world whose store takes small parts."""

    def __init__(self, inner: Any = None, **more: Any) -> None:
        super().__init__(inner, **more)
        self.inner.smallest_part = PART


class ArchiveScene(Scene):
    """`whole`: the archives that an undisturbed action leaves."""

    world_type = ArchiveWorld
    unconditional = tuple(READS.values())

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.whole: list[bytes] = []

    def state(self) -> Any:
        uploads = {upload: tuple(parts.items()) for upload, parts in self.world.inner.uploads.items()}
        return self.world.state(), self.failed, tuple(uploads.items())

    def prepare(self, action: Action) -> None:
        super().prepare(action)
        undisturbed = self.fork()
        undisturbed.do(action)
        undisturbed.world.settle()
        self.whole = undisturbed.archives()
        assert len(self.whole) == 1

    def archives(self) -> list[bytes]:
        return [stored.body for key, stored in self.world.inner.objects.items() if key.endswith(".tar.gz")]

    def repeat(self, action: Action) -> list[str]:
        """Whoever wants it asks again, until it is there."""
        self.world.settle()
        for _ in range(5):
            self.world.clock.move(FREE)
            answer = (_export if action is EXPORT else _download)(self, self.world.process, self.world.clock())
            if isinstance(answer, Archive):
                body = download(self.world, answer)
                # Who takes a new backup may find the document of a run, or the head, changed.
                same = body in self.whole or action is EXPORT
                names = contents(body).keys() == contents(self.whole[0]).keys()
                return [] if same and names else ["another archive than the first one would have been"]
            self.world.settle()
        return ["the archive does not come"]

    def seen(self) -> list[str]:
        # One of another second is of another backup.
        half = [body for body in self.archives() if contents(body) != contents(self.whole[0])]
        return ["an archive that is not whole" for _ in half]

    def rest(self) -> list[str]:
        """More than a day later the daily sweep comes by."""
        wrong = self.seen()
        self.world.clock.move(DAY + 60)
        self.world.queued.clear()
        self.world.sweep_all()
        return [*wrong, *(f"{key} stays" for key in (*self.world.keys("_exports/"), *self.world.inner.uploads))]


@cache
def contents(body: bytes) -> Mapping[str, bytes]:
    """The files of a whole archive but its manifest, which names the time of its backup."""
    files = unpack(body)
    assert files.pop(f"{SPACE}/{keys.MANIFEST}")
    return files


def _space(scene: ArchiveScene) -> None:
    world = scene.world
    world.create_space(SPACE)
    world.note("first")
    world.consolidate(SPACE)
    for letter in ("", "x"):
        world.note("".join(sha256(f"{letter}{index}".encode()).hexdigest() for index in range(700)))


def _backed_up(scene: ArchiveScene) -> None:
    _space(scene)
    scene.world.back_up(SPACE)


def _put_aside(scene: ArchiveScene) -> None:
    """An archive whose first part is there when the time of the request is over."""
    _backed_up(scene)
    world = scene.world

    def slow(index: int, verb: str) -> None:
        if verb == "PART":
            world.clock.move(18)

    world.client.after = slow
    _download(scene, world.process, world.clock())
    world.new_process()
    scene.run = world.queued.popleft()


def _export(scene: ArchiveScene, process: Process, until: datetime) -> Any:
    return export.export(process, EVERYONE, SPACE, scene.world.clock() + timedelta(seconds=20))


def _download(scene: ArchiveScene, process: Process, until: datetime) -> Any:
    (backup_id,) = (name for name in process.store.folders(BACKUP_OBJECT.prefix(SPACE)))
    return export.download(process, SPACE, backup_id, scene.world.clock() + timedelta(seconds=20))


def _work(scene: ArchiveScene, process: Process, until: datetime) -> Any:
    return scene.world.work(scene.run, process, until)


EXPORT = Action("export", _export, _space)
ARCHIVES = Kind(
    "archives",
    ArchiveScene,
    (
        EXPORT,
        Action("download", _download, _backed_up),
        Action("rest of an export", _work, _put_aside, works=True, seconds=WORK_SECONDS),
    ),
    small=((packing, "PART_BYTES", PART), (packing, "LEVEL", 1)),
    sampled=Sampled(requests=24),
)
