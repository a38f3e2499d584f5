"""Compare-and-swap, proven with toy documents in every order of requests, with every fault: a process killed before or
after any of its requests, any answer lost, any write executed once more later, somebody else's write in between.

Whoever changes a document through `stored` need not prove this again.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from livemem.errors import OutOfTime, PreconditionLost, StoreUnavailable
from livemem.store import stored
from livemem.store.objects import Object
from livemem.store.stored import Revised, Stored
from tests.support.actors import Actor, Loss
from tests.support.bucket import FakeS3
from tests.support.cases import each
from tests.support.world import HandClock, World

KEY = "demo/toy.json"
BROKEN = b"\xff no document"
NONE, GOOD, BAD = None, b'{"marks": ["before"]}', BROKEN
LOSSES: tuple[Loss, ...] = ("again", "for good", "hangs")


class Toy(Revised):
    """`marks`: who has changed it. `on`: the version that the writer had read."""

    marks: list[str] = []
    on: str = ""

    def marked(self, mark: str) -> "Toy":
        return Toy(marks=[*self.marks, mark], on=self.write_id)


@dataclass
class Chronicle:
    """What the store has accepted under the key, in order."""

    versions: list[bytes] = field(default_factory=list)


class Recording(FakeS3):
    """A bucket that keeps a chronicle."""

    def __init__(self, clock: Any) -> None:
        super().__init__(clock)
        self.chronicle = Chronicle()

    def put_object(self, **arguments: Any) -> dict[str, Any]:
        answer = super().put_object(**arguments)
        if arguments["Key"] == KEY:
            self.chronicle.versions.append(arguments["Body"])
        return answer


CLOCK = HandClock()
BUCKET = Recording(CLOCK)
STAGE = World(BUCKET)
STAGE.clock = CLOCK
READ = stored.or_empty(Toy)


def begin(first: bytes | None) -> World:
    """The stage with nothing, or these bytes, under the key."""
    BUCKET.objects.clear()
    STAGE.sent.clear()
    if first is not None:
        BUCKET.put_object(Bucket="bucket", Key=KEY, Body=first)
    BUCKET.chronicle = Chronicle()
    return STAGE


def now() -> Toy | None:
    there = BUCKET.objects.get(KEY)
    return Toy.from_bytes(there.body) if there else None


Operation = Callable[[Actor], Any]


def update(mark: str) -> Operation:
    """Add a mark, unless it is there."""

    def change(toy: Toy | None) -> Toy | None:
        toy = toy or Toy()
        return None if mark in toy.marks else toy.marked(mark)

    return lambda actor: stored.update(actor.process.store, KEY, change, STAGE.ids, read=READ)


def swap(mark: str) -> Operation:
    """Read, and write over exactly that: one try."""

    def act(actor: Actor) -> Stored[Toy]:
        store = actor.process.store
        seen = stored.find(store, KEY, READ)
        wanted = (seen.value if seen else Toy()).marked(mark)
        return stored.swap(store, seen, wanted, STAGE.ids) if seen else stored.create(store, KEY, wanted, STAGE.ids)

    return act


def once(body: bytes) -> Operation:
    return lambda actor: stored.write_once(actor.process.store, KEY, body)


Choose = Callable[[list[Any]], Any]


def every_way() -> Iterator[Choose]:
    """Each way of choosing, one after the other."""
    path: list[int] = []
    while True:
        chosen: list[tuple[int, int]] = []

        def choose(options: list[Any], path: list[int] = path, chosen: list[tuple[int, int]] = chosen) -> Any:
            pick = path[len(chosen)] if len(chosen) < len(path) else 0
            chosen.append((pick, len(options)))
            return options[pick]

        yield choose
        while chosen and chosen[-1][0] + 1 == chosen[-1][1]:
            chosen.pop()
        if not chosen:
            return
        path = [pick for pick, _ in chosen]
        path[-1] += 1


def play(operations: dict[str, Operation], choose: Choose, faults: int) -> dict[str, Actor]:
    """Let processes carry out the operations, in an order and with at most so many faults as chosen."""
    actors = {name: Actor(name, STAGE, work, STAGE.clock() + timedelta(minutes=1)) for name, work in operations.items()}
    for actor in actors.values():
        # To its first request.
        actor.step()
    while alive := [name for name, actor in actors.items() if not actor.done]:
        moves: list[tuple[str, str]] = [(name, "go on") for name in alive]
        if faults:
            moves += [(name, "die") for name in alive]
            writes = [name for name in alive if actors[name].client.requests[-1][0] == "PUT"]
            moves += [(name, loss) for name in writes for loss in LOSSES]
            moves += [(str(index), "late") for index in range(len(STAGE.sent))]
        name, move = choose(moves) if len(moves) > 1 else moves[0]
        faults -= move != "go on"
        if move == "late":
            STAGE.repeat(STAGE.sent[int(name)])
        elif move == "die":
            actors[name].kill()
        else:
            actors[name].loses = next((loss for loss in LOSSES if loss == move), None)
            actors[name].step()
    for sent in list(STAGE.sent):
        # The last chance of what may come late.
        STAGE.repeat(sent)
    return actors


def check_chain(first: bytes | None) -> None:
    """Each version was made of the one before it, by a write of its own that took effect once."""
    versions = [Toy.from_bytes(body) for body in BUCKET.chronicle.versions]
    ids = [toy.write_id for toy in versions]
    assert len(set(ids)) == len(ids)
    assert "" not in ids
    assert [toy.on for toy in versions] == ["", *ids][: len(ids)]
    marks = READ(_object(first)).marks if first else []
    for toy in versions:
        assert toy.marks[:-1] == marks
        marks = toy.marks


def check_outcome(actor: Actor, *, lost: bool) -> None:
    """What a process was told is true."""
    versions = BUCKET.chronicle.versions
    own = [body for body in versions if Toy.from_bytes(body).marks[-1] == actor.name]
    if actor.killed:
        assert len(own) <= 1
    elif actor.error is None:
        assert len(own) == 1
        if actor.result.value.marks[-1] == actor.name:
            assert actor.result.value.to_bytes() == own[0]
    elif isinstance(actor.error, PreconditionLost):
        # It was told that it lost, and has; or its answer was lost, and somebody has written since.
        assert not own or (lost and own[0] != versions[-1])
    else:
        assert isinstance(actor.error, StoreUnavailable)
        assert lost
        assert len(own) <= 1


def _object(body: bytes) -> Object:
    return Object(key=KEY, body=body, etag='"x"', last_modified=STAGE.clock(), seen_at=STAGE.clock())


def outcomes(first: bytes | None, make: Callable[[str], Operation], choose: Choose, faults: int, names: str) -> None:
    begin(first)
    actors = play({name: make(name) for name in names}, choose, faults)
    check_chain(first)
    for actor in actors.values():
        check_outcome(actor, lost=bool(actor.unanswered))


@pytest.mark.slow
@pytest.mark.parametrize("make", [update, swap])
@pytest.mark.parametrize("first", [GOOD, *(pytest.param(one, marks=pytest.mark.proof) for one in (NONE, BAD))])
def test_in_every_order_with_every_fault_no_change_is_lost_or_made_twice(
    first: bytes | None, make: Callable[[str], Operation]
):
    told: set[str] = set()
    ways = 0
    for choose in every_way():
        ways += 1
        begin(first)
        actors = play({name: make(name) for name in "ab"}, choose, 2)
        check_chain(first)
        for actor in actors.values():
            check_outcome(actor, lost=bool(actor.unanswered))
            told.add("killed" if actor.killed else type(actor.error).__name__)
        if make is update:
            # Whoever did not hear that it was done does it again: then each is there once.
            unheard = [name for name, actor in actors.items() if actor.killed or actor.error]
            play({name: update(name) for name in unheard}, lambda moves: moves[0], 0)
            there = now()
            assert there
            assert sorted(there.marks) == sorted([*(["before"] if first == GOOD else []), "a", "b"])

    assert ways > 500
    lost = {"PreconditionLost"} if make is swap else set()
    assert told == {"NoneType", "killed", "StoreUnavailable"} | lost


@settings(max_examples=60)
@given(data=st.data(), first=st.sampled_from([NONE, GOOD, BAD]), make=st.sampled_from([update, swap]))
def test_three_at_once_with_several_faults_neither(
    data: st.DataObject, first: bytes | None, make: Callable[[str], Operation]
):
    outcomes(first, make, lambda moves: data.draw(st.sampled_from(moves)), 3, "abc")


@each("bodies", [(b"same", b"same"), (b"one", b"other")])
@each("first", [NONE, b"same", b"third"])
def test_what_is_written_once_is_what_everybody_is_told(first: bytes | None, bodies: tuple[bytes, bytes]):
    for choose in every_way():
        begin(first)
        actors = play({name: once(body) for name, body in zip("ab", bodies, strict=True)}, choose, 1)
        there = BUCKET.objects.get(KEY)
        assert len(BUCKET.chronicle.versions) == (first is None and there is not None)
        for actor, body in zip(actors.values(), bodies, strict=True):
            if actor.result is None:
                assert actor.killed or actor.unanswered
                continue
            assert there
            assert actor.result.etag == there.etag
            assert actor.result.says_so == (there.body == body)
            assert (actor.result.other.body if actor.result.other else body) == there.body


def test_a_lost_answer_is_settled_by_one_look_and_a_write_without_a_look_leaves_that_to_others():
    world = begin(NONE)
    costs = {}
    for name, work in {"swap": swap("a"), "update": update("b"), "once": once(b"x")}.items():
        if name == "once":
            del BUCKET.objects[KEY]
        actor = Actor(name, world, work, world.clock() + timedelta(minutes=1))
        actor.loses = "again"
        actor.finish()
        assert actor.error is None
        costs[name] = "".join(verb[0] for verb, _ in actor.client.requests)
    assert costs == {"swap": "GPG", "update": "GPG", "once": "PG"}
    world.new_process()
    assert stored.write_if(world.store, KEY, b"y") is None
    assert stored.write_if(world.store, KEY, b"z", over='"other"') is None
    assert world.client.counts == {"PUT": 2}
    assert stored.write_if(world.store, KEY, b"y", over=BUCKET.objects[KEY].etag)


def test_a_change_that_was_lost_and_overwritten_is_told_as_lost_by_a_swap_and_asked_again_by_an_update():
    for make, error in ((swap, PreconditionLost), (update, None)):
        world = begin(GOOD)
        actor = Actor("a", world, make("a"), world.clock() + timedelta(minutes=1))
        actor.step(2)
        actor.loses = "again"
        # The first try is done, and its answer is lost.
        actor.step()
        stored.update(world.store, KEY, lambda toy: (toy or Toy()).marked("b"), world.ids, read=READ)
        actor.finish()

        assert (type(actor.error) if actor.error else None) is error
        there = now()
        assert there
        assert there.marks == ["before", "a", "b"]


def test_an_update_that_must_not_be_asked_twice_is_not_where_nobody_has_written_since():
    begin(GOOD)
    actor = Actor("a", STAGE, counting(), CLOCK() + timedelta(minutes=1))
    actor.step(2)
    actor.loses = "again"
    actor.finish()

    assert actor.error is None
    there = now()
    assert there
    assert there.marks == ["before", "a"]
    assert actor.result.value == there


def counting() -> Operation:
    def change(toy: Toy | None) -> Toy:
        return (toy or Toy()).marked("a")

    return lambda actor: stored.update(actor.process.store, KEY, change, STAGE.ids, read=READ)


def test_an_update_of_what_is_removed_meanwhile_begins_anew():
    begin(GOOD)
    actor = Actor("a", STAGE, counting(), CLOCK() + timedelta(minutes=1))
    actor.step(2)
    BUCKET.objects.clear()
    actor.finish()

    there = now()
    assert there
    assert there.marks == ["a"]


def test_metadata_are_compared_where_they_are_given():
    world = begin(NONE)
    assert stored.write_once(world.store, KEY, b"x", metadata={"by": "a"}).says_so

    assert stored.write_once(world.store, KEY, b"x").says_so
    assert stored.write_once(world.store, KEY, b"x", metadata={"by": "a"}).says_so
    for others in ({}, {"by": "b"}):
        assert stored.write_once(world.store, KEY, b"x", metadata=others).other


def test_nothing_is_written_where_nothing_changes_and_what_is_known_is_not_read():
    world = begin(NONE)

    assert stored.update(world.store, KEY, lambda _: None, world.ids, read=READ) is None
    made = stored.update(world.store, KEY, lambda _: Toy(marks=["a"]), world.ids, read=READ)
    assert made
    world.client.reset()
    again = stored.update(world.store, KEY, lambda toy: toy and toy.marked("b"), world.ids, read=READ, current=made)
    assert again
    assert world.client.counts == {"PUT": 1}
    world.client.reset()
    # What is known is old by now.
    last = stored.update(world.store, KEY, lambda toy: toy and toy.marked("c"), world.ids, read=READ, current=made)
    assert world.client.counts == {"PUT": 2, "GET": 1}
    assert last
    assert last.value.marks == ["a", "b", "c"]
    assert stored.update(world.store, KEY, lambda _: None, world.ids, read=READ, current=last) is last


def test_the_store_tells_how_old_a_document_is():
    world = begin(GOOD)
    world.clock.move(90)

    found = stored.find(world.store, KEY, READ)

    assert found
    assert (found.age, found.seen_at) == (timedelta(seconds=90), world.clock())
    assert (found.key, found.etag) == (KEY, BUCKET.objects[KEY].etag)
    assert stored.find(world.store, "demo/none.json", READ) is None


def test_who_reads_says_what_an_unreadable_document_is():
    def strict(found: Object) -> Toy:
        return Toy.from_bytes(found.body)

    world = begin(BROKEN)

    missing = stored.find(world.store, KEY, stored.or_none(Toy))
    assert missing
    assert missing.value is None
    empty = stored.find(world.store, KEY, stored.or_empty(Toy))
    assert empty
    assert empty.value == Toy()
    with pytest.raises(ValueError, match="1 validation error"):
        stored.find(world.store, KEY, strict)
    with pytest.raises(ValueError, match="1 validation error"):
        stored.update(world.store, KEY, lambda _: Toy(), world.ids, read=strict)
    assert BUCKET.objects[KEY].body == BROKEN
    # It has an ETag all the same.
    replaced = stored.swap(world.store, missing, Toy(marks=["a"]), world.ids)
    assert now() == replaced.value
    with pytest.raises(PreconditionLost):
        stored.swap(world.store, empty, Toy(marks=["b"]), world.ids)


def test_only_the_version_that_was_read_is_removed_and_what_is_removed_is_not_swapped():
    world = begin(GOOD)
    seen = stored.find(world.store, KEY, READ)
    assert seen
    newer = stored.swap(world.store, seen, seen.value.marked("a"), world.ids)

    assert not world.store.delete(KEY, if_match=seen.etag)
    actor = Actor("a", world, lambda actor: actor.process.store.delete(KEY, if_match=newer.etag), world.clock())
    actor.loses = "again"
    actor.finish()
    assert actor.result is True
    assert now() is None
    with pytest.raises(PreconditionLost):
        stored.swap(world.store, newer, newer.value.marked("b"), world.ids)
    assert stored.create(world.store, KEY, Toy(), world.ids).value == now()


def test_something_that_goes_while_it_is_looked_at_is_told_as_gone():
    world = begin(b"third")
    actor = Actor("a", world, once(b"mine"), world.clock() + timedelta(minutes=1))
    actor.step(2)
    BUCKET.objects.clear()
    actor.finish()

    assert actor.result.gone
    assert not actor.result.says_so


def test_a_document_needs_no_field_but_its_id_and_any_value_that_can_be_stamped_will_do():
    @dataclass(frozen=True)
    class Line:
        text: str
        by: str = ""

        def stamped(self, write_id: str) -> "Line":
            return Line(self.text, write_id)

        def to_bytes(self) -> bytes:
            return json.dumps([self.text, self.by]).encode()

    world = begin(NONE)
    one = stored.create(world.store, KEY, Line("x"), world.ids)
    two = stored.swap(world.store, one, one.value, world.ids)
    assert one.etag != two.etag
    assert stored.find(world.store, KEY, lambda found: Line(*json.loads(found.body))) == Stored(
        KEY, two.value, two.etag, seen_at=CLOCK()
    )


def test_a_store_that_is_watched_is_asked_before_each_request():
    world = begin(BROKEN)
    allowed = [3]

    def check() -> None:
        if not allowed[0]:
            raise OutOfTime("over")
        allowed[0] -= 1

    watched = world.store.checked(check)
    with pytest.raises(OutOfTime):
        # GET, PUT that loses, GET, and no further one.
        stored.update(watched, KEY, _raced(world), world.ids, read=READ)
    assert not allowed[0]
    there = now()
    assert there
    assert there.marks == ["other"]


def _raced(world: World) -> Callable[[Toy | None], Toy | None]:
    def change(toy: Toy | None) -> Toy | None:
        if toy and not toy.marks:
            stored.update(world.store, KEY, lambda _: Toy(marks=["other"]), world.ids, read=READ)
        return (toy or Toy()).marked("late")

    return change


def test_who_loses_again_and_again_waits_longer_and_gives_up_at_last():
    world = begin(GOOD)
    waits: list[float] = []
    store = world.process_on(world.client).store
    object.__setattr__(store, "sleep", waits.append)

    def lose(toy: Toy | None) -> Toy | None:
        BUCKET.put_object(Bucket="bucket", Key=KEY, Body=Toy(marks=[str(len(waits))]).to_bytes())
        return (toy or Toy()).marked("a")

    with pytest.raises(PreconditionLost):
        stored.update(store, KEY, lose, world.ids, read=READ)
    assert len(waits) == stored.UPDATE_TRIES
    assert all(0 <= wait <= stored.PAUSE * 2**stored.DOUBLED for wait in waits)
    assert len(set(waits)) > stored.UPDATE_TRIES / 2
