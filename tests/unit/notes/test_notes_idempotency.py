"""An Idempotency-Key makes one note of however many tries, also when a try died between its two writes."""

import json

import pytest

from livemem.errors import InvalidRequest, NotFound, PreconditionLost
from livemem.notes import idempotency, pages
from livemem.notes import note as notes
from livemem.notes.appending import NoteDraft
from livemem.notes.note import CopiedFrom
from livemem.spaces import head as heads
from livemem.store.bucket import IDEMPOTENCY, NOTE
from tests.support.cases import each
from tests.support.counting import Killed
from tests.support.world import World

WEEK = 7 * 24 * 3_600
DRAFT = NoteDraft("todo", "Write the docs.", ("docs",))


def new_world() -> World:
    world = World()
    world.create_space()
    world.new_process()
    return world


def append(world: World, draft: NoteDraft = DRAFT, key: str = "k-1", agent: str = "ann") -> tuple[notes.Note, bool]:
    return idempotency.append_once(world.process, "demo", agent, draft, key)


def test_a_first_try_is_two_puts():
    world = new_world()
    append(world, key="another")
    world.client.reset()

    note, new = append(world)

    assert new
    assert world.client.counts == {"PUT": 2}
    assert pages.get(world.process, "demo", note.note_id) == note


def test_a_repeat_gives_the_same_note_and_writes_nothing():
    world = new_world()
    note, _ = append(world)
    world.clock.move(3_600)
    before = dict(world.inner.objects)

    assert append(world) == (note, False)
    assert world.inner.objects == before


def test_a_repeat_after_the_consolidation_still_gives_the_same_note():
    world = new_world()
    note, _ = append(world)
    world.consolidate()

    again, new = append(world)

    assert not new
    assert (again.note_id, again.content, again.status, again.consolidation) == (
        note.note_id, note.content, "consolidated", 1,
    )  # fmt: skip
    assert world.live_ids() == []


@each("done", [False, True])
@each("point", range(2))
def test_a_try_that_died_is_completed_by_its_repetition(point: int, done: bool):
    world = new_world()
    append(world, key="another", draft=NoteDraft("todo", "warm"))
    world.client.reset()
    world.client.kill_at(point, done=done)
    with pytest.raises(Killed):
        append(world)
    world.new_process()
    world.clock.move(60)

    note, _ = append(world)
    again, new = append(world)

    assert (again, new) == (note, False)
    assert len(world.live_ids()) == 2
    assert note.content == DRAFT.content
    # The completed note has the name that the first try had claimed.
    claims = [json.loads(world.text(key))["note_id"] for key in world.keys("demo/_idempotency/")]
    assert note.note_id in claims


@pytest.mark.parametrize(
    "draft",
    [NoteDraft("todo", "Other."), NoteDraft("issue", DRAFT.content, DRAFT.tags), NoteDraft("todo", DRAFT.content)],
)
def test_the_key_of_another_note_is_refused_and_names_the_header(draft: NoteDraft):
    world = new_world()
    append(world)

    with pytest.raises(InvalidRequest) as refused:
        append(world, draft)

    assert [field.field for field in refused.value.fields] == ["Idempotency-Key"]
    assert len(world.live_ids()) == 1


def test_moving_text_between_content_and_tags_makes_another_note():
    world = new_world()
    append(world, NoteDraft("todo", "a", ("b", "c")))

    for draft in (NoteDraft("todo", "a", ("bc",)), NoteDraft("todo", "ab", ("c",)), NoteDraft("todo", "a", ("c", "b"))):
        with pytest.raises(InvalidRequest):
            append(world, draft)


def test_two_agents_may_use_the_same_key():
    world = new_world()

    ann, _ = append(world)
    bob, new = append(world, agent="bob")

    assert new
    assert ann.note_id != bob.note_id


@pytest.mark.parametrize(("seconds", "expired"), [(WEEK, False), (WEEK + 1, True)])
def test_a_key_lives_for_seven_days(seconds: int, expired: bool):
    world = new_world()
    append(world)
    world.clock.move(seconds)

    _, new = append(world)

    assert new is expired
    assert len(world.live_ids()) == (2 if expired else 1)


def test_an_expired_key_may_come_with_another_note():
    world = new_world()
    append(world)
    world.clock.move(WEEK + 1)

    note, new = append(world, NoteDraft("todo", "Other."))

    assert new
    assert append(world, NoteDraft("todo", "Other.")) == (note, False)


@each(
    "body",
    [
        b"",
        b"[]",
        b"{}",
        b'{"note_id": "x", "body": "y", "created_at": "2026-02-20T14:00:00Z"}',
        b'{"note_id": 1, "body": 2, "created_at": 3}',
        b"\xff",
    ],
)
def test_a_claim_that_can_not_be_read_is_replaced(body: bytes):
    world = new_world()
    append(world)
    claim = world.keys("demo/_idempotency/")[0]
    world.inner.put_object(Bucket="b", Key=claim, Body=body)

    note, new = append(world)

    assert new
    assert append(world) == (note, False)


@pytest.mark.parametrize("key", ["", "x" * 201])
def test_a_key_has_1_to_200_characters(key: str):
    world = new_world()

    with pytest.raises(InvalidRequest) as refused:
        append(world, key=key)
    assert [field.field for field in refused.value.fields] == ["Idempotency-Key"]
    assert world.keys("demo/_idempotency/") == []


@each("key", ["x" * 200, "../../_system/tokens.json", "é\n\x00", "\ud83d"])
def test_whatever_the_key_is_it_can_not_leave_its_folder(key: str):
    world = new_world()

    append(world, key=key)

    (claim,) = world.keys("demo/_idempotency/")
    assert claim == IDEMPOTENCY.key("demo", claim[-69:-5])
    assert int(claim[-69:-5], 16)


def test_a_bad_note_claims_nothing():
    world = new_world()

    with pytest.raises(InvalidRequest):
        append(world, NoteDraft("gossip", "x"))

    assert world.keys("demo/_idempotency/") == []


def test_the_same_key_at_the_same_moment_makes_one_note():
    world = new_world()
    first: list[tuple[notes.Note, bool]] = []

    def other_try(index: int, verb: str) -> None:
        if verb == "PUT":
            world.client.before = lambda index, verb: None
            first.append(append(world))

    world.client.before = other_try
    note, new = append(world)

    assert first == [(note, True)]
    assert not new
    assert world.live_ids() == [note.note_id]


def test_of_two_who_renew_a_key_that_the_sweep_takes_away_only_one_writes_a_note():
    world = new_world()
    append(world)
    world.clock.move(WEEK + 1)
    rival = World(world.inner)
    rival.clock.moment, rival.ids.count = world.clock.moment, 1_000
    # So that the first GET below is the one of the claim.
    heads.load_recent(world.process, "demo")
    written: list[notes.Note] = []

    def meanwhile(index: int, verb: str) -> None:
        # Looked at directly: a request of this world would come back here.
        claims = [key for key in world.inner.objects if key.startswith(IDEMPOTENCY.prefix("demo"))]
        if verb == "GET" and not written:
            world.inner.delete_object(Bucket="b", Key=claims[0])
        elif verb == "PUT" and not claims:
            written.append(append(rival)[0])

    world.client.before = meanwhile

    with pytest.raises(PreconditionLost):
        append(world)

    world.new_process()
    assert append(world) == (written[0], False)
    assert len(world.live_ids()) == 2


SEVERAL = [NoteDraft("todo", "a"), NoteDraft("issue", "b"), NoteDraft("todo", "a")]


def append_several(world: World, drafts: list[NoteDraft], key: str = "k-1") -> list[tuple[notes.Note, bool]]:
    return idempotency.append_batch_once(world.process, "demo", "ann", drafts, key)


def test_several_notes_are_two_puts_each_in_their_order_and_a_repeat_writes_nothing():
    world = new_world()
    append(world, key="another")
    world.client.reset()

    first = append_several(world, SEVERAL)
    written = dict(world.client.counts)
    before = dict(world.inner.objects)
    world.clock.move(60)
    again = append_several(world, SEVERAL)

    assert written == {"PUT": 2 * len(SEVERAL)}
    assert [note.content for note, _ in first] == ["a", "b", "a"]
    assert ([is_new for _, is_new in first], again) == ([True] * 3, [(note, False) for note, _ in first])
    assert world.inner.objects == before


@each("done", [False, True])
@each("point", range(6))
def test_several_notes_of_a_try_that_died_anywhere_are_completed_each_once(point: int, done: bool):
    world = new_world()
    append(world, key="another", draft=NoteDraft("todo", "warm"))
    world.client.reset()
    world.client.kill_at(point, done=done)
    with pytest.raises(Killed):
        append_several(world, SEVERAL)
    world.new_process()
    world.clock.move(60)

    made = append_several(world, SEVERAL)

    world.clock.move(60)
    assert [note.content for note, _ in made] == ["a", "b", "a"]
    assert len(world.live_ids()) == 1 + len({note.note_id for note, _ in made}) == 4
    assert [is_new for _, is_new in append_several(world, SEVERAL)] == [False] * 3


def test_another_request_under_the_same_key_is_refused_before_anything_is_written():
    world = new_world()
    append_several(world, SEVERAL[:2])
    before = dict(world.inner.objects)

    for other in ([SEVERAL[1], SEVERAL[0]], [SEVERAL[0], NoteDraft("issue", "c")], SEVERAL[:1], SEVERAL):
        with pytest.raises(InvalidRequest) as refused:
            append_several(world, other)
        assert [field.field for field in refused.value.fields] == ["Idempotency-Key"]
    with pytest.raises(InvalidRequest):
        append(world, SEVERAL[0])
    assert world.inner.objects == before


def test_the_object_of_one_place_holds_nothing_of_the_notes_at_others():
    def bodies(second: str) -> set[str]:
        world = new_world()
        append_several(world, [DRAFT, NoteDraft("todo", second)])
        return {json.loads(world.text(key))["body"] for key in world.keys("demo/_idempotency/")}

    assert len(bodies("Her number is 555 0199.") & bodies("-")) == 1


def test_a_note_alone_and_the_same_as_the_only_one_of_several_are_two_requests():
    world = new_world()
    append(world)

    with pytest.raises(InvalidRequest):
        append_several(world, [DRAFT])
    assert len(world.live_ids()) == 1


@each("several", [False, True])
def test_a_repeat_gives_the_first_note_though_its_source_is_gone_and_a_first_try_needs_the_source(several: bool):
    world = new_world()
    world.create_space("team")
    source = CopiedFrom("team", world.note("We keep S3.", space_id="team").note_id)
    draft = NoteDraft("decision", "We keep S3.", source=source)

    def tried(key: str) -> tuple[notes.Note, bool]:
        return append_several(world, [draft], key)[0] if several else append(world, draft, key)

    first, _ = tried("k-1")
    world.inner.delete_object(Bucket="b", Key=NOTE.key("team", source.id))

    assert tried("k-1") == (first, False)
    for _ in range(2):
        with pytest.raises(NotFound):
            tried("k-2")
    world.clock.move(WEEK + 1)
    with pytest.raises(NotFound):
        tried("k-1")
    assert world.live_ids() == [first.note_id]
