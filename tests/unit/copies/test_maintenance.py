"""Once a day it is told how old the newest backup of each space is, and what nobody finished is cleared away."""

import pytest

from livemem.copies import catalog, maintenance
from livemem.spaces import head as heads
from livemem.spaces.head_fields import ProvisioningState
from livemem.store import keys
from livemem.store.bucket import BACKUP_OBJECT
from livemem.upkeep import health
from tests.support import backups
from tests.support.cases import each
from tests.support.counting import Killed
from tests.support.world import EVERYONE, World

HOUR = 3_600.0
SPACE = "demo"


def expecting() -> World:
    world = World(backups_expected=True, llmaas_api_url="")
    world.create_space(SPACE)
    world.new_process()
    return world


def age(world: World) -> float:
    return world.sweep_all().most(maintenance.AGE)


def problems(world: World) -> list[str]:
    return [problem.code for problem in health.deep(world.process, EVERYONE).problems]


def test_the_daily_look_tells_the_age_of_the_newest_backup_that_is_kept_and_of_the_space_where_there_is_none():
    world = expecting()
    world.clock.move(5 * HOUR)
    ages = [age(world)]
    world.back_up(trigger="export")
    ages.append(age(world))
    world.note("one")
    world.back_up()
    world.clock.move(1.5 * HOUR)
    ages.append(age(world))
    world.back_up()
    ages.append(age(world))

    assert ages == [5, 5, 1.5, 0]


def test_the_oldest_of_all_spaces_is_what_the_alarm_is_about():
    world = expecting()
    world.create_space("other")
    world.clock.move(30 * HOUR)
    world.back_up("other")

    assert age(world) == 30
    assert world.sweep().most(maintenance.AGE) == 0


def test_a_backup_of_a_namesake_that_was_deleted_is_none_of_this_space():
    world = expecting()
    world.clock.move(49 * HOUR)
    world.back_up()
    world.clock.move(HOUR)
    heads.update(world.process, SPACE, lambda _: {"uid": "01HZZZZZZZ0000000000000009"})

    assert age(world) == 50
    assert problems(world) == ["backup_overdue"]


def test_a_space_that_was_restored_is_as_old_as_its_restore():
    world = expecting()
    world.clock.move(100 * HOUR)
    provisioning = ProvisioningState(
        provisioning_id="01HZZZZZZZ0000000000000009",
        kind="restore",
        requested_by="ops",
        started_at="2026-02-24T17:00:00Z",
        finished_at="2026-02-24T17:00:00Z",
    )
    heads.update(world.process, SPACE, lambda _: {"provisioning": provisioning})

    assert age(world) == 1
    assert problems(world) == []


def test_a_backup_is_overdue_after_48_hours_for_2_requests_of_health():
    world = expecting()
    world.clock.move(48 * HOUR)
    assert problems(world) == []
    world.clock.move(1)
    assert problems(world) == ["backup_overdue"]
    world.back_up()
    assert problems(world) == []
    world.clock.move(48 * HOUR)
    before = world.client.counts
    assert problems(world) == []
    # Two of each are of looking at the space, its messages and its digests; one list is of what cannot be read, in all.
    assert world.client.counts - before == {"GET": 4, "LIST": 5}


def test_where_backups_are_not_expected_health_and_sweep_say_nothing_of_them():
    world = World(llmaas_api_url="")
    world.create_space(SPACE)
    world.clock.move(1_000 * HOUR)

    assert problems(world) == []
    assert maintenance.AGE not in world.sweep_all().done


def die(world: World, copies: int) -> None:
    """A worker dies while it copies."""

    def stop(index: int, verb: str) -> None:
        if world.client.counts["COPY"] > copies:
            raise Killed

    world.new_process()
    world.client.before = stop
    with pytest.raises(Killed):
        world.back_up(description="one more")
    world.new_process()


@each("expected", [True, False])
@each("dead", [1, 6])
def test_what_dead_workers_left_is_gone_after_two_daily_looks_and_nothing_else(expected: bool, dead: int):
    world = World(backups_expected=expected)
    world.create_space(SPACE)
    kept = world.back_up().job_id
    for _ in range(dead):
        world.clock.move(61)
        world.note("x")
        die(world, 2)
        world.clock.move(100)
    assert len(backups.left_over(world.inner.objects)) == 3 * dead

    world.clock.move(24 * HOUR)
    report = world.sweep_all()
    assert report.most("backups_cleared") == dead
    assert all(key.endswith(keys.MANIFEST) for key in backups.left_over(world.inner.objects))
    world.clock.move(24 * HOUR)
    world.sweep_all()

    assert backups.left_over(world.inner.objects) == []
    assert catalog.ids(world.process, SPACE) == [kept]
    assert backups.broken(world.inner.objects) == []


def test_where_retention_reads_all_every_night_the_daily_look_reads_the_newest_four():
    world = expecting()
    for number in range(9):
        world.note(str(number))
        world.back_up()
        world.clock.move(100)
    looked = world.client.counts

    world.sweep_all()

    # Head and lease, and the manifests.
    assert (world.client.counts - looked)["GET"] == 2 + 4


def test_the_sweep_of_every_quarter_asks_nothing_of_backups():
    world = expecting()
    world.back_up()
    world.count()
    world.client.reset()

    world.sweep()

    assert not [key for _, key in world.client.requests if key.startswith(BACKUP_OBJECT.prefix())]
