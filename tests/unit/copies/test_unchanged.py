"""What is unchanged since the last backup is not copied again."""

from collections.abc import Callable

from livemem import clock
from livemem.copies import catalog
from livemem.copies.taking import BackupOutcome
from livemem.store.bucket import BACKUP_OBJECT
from tests.support.backing_up import take, used
from tests.support.cases import each
from tests.support.world import World

SPACE = "demo"


def test_a_space_that_is_unchanged_is_not_copied_but_that_is_noted():
    world = used()
    first = world.back_up()
    world.clock.move(3_600)
    world.new_process()

    taken = take(world, trigger="schedule")

    assert (taken.result, taken.manifest.job_id) == ("unchanged", first.job_id)
    assert taken.manifest.stands_for() == taken.manifest.unchanged_at == clock.iso_millis(world.clock())
    assert "COPY" not in world.client.counts
    assert {verb: world.client.counts[verb] for verb in ("LIST", "PUT")} == {"LIST": 3, "PUT": 2}
    assert catalog.ids(world.process, SPACE) == [first.job_id]


def _described(world: World) -> BackupOutcome:
    return take(world, description="a milestone")


def _always(world: World) -> BackupOutcome:
    return take(world, world.with_parts(settings=world.settings.model_copy(update={"backup_skip_unchanged": False})))


def _after_a_note(world: World) -> BackupOutcome:
    world.note("another")
    return take(world)


def _after_one_of_its_objects_is_lost(world: World) -> BackupOutcome:
    (backup_id,) = catalog.ids(world.process, SPACE)
    del world.inner.objects[BACKUP_OBJECT.key(SPACE, backup_id, "_rules.md")]
    return take(world)


def _after_one_was_damaged(world: World) -> BackupOutcome:
    (backup_id,) = catalog.ids(world.process, SPACE)
    world.inner.put_object(Bucket="b", Key=BACKUP_OBJECT.key(SPACE, backup_id, "_rules.md"), Body=b"other")
    return take(world)


COPIED: list[Callable[[World], BackupOutcome]] = [
    _described,
    _always,
    _after_a_note,
    _after_one_of_its_objects_is_lost,
    _after_one_was_damaged,
]


@each("act", COPIED)
def test_a_space_is_copied_although_there_is_a_backup(act: Callable[[World], BackupOutcome]):
    world = used()
    first = world.back_up()

    taken = act(world)

    assert (taken.result, taken.manifest.job_id > first.job_id) == ("made", True)
    assert taken.manifest.unchanged_at is None


def test_a_backup_that_was_made_for_an_export_is_kept_once_the_schedule_finds_it_still_right():
    world = used()
    first = take(world, trigger="export").manifest
    again = take(world, trigger="fork").manifest
    assert (first.transient, again.transient, again.trigger) == (True, True, "export")

    kept = take(world, trigger="schedule").manifest

    assert (kept.job_id, kept.transient, kept.trigger) == (first.job_id, False, "schedule")
    assert not take(world, trigger="export").manifest.transient
