"""Kills or breaks each operation on memories at every single S3 request, and lets two of them interleave; then somebody
repeats, or nobody does, and the bucket is checked.

Used by the tests and by benchmarks/memories_proof.py.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import Any

from livemem.errors import LiveMemoryError
from livemem.llm.client import LlmError
from livemem.memories.correcting import Correction
from livemem.memories.memory import Draft
from livemem.store.memory_keys import KINDS
from tests.support.actors import Actor
from tests.support.counting import Killed
from tests.support.crash import Fault
from tests.support.memory_proof import SNAPSHOT_EVERY, Log, Scene, check_error, op_id, snapshots_often, text
from tests.support.world import INVOCATION

Found = tuple[str, list[str]]
"""What was done, and what is wrong after it."""
PARTS = 9
"""Requests of the second one after each of which the first goes on; beyond them it has done all that matters."""


@dataclass(frozen=True)
class Operation:
    """What is done to a scene by a process until a moment; `cause` is that of the operation it writes, if it has one.

    `prepare` brings about what it needs.
    """

    name: str
    act: Callable[[Scene, Any, Any], Any]
    cause: str | None = None
    prepare: Callable[[Scene], None] = lambda scene: None

    def __str__(self) -> str:
        return self.name


def _storing(name: str, draft: Draft, prepare: Callable[[Scene], None] = lambda scene: None) -> Operation:
    cause = f"cause of {name}"
    return Operation(name, lambda scene, process, until: scene.store(process, "eva", draft, cause), cause, prepare)


def _memory(scene: Scene, topic: int) -> str:
    """The memory of a topic, also one that is deleted."""
    return next(
        str(one["memory"]["memory_id"])
        for one in Log.read(scene.bucket, "fact").operations
        if one["memory"]["content"].startswith(f"{topic}: ")
    )


def _correct(scene: Scene, process: Any, until: Any) -> None:
    scene.correct(process, _memory(scene, 1), Correction(content=text(1, 0, 1)), "cause of correction")


def _delete(scene: Scene, process: Any, until: Any) -> None:
    scene.delete(process, _memory(scene, 0), "cause of deletion")


def _bring_back(scene: Scene, process: Any, until: Any) -> None:
    scene.bring_back(process, _memory(scene, 2), "cause of restoration")


def _split(scene: Scene, process: Any, until: Any) -> None:
    scene.split(process, _memory(scene, 1), "cause of split")


def _merged(scene: Scene) -> None:
    scene.store(scene.world.process, "eva", Draft(text(1, 0, 2)), "a merge before")


def _similar(scene: Scene) -> None:
    """Two that say the same, and two that do not, were stored while no model answered."""
    process = scene.world.with_parts(ask=_unanswered)
    for topic, thing, wording in ((2, 0, 2), (3, 0, 0), (3, 1, 0)):
        scene.store(process, "ann", Draft(text(topic, thing, wording)), None)


def _unanswered(*asked: Any) -> Any:
    raise LlmError("llm_timeout", "It took too long.")


def _gone(scene: Scene) -> None:
    scene.delete(scene.world.process, _memory(scene, 2), "a deletion before")


def _almost_snapshot(scene: Scene) -> None:
    """So many operations that the next one makes a snapshot."""
    while len(Log.read(scene.bucket, "fact").operations) % SNAPSHOT_EVERY != SNAPSHOT_EVERY - 1:
        scene.store(scene.world.process, "ann", Draft(text(0, 0, 0)), None)


def _expires(scene: Scene) -> None:
    """Something is for an hour; that has passed."""
    scene.store(scene.world.process, "ann", Draft(text(3, 5, 0), ttl="1h"), None)
    scene.store(scene.world.process, "ann", Draft(text(3, 4, 0), ttl="3h"), None)
    scene.world.pass_time(7_300)


def _about_to_expire(scene: Scene) -> None:
    """Something is for an hour, which has nearly passed."""
    scene.store(scene.world.process, "ann", Draft(text(3, 5, 0), ttl="1h"), None)
    scene.world.pass_time(3_599)


def _snapshots(scene: Scene) -> None:
    for number in range(4 * SNAPSHOT_EVERY):
        scene.store(scene.world.process, "ann", Draft(text(0, 0, number % 3)), None)


FRESH = _storing("store", Draft(text(3, 0, 0)))
MERGED = _storing("store in other words", Draft(text(1, 0, 2)))
FOR_A_TIME = _storing("store for a time", Draft(text(3, 1, 0), ttl="1h"))
REFRESH = _storing("refresh", Draft(text(3, 5, 1), ttl="2h"), _about_to_expire)
WITH_SNAPSHOT = _storing("store with a snapshot", Draft(text(0, 0, 1)), _almost_snapshot)
REPLACE = _storing("replace", Draft(text(1, 0, 0), ttl="1h", replace=True))
CORRECT = Operation("correct", _correct, "cause of correction")
DELETE = Operation("delete", _delete, "cause of deletion")
BRING_BACK = Operation("bring back", _bring_back, "cause of restoration", _gone)
SPLIT = Operation("split", _split, "cause of split", _merged)
SETTLE = Operation(
    "look at what may be the same", lambda scene, process, until: scene.settle(process, until), None, _similar
)
SWEEP = Operation("sweep", lambda scene, process, until: scene.sweep(process, until), None, _expires)
DAILY = Operation("daily look", lambda scene, process, until: scene.maintain(process), None, _snapshots)
OPERATIONS = (
    FRESH, MERGED, FOR_A_TIME, REFRESH, WITH_SNAPSHOT, REPLACE, CORRECT, DELETE, BRING_BACK, SPLIT, SETTLE, SWEEP, DAILY
)  # fmt: skip
WITH_OTHERS = (FRESH, MERGED, FOR_A_TIME, WITH_SNAPSHOT, CORRECT, DELETE, BRING_BACK)
PAIRS = (
    *((first, second) for first in WITH_OTHERS for second in WITH_OTHERS),
    (REFRESH, SWEEP),
    (SWEEP, REFRESH),
    (SWEEP, SWEEP),
    (SWEEP, FRESH),
    (FRESH, SWEEP),
    (DAILY, WITH_SNAPSHOT),
    (WITH_SNAPSHOT, DAILY),
    (DAILY, SWEEP),
    *(
        (first, second)
        for one in (SPLIT, SETTLE)
        for other in (MERGED, CORRECT, DELETE, one)
        # In a fixed order: each worker of the tests collects them by itself.
        for first, second in dict.fromkeys([(one, other), (other, one)])
    ),
    (SPLIT, SETTLE),
    (SETTLE, SPLIT),
)


@cache
def _base() -> Scene:
    with snapshots_often():
        scene = Scene.new()
        for topic in (0, 1, 2):
            scene.store(scene.world.process, "ann", Draft(text(topic, 0, 0)), None)
    return scene


@cache
def _prepared(*operations: Operation) -> Scene:
    scene = _base().fork()
    for operation in dict.fromkeys(operations):
        operation.prepare(scene)
        scene.world.new_process()
    return scene


def _done_by(scene: Scene, operation: Operation) -> None:
    operation.act(scene, scene.world.process, scene.world.clock() + INVOCATION)


def requests_of(operation: Operation) -> int:
    """How many S3 requests the operation makes undisturbed."""
    with snapshots_often():
        scene = _prepared(operation).fork()
        _done_by(scene, operation)
        return len(scene.world.client.requests)


def crash(operation: Operation, fault: Fault, point: int, *, again: bool) -> list[str]:
    """What is wrong after one crash at request `point`, and perhaps a repeat by who asked."""
    with snapshots_often():
        scene = _prepared(operation).fork()
        before = len(scene.told)
        fault.arm(scene.world, point)
        with suppress(Killed, LiveMemoryError):
            _done_by(scene, operation)
        scene.world.new_process()
        wrong = []
        if again:
            _done_by(scene, operation)
            wrong += _times(scene, operation, 1)
            told = {(told.number, told.memory_id) for told in scene.told[before:]}
            wrong += [f"was told {told}"] if len(told) > 1 else []
        return [*wrong, *_checked(scene)]


def _times(scene: Scene, operation: Operation, wanted: int) -> Iterator[str]:
    """Whether the operation is in the log so often."""
    if operation.cause:
        logs = [Log.read(scene.bucket, kind) for kind in KINDS]
        times = sum(one["op_id"] == op_id(operation.cause) for log in logs for one in log.operations)
        if times != wanted:
            yield f"{operation} is in the log {times} times"


def _checked(scene: Scene) -> list[str]:
    wrong = scene.check()
    if not wrong:
        scene.rest()
        wrong = scene.check_rest()
    return wrong


def interleavings(first: Operation, second: Operation, every: int = 1) -> Iterator[Found]:
    """Stop the first one before each of its requests; the second goes on for as many, and then the first to its end."""
    for stop in range(0, turns_of(first, second) + 1, every):
        for part in (*range(1, PARTS, min(every, 2)), None):
            scene, one, two = _two(first, second)
            one.step(stop)
            two.finish() if part is None else two.step(part)
            ended = two.done
            yield f"{first} stopped at {stop}, {second} did {part or 'all'}", _ended(scene, one, two)
            if ended:
                break


def lost_answers(first: Operation, second: Operation, every: int = 1) -> Iterator[Found]:
    """The answer to a write of the first is lost; its client sends it again when the second has ended."""
    for stop in range(0, turns_of(first, second), every):
        scene, one, two = _two(first, second)
        one.step(stop)
        one.loses = "again"
        while not one.done and one.loses:
            one.step()
        two.finish()
        yield f"the answer to a write of {first} behind {stop}, then {second}", _ended(scene, one, two)


def late_writes(first: Operation, second: Operation, every: int = 1) -> Iterator[Found]:
    """A write of the first reaches the store once more, when the second has ended."""
    place = 0
    while True:
        scene, one, two = _two(first, second)
        before = len(scene.world.sent)
        one.finish()
        mine = scene.world.sent[before:]
        if place >= len(mine):
            return
        two.finish()
        scene.world.repeat(mine[place])
        yield f"{mine[place].request} once more behind {second}", _ended(scene, one, two)
        place += every


def pair(first: Operation, second: Operation, every: int = 1) -> Iterator[Found]:
    """All that can happen between two."""
    with snapshots_often():
        for way in (interleavings, lost_answers, late_writes):
            yield from way(first, second, every)


def turns_of(first: Operation, second: Operation) -> int:
    """How many turns the first one takes undisturbed."""
    _, one, _ = _two(first, second)
    turns = 0
    while not one.done:
        one.step()
        turns += 1
    return turns


def _two(first: Operation, second: Operation) -> tuple[Scene, Actor, Actor]:
    scene = _prepared(first, second).fork()
    return scene, _actor(scene, first), _actor(scene, second)


def _actor(scene: Scene, operation: Operation) -> Actor:
    scene.world.pass_time(0.25)
    until = scene.world.clock() + timedelta(seconds=900)
    return Actor(operation.name, scene.world, lambda actor: operation.act(scene, actor.process, actor.until), until)


def _ended(scene: Scene, *actors: Actor) -> list[str]:
    for actor in actors:
        actor.finish()
        check_error(actor)
    return _checked(scene)
