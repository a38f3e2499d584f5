"""Retention removes what the rule does not keep, and never the last backup that a space has."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livemem import clock
from livemem.copies import catalog, retention
from livemem.copies import manifest as manifests
from livemem.copies.manifest import Manifest
from livemem.copies.retention import Rule
from livemem.errors import InvalidName, InvalidRequest
from livemem.jobs import job as jobs
from livemem.store import keys
from livemem.store.bucket import BACKUP_MANIFEST, BACKUP_OBJECT
from tests.support import backups
from tests.support.cases import each
from tests.support.counting import Killed
from tests.support.world import World

NOW = datetime(2026, 2, 20, 14, tzinfo=UTC)
SPACE = "demo"


def backup(age_hours: float, number: int = 0, **fields: Any) -> Manifest:
    moment = NOW - timedelta(hours=age_hours, seconds=number)
    usual = {"status": "done", "trigger": "schedule", "uid": "u", "space_id": SPACE}
    return Manifest(
        **{**usual, "job_id": keys.backup_id(moment), "created_at": clock.iso_millis(moment), **fields}  # type: ignore[arg-type]
    )


ages = st.one_of(st.floats(-48, 2_000), st.sampled_from([0.0, 24.0, 240.0]))
flags = st.booleans()
statuses = st.sampled_from(["done", "done", "running", "failed", "cancelled"])


@st.composite
def some_backups(draw: st.DrawFn) -> list[Manifest]:
    drawn = draw(st.lists(st.tuples(ages, statuses, flags, st.none() | ages), max_size=12))
    return [
        backup(
            age,
            number * 7_000,
            status=status,
            transient=transient,
            unchanged_at=clock.iso(NOW - timedelta(hours=unchanged)) if unchanged is not None else None,
        )
        for number, (age, status, transient, unchanged) in enumerate(drawn)
    ]


rules = st.builds(Rule, st.integers(1, 5), st.integers(1, 60))


def whole(manifests: Sequence[Manifest]) -> list[Manifest]:
    """The complete ones, newest first by what they stand for."""
    found = [one for one in manifests if one.complete]
    return sorted(found, key=lambda one: (clock.parse(one.stands_for()), one.job_id), reverse=True)


def age(manifest: Manifest) -> timedelta:
    return NOW - clock.parse(manifest.stands_for())


@given(some_backups(), rules)
def test_the_newest_complete_backup_is_kept_whatever_the_rule(manifests: list[Manifest], rule: Rule):
    doomed = retention.plan(manifests, NOW, rule)

    there = whole(manifests)
    lasting = [one for one in there if not one.transient]
    assert not there or len(doomed) < len(there)
    assert (lasting or there or [backup(0)])[0].job_id not in doomed


@given(some_backups(), rules)
def test_what_goes_goes_for_a_reason_and_what_stays_too(manifests: list[Manifest], rule: Rule):
    doomed = retention.plan(manifests, NOW, rule)

    there = whole(manifests)
    lasting = [one for one in there if not one.transient]
    assert doomed.keys() <= {one.job_id for one in there}
    for one in there:
        goes = one.job_id in doomed
        if one.transient:
            last = not lasting and one is there[0]
            assert goes == (age(one) >= timedelta(days=1) and not last)
        else:
            newest = one in lasting[: rule.keep_last]
            assert goes == (not newest and age(one) >= timedelta(days=rule.days))
        assert doomed.get(one.job_id) == (("transient" if one.transient else "expired") if goes else None)


@given(some_backups(), rules)
def test_what_is_kept_is_kept_again_the_next_moment(manifests: list[Manifest], rule: Rule):
    doomed = retention.plan(manifests, NOW, rule)
    left = [one for one in manifests if one.job_id not in doomed]

    assert retention.plan(left, NOW, rule) == {}
    assert retention.plan(manifests[::-1], NOW, rule) == doomed


DAY = 86_400.0


def nights(count: int, **settings: Any) -> World:
    world = World(**settings)
    world.create_space(SPACE)
    for night in range(count):
        world.note(f"note {night}")
        world.back_up(trigger="schedule")
        world.clock.move(DAY)
    world.new_process()
    return world


def retain(world: World, **more: Any) -> retention.RetentionOutcome:
    return retention.apply(world.process, SPACE, **{"dry_run": False, **more})


def test_a_dry_run_tells_what_would_go_and_does_nothing():
    world = nights(5, backup_keep_last=2, backup_retention_days=3)
    ids = catalog.ids(world.process, SPACE)
    before = dict(world.inner.objects)
    world.client.reset()

    told = retain(world, dry_run=True)

    # Of five nights the last two, and the one that is younger than three days.
    assert [removal.backup_id for removal in told.removed] == ids[2::-1][:3]
    assert {removal.reason for removal in told.removed} == {"expired"}
    assert told.kept == ids[:2:-1]
    assert told.bytes() == sum(catalog.get(world.process, SPACE, one.backup_id).value.bytes for one in told.removed) > 0
    assert world.client.counts["LIST"] == 1
    assert world.client.counts["GET"] == 5 + 3
    assert world.inner.objects == before

    assert retain(world) == told
    assert catalog.page_of(world.process, SPACE, limit=9)[0][-1].job_id == told.kept[-1]
    assert backups.broken(world.inner.objects) == []


def test_another_rule_may_be_asked_for():
    world = nights(5)
    assert retain(world, dry_run=True).removed == []
    assert len(retain(world, keep_last=1, days=1, dry_run=True).removed) == 4
    assert len(retain(world, keep_last=3, days=1).removed) == 2


@each("wrong", [{"keep_last": 0}, {"keep_last": 366}, {"days": 0}, {"days": 3_651}, {"keep_last": -1}])
def test_a_rule_that_would_keep_nothing_is_refused(wrong: dict[str, Any]):
    world = nights(1)
    with pytest.raises(InvalidRequest):
        retain(world, **wrong)
    with pytest.raises(InvalidName):
        retention.apply(world.process, "..", dry_run=False)


def test_a_backup_that_is_found_unchanged_just_now_is_not_removed():
    world = nights(2)
    old, _ = catalog.ids(world.process, SPACE)
    world.clock.move(100 * DAY)

    def confirm(index: int, verb: str) -> None:
        if verb == "PUT":
            world.client.before = lambda index, verb: None
            other = world.with_parts()
            saved = manifests.load(other, SPACE, old)
            jobs.change(other, saved, unchanged_at=clock.iso_millis(world.clock()))

    world.client.before = confirm
    report = retain(world, keep_last=1, days=1)

    assert report.removed == []
    assert len(backups.complete(world.inner.objects)) == 2
    assert backups.broken(world.inner.objects) == []


def test_what_was_made_for_an_export_goes_after_a_day_and_stays_if_it_is_all_that_there_is():
    world = World()
    world.create_space(SPACE)
    world.back_up(trigger="export")
    world.clock.move(3 * DAY)
    assert retain(world).removed == []

    world.note("one")
    kept = world.back_up().job_id

    assert [removal.reason for removal in retain(world).removed] == ["transient"]
    assert backups.complete(world.inner.objects) == [kept]


def died(world: World) -> str:
    """The id of a backup whose worker died while it copied."""
    world.note("one more")
    world.client.before = lambda index, verb: _die(verb, len([r for r in world.client.requests if r[0] == "COPY"]))
    with pytest.raises(Killed):
        world.back_up()
    world.new_process()
    return catalog.ids(world.process, SPACE)[-1]


def _die(verb: str, copies: int) -> None:
    if copies > 3:
        raise Killed


def test_what_is_left_of_an_unfinished_backup_goes_when_nobody_can_come_any_more():
    world = nights(1)
    backup_id = died(world)
    world.clock.move(catalog.NOBODY_COMES.total_seconds() - 1)
    assert retain(world).removed == []
    world.clock.move(1)

    assert [(one.backup_id, one.reason) for one in retain(world, dry_run=True).removed] == [(backup_id, "unfinished")]
    assert [(one.backup_id, one.reason) for one in retain(world).removed] == [(backup_id, "unfinished")]
    assert world.keys(BACKUP_OBJECT.prefix(SPACE, backup_id)) == [BACKUP_MANIFEST.key(SPACE, backup_id)]
    world.clock.move(DAY)
    assert retain(world).removed == []
    assert backups.left_over(world.inner.objects) == []


def test_objects_without_a_manifest_go_when_all_of_them_are_old():
    world = nights(1)
    folder = BACKUP_OBJECT.prefix(SPACE, "2026-02-01T00-00-00")
    world.inner.put_object(Bucket="b", Key=f"{folder}live/a.md", Body=b"x")
    world.clock.move(DAY)
    world.inner.put_object(Bucket="b", Key=f"{folder}live/b.md", Body=b"x")

    assert retain(world).removed == []
    world.clock.move(DAY)
    assert [one.reason for one in retain(world, dry_run=True).removed] == ["objects without a manifest"]
    assert len(retain(world).removed) == 1
    assert world.keys(folder) == []


def test_objects_whose_manifest_comes_while_they_are_looked_at_stay():
    world = nights(2)
    first, _ = catalog.ids(world.process, SPACE)
    key = BACKUP_MANIFEST.key(SPACE, first)
    manifest = world.inner.objects.pop(key)
    world.clock.move(DAY)

    def bring(index: int, verb: str) -> None:
        if world.client.requests[index] == ("LIST", BACKUP_OBJECT.prefix(SPACE, first)):
            world.inner.objects[key] = manifest

    world.client.after = bring

    assert retain(world).removed == []
    assert len(backups.complete(world.inner.objects)) == 2
    assert backups.broken(world.inner.objects) == []


def test_when_time_is_up_the_rest_is_left_to_the_next():
    world = nights(5)
    world.client.after = lambda index, verb: world.clock.move(10) if verb == "DeleteObjects" else None
    deadline = world.clock() + timedelta(seconds=20)

    first = retain(world, keep_last=1, days=1, deadline=deadline)
    second = retain(world, keep_last=1, days=1)

    assert (len(first.removed), first.more, len(first.kept)) == (2, True, 1)
    assert (len(second.removed), second.more, second.kept) == (2, False, first.kept)
