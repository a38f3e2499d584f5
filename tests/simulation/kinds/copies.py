"""Spaces that are restored, forked or imported: the target is whole, as an undisturbed action leaves it, or it is not
there at all, and nobody ever sees it otherwise.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from datetime import datetime
from functools import cache, partial
from typing import Any

import pytest

from livemem.bank import corrections
from livemem.copies import archive, catalog, fork, importing, new_space, provisioning, restore
from livemem.copies.new_space import SpaceCopy
from livemem.errors import LiveMemoryError, NotFound, SpaceExists
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.spaces import lifecycle
from livemem.store import bucket, keys, timing
from livemem.store.bucket import IN_SPACE
from tests.simulation.pairs import Pair, crossed, cut, lost, together
from tests.simulation.scene import SPACE, WORK_SECONDS, Action, Before, Kind, Sampled, Scene, nothing, prepared
from tests.support.archives import downloads, export_now, exported, targz
from tests.support.audit import audit, records_of
from tests.support.rest import check_alive, check_rest
from tests.support.space_fixtures import Kept, differences, objects
from tests.support.world import EVERYONE, INVOCATION, World

OTHER = "other"
ROUNDS = (1_000, 1_000, 3_700)
"""Seconds before each sweep: nobody works any more on what was begun, and nothing waits in a queue."""
"""What a request over HTTP gives to such work."""
DAY = 86_400
ULID = re.compile("01[0-9A-HJKMNP-TV-Z]{24}")
Whole = Mapping[str, Kept]
Work = Callable[["CopyScene", Process, datetime], Any]


class CopyScene(Scene):
    """`target`: the space that is brought. `source`: what the other one was. `also`: tells how the target may be whole
    otherwise, because of what else happens. `begun`: somebody has begun, who died or got an error.
    """

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.target = OTHER
        self.source: dict[str, Kept] = {}
        self.whole: dict[str, Kept] = {}
        self.also: Callable[[World], list[Whole]] | None = None
        self.begun = self.expected = self.imports = False

    def state(self) -> Any:
        return self.world.state(), self.target, self.failed, self.begun, self.expected, self.also

    def prepare(self, action: Action) -> None:
        super().prepare(action)
        self.source = _unleased(self.world)
        undisturbed = self.fork()
        undisturbed.world.new_process()
        if action.name != "nothing":
            undisturbed.do(action)
            undisturbed.world.settle()
            self.whole = objects(undisturbed.world, self.target)

    def struck(self, action: Action) -> None:
        super().struck(action)
        head = heads.find_any(self.world.with_parts(), self.target)
        self.begun = bool(head and (head.meta.is_being_provisioned() or not head.meta.deleted_at))
        self.expected = self.begun or not self.failed

    def repeat(self, action: Action) -> list[str]:
        """Whoever asked asks again, until told that the space is there."""
        self.expected = True
        for _ in range(3 if self.failed else 0):
            try:
                self.do(action)
            except (SpaceExists, NotFound):
                # It is there; an upload has gone then.
                return []
            except LiveMemoryError:
                # A lease of the one that died.
                self.world.pass_time(120)
            else:
                return self.seen()
        return ["it does not succeed"] if self.failed and not action.works else []

    def nobody(self, action: Action) -> list[str]:
        if self.failed and not self.begun:
            # What the sweep of once a day finds alone: a marker may be what failed.
            self.world.pass_time(1_000)
            self.world.sweep_all()
        return []

    def seen(self) -> list[str]:
        """What is wrong with what users see of the target: it is whole, in one of these ways, or not there."""
        reader = self.world.with_parts()
        found = heads.find(reader, self.target)
        if not found:
            return []
        there, ways = objects(self.world, self.target), [self.whole]
        if self.also:
            # Runs may be at work meanwhile: the audit tells whether they are right at last.
            there, *ways = map(_without_runs, (there, *ways, *self.also(self.world)))
        if self.imports:
            there, *ways = map(_nameless, (there, *ways))
        wrong = [differences(one, there, self.target, self.target) for one in ways]
        told = not found.meta.provisioning or new_space.load(reader, self.target).meta == found.meta
        return [*([] if [] in wrong else [f"seen half: {wrong}"]), *([] if told else ["what is told of it is not so"])]

    def rest(self) -> list[str]:
        """Let happen what would happen by itself, and give it time; what was wrong on the way and is at the end."""
        world, wrong = self.world, self.seen()
        if self.target != SPACE and not self.also:
            wrong += differences(self.source, _unleased(world), SPACE, SPACE)
        for seconds in ROUNDS:
            world.settle()
            wrong += self.seen()
            world.pass_time(seconds)
            world.sweep()
        world.settle()
        world.pass_time(7_200)
        world.sweep_all()
        wrong += self.seen()
        head = heads.find_any(world.process, self.target)
        if head and head.meta.is_being_provisioned():
            wrong.append("nobody goes on with it")
        if not head or head.meta.deleted_at:
            left = [key for key in world.keys(IN_SPACE.prefix(self.target)) if not key.endswith(keys.META)]
            wrong += [f"{key} was left" for key in left]
            wrong += ["it is not there"] if self.expected else []
        else:
            live = world.live_ids(self.target)
            at_rest = check_rest(world, self.target, live) + check_alive(world, self.target)
            wrong += [] if at_rest.clean() else [str(at_rest)]
        world.pass_time(DAY)
        world.sweep_all()
        return wrong + [f"{key} stays" for key in world.keys("_uploads/")]


def _nameless(whole: Whole) -> dict[str, Kept]:
    """The same without the ids that are new in each import: of its run, and of the space's life."""

    def of(kept: Kept) -> Kept:
        metadata = {name: ULID.sub("", value) for name, value in kept.metadata.items()}
        return replace(kept, body=ULID.sub("", kept.body.decode()).encode(), metadata=metadata)

    return {ULID.sub("", name): of(kept) for name, kept in whole.items()}


def _unleased(world: World) -> dict[str, Kept]:
    """The source; the lease of a backup that failed may lie there."""
    return {name: kept for name, kept in objects(world, SPACE).items() if name != "_lease.json"}


def _without_runs(whole: Whole) -> dict[str, Kept]:
    return {name: kept for name, kept in whole.items() if not name.startswith("_runs/")}


# What was before


def _folded(scene: CopyScene, times: int = 1) -> None:
    world = scene.world
    world.create_space(SPACE)
    for _ in range(times):
        for _ in range(2):
            world.note(f"note {world.ids.count}")
        world.clock.move(2)
        world.consolidate()
        world.clock.move(2)
    world.note(f"live {world.ids.count}")
    world.clock.move(2)


def _backed_up(scene: CopyScene) -> None:
    _folded(scene)
    scene.world.back_up()
    scene.world.clock.move(60)


def _deleted(scene: CopyScene) -> None:
    _backed_up(scene)
    scene.target = SPACE
    lifecycle.delete(scene.world.process, SPACE, SPACE)
    scene.world.clock.move(lifecycle.TOMBSTONE_LIFE.total_seconds())


def _twice(scene: CopyScene) -> None:
    _folded(scene, 2)


def _imports(scene: CopyScene) -> None:
    scene.imports = True


UPLOAD, UPLOAD_2 = "01KHXNKAR000000000000000AA", "01KHXNKAR000000000000000AB"


def _uploaded(scene: CopyScene) -> None:
    _folded(scene)
    _imports(scene)
    scene.world.store.put(bucket.UPLOAD.key(UPLOAD), exported(scene.world, SPACE))


def _two_uploaded(scene: CopyScene) -> None:
    """The archives of a space that has several."""
    _folded(scene)
    _imports(scene)
    items = len(scene.world.keys(f"{SPACE}/"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(archive, "ARCHIVE_OBJECTS", (items + 1) // 2)
        export_now(scene.world, SPACE)
        scene.world.settle()
        bodies = downloads(scene.world, export_now(scene.world, SPACE))
    for upload_id, body in zip((UPLOAD, UPLOAD_2), bodies, strict=True):
        scene.world.store.put(bucket.UPLOAD.key(upload_id), body)


def _folder_uploaded(scene: CopyScene) -> None:
    _imports(scene)
    files = [("m/a.md", b"# A\n"), ("m/b/c.md", b"---\nx: 1\n---\n# C\n")]
    scene.world.store.put(bucket.UPLOAD.key(UPLOAD), targz(files))


def _import_queued(scene: CopyScene) -> None:
    _uploaded(scene)
    world = scene.world
    head = importing.order(world.process, EVERYONE, SpaceCopy(OTHER, upload_ids=[UPLOAD]), world.clock() + INVOCATION)
    assert provisioning.carry_on(world.process, head, world.clock()) is None
    scene.run = world.queued.pop()


# What is done


def _restore(newest: bool = False) -> Work:
    def work(scene: CopyScene, process: Process, until: datetime) -> None:
        backup_id = catalog.ids(process, SPACE)[-1 if newest else 0]
        head = restore.order(process, EVERYONE, SPACE, backup_id, scene.target)
        provisioning.carry_on(process, head, until)

    return work


def _fork(at: int | None) -> Work:
    def work(scene: CopyScene, process: Process, until: datetime) -> None:
        # Who waits for a busy space lets time pass.
        process = replace(process, store=replace(process.store, sleep=scene.world.clock.move))
        head = fork.order(process, EVERYONE, SPACE, OTHER, at, scene.world.clock() + timing.REQUEST)
        provisioning.carry_on(process, head, until)

    return work


def _import(scene: CopyScene, process: Process, until: datetime) -> None:
    provisioning.carry_on(
        process, importing.order(process, EVERYONE, SpaceCopy(OTHER, upload_ids=[UPLOAD]), until), until
    )


def _import_two(scene: CopyScene, process: Process, until: datetime) -> None:
    wanted = SpaceCopy(OTHER, upload_ids=[UPLOAD, UPLOAD_2])
    provisioning.carry_on(process, importing.order(process, EVERYONE, wanted, until), until)


def _restore_and_correct(scene: CopyScene, process: Process, until: datetime) -> None:
    """Another worker is faster, and a user changes at once what it has brought."""
    _restore()(scene, process, until)
    corrections.write_file(process, "admin", OTHER, "log.md", "# Log\n\n## Log\n\nRewritten.\n", None)


def _create(scene: CopyScene, process: Process, until: datetime) -> None:
    lifecycle.create(process, EVERYONE, lifecycle.SpaceRequest(OTHER, rules="Others."))


def _remove_backup(scene: CopyScene, process: Process, until: datetime) -> None:
    catalog.remove(process, SPACE, catalog.ids(process, SPACE)[0])


def _consolidate(scene: CopyScene, process: Process, until: datetime) -> None:
    run = next(waiting for waiting in scene.world.queued if waiting.get("kind") == "consolidation")
    scene.world.work(run, process, until)


def _go_on(scene: CopyScene, process: Process, until: datetime) -> None:
    head = heads.find_any(process, OTHER)
    if head and head.meta.is_being_provisioned():
        job = new_space.of_head(head).value
        scene.world.work(provisioning.KINDS[job.kind].payload(OTHER, job.job_id), process, until)


def _action(name: str, work: Work, before: Before = nothing, **more: Any) -> Action:
    return Action(name, work, before, seconds=WORK_SECONDS, marks=before is not nothing and not more, **more)


RESTORE = _action("restore under the same id", _restore(), _deleted)
RESTORE_OTHER = _action("restore under another id", _restore(), _backed_up)
FORK = _action("fork", _fork(None), _twice)
FORK_AT = _action("fork at a change", _fork(1), _twice)
REST = _action("rest of an import", lambda scene, *more: scene.world.work(scene.run, *more), _import_queued, works=True)
ACTIONS = (
    RESTORE,
    RESTORE_OTHER,
    FORK,
    FORK_AT,
    _action("import", _import, _uploaded),
    _action("import of two archives", _import_two, _two_uploaded),
    _action("import of Markdown files", _import, _folder_uploaded),
    REST,
)


# Beside others: the target may be whole otherwise


def _created(world: World) -> list[Whole]:
    head = heads.find(world.with_parts(), OTHER)
    if not head or head.meta.provisioning:
        return []
    alone = CopyScene.new()
    _create(alone, alone.world.process, alone.world.clock())
    return [objects(alone.world, OTHER)]


def _of_the_second(world: World) -> list[Whole]:
    return [_of_the_second_alone()]


@cache
def _of_the_second_alone() -> Whole:
    scene: Any = prepared(COPIES, RESTORE_OTHER).fork()
    _second_backup(scene)
    scene.do(Action("restore", _restore(newest=True)))
    return objects(scene.world, OTHER)


def _as_its_records_say(action: Action, world: World) -> list[Whole]:
    """What its target holds may be a matter of time, as when a run commits beside a fork, or change as soon as it is
    seen: so it is what its records say, and none of the notes is lost.
    """
    if not heads.find(world.with_parts(), OTHER):
        return []
    first = prepared(COPIES, action).world
    folded = [source.note_id for record in records_of(first.inner.objects, SPACE) for source in record.notes]
    found = audit(world.inner.objects, OTHER, (*first.live_ids(SPACE), *folded))
    wrong = [one for one in fields(found) if one.name not in {"wrong_runs", "left_behind"} and getattr(found, one.name)]
    return [] if wrong else [objects(world, OTHER)]


def _second_backup(scene: CopyScene) -> None:
    scene.world.note("one more")
    scene.world.clock.move(2)
    scene.world.back_up()
    scene.world.clock.move(2)


def _beside(action: Action, also: Callable[[World], list[Whole]], more: Before = nothing) -> Before:
    """Just before the action, and what else there is."""

    def before(scene: CopyScene) -> None:
        scene.whole = prepared(COPIES, action).whole  # type: ignore[attr-defined]
        action.before(scene)
        more(scene)
        scene.also = also

    return before


def _nothing_else(world: World) -> list[Whole]:
    return []


def _ordered(scene: CopyScene) -> None:
    scene.world.order()


def _meeting(first: Action, second: Action, before: Before, gap: float = 0) -> tuple[Pair, Pair]:
    """Each overtakes the other; and they take turns."""
    there = Pair(first, second, (cut, together), before, gap=gap)
    return there, Pair(second, first, (cut,), before, gap=gap)


CREATE = _action("creation", _create)
LATER_RESTORE = _action("restore of a later backup", _restore(newest=True))
REMOVE = _action("removal of its backup", _remove_backup)
NEXT = _action("next worker", _go_on)
RUN = _action("consolidation", _consolidate)
CHANGED = _action("same restore and a correction", _restore_and_correct)
PAIRS = (
    Pair(RESTORE_OTHER, RESTORE_OTHER, (lost, cut, crossed, together), _beside(RESTORE_OTHER, _nothing_else)),
    *_meeting(RESTORE_OTHER, LATER_RESTORE, _beside(RESTORE_OTHER, _of_the_second, _second_backup)),
    *_meeting(RESTORE_OTHER, CREATE, _beside(RESTORE_OTHER, _created)),
    *_meeting(RESTORE_OTHER, REMOVE, _beside(RESTORE_OTHER, _nothing_else)),
    *_meeting(RESTORE_OTHER, NEXT, _beside(RESTORE_OTHER, _nothing_else), gap=1_000),
    Pair(REST, REST, (lost, cut, crossed), _beside(REST, _nothing_else)),
    Pair(FORK_AT, FORK_AT, (cut, together), _beside(FORK_AT, _nothing_else)),
    *_meeting(FORK, RUN, _beside(FORK, partial(_as_its_records_say, FORK), _ordered)),
    Pair(RESTORE_OTHER, CHANGED, (lost, cut), _beside(RESTORE_OTHER, partial(_as_its_records_say, RESTORE_OTHER))),
)
assert timing.DEAD_AFTER.total_seconds() < 1_000
COPIES = Kind(
    "copies",
    CopyScene,
    ACTIONS,
    PAIRS,
    small=((archive, "LEVEL", 1),),
    sampled=Sampled(kills=193, turns=71),
)
