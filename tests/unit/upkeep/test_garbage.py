"""Garbage collection by an operator's order: a dry run tells, and writes nothing; else old notes are folded or moved to
a record, and what is left over goes."""

from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest

from livemem.access import management
from livemem.access.principal import PERMISSIONS, Principal
from livemem.changes import archive_notes
from livemem.changes.orphans import QUIET_AFTER
from livemem.copies import catalog
from livemem.errors import Forbidden, InvalidName, InvalidRequest, LiveMemoryError, NotFound, TooLarge
from livemem.jobs import lease, places
from livemem.jobs import run as runs
from livemem.llm.client import LlmError
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.spaces import lifecycle
from livemem.spaces.oversized_notes import OversizedNotes
from livemem.store import keys
from livemem.store.bucket import EXPORT, HEAD, NOTE, RUN, UPLOAD
from livemem.store.stored import Stored
from livemem.upkeep import garbage
from livemem.upkeep.garbage import CollectedGarbage, GarbageFailure, GarbageOfSpace, GarbageRequest
from tests.support.bucket import error
from tests.support.cases import each
from tests.support.counting import WRITES, Killed
from tests.support.world import EVERYONE, World

DAY = 86_400
ALIKE = ("alpha", "beta", "gamma")


def with_old_notes(*space_ids: str, count: int = 2, threshold: int = 0, **settings: Any) -> World:
    """Spaces with so many notes of 31 days ago, and a fresh one each."""
    world = World(**settings)
    for space_id in space_ids or ("demo",):
        world.create_space(space_id, threshold=threshold)
        for number in range(count):
            world.note(f"old {number}", space_id=space_id)
    world.clock.move(31 * DAY)
    for space_id in space_ids or ("demo",):
        world.note("fresh", space_id=space_id)
    world.new_process()
    return world


def collect(
    world: World, *, process: Process | None = None, who: Principal = EVERYONE, seconds: float = 20, **wanted: Any
) -> CollectedGarbage:
    asked = GarbageRequest(**{"dry_run": False, **wanted})
    return garbage.collect(process or world.process, who, asked, world.clock() + timedelta(seconds=seconds))


def only(report: CollectedGarbage) -> GarbageOfSpace:
    (found,) = report.spaces
    return found


def admin_of(*space_ids: str) -> Principal:
    return Principal("keeper", frozenset(PERMISSIONS), frozenset(space_ids))


def writes(world: World) -> set[str]:
    return set(world.client.counts) & set(WRITES.values())


def with_everything() -> World:
    """All kinds of garbage at once: a dead run over a commit, an overdue run, a lease, old runs, old notes, a late
    duplicate.
    """
    world = with_old_notes("committed", "overdue", "echoed", "runs")
    for space_id in ("committed", "overdue", "echoed", "runs"):
        heads.patch(world.process, space_id, threshold=1_000)
    _die_over_a_commit(world, "committed")
    world.order("overdue")
    world.queued.clear()
    body = world.store.get(NOTE.key("echoed", world.live_ids("echoed")[0]))
    assert body
    world.consolidate("echoed")
    world.store.put(body.key, body.body)
    world.consolidate("runs")
    world.clock.move(QUIET_AFTER.total_seconds() + 1)
    world.new_process()
    return world


def _die_over_a_commit(world: World, space_id: str) -> None:
    world.order(space_id)

    def die(index: int, verb: str) -> None:
        if world.client.requests[index] == ("PUT", HEAD.key(space_id)):
            raise Killed

    world.new_process()
    world.client.after = die
    with pytest.raises(Killed):
        world.work(world.queued.pop())
    world.new_process()


# A dry run


@pytest.mark.parametrize("delete_only", [False, True])
def test_a_dry_run_tells_what_there_is_and_writes_nothing(delete_only: bool):
    world = with_everything()
    world.note("one more", space_id="runs")
    world.clock.move(100 * DAY)
    heads.update(world.process, "runs", lambda meta: {"runs_seen": meta.last_run})
    world.new_process()
    before = dict(world.inner.objects)

    report = garbage.collect(
        world.process, EVERYONE, GarbageRequest(delete_only=delete_only), world.clock() + timedelta(seconds=20)
    )

    assert writes(world) == set()
    assert world.inner.objects == before
    assert not world.queued
    assert report.dry_run
    told = {found.space_id: (found.old_notes, found.orphans, found.runs_removed) for found in report.spaces}
    # The commit of `committed` has folded its notes, which are still live, and its lease has run out.
    assert told == {"committed": (0, 2, 0), "overdue": (3, 1, 0), "echoed": (0, 1, 0), "runs": (1, 0, 1)}
    action = "move" if delete_only else "consolidate"
    assert {found.action for found in report.spaces if found.old_notes} == {action}
    assert (report.old_notes, report.orphans, report.runs_removed) == (4, 4, 1)
    assert (report.moved, report.runs_started, report.failed, report.more) == (0, 0, [], False)


def test_a_dry_run_is_what_one_gets_without_asking_for_more():
    assert GarbageRequest() == GarbageRequest(
        max_age_days=30, dry_run=True, delete_only=False, space_ids=(), after=None
    )


@pytest.mark.parametrize("asked", [{}, {"delete_only": True}], ids=["fold", "move"])
def test_what_a_dry_run_tells_is_what_is_done_then(asked: dict[str, Any]):
    world = with_everything()
    told = collect(world, dry_run=True, **asked)

    report = collect(world, **asked)

    assert [(found.space_id, found.old_notes, found.orphans, found.oldest) for found in report.spaces] == [
        (found.space_id, found.old_notes, found.orphans, found.oldest) for found in told.spaces
    ]
    world.settle()
    again = collect(world, dry_run=True, **asked)
    assert (again.old_notes, again.orphans, again.spaces) == (0, 0, [])


def test_a_space_at_rest_costs_2_get_and_3_list():
    world = World()
    world.create_space()
    world.note("fresh")
    world.new_process()

    report = collect(world)

    # Head and lease; runs, live notes, backups. And the lists of spaces, twice, archives and uploads, and the registry.
    assert world.client.counts == {"GET": 3, "LIST": 7}
    assert report == CollectedGarbage(dry_run=False, looked_at=1, spaces=[], failed=[], more=False, after=None)


# Which notes are old


@each(("days", "old"), [(30, 2), (31, 2), (32, 0), (3_650, 0)])
def test_a_note_is_old_from_so_many_days_on(days: int, old: int):
    world = with_old_notes()

    report = collect(world, max_age_days=days, dry_run=True)

    assert report.old_notes == old
    assert [found.oldest for found in report.spaces] == (["2026-02-20T14:00:00Z"] if old else [])


@each("days", [0, -1, 3_651, 10**30, 1.5, 30.0, True, "30", None])
@each("dry_run", [True, False])
def test_an_age_that_is_none_is_refused_before_anything_is_done(days: Any, dry_run: bool):
    world = with_old_notes()

    with pytest.raises(InvalidRequest) as refused:
        collect(world, max_age_days=days, dry_run=dry_run)

    assert [error.field for error in refused.value.fields] == ["max_age_days"]
    assert not world.client.requests


# Which spaces


def test_a_token_with_a_list_of_spaces_reaches_these_alone():
    world = with_old_notes(*ALIKE)

    report = collect(world, who=admin_of("alpha", "gamma", "gone", "no/space"))

    assert [found.space_id for found in report.spaces] == ["alpha", "gamma"]
    assert {waiting["space_id"] for waiting in world.queued} == {"alpha", "gamma"}
    asked = {key.partition("/")[0] for _, key in world.client.requests}
    assert asked == {"alpha", "gamma", "gone", "_due", "_backups", "_system"}


@each(
    ("named", "refusal"),
    [
        (("alpha", "beta"), Forbidden),
        (("gone",), Forbidden),
        (("alpha", "../x"), InvalidName),
        (("",), InvalidName),
        (("alpha", "nowhere"), NotFound),
        (("deleted",), NotFound),
        (tuple(f"s{number}" for number in range(1_001)), TooLarge),
    ],
)
def test_spaces_that_may_not_be_named_are_refused_before_anything_is_done(named: tuple[str, ...], refusal: Any):
    world = with_old_notes(*ALIKE, "deleted")
    lifecycle.delete(world.process, "deleted", "deleted")
    world.new_process()

    with pytest.raises(LiveMemoryError) as refused:
        collect(world, who=admin_of("alpha", "nowhere", "deleted"), space_ids=named)

    assert type(refused.value) is refusal
    assert writes(world) == set()
    assert not world.queued


def test_named_spaces_are_looked_at_once_each_and_no_others():
    world = with_old_notes(*ALIKE)

    report = collect(world, space_ids=("gamma", "alpha", "alpha"))

    assert [found.space_id for found in report.spaces] == ["alpha", "gamma"]
    assert report.looked_at == 2
    assert len(world.queued) == 2


def test_a_space_that_is_being_deleted_is_left_alone():
    world = with_old_notes("alpha", "beta")
    client = world.client

    def die(index: int, verb: str) -> None:
        if verb == "DeleteObjects":
            raise Killed

    client.before = die
    with pytest.raises(Killed):
        lifecycle.delete(world.process, "beta", "beta")
    world.new_process()
    left = {key: stored for key, stored in world.inner.objects.items() if key.startswith("beta/")}
    assert len(left) > 3

    report = collect(world, delete_only=True)

    assert [found.space_id for found in report.spaces] == ["alpha"]
    assert {key: stored for key, stored in world.inner.objects.items() if key.startswith("beta/")} == left


def test_a_space_that_is_deleted_under_way_is_no_failure():
    world = with_old_notes()

    def delete(index: int, verb: str) -> None:
        if world.client.requests[index] == ("LIST", NOTE.prefix("demo")) and not deleted:
            deleted.append(True)
            lifecycle.delete(world.with_parts(store=world.process_on(world.inner).store), "demo", "demo")

    deleted: list[bool] = []
    world.client.after = delete

    report = collect(world, delete_only=True, space_ids=("demo",))

    assert deleted
    assert report.failed == []
    assert world.keys("demo/_consolidations/") == []


def test_one_space_that_fails_does_not_stop_the_others():
    world = with_old_notes(*ALIKE, "broken")
    world.store.put(HEAD.key("broken"), b"{")

    def fail(index: int, verb: str) -> None:
        if world.client.requests[index] == ("LIST", NOTE.prefix("beta")):
            raise RuntimeError("text with data")

    world.client.before = fail

    report = collect(world, space_ids=(*ALIKE, "broken"))

    assert [found.space_id for found in report.spaces] == ["alpha", "gamma"]
    assert [(failure.space_id, failure.code) for failure in report.failed] == [
        ("beta", "internal_error"),
        ("broken", "space_broken"),
    ]
    assert "text with data" not in str(report)


def test_what_does_not_fit_into_the_time_is_done_by_a_call_that_goes_on():
    names = tuple(f"space-{number:02d}" for number in range(40))
    world = with_old_notes(*names, count=1)
    seen: list[str] = []
    after, calls = None, 0
    while calls < 10:
        calls += 1
        process = world.with_parts(clock=_ticking(world))
        report = collect(world, process=process, after=after, seconds=18)
        seen += [found.space_id for found in report.spaces]
        after = report.after
        if not report.more:
            break

    assert seen == list(names)
    assert calls > 1
    assert len(world.queued) == 40


def _ticking(world: World) -> Any:
    """A clock on which each look takes a while."""
    started = world.clock()
    looks = iter(range(10_000))
    return lambda: started + timedelta(seconds=next(looks) / 8)


# Consolidations


@each("change", [{}, {"threshold": 5}, {"auto_paused": True}, {"threshold": 1_000, "auto_paused": True}])
def test_old_notes_get_a_consolidation_also_where_nothing_starts_by_itself(change: dict[str, Any]):
    world = with_old_notes(consolidation_cooldown_seconds=3_600)
    heads.patch(world.process, "demo", **change)
    world.order()
    world.settle()
    world.note("later")
    world.clock.move(31 * DAY)
    heads.patch(world.process, "demo", **change)
    world.new_process()

    found = only(collect(world))

    assert (found.action, found.old_notes) == ("consolidate", 1)
    (queued,) = world.queued
    assert (queued["job_id"], world.view(queued["job_id"]).trigger) == (found.run_id, "gc")
    world.settle()
    run = world.view(str(found.run_id))
    assert (run.state, run.requested_by, run.trigger) == ("done", "admin", "gc")
    assert world.live_ids() == []
    # A pause is somebody's decision.
    assert heads.load(world.process, "demo").meta.auto_paused is bool(change.get("auto_paused"))


def test_no_second_run_is_queued_while_one_waits_or_works():
    world = with_old_notes()
    first = only(collect(world))
    world.clock.move(600)

    assert [(found.action, found.run_id) for found in collect(world).spaces] == [("busy", None)]
    assert [(found.action, found.run_id) for found in collect(world, dry_run=True).spaces] == [("busy", None)]

    assert [waiting["job_id"] for waiting in world.queued] == [first.run_id]


def test_a_correction_under_way_is_left_to_its_end():
    world = with_old_notes()
    lease.acquire(world.process, places.of_space("demo"), world.ids(), "manual", life=timedelta(seconds=60))

    found = only(collect(world, delete_only=True))

    assert (found.action, found.moved, found.records) == ("busy", 0, [])
    assert len(world.live_ids()) == 3


def test_a_pause_after_a_failure_of_the_model_does_not_keep_an_order_out():
    world = with_old_notes(threshold=3)
    world.llm.queue.append(LlmError("llm_unavailable", "The LLM does not answer."))
    world.count()
    world.settle()
    assert world.count().result == "busy"
    world.new_process()

    found = only(collect(world))

    assert found.action == "consolidate"
    world.settle()
    assert world.view(str(found.run_id)).state == "done"


def test_notes_that_no_run_can_take_start_none():
    world = with_old_notes()
    aside = dict.fromkeys(world.live_ids(), 10**9)
    heads.update(world.process, "demo", lambda _: {"oversized_notes": OversizedNotes(beside=0, needs=aside)})

    assert [only(collect(world, dry_run=dry)).action for dry in (True, False)] == ["oversized_notes"] * 2
    assert not world.queued

    found = only(collect(world, delete_only=True))

    assert found.moved == 2
    assert set(heads.load(world.process, "demo").meta.oversized_notes.needs) == set(world.live_ids())


def test_a_run_that_can_not_be_started_is_told_as_a_failure_and_says_so_itself():
    world = with_old_notes()

    def refuse(function: str, payload: Any) -> None:
        raise LiveMemoryError("No invocation.")

    report = collect(world, process=world.with_parts(enqueue=refuse))

    assert report.failed == [GarbageFailure("demo", "internal_error", "No invocation.")]
    (key,) = [key for key in world.keys("demo/_runs/") if RUN.last(key)]
    saved = runs.find(world.process, "demo", RUN.last(key) or "")
    assert (saved.value.state, saved.value.error.code) == ("failed", "not_started")
    assert only(collect(world)).action == "consolidate"


# Leftovers and runs


def test_what_interrupted_work_has_left_is_cleared_away_as_the_sweep_does_it():
    world = with_everything()

    report = collect(world)

    assert {found.space_id: found.orphans for found in report.spaces if found.orphans} == {
        "committed": 2,
        "overdue": 1,
        "echoed": 1,
    }
    assert heads.load(world.process, "committed").meta.committed_run is None
    assert world.live_ids("committed") == world.live_ids("echoed") == []
    assert not [key for key in world.keys("") if key.endswith((".plan.json", "committed/_lease.json"))]
    world.settle()
    assert [saved.value.state for saved in _runs(world, "overdue")] == ["failed", "done"]


def _runs(world: World, space_id: str) -> list[Stored[runs.Run]]:
    ids = [run_id for key in world.keys(RUN.prefix(space_id)) if (run_id := RUN.last(key))]
    return [saved for run_id in ids if (saved := runs.find(world.process, space_id, run_id))]


def test_work_under_way_is_no_orphan():
    world = with_old_notes()
    world.order()
    payload = world.queued.pop()
    told: list[CollectedGarbage] = []

    def look(prompt: dict[str, Any]) -> str:
        told.append(collect(world, process=world.with_parts(store=world.process_on(world.inner).store)))
        raise Killed

    world.llm.queue.append(look)
    with suppress(Killed):
        world.work(payload)

    (report,) = told
    assert [(found.orphans, found.action) for found in report.spaces] == [(0, "busy")]


def test_what_is_left_of_unfinished_backups_is_cleared_away_and_complete_ones_stay():
    world = with_old_notes(count=0)
    complete = world.back_up().job_id
    world.note("changed")
    world.clock.move(1)
    world.client.before = lambda index, verb: _die_at(verb, "COPY")
    with pytest.raises(Killed):
        world.back_up()
    world.new_process()
    assert collect(world, dry_run=True).backups_removed == 0
    world.clock.move(catalog.NOBODY_COMES.total_seconds())
    assert len(catalog.ids(world.process, "demo")) == 2
    world.new_process()

    told = collect(world, dry_run=True)

    assert (told.backups_removed, writes(world)) == (1, set())
    report = collect(world)
    assert (report.backups_removed, [len(found.backups) for found in report.spaces]) == (1, [1])
    assert [item.job_id for item in catalog.page_of(world.process, "demo", limit=9)[0]] == [complete]
    assert collect(world).spaces == []


def test_archives_and_uploads_that_are_over_are_removed_by_who_may_see_all_spaces():
    world = with_old_notes("alpha", count=0)
    old = [UPLOAD.key(world.ids()), EXPORT.key("alpha", "2026-02-20T14-00-00", 1)]
    for key in old:
        world.store.put(key, b"old")
    world.clock.move(DAY + 1)
    young = UPLOAD.key(world.ids())
    world.store.put(young, b"young")
    world.new_process()

    reports = [
        collect(world, who=admin_of("alpha")),
        collect(world, space_ids=("alpha",)),
        collect(world, dry_run=True),
    ]

    assert ([report.exports_removed for report in reports], writes(world)) == ([0, 0, 2], set())
    assert collect(world).exports_removed == 2
    assert [key for key in world.keys("_") if key.startswith((EXPORT.prefix(), UPLOAD.prefix()))] == [young]
    assert collect(world).exports_removed == 0


def test_archives_that_can_not_be_listed_do_not_stop_the_rest():
    world = with_old_notes()
    world.client.before = lambda index, verb: _fail_at(world, index, UPLOAD.prefix())

    report = collect(world)

    assert [(failure.space_id, failure.code) for failure in report.failed] == [("_exports", "store_unavailable")]
    assert only(report).action == "consolidate"


def _fail_at(world: World, index: int, key: str) -> None:
    if world.client.requests[index][1] == key:
        raise error("SlowDown", 503, "ListObjectsV2")


def _die_at(verb: str, deadly: str) -> None:
    if verb == deadly:
        raise Killed


def test_all_old_runs_are_removed_however_many():
    world = with_old_notes(count=0)
    world.consolidate()
    world.clock.move(QUIET_AFTER.total_seconds() + 1)
    world.sweep_all()
    uid = heads.load(world.process, "demo").meta.uid
    for number in range(1_100):
        run_id = f"{keys.run_moment(1_000_000 + number)}{number:016d}"
        run = runs.Run(job_id=run_id, space_id="demo", uid=uid, trigger="api", created_at="2026-02-20T14:00:00Z")
        world.inner.put_object(Bucket="bucket", Key=RUN.key("demo", run_id), Body=run.to_bytes())
    world.clock.move(100 * DAY)

    report = collect(world)

    assert report.runs_removed == 1_101
    assert _runs(world, "demo") == []


# Moving


def test_old_notes_are_moved_to_a_record_each_with_the_reason_and_fresh_ones_stay():
    world = with_old_notes()
    old = world.live_ids()[:2]

    found = only(collect(world, delete_only=True))

    assert (found.action, found.old_notes, found.moved, found.records, found.run_id) == ("move", 2, 2, [1], None)
    assert len(world.live_ids()) == 1
    assert not world.llm.prompts
    (key,) = world.keys("demo/_consolidations/")
    assert all(note_id in world.text(key) for note_id in old)
    assert world.text(key).count("older than 30 days; moved here by garbage collection") == 2


def test_many_old_notes_go_to_several_records():
    world = with_old_notes(count=7, consolidation_max_notes=3)

    found = only(collect(world, delete_only=True))

    assert (found.old_notes, found.moved, found.records) == (7, 7, [1, 2, 3])
    assert len(world.live_ids()) == 1
    assert collect(world, delete_only=True).spaces == []


def test_a_space_with_more_than_fits_into_the_time_is_gone_on_with():
    world = with_old_notes("alpha", "beta", count=7, consolidation_max_notes=1)
    reports = []
    for _ in range(20):
        after = reports[-1].after if reports else None
        process = world.with_parts(clock=_ticking(world))
        reports.append(collect(world, process=process, delete_only=True, after=after, seconds=8))
        if not reports[-1].more:
            break

    assert len(reports) > 2
    assert any(found.unfinished for found in reports[0].spaces)
    assert sum(report.moved for report in reports) == 14
    assert len(world.live_ids("alpha")) == len(world.live_ids("beta")) == 1


def test_a_record_takes_no_more_bytes_than_one_may_have(monkeypatch: pytest.MonkeyPatch):
    world = with_old_notes(count=5)
    size = world.inner.objects[NOTE.key("demo", world.live_ids()[0])].body
    monkeypatch.setattr(archive_notes, "RECORD_BYTES", len(size) * 2)

    found = only(collect(world, delete_only=True))

    assert (found.moved, found.records) == (5, [1, 2, 3])


def test_what_is_too_large_for_a_record_stays_live_and_stops_nothing(monkeypatch: pytest.MonkeyPatch):
    world = with_old_notes(count=4, consolidation_max_notes=2)
    monkeypatch.setattr(archive_notes, "RECORD_BYTES", 1_000)
    first = world.live_ids()[0]
    world.store.put(NOTE.key("demo", first), b"x" * 1_001)

    found = only(collect(world, delete_only=True))

    assert (found.old_notes, found.moved) == (4, 3)
    assert first in world.live_ids()


def test_ended_tokens_are_removed_by_the_first_call_alone_and_not_for_named_spaces(monkeypatch: pytest.MonkeyPatch):
    world = with_old_notes(*ALIKE)
    calls: list[bool] = []
    monkeypatch.setattr(management, "ended", lambda *_, dry_run: calls.append(dry_run) or ["sha256:1"])

    removed = [
        collect(world, **named).tokens_removed
        for named in ({}, {"dry_run": True}, {"space_ids": ("alpha",)}, {"after": "alpha"})
    ]

    assert (removed, calls) == ([["sha256:1"], ["sha256:1"], [], []], [False, True])


def test_a_registry_that_cannot_be_changed_does_not_stop_the_rest(monkeypatch: pytest.MonkeyPatch):
    world = with_old_notes(*ALIKE)

    def refuse(*_: Any, dry_run: bool) -> list[str]:
        raise Forbidden("The token was rotated.")

    monkeypatch.setattr(management, "ended", refuse)

    report = collect(world)

    assert [(failure.space_id, failure.code) for failure in report.failed] == [("_system/tokens.json", "forbidden")]
    assert report.runs_started == len(ALIKE)


def test_old_backups_go_in_spaces_that_the_caller_may_see_and_in_deleted_ones_too():
    world = World()
    for space_id in ("a", "a-b", "gone", "hidden"):
        world.create_space(space_id)
        for _ in range(3):
            world.note("x", space_id=space_id)
            world.back_up(space_id)
            world.clock.move(40 * DAY)
    lifecycle.delete(world.process, "gone", "gone")
    world.inner.put_object(Bucket="b", Key="_backups/a/2020-01-01T00-00-00/_manifest.json", Body=b"{")
    before = dict(world.inner.objects)
    rule: dict[str, Any] = {
        "keep_last": 1,
        "backup_days": 1,
        "max_age_days": 3_650,
        "who": admin_of("a", "a-b", "gone"),
    }

    told = collect(world, dry_run=True, **rule)
    assert world.inner.objects == before
    done = collect(world, **rule)

    assert [found.backups for found in done.spaces] == [found.backups for found in told.spaces]
    assert {found.space_id: len(found.backups) for found in done.spaces} == {"a": 2, "a-b": 2, "gone": 2}
    assert (done.looked_at, done.backups_removed, done.failed, done.more) == (3, 6, [], False)
    assert done.spaces[0].unreadable == ["2020-01-01T00-00-00"]
    assert len(catalog.page_of(world.process, "hidden", limit=9)[0]) == 3
    world.inner.objects.update({key: item for key, item in before.items() if key.startswith("_backups/gone/")})
    (named,) = collect(world, **rule, space_ids=["gone"]).spaces
    assert (named.space_id, len(named.backups)) == ("gone", 2)
    everywhere = collect(world, **{**rule, "who": EVERYONE})
    assert (everywhere.looked_at, {found.space_id for found in everywhere.spaces}) == (4, {"a", "hidden"})


def test_backups_of_many_spaces_go_where_it_ran_out_of_time_and_one_that_fails_stops_no_other():
    world = World()
    world.create_space()
    world.back_up()
    objects = {key.removeprefix("_backups/demo/"): world.inner.objects[key] for key in world.keys("_backups/demo/")}
    for number in range(40):
        for name, item in objects.items():
            text = item.body.replace(b'"space_id": "demo"', b'"space_id": "s%03d"' % number)
            world.inner.put_object(Bucket="b", Key=f"_backups/s{number:03d}/{name}", Body=text)
    world.client.before = lambda index, verb: (
        world.client.break_at(index, "SlowDown", 503, done=False) or world.client.before(index, verb)
        if world.client.requests[index] == ("LIST", "_backups/s007/")
        else None
    )
    world.client.after = lambda index, verb: world.clock.move(1)
    places, failed, more = [""], set(), True
    while more:
        report = collect(world, dry_run=True, after=places[-1] or None)
        more, places = report.more, [*places, report.after or "~"]
        failed |= {failure.space_id for failure in report.failed}

    assert (len(places) > 2, sorted(set(places))) == (True, places)
    assert failed == {"s007"}


@each("wrong", [{"keep_last": 0}, {"keep_last": 366}, {"backup_days": 0}, {"backup_days": 3_651}])
def test_a_rule_that_would_keep_no_backup_is_refused_before_anything_is_done(wrong: dict[str, Any]):
    world = with_old_notes()
    with pytest.raises(InvalidRequest) as refused:
        collect(world, **wrong)
    assert [error.field for error in refused.value.fields] == list(wrong)
    assert not world.client.requests
