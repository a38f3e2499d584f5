"""Objects of a space that cannot be read: each is named, and stops nothing that does not need it."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from livemem.conversations.turn import Turn
from livemem.erasure import erasure
from livemem.llm import look as looks
from livemem.llm.look import ApiState
from livemem.store.bucket import BACKUP_MANIFEST, IN_CONVERSATION, PLAN, RECORD, RUN, TURN
from livemem.upkeep import health
from tests.support import damaged
from tests.support.damaged import DAMAGES, SPACE, Whole
from tests.support.part import of_proof, part
from tests.support.talk import Talk
from tests.support.world import EVERYONE, INVOCATION, World

ONE = f"GET {SPACE}/conversations/{{conversation_id}}"
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
SUMMARIES = {f"{ONE}/summaries", ONE}
NEEDED: dict[str, set[str]] = {
    "_asks": {"GET /v1/jobs/{job} question"},
    # The note may be in it: nobody can say that it is gone.
    "_consolidations": {f"GET {SPACE}/consolidations/{{number}}", f"GET {SPACE}/notes/{{note_id}}"},
    "_erasures": {"GET /v1/jobs/{job} erasure"},
    "_runs": {"GET /v1/jobs/{job} consolidation"},
    "conversation.json": {
        *(ONE, "GET /v1/jobs summaries"),
        *(f"{ONE}/{part}" for part in ("turns", "turns/{turn_index}", "summaries")),
    },
    "v/boundaries/l1": {ONE},
    "v/boundaries/l2": SUMMARIES,
    "versions.json": SUMMARIES,
}
"""The routes that can't be answered without a document of the kind; all others are, also without any other kind."""
STOPPED = {
    "conversation.json": {"turn", "summaries"},
    "v/boundaries/l1": {"summaries"},
    "v/boundaries/l2": {"summaries"},
    "v/summaries/l2": {"summaries"},
    "versions.json": {"summaries"},
}
"""The work that can't be done without it, in the same way."""
HARMLESS = {("tools", "another shape")}
"""What a tool gave may be any JSON."""
SHAPES = list(DAMAGES)
TOGETHER = [
    [kind for kind in KINDS if kind not in NEEDED and kind not in STOPPED],
    ["conversation.json"],
    ["v/boundaries/l1", "_erasures"],
    ["v/boundaries/l2", "_runs"],
    ["versions.json", "_consolidations"],
    ["v/summaries/l2"],
    *of_proof(*([kind] for kind in KINDS)),
]
"""Kinds that are damaged at once: no two of them are needed for the same. `make proof` damages each alone as well."""


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


def test_the_table_has_every_kind_of_document_and_all_can_be_read(whole: Whole, monkeypatch: pytest.MonkeyPatch):
    agents, one = damaged.opened(monkeypatch, whole)

    assert sorted(damaged.documents(one)) == sorted(KINDS)
    assert {answer.status for answer in damaged.answers(agents, one).values()} == {200}


@pytest.mark.slow
@pytest.mark.parametrize("kinds", TOGETHER, ids=" ".join)
def test_damaged_objects_are_named_and_stop_nothing_that_does_not_need_them_until_they_are_mended(
    whole: Whole, worked: dict[str, Any], kinds: Sequence[str], monkeypatch: pytest.MonkeyPatch
):
    key_of = {kind: damaged.documents(whole)[kind] for kind in kinds}
    keys = set(key_of.values())
    for turn in part(range(len(SHAPES)), len(SHAPES)):
        agents, one = damaged.opened(monkeypatch, whole)
        for kind, key in key_of.items():
            # Kinds that follow each other are damaged in other ways.
            shapes = [shape for shape in SHAPES if (kind, shape) not in HARMLESS]
            damaged.damage(one.world, key, DAMAGES[shapes[(KINDS.index(kind) + turn) % len(shapes)]])
        refused = {
            route: (answer.status, answer.names)
            for route, answer in damaged.answers(agents, one).items()
            if answer.status != 200
        }
        assert refused == {route: (503, {key_of[kind]}) for kind in kinds for route in NEEDED.get(kind, ())}

        # Also what nobody has read is found on the day when it was written.
        one.world.sweep_all()
        told = problems(one.world)
        assert [key for key in keys if key not in told] == []
        assert one.world.sweep().unreadable == {"demo": sorted(keys)}

    done = damaged.works(damaged.forked(one))
    stopped = {work: key_of[kind] for kind in kinds for work in STOPPED.get(kind, ())}
    assert {name for name, outcome in done.items() if outcome != worked[name]} == set(stopped)
    for name, key in stopped.items():
        assert done[name] in ("failed", "nothing") or getattr(done[name], "key", None) == key, (name, done[name])

    for key in keys:
        damaged.damage(one.world, key, whole.world.inner.objects[key].body)

    assert one.world.sweep().unreadable == {}
    told = problems(one.world)
    assert [key for key in keys if key in told] == []
    assert {answer.status for answer in damaged.answers(agents, one).values()} == {200}
    assert damaged.works(damaged.forked(one)) == worked


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


@pytest.mark.parametrize("kind", ["_consolidations", "memories/facts/log", "turns"])
def test_a_number_is_never_given_twice_also_where_the_newest_is_damaged(whole: Whole, kind: str):
    one = damaged.forked(whole)
    some = [key for key in one.world.keys("demo/") if damaged.kind_of(whole, key.removeprefix("demo/")) == kind]
    # Turns are listed from the newest on.
    newest = some[0] if kind == "turns" else some[-1]
    damaged.damage(one.world, newest, b"")

    damaged.works(one)

    assert one.world.inner.objects[newest].body == b""
    later = [key for key in one.world.keys("demo/") if damaged.kind_of(whole, key.removeprefix("demo/")) == kind]
    assert set(some) < set(later)


def test_a_commit_whose_plan_cannot_be_read_is_finished_once_it_is_mended(monkeypatch: pytest.MonkeyPatch):
    world = World()
    world.create_space()
    noted = world.note("Not to be lost.")
    run = world.order()
    with monkeypatch.context() as patch:
        # The worker dies right after its commit.
        patch.setattr("livemem.changes.commit.apply", _die)
        with pytest.raises(RuntimeError, match="died"):
            world.work(world.queued.pop())
    plan = PLAN.key("demo", run.job_id)
    sound = world.inner.objects[plan].body
    damaged.damage(world, plan, b"{")
    world.clock.move(3_600)
    world.sweep()
    assert plan in problems(world)
    later = world.note("Written meanwhile.")
    assert world.live_ids() == [noted.note_id, later.note_id]

    damaged.damage(world, plan, sound)
    world.sweep()
    world.clock.move(3_600)
    world.sweep()

    assert world.live_ids() == [later.note_id]
    assert world.view(run.job_id).state == "done"
    assert plan not in problems(world)
    assert world.consolidate().consolidation == 2


def _die(*_: Any) -> None:
    raise RuntimeError("died")


@pytest.mark.slow
def test_what_may_hold_any_bytes_is_read_as_it_is_and_never_an_error_of_the_service(
    whole: Whole, monkeypatch: pytest.MonkeyPatch
):
    plain = ["demo/_rules.md", "demo/_synthesis.md", "demo/_lease.json", "demo/_runs/by_hand.json"]
    for folder in ("live/2", "bank/log", "rooms/", "conversations/{}/claims/", "_search/", "_by_cwd/"):
        plain += whole.world.keys(f"demo/{folder.format(whole.ids['conversation_id'])}")[:1]
    manifest = BACKUP_MANIFEST.key("demo", whole.ids["backup_id"])
    for shape in part(DAMAGES.values(), 3):
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
    erase, wanted = f"POST {SPACE}/erasures", {"ids": [one.ids["note_id"]]}

    status, told = damaged.http(agents, "archives", erase, one.ids, body=wanted)
    assert (status, told.get("code"), told.get("key")) == (503, "object_unreadable", key), told
    damaged.damage(one.world, key, body)
    assert damaged.http(agents, "archives", erase, one.ids, body=wanted)[0] == 200
    assert b"The harbour opens at dawn" not in one.world.inner.objects[key].body


def test_what_a_file_rests_on_is_not_known_where_the_record_that_says_it_cannot_be_read(whole: Whole):
    world = damaged.forked(whole).world
    first, *_, newest = world.keys(RECORD.prefix("demo"))
    damaged.damage(world, newest, b"{")
    world.clock.move(3_600)

    ended = world.consolidate()

    made = next(one for one in world.keys(RECORD.prefix("demo")) if f"/{ended.consolidation:06d}_" in one)
    (file,) = json.loads(world.inner.objects[made].body)["files"]
    assert file["sources"] is None
    assert json.loads(world.inner.objects[first].body)["files"][0]["sources"] is not None


def test_a_run_that_cannot_be_read_does_not_stop_the_next_one():
    world = World()
    world.create_space()
    noted = world.note("Not to be lost.")
    run = world.order()
    damaged.damage(world, RUN.key("demo", run.job_id), b"{")
    world.queued.clear()
    world.clock.move(7_200)
    world.sweep()

    assert world.consolidate().consolidation == 1
    assert world.live_ids() == []
    assert noted.note_id in world.text(world.keys(RECORD.prefix("demo"))[0])


def test_a_damaged_turn_keeps_only_its_own_block_and_those_behind_it_waiting():
    talk, whole = Talk(), Talk()
    for each in (talk, whole):
        each.said(*[700] * 9)
    key = TURN.key("demo", talk.id, 6)
    sound = talk.world.inner.objects[key].body
    damaged.damage(talk.world, key, b"{")

    stopped = talk.update().job
    assert stopped
    assert (stopped.status, stopped.error and stopped.error.code) == ("failed", "conversation_broken")
    assert whole.update().outcome == "done"
    before, of_whole = _summaries(talk), _summaries(whole)
    assert before
    assert before < of_whole
    assert talk.update().outcome == "nothing"

    damaged.damage(talk.world, key, sound)
    assert talk.update().outcome == "done"
    assert _summaries(talk) == of_whole


def test_the_summary_of_a_block_with_a_damaged_turn_waits_and_all_others_are_made():
    talk = Talk()
    talk.said(*[700] * 9)
    talk.update()
    made = _summaries(talk)
    first, *_ = sorted(made)
    key = TURN.key("demo", talk.id, 1)
    sound = talk.world.inner.objects[key].body
    damaged.damage(talk.world, key, b"{")
    for name in made:
        talk.world.store.delete(IN_CONVERSATION.prefix("demo", talk.id) + name)

    assert talk.update().outcome == "failed"
    assert first not in _summaries(talk)
    assert {name for name in made if "/l1/" in name} - _summaries(talk) == {first}

    damaged.damage(talk.world, key, sound)
    assert talk.update().outcome == "done"
    assert _summaries(talk) == made


def test_a_damaged_turn_that_is_erased_leaves_a_stub_so_that_the_conversation_goes_on():
    talk = Talk()
    talk.said(*[700] * 9)
    key = TURN.key("demo", talk.id, 6)
    damaged.damage(talk.world, key, b"{")

    receipt = erasure.erase(talk.process, EVERYONE, "demo", [f"{talk.id}/6"], talk.world.clock() + INVOCATION)

    assert receipt.status == "done"
    stub = Turn.from_bytes(talk.world.inner.objects[key].body)
    assert (stub.turn_index, stub.user_message) == (6, f"Erased on {stub.erased_on}.")
    talk.world.sweep()
    assert key not in problems(talk.world)
    assert talk.update().outcome == "done"


def _summaries(talk: Talk) -> set[str]:
    folder = IN_CONVERSATION.prefix("demo", talk.id)
    return {key.removeprefix(folder) for key in talk.world.keys(folder) if "/summaries/" in key}
