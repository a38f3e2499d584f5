"""Backups, retention and removal: a complete manifest never stands over missing or other objects; what is not complete
is gone two daily looks later; no note is lost, and the lease is not stuck.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, ClassVar

from livemem.copies import catalog, nightly, retention, taking
from livemem.copies.taking import BackupRequest
from livemem.errors import NotFound
from livemem.jobs import lease
from livemem.process import Process
from livemem.store.bucket import BACKUP_OBJECT
from tests.simulation.kinds import bank
from tests.simulation.kinds.bank import DELETE, EDIT, ORDERED_RUN, RUN, STALL, SWEEP_ALL, BankScene
from tests.simulation.pairs import Pair, crossed, cut, late, lost
from tests.simulation.scene import SPACE, WORK_SECONDS, Action, Kind, Sampled
from tests.support import backups
from tests.support.counting import Killed
from tests.support.rest import uid_of
from tests.support.world import World

DAY = 86_400.0
FREE = lease.LIFE.total_seconds() + 1


class BackupScene(BankScene):
    """`kept`: the complete backups that there were; `makes`: after a success there is one of the space as it is."""

    recoveries: ClassVar[tuple[str, ...]] = ("repeat", "nobody")

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.kept: list[str] = []

    def attempt(self, action: Action) -> bool:
        try:
            return super().attempt(action)
        except NotFound:
            # A removal that is repeated finds it gone.
            return True

    def begin(self, action: Action) -> None:
        super().begin(action)
        self.kept = backups.complete(self.world.inner.objects)

    def repeat(self, action: Action) -> list[str]:
        """Somebody repeats it when the lease has run out, which succeeds."""
        self.world.clock.move(FREE)
        self.nobody(action)
        ended = self.attempt(action) or action.name == REMOVAL_OF_THE_OLDEST
        old = action.name in MAKES and not self._is_current()
        return [*([] if ended else ["the repeat fails"]), *(["no backup of the space as it is"] if old else [])]

    def nobody(self, action: Action) -> list[str]:
        # What died leaves no marker: the daily looks find it.
        self.lost = True
        self.world.queued.clear()
        return []

    def seen(self) -> list[str]:
        there = backups.complete(self.world.inner.objects)
        gone = self.kept and self.kept[-1] not in there
        return [
            *super().seen(),
            *backups.broken(self.world.inner.objects),
            *(["the newest complete backup is gone"] if gone else []),
        ]

    def rest(self) -> list[str]:
        wrong = super().rest()
        for _ in range(2):
            self.world.clock.move(DAY)
            self.world.sweep_all()
        left = [*backups.left_over(self.world.inner.objects), *self.world.keys(f"{SPACE}/_lease")]
        # Nobody looks daily at a space that is gone.
        left = left if uid_of(self.world, SPACE) else []
        return [*wrong, *self.seen(), *(f"{key} is left" for key in left)]

    def _is_current(self) -> bool:
        """Whether the newest complete backup holds just what the space does."""
        objects = self.world.inner.objects
        items = backups.all_of(objects)[BACKUP_OBJECT.prefix(SPACE, backups.complete(objects)[-1])].items or ()
        contents = taking.contents(self.world.process, SPACE)
        there = {(entry.key.removeprefix(f"{SPACE}/"), entry.etag) for entry in contents}
        return {(item.name, item.etag) for item in items} == there


# What is done


def take(trigger: str, description: str = "") -> Callable[[BackupScene, Process, datetime], Any]:
    return lambda scene, process, until: taking.take(
        process,
        SPACE,
        BackupRequest(trigger, description=description),  # type: ignore[arg-type]
        deadline=until,
    )


def _scheduled(scene: BackupScene, process: Process, until: datetime) -> None:
    scene.world.work({"do": "back_up", "space_id": SPACE}, process, until)


def _look(scene: BackupScene, process: Process, until: datetime) -> None:
    """The schedule looks at the space, and backs it up if it has changed."""
    if nightly.fan_out(process, deadline=until).backups:
        taking.take(process, SPACE, BackupRequest("schedule"), deadline=until)


def _go_on(scene: BackupScene, process: Process, until: datetime) -> None:
    scene.world.work(scene.run, process, until)


def _retain(keep: int) -> Callable[[BackupScene, Process, datetime], None]:
    def work(scene: BackupScene, process: Process, until: datetime) -> None:
        retention.apply(process, SPACE, dry_run=False, keep_last=keep, days=1)

    return work


def _remove_oldest(scene: BackupScene, process: Process, until: datetime) -> None:
    catalog.remove(process, SPACE, catalog.ids(process, SPACE)[0])


def _remove_all(scene: BackupScene, process: Process, until: datetime) -> None:
    for backup_id in reversed(catalog.ids(process, SPACE)):
        catalog.remove(process, SPACE, backup_id)


# What was before


def _used(scene: BackupScene) -> None:
    scene.space = scene.world.create_space(SPACE).uid
    scene.write(1)
    scene.world.consolidate(SPACE)
    scene.write(1)
    scene.world.clock.move(DAY)
    scene.world.sweep_all()


def _backed_up(scene: BackupScene) -> None:
    _used(scene)
    scene.world.back_up(trigger="schedule")
    scene.world.clock.move(DAY)


def _committed(scene: BackupScene) -> None:
    """A run died just behind its commit."""
    _used(scene)
    scene.world.order()
    scene.take_run()
    scene.die_behind_the_commit(lambda: scene.do(RUN))
    scene.world.clock.move(FREE)


def _several(scene: BackupScene) -> None:
    """Two that go, one of them of an export, and two that stay."""
    _used(scene)
    for trigger in ("schedule", "export", "schedule", "schedule"):
        scene.write(1)
        scene.world.back_up(trigger=trigger)
        scene.world.clock.move(2 * DAY)


def _begun(scene: BackupScene) -> None:
    """An unfinished backup, of which the space has changed since."""
    _used(scene)
    # No time for more than one batch.
    deadline = scene.world.clock() + timedelta(seconds=1)
    taken = taking.take(scene.world.process, SPACE, BackupRequest("schedule"), deadline=deadline)
    scene.do(EDIT)
    assert taken.result == "unfinished"
    scene.take_run()


def _dead(scene: BackupScene) -> None:
    """A backup whose worker died long ago."""
    _backed_up(scene)
    scene.write(1)
    scene.world.new_process()
    scene.world.client.kill_at(12, done=True)
    try:
        scene.world.back_up()
    except Killed:
        scene.world.new_process()
    assert backups.left_over(scene.world.inner.objects)
    scene.world.clock.move(DAY)


def _two_old(scene: BackupScene) -> None:
    bank.folded(scene)
    for number in range(2):
        scene.world.back_up(description=str(number))
        scene.world.pass_time(40 * DAY)


REMOVAL_OF_THE_OLDEST = "removal"
LEG = Action("second leg of a backup", _go_on, _begun, seconds=WORK_SECONDS)
ACTIONS = (
    Action("backup", take("api"), _used),
    Action("backup of an unchanged space", take("api"), _backed_up),
    Action("scheduled backup, with retention", _scheduled, bank.after(_backed_up, EDIT)),
    Action("backup behind a dead commit", take("api"), _committed),
    LEG,
    Action("retention", _retain(2), _several),
    Action(REMOVAL_OF_THE_OLDEST, _remove_oldest, _several),
    Action("daily look at a dead backup", bank.sweep_all, _dead),
    Action("look of a night at an unchanged space", _look, _backed_up),
    Action("look of a night at a changed space", _look, bank.after(_backed_up, EDIT)),
)
MAKES = {action.name for action in ACTIONS[:5]}
BACKUP = Action("backup", take("api", "by hand"), seconds=120)
CONFIRMATION = Action("scheduled backup", take("schedule"), seconds=120)
LOOK = Action("look of a night", _look, seconds=120)
REMOVAL = Action("removal", _remove_all)
RETENTION = Action("retention", _retain(1))
WAITS = bank.folded_and_one_live
PAIRS = (
    Pair(BACKUP, BACKUP, (lost, cut), WAITS),
    Pair(BACKUP, REMOVAL, (late, cut), WAITS),
    Pair(BACKUP, DELETE, (late, cut), WAITS),
    Pair(BACKUP, EDIT, (late,), WAITS),
    Pair(BACKUP, ORDERED_RUN, (cut,), WAITS),
    Pair(RUN, BACKUP, (late,), bank.queued),
    Pair(BACKUP, ORDERED_RUN, (cut,), WAITS, gap=STALL, name="stalled backup & run by hand"),
    Pair(BACKUP, EDIT, (cut,), WAITS, gap=STALL, name="stalled backup & correction"),
    Pair(RUN, BACKUP, (cut,), bank.queued, gap=STALL, name="stalled run & backup"),
    Pair(RETENTION, CONFIRMATION, (lost, crossed), _two_old),
    Pair(CONFIRMATION, RETENTION, (late, cut), _two_old),
    Pair(LOOK, EDIT, (late, cut), _two_old),
    Pair(LOOK, ORDERED_RUN, (late, cut), WAITS),
    Pair(LOOK, REMOVAL, (late, cut), _two_old),
    Pair(BACKUP, SWEEP_ALL, (cut,), WAITS),
    Pair(LEG, LEG, (cut,), _begun),
    Pair(LEG, REMOVAL, (late, cut), _begun),
)
BACKUPS = Kind(
    "backups",
    BackupScene,
    ACTIONS,
    PAIRS,
    small=((taking, "BATCH", 4),),
    sampled=Sampled(kills=97, turns=31),
)
