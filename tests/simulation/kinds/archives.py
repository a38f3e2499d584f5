"""Exports: an archive is whole or not there, a repeat makes the same bytes, and after a day nothing is left of it."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import cache
from hashlib import sha256
from typing import Any

from livemem.copies import archive, export
from livemem.process import Process
from livemem.store import keys
from livemem.store.bucket import BACKUP_OBJECT
from tests.simulation.scene import SPACE, WORK_SECONDS, Action, Kind, Sampled, Scene
from tests.support.archives import downloads, unpack
from tests.support.world import EVERYONE, World

OBJECTS = 4
"""Objects of an archive, so that a small space has several."""
FREE = 301
"""Seconds after which the lease of who died is free: nobody waits for it, because time stands still in this world."""
DAY = 86_400


class ArchiveScene(Scene):
    """`whole`: the archives that an undisturbed action leaves."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.whole: list[bytes] = []

    def state(self) -> Any:
        return self.world.state(), self.failed

    def prepare(self, action: Action) -> None:
        super().prepare(action)
        undisturbed = self.fork()
        undisturbed.do(action)
        undisturbed.world.settle()
        self.whole = undisturbed.archives()
        assert len(self.whole) > 1

    def archives(self) -> list[bytes]:
        return [stored.body for key, stored in self.world.inner.objects.items() if key.endswith(".tar.gz")]

    def repeat(self, action: Action) -> list[str]:
        """The request is sent again until the archives are there."""
        self.world.settle()
        for _ in range(5):
            self.world.clock.move(FREE)
            current = (_export if action is EXPORT else _download)(self, self.world.process, self.world.clock())
            if current.value.status == "done":
                bodies = downloads(self.world, current)
                # A new backup may hold the document of a run, or the head, in another state.
                same = bodies == self.whole or action is EXPORT
                names = contents(*bodies).keys() == contents(*self.whole).keys()
                return [] if same and names else ["other archives than the first ones would have been"]
            self.world.settle()
        return ["the archives do not come"]

    def seen(self) -> list[str]:
        # Those of another second are of another backup.
        names = contents(*self.whole)
        half = [body for body in self.archives() if not contents(body).items() <= names.items()]
        return ["an archive that is not whole" for _ in half]

    def rest(self) -> list[str]:
        """More than a day later the daily sweep comes by."""
        wrong = self.seen()
        self.world.clock.move(DAY + 60)
        self.world.queued.clear()
        self.world.sweep_all()
        return [*wrong, *(f"{key} stays" for key in self.world.keys("_exports/"))]


@cache
def contents(*bodies: bytes) -> Mapping[str, bytes]:
    """The files of whole archives but their manifests, which name the time of their backup."""
    files: dict[str, bytes] = {}
    for body in bodies:
        more = unpack(body)
        assert more.pop(f"{SPACE}/{keys.MANIFEST}")
        files |= more
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
    """The first archive is there, and another invocation makes the next."""
    _backed_up(scene)
    _download(scene, scene.world.process, scene.world.clock())
    scene.world.new_process()
    scene.run = scene.world.queued.popleft()


def _export(scene: ArchiveScene, process: Process, until: datetime) -> Any:
    return export.export(process, EVERYONE, SPACE, scene.world.clock() + timedelta(seconds=20))


def _download(scene: ArchiveScene, process: Process, until: datetime) -> Any:
    (backup_id,) = (name for name in process.store.folders(BACKUP_OBJECT.prefix(SPACE)))
    return export.export_backup(process, EVERYONE, SPACE, backup_id, scene.world.clock() + timedelta(seconds=20))


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
    small=((archive, "ARCHIVE_OBJECTS", OBJECTS), (archive, "LEVEL", 1)),
    sampled=Sampled(kills=49),
)
