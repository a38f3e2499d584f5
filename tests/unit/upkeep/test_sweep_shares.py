"""One space never takes the sweep from the others: not by work without end, not by a defect, not by killing it."""

from collections.abc import Mapping
from datetime import timedelta

import pytest

from livemem.conversations import due, maintenance
from livemem.jobs.package import Package, Space
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.spaces.due_index import Due
from livemem.store import due_keys, timing
from livemem.store.bucket import BOUNDARY, CONVERSATION, SUMMARY_VERSIONS, SWEEP_PLACE
from livemem.upkeep import packages, sweep
from tests.support.cases import each
from tests.support.counting import Killed
from tests.support.every_kind import changed
from tests.support.talk import Talk, look_at_due
from tests.support.world import World

EVIL = "evil"


def with_package(monkeypatch: pytest.MonkeyPatch, maintain) -> None:
    monkeypatch.setattr(packages, "PACKAGES", (Package(maintain=maintain), *packages.PACKAGES))


def with_spaces(*space_ids: str) -> World:
    world = World()
    for space_id in space_ids:
        world.create_space(space_id, threshold=1)
        world.note("waits", space_id=space_id)
        world.inner.put_object(Bucket="b", Key=due_keys.due(space_id, "space", "", world.clock()), Body=b"")
    return world


def slow(world: World, seconds: float) -> None:
    """Each request about the hostile space takes so long."""

    def before(index: int, verb: str) -> None:
        if world.client.requests[index][1].startswith(f"{EVIL}/"):
            world.clock.move(seconds)

    world.client.before = before


def without_end(process: Process, space: Space) -> Mapping[str, float]:
    while space.space_id == EVIL:
        process.store.get(f"{EVIL}/x")
    return {}


@pytest.mark.parametrize("everything", [False, True])
def test_a_space_with_work_without_end_gets_its_share_and_the_others_are_looked_after(monkeypatch, everything):
    world = with_spaces("a", EVIL, "z")
    with_package(monkeypatch, without_end)
    slow(world, 1)
    begun = world.clock()

    report = world.sweep_all() if everything else world.sweep()

    assert (report.failed, sorted(report.did("started"))) == ([EVIL], ["a", "z"])
    assert sweep.SHARE <= world.clock() - begun < sweep.SHARE + timedelta(seconds=30)
    assert EVIL in world.due("space")


def test_a_space_that_fails_in_whatever_way_is_named_and_the_others_are_looked_after(monkeypatch):
    world = with_spaces("a", EVIL, "z")

    def fails(process: Process, space: Space) -> Mapping[str, float]:
        if space.space_id == EVIL:
            raise MemoryError
        return {}

    with_package(monkeypatch, fails)

    report = world.sweep()

    assert (report.failed, sorted(report.did("started"))) == ([EVIL], ["a", "z"])


@pytest.mark.parametrize("everything", [False, True])
def test_a_sweep_that_a_space_kills_is_gone_on_with_behind_it_by_the_next_one(monkeypatch, everything):
    names = [f"space-{number:03}" for number in range(150)]
    world = with_spaces(*names)
    looked: list[str] = []

    def kills(process: Process, space: Space) -> Mapping[str, float]:
        looked.append(space.space_id)
        if space.space_id == "space-010":
            raise Killed
        return {}

    with_package(monkeypatch, kills)
    for _ in range(2):
        with pytest.raises(Killed):
            world.sweep_all() if everything else world.sweep()
        world.new_process()

    # All but those that are looked at together with it and come behind it there.
    assert {*names} - {*looked} == {f"space-{number:03}" for number in range(11, 64)}
    assert looked[11] == "space-064"


def test_a_sweep_that_has_ended_begins_at_the_beginning_again(seventy):
    world = seventy.fork()
    world.sweep_all()
    world.client.reset()
    world.sweep_all()
    heads_read = [key for verb, key in world.client.requests if verb == "GET" and key.endswith("_meta.json")]
    assert heads_read[0] == "space-000/_meta.json"


@pytest.fixture(name="seventy", scope="module")
def _seventy() -> World:
    return with_spaces(*(f"space-{number:03}" for number in range(70)))


@each("body", [b"", b"[" * 5_000, b'{"behind": "a\\nb"}', b'{"behind": 7}', b"x" * 9_999])
def test_a_note_of_the_place_that_can_not_be_read_costs_nothing_but_the_place(seventy, body):
    world = seventy.fork()
    world.inner.put_object(Bucket="b", Key=SWEEP_PLACE.key("all"), Body=body)

    assert world.sweep_all().spaces == 70


def with_versions(highest: int) -> Talk:
    """A conversation that was rebuilt, whose document says that so many versions were given."""
    talk = Talk()
    talk.said(*[700] * 4)
    talk.update()
    for number in (2, 3):
        talk.world.store.put(BOUNDARY.key("demo", talk.id, number, 1, 1), b"{}")
    body = b'{"version": 1, "highest": 3}'
    talk.world.store.put(SUMMARY_VERSIONS.key("demo", talk.id), changed(body, ("highest",), highest))
    return talk


def test_versions_are_listed_and_not_counted_however_many_were_given():
    talk = with_versions(100_000)
    world = talk.world
    world.new_process()

    done = maintenance.maintain(world.process, Space("demo", heads.load(world.process, "demo"), None, False, [], world.clock(), True, frozenset({"conversations"})))  # fmt: skip # noqa: E501

    assert done == {"summary_versions_removed": 2}
    assert [name[:2] for name in talk.names("v") if name != "versions.json"] == ["v1"] * len(talk.names("v1"))
    # The old ones: 3,000,000 LISTs.
    assert world.client.counts["LIST"] < 12


@pytest.mark.parametrize("highest", [3_000_000, 10**400, -1])
def test_absurd_versions_in_the_bucket_cost_their_space_and_no_other_one_request_after_another(highest):
    talk = with_versions(highest)
    world = talk.world
    world.create_space("other", threshold=1)
    world.note("waits", space_id="other")
    world.new_process()

    report = world.sweep_all()

    assert report.did("started") == ["other"]
    assert sum(world.client.counts.values()) < 60


def test_conversations_are_looked_at_in_turn_and_one_that_can_not_be_read_does_not_come_first_for_ever():
    world = with_spaces("a", "b")
    moments = [("a", minutes) for minutes in range(0, 500, 5)] + [("b", 600)]
    for space_id, minutes in moments:
        conversation_id = world.ids()
        due.mark_at(world.process, space_id, conversation_id, world.clock() + timedelta(minutes=minutes))
        key = CONVERSATION.key(space_id, conversation_id)
        world.inner.put_object(Bucket="b", Key=key, Body=b'{"turns": 100000000}')
    world.clock.move(86_400)
    world.new_process()

    look_at_due(world.process, world.clock() + timedelta(minutes=15))

    read = [key for verb, key in world.client.requests if verb == "GET" and key.endswith("/conversation.json")]
    assert len(read) == len(moments)
    assert [key[0] for key in read[:3]] == ["a", "b", "a"]
    assert len(world.due("conversation")) == len(moments)
    assert min(key for key in world.keys(due_keys.DUE) if "/conversation/" in key) > due_keys.due_after(world.clock())


def slow_world(*names: str, seconds: float = 1.0) -> World:
    """Spaces at rest. Each read of a head takes so long."""
    world = World()
    for name in names:
        world.create_space(name)
    world.clock.move(7_200)
    world.sweep()

    def before(index: int, verb: str) -> None:
        if verb == "GET" and world.client.requests[index][1].endswith("_meta.json"):
            world.clock.move(seconds)

    world.client.before = before
    return world


def looked_at(world: World) -> list[str]:
    found = [key for verb, key in world.client.requests if verb == "GET" and key.endswith("/_meta.json")]
    return list(dict.fromkeys(key.removesuffix("/_meta.json") for key in found))


@pytest.mark.parametrize("killed", [False, True])
def test_a_daily_sweep_that_runs_out_of_time_is_continued_by_the_next_sweeps_until_each_space_was_looked_at_once(
    killed,
):
    names = [f"space-{number:04}" for number in range(400)]
    world = slow_world(*names, seconds=0.9)
    if killed:
        # An earlier daily sweep was killed, so this one begins in the middle.
        sweep.note_place(world.process, "all", "space-0200")
    daily: list[str] = []
    world.client.reset()

    sweep.sweep(world.process, deadline=world.clock() + timing.SWEEPING, everything=True)
    daily += looked_at(world)
    assert 64 <= len(daily) < 400
    assert len(world.due("daily")) == 1
    for _ in range(10):
        world.clock.move(900)
        world.client.reset()
        sweep.sweep(world.process, deadline=world.clock() + timing.SWEEPING)
        daily += looked_at(world)

    assert sorted(daily) == names
    assert daily[0] == ("space-0201" if killed else "space-0000")
    assert world.due("daily") == []


def test_spaces_that_come_and_go_meanwhile_do_not_confuse_the_rest_of_a_daily_sweep():
    entries = {
        ("c", "a"): ["c", "d"],
        ("c", "c"): ["c", "d", "a", "b"],
        ("a", "c"): ["a", "b"],
        # The space of the entry, or the one with which it began, is gone.
        ("bb", "a"): ["c", "d"],
        ("c", "aa"): ["c", "d", "a"],
        ("x", "a"): [],
    }
    for (begin, first), left in entries.items():
        entry = due_keys.DueEntry("key", World().clock(), begin, "daily", first)
        rest = Due(begin, "daily", first, (entry,))
        assert sweep.rest_of(rest, ["a", "b", "c", "d"]) == left, (begin, first)


def test_the_rest_of_a_look_that_began_in_the_middle_stays_in_its_order():
    world = World()
    rest = [f"s{number:03}" for number in (*range(150, 200), *range(100))]

    assert sweep._in_order(world.process, "all", rest) == rest
    sweep.note_place(world.process, "all", "s180")
    assert sweep._in_order(world.process, "all", rest)[:20] == [f"s{number:03}" for number in range(181, 200)] + [
        "s150"
    ]
