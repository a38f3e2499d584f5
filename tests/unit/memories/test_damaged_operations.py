"""A damaged operation of the log: reads and writes go on past it, and once mended it takes effect in its place."""

from datetime import timedelta

import pytest

from livemem.copies import catalog
from livemem.erasure import erasure
from livemem.errors import MemoriesBroken, NotFound
from livemem.llm import look as looks
from livemem.llm.look import ApiState
from livemem.memories import correcting, forgetting, log, memory_expiry, reading, similar
from livemem.memories import state as states
from livemem.memories.correcting import Correction
from livemem.store.bucket import BACKUP_OBJECT, MEMORY_SNAPSHOT, OPERATION
from livemem.upkeep import health
from tests.support.memories import contents, store, world_with_meaning
from tests.support.world import EVERYONE, INVOCATION, World

DAMAGES = (b"", b"{}", b'{"number": 2, "op": "de', b"\xff\x00")


@pytest.fixture(name="world")
def _world(monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(log, "SNAPSHOT_EVERY", 2)
    monkeypatch.setattr(looks, "look", lambda *_: ApiState("ok", ""))
    return world_with_meaning()[0]


def damage(world: World, number: int, body: bytes = b"{") -> bytes:
    """Write these bytes over an operation, and return its own."""
    key = OPERATION.key("demo", "fact", number)
    before = world.inner.objects[key].body
    world.store.put(key, body)
    return before


def snapshots(world: World) -> list[str]:
    return [key for key in world.keys("demo/memories/facts/snapshot/") if key.endswith(".json")]


def numbers(world: World) -> list[int]:
    numbers = (OPERATION.last(key) for key in world.keys("demo/memories/facts/log/"))
    return [number for number in numbers if number is not None]


@pytest.mark.parametrize("is_cold", [True, False])
@pytest.mark.parametrize("body", DAMAGES)
@pytest.mark.parametrize("damaged", [2, 3])
def test_memories_are_stored_and_deleted_past_it_and_no_snapshot_passes_it(
    world: World, monkeypatch: pytest.MonkeyPatch, damaged: int, body: bytes, is_cold: bool
):
    monkeypatch.setattr(log, "SNAPSHOT_EVERY", 100)
    ids = [store(world.process, f"{number}: Thing {number}.").memory.memory_id for number in range(3)]
    monkeypatch.setattr(log, "SNAPSHOT_EVERY", 2)
    sound = damage(world, damaged, body)
    world.new_process()

    for number in range(3, 6):
        if is_cold:
            world.new_process()
        assert store(world.process, f"{number}: Thing {number}.").number == number + 1
    forgetting.delete(world.process, "demo", "ann", ids[0], "It is wrong.")

    past = [f"{number}: Thing {number}." for number in range(1, 6) if number != damaged - 1]
    assert contents(world.process) == past
    assert (numbers(world), snapshots(world)) == ([1, 2, 3, 4, 5, 6, 7], [])

    damage(world, damaged, sound)
    for _ in range(2):
        assert contents(world.process) == [f"{number}: Thing {number}." for number in range(1, 6)]
        world.new_process()
    store(world.process, "6: Thing 6.")
    assert snapshots(world) == [MEMORY_SNAPSHOT.key("demo", "fact", 8)]
    assert contents(world.new_process()) == [f"{number}: Thing {number}." for number in range(1, 7)]


def test_a_deletion_in_it_is_not_forgotten_and_takes_effect_in_its_place_once(world: World):
    first, other = [store(world.process, f"{number}: Thing {number}.").memory.memory_id for number in (1, 2)]
    forgetting.delete(world.process, "demo", "ann", first, "It is wrong.")
    sound = damage(world, 3)
    assert contents(world.process) == ["1: Thing 1.", "2: Thing 2."]
    # It may hold the deletion of just this memory.
    with pytest.raises(MemoriesBroken):
        correcting.correct(world.process, "demo", "ann", other, Correction(content="2: Thing two."))
    for number in (4, 5, 6):
        store(world.process, f"{number}: Thing {number}.")
    assert snapshots(world) == [MEMORY_SNAPSHOT.key("demo", "fact", 2)]

    damage(world, 3, sound)

    for process in (world.process, world.new_process()):
        state = log.load(process, "demo", "fact")
        assert (state.number, state.has_gaps, state.deleted) == (6, False, {first: 3})
        assert contents(process) == [f"{number}: Thing {number}." for number in (2, 4, 5, 6)]
    restored = forgetting.restore(world.process, "demo", "ann", first)
    assert (restored.number, restored.memory.content) == (7, "1: Thing 1.")


def test_what_a_snapshot_says_of_it_stands(world: World):
    for number in (1, 2, 3):
        store(world.process, f"{number}: Thing {number}.")
    damage(world, 2)
    world.new_process()

    store(world.process, "4: Thing 4.")
    store(world.process, "5: Thing 5.")

    assert contents(world.process) == [f"{number}: Thing {number}." for number in range(1, 6)]
    # It may have been of another log: this can be told again when it is mended.
    assert snapshots(world) == [MEMORY_SNAPSHOT.key("demo", "fact", 2)]


def test_a_memory_that_may_be_in_it_is_neither_missing_nor_deleted(world: World):
    only = store(world.process, "1: Thing 1.").memory.memory_id
    damage(world, 1)
    world.new_process()

    for act in (
        lambda: reading.load(world.process, "demo", only),
        lambda: forgetting.delete(world.process, "demo", "ann", only, "It is wrong."),
        lambda: forgetting.restore(world.process, "demo", "ann", only),
    ):
        with pytest.raises(MemoriesBroken) as refused:
            act()
        assert refused.value.key == OPERATION.key("demo", "fact", 1)


def test_the_service_deletes_and_merges_nothing_that_it_may_have_changed(world: World, monkeypatch):
    expiring = store(world.process, "1: Thing 1.", ttl="1h").memory.memory_id
    world.llm.judge = lambda *_: None
    for text in ("2: Thing 2.", "2: Thing two."):
        store(world.process, text)
    assert any(memory.similar_to for memory in log.load(world.process, "demo", "fact").memories.values())
    correcting.correct(world.process, "demo", "ann", expiring, Correction(ttl="30d"))
    sound = damage(world, 4)
    world.clock.move(7_200)
    before = numbers(world)
    world.llm.judge = lambda *_: "same"

    assert memory_expiry.delete_expired(world.process, "demo", "fact") == 0
    assert similar.settle(world.process, "demo", world.clock() + INVOCATION) == similar.Settled()
    assert numbers(world) == before

    damage(world, 4, sound)
    assert memory_expiry.delete_expired(world.process, "demo", "fact") == 0
    assert similar.settle(world.process, "demo", world.clock() + INVOCATION).merged == 1
    assert reading.load(world.process, "demo", expiring).content == "1: Thing 1."


@pytest.mark.parametrize("damaged", [1, 2, 5])
def test_nothing_is_erased_while_it_may_hold_the_words_also_where_a_snapshot_is_newer(world: World, damaged: int):
    ids = [store(world.process, f"{number}: Thing {number}.").memory.memory_id for number in range(5)]
    assert snapshots(world)[-1] == MEMORY_SNAPSHOT.key("demo", "fact", 4)
    sound = damage(world, damaged)
    world.new_process()
    until = world.clock() + INVOCATION

    with pytest.raises(MemoriesBroken) as refused:
        erasure.erase(world.process, EVERYONE, "demo", [ids[2]], until)

    key = OPERATION.key("demo", "fact", damaged)
    assert (refused.value.key, key in refused.value.detail) == (key, True)
    assert not world.keys("demo/_erasures/")
    damage(world, damaged, sound)
    assert erasure.erase(world.process, EVERYONE, "demo", [ids[2]], until).status == "done"
    with pytest.raises(NotFound):
        reading.load(world.process, "demo", ids[2])


def test_health_names_it_until_it_is_mended(world: World):
    for number in (1, 2, 3):
        store(world.process, f"{number}: Thing {number}.")
    key = OPERATION.key("demo", "fact", 3)
    sound = damage(world, 3)
    store(world.process, "4: Thing 4.")

    def problems() -> str:
        return " ".join(problem.detail for problem in health.deep(world.process, EVERYONE).problems)

    assert key in problems()
    assert world.sweep().unreadable == {"demo": [key]}
    damage(world, 3, sound)
    assert world.sweep().unreadable == {}
    assert key not in problems()


def test_the_mended_log_gives_the_same_state_as_one_that_was_never_damaged(world: World):
    twins = [world.fork(), world.fork()]
    for place, twin in enumerate(twins):
        twin.process = twin.with_parts(embed=world.process.embed)
        twin.llm.judge = world.llm.judge
        for number in range(1, 5):
            store(twin.process, f"{number}: Thing {number}.", op_id=str(number), memory_id=f"{number:026d}")
        sound = damage(twin, 4) if place else b""
        for number in range(5, 9):
            store(twin.process, f"{number}: Thing {number}.", op_id=str(number), memory_id=f"{number:026d}")
        if place:
            damage(twin, 4, sound)
        twin.new_process()
        twin.clock.move(timedelta(days=1).total_seconds())

    states_of_twins = [states.to_snapshot(log.load(twin.process, "demo", "fact")) for twin in twins]
    assert states_of_twins[0] == states_of_twins[1]


def test_what_says_the_same_as_a_memory_that_may_be_deleted_in_it_is_a_memory_of_its_own(world: World):
    first = store(world.process, "The ferry leaves at nine.").memory.memory_id
    forgetting.delete(world.process, "demo", "ann", first, "It is wrong.")
    sound = damage(world, 2)
    again = store(world.process, "The ferry leaves at nine.").memory.memory_id
    assert again != first

    damage(world, 2, sound)

    state = log.load(world.new_process(), "demo", "fact")
    assert (set(state.memories), state.deleted) == ({again}, {first: 2})


def test_nothing_is_erased_while_a_backup_may_hold_the_words_in_it(world: World):
    ids = [store(world.process, f"{number}: Thing {number}.").memory.memory_id for number in range(3)]
    sound = damage(world, 2)
    backup = world.back_up().job_id
    damage(world, 2, sound)
    until = world.clock() + INVOCATION

    with pytest.raises(MemoriesBroken) as refused:
        erasure.erase(world.process, EVERYONE, "demo", [ids[1]], until)

    assert refused.value.key == BACKUP_OBJECT.key(
        "demo", backup, OPERATION.key("demo", "fact", 2).removeprefix("demo/")
    )
    assert not world.keys("demo/_erasures/")
    assert len(contents(world.process)) == 3
    catalog.remove(world.process, "demo", backup)
    assert erasure.erase(world.process, EVERYONE, "demo", [ids[1]], until).status == "done"
