"""Objects of a space that cannot be read: each is named, hides nothing else, and is set aside so that all goes on."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from livemem.errors import ObjectUnreadable
from livemem.llm import look as looks
from livemem.llm.look import ApiState
from livemem.store import keys, memory_keys
from livemem.upkeep import health
from tests.support import damaged
from tests.support.damaged import DAMAGES, SPACE, Answer, Whole
from tests.support.mcp import Agents
from tests.support.world import EVERYONE, World

KINDS = (
    "_asks",
    "_consolidations",
    "_digests/done.json",
    "_digests/extract",
    "_digests/input.json",
    "_digests/stored",
    "_erasures",
    "_idempotency",
    "_room_ids",
    "_runs",
    "conversation.json",
    "v/boundaries/l1",
    "v/boundaries/l2",
    "v/summaries/l1",
    "v/summaries/l2",
    "versions.json",
    "ids",
    "jobs",
    "memories/facts/log",
    "memories/facts/snapshot",
    "sessions",
    "tools",
    "turns",
)
LOST = {
    "_asks": {f"GET {SPACE}/ask/{{request_id}}": 404},
    "_erasures": {f"GET {SPACE}/erasures/{{erasure_id}}": 404},
    "_runs": {f"GET {SPACE}/runs/{{run_id}}": 404},
    # Nobody can say that the note is gone: it may be in what was set aside.
    "_consolidations": {f"GET {SPACE}/notes/{{note_id}}": 503},
}
"""What is not there any more once the object is set aside, and what the route answers that asks for it."""
HARMLESS = {("tools", "another shape")}
"""What a tool gave may be any JSON."""


@pytest.fixture(name="whole", scope="module")
def _whole() -> Iterator[Whole]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("livemem.memories.log.SNAPSHOT_EVERY", 2)
        yield damaged.built()


@pytest.fixture(name="worked", scope="module")
def _worked(whole: Whole) -> dict[str, Any]:
    """What becomes of all work where nothing is damaged."""
    return damaged.works(damaged.forked(whole))


@pytest.fixture(autouse=True)
def _models(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("livemem.memories.log.SNAPSHOT_EVERY", 2)
    monkeypatch.setattr(looks, "look", lambda *_: ApiState("ok", ""))


def problems(world: World) -> str:
    """What health tells of the space."""
    return " ".join(one.detail for one in health.deep(world.process, EVERYONE).problems if one.wrong)


def listed(agents: Agents, whole: Whole) -> list[str]:
    """The objects that the route lists as unreadable."""
    status, body = damaged.http(agents, "archives", f"GET {SPACE}/unreadable", whole.ids)
    assert status == 200
    return [item["key"] for item in body["items"]]


def set_aside(agents: Agents, whole: Whole, key: str) -> tuple[int, Any]:
    body = {"key": key, "reason": "It was damaged."}
    return damaged.http(agents, "archives", f"POST {SPACE}/quarantine", whole.ids, body=body)


def honest(route: str, answer: Answer, key: str) -> None:
    """The route does not need the object, or says which one it is."""
    assert answer.status in (200, 503), (route, answer)
    assert answer.status == 200 or key in answer.names, (route, answer)


def test_the_table_has_every_kind_of_document_and_all_can_be_read(whole: Whole, monkeypatch: pytest.MonkeyPatch):
    agents, one = damaged.opened(monkeypatch, whole)

    assert sorted(damaged.documents(one)) == sorted(KINDS)
    assert {answer.status for answer in damaged.answers(agents, one).values()} == {200}
    assert listed(agents, one) == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_object_is_named_and_hides_nothing_else_and_once_it_is_set_aside_all_goes_on(
    whole: Whole, worked: dict[str, Any], kind: str, monkeypatch: pytest.MonkeyPatch
):
    key = damaged.documents(whole)[kind]
    # All that is no JSON is told by one reader: of that one kind has every shape, and each another one.
    for shape in DAMAGES.keys() - {"half"} if kind == "_runs" else ["another shape"]:
        if (kind, shape) not in HARMLESS:
            agents, one = damaged.opened(monkeypatch, whole)
            damaged.damage(one.world, key, DAMAGES[shape])
            for route, answer in damaged.answers(agents, one).items():
                honest(route, answer, key)
            assert key in listed(agents, one)
    agents, one = damaged.opened(monkeypatch, whole)
    damaged.damage(one.world, key, DAMAGES["half"])

    # Who does not need it goes on, who does says which object it is.
    for route, answer in damaged.answers(agents, one).items():
        honest(route, answer, key)
    for name, outcome in damaged.works(damaged.forked(one)).items():
        if isinstance(outcome, Exception):
            assert isinstance(outcome, ObjectUnreadable), (name, repr(outcome))
            assert outcome.key == key, name
    # Named by health, by the list and by the sweep.
    assert listed(agents, one) == [key]
    assert key in problems(one.world)
    assert one.world.sweep().unreadable == {"demo": [key]}

    status, kept = set_aside(agents, one, key)
    assert (status, kept["key"], kept["by"]) == (201, key, "admin"), kept
    assert one.world.inner.objects[kept["kept_at"]].body == DAMAGES["half"]
    one.world.new_process()

    assert listed(agents, one) == []
    assert key not in problems(one.world)
    assert one.world.sweep().unreadable == {}
    for route, answer in damaged.answers(agents, one).items():
        assert answer.status == LOST.get(kind, {}).get(route, 200), (route, answer)
    assert damaged.works(one) == worked


def test_the_daily_look_finds_what_nobody_has_met(whole: Whole):
    one = damaged.forked(whole)
    key = damaged.documents(whole)["_erasures"]
    damaged.damage(one.world, key, b"")
    assert key not in problems(one.world)

    one.world.sweep_all()

    assert key in problems(one.world)
    damaged.damage(one.world, key, whole.world.inner.objects[key].body)
    assert one.world.sweep().unreadable == {}
    assert key not in problems(one.world)


def test_what_was_set_aside_is_put_back_byte_for_byte_and_nothing_else_is_replaced(
    whole: Whole, monkeypatch: pytest.MonkeyPatch
):
    agents, one = damaged.opened(monkeypatch, whole)
    key = damaged.documents(whole)["turns"]
    sound = whole.world.inner.objects[key].body
    damaged.damage(one.world, key, b"{")
    _, kept = set_aside(agents, one, key)
    back = f"POST {SPACE}/quarantine/{{quarantine_id}}/restore"
    ids = {**one.ids, "quarantine_id": kept["quarantine_id"]}
    assert kept["replaced"]

    # A record from elsewhere leads to no other space, and to no head.
    record = kept["kept_at"].replace(".object", ".json")
    written = one.world.inner.objects[record].body
    for name in (b"../other/_meta.json", b"_meta.json", b"/x"):
        damaged.damage(one.world, record, written.replace(key.removeprefix("demo/").encode(), name))
        assert damaged.http(agents, "archives", back, ids)[0] == 422
    damaged.damage(one.world, record, written)

    # Somebody has mended it by hand meanwhile: that is not replaced.
    stands = one.world.inner.objects[key].body
    damaged.damage(one.world, key, sound)
    assert damaged.http(agents, "archives", back, ids)[0] == 409
    assert one.world.inner.objects[key].body == sound
    damaged.damage(one.world, key, stands)

    for _ in range(2):
        status, done = damaged.http(agents, "archives", back, ids)
        assert (status, done["put_back_by"]) == (200, "admin")
    assert one.world.inner.objects[key].body == b"{"
    assert listed(agents, one) == [key]
    status, again = set_aside(agents, one, key)
    assert (status, again["quarantine_id"]) == (201, kept["quarantine_id"])
    _, all_kept = damaged.http(agents, "archives", f"GET {SPACE}/quarantine", one.ids)
    assert [item["key"] for item in all_kept["items"]] == [key]


def test_only_what_cannot_be_read_is_set_aside_and_never_the_head_or_another_spaces_object(
    whole: Whole, monkeypatch: pytest.MonkeyPatch
):
    agents, one = damaged.opened(monkeypatch, whole)
    before = dict(one.world.inner.objects)
    key = damaged.documents(whole)["_consolidations"]

    assert set_aside(agents, one, key)[0] == 409
    assert set_aside(agents, one, "demo/_runs/none.json")[0] == 404
    for other in ("demo/_meta.json", "other/_runs/x.json", "_system/tokens.json", "demo/../other/x.json", "demo/", ""):
        assert set_aside(agents, one, other)[0] == 422, other
    assert one.world.inner.objects.keys() == before.keys()
    damaged.damage(one.world, keys.meta("demo"), b"{")
    status, body = set_aside(agents, one, key)
    assert (status, body["code"], body["key"]) == (503, "space_broken", "demo/_meta.json")
    assert "demo/_meta.json" in one.world.sweep().unreadable["demo"]


@pytest.mark.parametrize("kind", ["_consolidations", "memories/facts/log", "turns"])
def test_a_number_is_never_given_twice_also_where_the_newest_is_set_aside(
    whole: Whole, kind: str, monkeypatch: pytest.MonkeyPatch
):
    agents, one = damaged.opened(monkeypatch, whole)
    some = [key for key in one.world.keys("demo/") if damaged.kind_of(whole, key.removeprefix("demo/")) == kind]
    # Turns are listed from the newest on.
    newest = some[0] if kind == "turns" else some[-1]
    damaged.damage(one.world, newest, b"")
    assert set_aside(agents, one, newest)[0] == 201
    one.world.new_process()
    stands = one.world.inner.objects[newest].body

    damaged.works(one)

    assert one.world.inner.objects[newest].body == stands
    later = [key for key in one.world.keys("demo/") if damaged.kind_of(whole, key.removeprefix("demo/")) == kind]
    assert set(some) < set(later)


def test_a_commit_whose_plan_cannot_be_read_is_given_up_and_its_notes_stay(monkeypatch: pytest.MonkeyPatch):
    world = World()
    world.create_space()
    noted = world.note("Not to be lost.")
    run = world.order()
    with monkeypatch.context() as patch:
        # The worker dies right after its commit.
        patch.setattr("livemem.changes.commit.apply", _die)
        with pytest.raises(RuntimeError, match="died"):
            world.work(world.queued.pop())
    plan = keys.plan("demo", run.job_id)
    damaged.damage(world, plan, b"{")
    world.clock.move(3_600)
    world.sweep()
    assert plan in problems(world)

    agents, one = damaged.opened(monkeypatch, Whole(world, {}))
    assert set_aside(agents, one, plan)[0] == 201
    one.world.new_process()
    one.world.sweep()
    one.world.clock.move(3_600)
    one.world.sweep()

    assert one.world.live_ids() == [noted.note_id]
    assert one.world.view(run.job_id).state == "error"
    assert one.world.consolidate().consolidation == 2


def _die(*_: Any) -> None:
    raise RuntimeError("died")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["memories/facts/log", "_runs"])
def test_setting_aside_can_die_after_every_request_and_be_repeated(
    whole: Whole, kind: str, monkeypatch: pytest.MonkeyPatch
):
    key = damaged.documents(whole)[kind]
    died = 0
    for index, done in [(index, done) for index in range(1, 12) for done in (True, False)]:
        agents, one = damaged.opened(monkeypatch, whole)
        damaged.damage(one.world, key, b"{")
        one.world.client.break_at(index, "SlowDown", 503, done=done)
        status, _ = set_aside(agents, one, key)
        died += status != 201
        one.world.new_process()
        again, body = set_aside(agents, one, key)
        # What was done but for its answer is not there any more, or can be read.
        assert again in (201, 404, 409), body
        kept = [name for name in one.world.keys("demo/_quarantine/") if name.endswith(".object")]
        assert [one.world.inner.objects[name].body for name in kept] == [b"{"]
        assert listed(agents, one) == []
    assert died >= 8


def test_a_snapshot_of_before_tells_what_the_operation_was_that_was_set_aside(
    whole: Whole, monkeypatch: pytest.MonkeyPatch
):
    agents, one = damaged.opened(monkeypatch, whole)
    fourth = memory_keys.operation("demo", "fact", 4)
    damaged.damage(one.world, fourth, b"")
    assert set_aside(agents, one, fourth)[0] == 201
    one.world.new_process()

    _, found = damaged.http(agents, "memories", f"GET {SPACE}/memories/recent", one.ids)
    _, changes = damaged.http(agents, "memories", f"GET {SPACE}/memories/changes", one.ids, query={"limit": "50"})

    assert "fact 3: ddddddddd" in [item["content"] for item in found["items"]]
    assert [item["number"] for item in changes["items"] if item["what"] == "unreadable"] == [4]


def test_what_may_hold_any_bytes_is_read_as_it_is_and_never_an_error_of_the_service(
    whole: Whole, monkeypatch: pytest.MonkeyPatch
):
    plain = ["demo/_rules.md", "demo/_synthesis.md", "demo/_lease.json", "demo/_runs/by_hand.json"]
    for folder in ("live/2", "bank/log", "rooms/", "conversations/{}/claims/", "_search/", "_by_cwd/"):
        plain += whole.world.keys(f"demo/{folder.format(whole.ids['conversation_id'])}")[:1]
    manifest = keys.manifest("demo", whole.ids["backup_id"])
    for shape in DAMAGES.values():
        agents, one = damaged.opened(monkeypatch, whole)
        for key in (*plain, manifest):
            damaged.damage(one.world, key, shape)

        assert {answer.status for answer in damaged.answers(agents, one).values()} == {200}
        assert {name: type(done) for name, done in damaged.works(one).items() if isinstance(done, Exception)} == {}
        one.world.sweep_all()
        assert one.world.sweep().failed == []


def test_nobody_is_told_that_a_note_is_erased_while_a_record_that_may_hold_it_cannot_be_read(
    whole: Whole, monkeypatch: pytest.MonkeyPatch
):
    agents, one = damaged.opened(monkeypatch, whole)
    key = damaged.documents(whole)["_consolidations"]
    body = one.world.inner.objects[key].body
    damaged.damage(one.world, key, body[:-20])
    erase = f"DELETE {SPACE}/notes/{{note_id}}"

    status, told = damaged.http(agents, "archives", erase, one.ids, query={"erase": "true"})
    assert (status, told.get("code"), told.get("key")) == (503, "object_unreadable", key), told

    status, kept = set_aside(agents, one, key)
    assert status == 201
    assert b"The harbour opens at dawn" in one.world.inner.objects[kept["kept_at"]].body
    there = dict(one.world.inner.objects)
    # A backup knows the words, so they are found in what was set aside.
    assert damaged.http(agents, "archives", erase, one.ids, query={"erase": "true"})[0] == 200
    assert b"The harbour opens at dawn" not in one.world.inner.objects[kept["kept_at"]].body
    # Without one nobody does.
    one.world.inner.objects.clear()
    one.world.inner.objects.update({name: item for name, item in there.items() if not name.startswith("_backups/")})
    one.world.new_process()
    status, told = damaged.http(agents, "archives", erase, one.ids, query={"erase": "true"})
    assert (status, told["key"]) == (503, key)
    assert "set aside" in told["detail"]


def test_what_a_file_rests_on_is_not_known_where_the_record_that_says_it_cannot_be_read(whole: Whole):
    world = damaged.forked(whole).world
    first, *_, newest = world.keys(keys.records_prefix("demo"))
    damaged.damage(world, newest, b"{")
    world.clock.move(3_600)

    ended = world.consolidate()

    made = next(one for one in world.keys(keys.records_prefix("demo")) if f"/{ended.consolidation:06d}_" in one)
    (file,) = json.loads(world.inner.objects[made].body)["files"]
    assert file["sources"] is None
    assert json.loads(world.inner.objects[first].body)["files"][0]["sources"] is not None
