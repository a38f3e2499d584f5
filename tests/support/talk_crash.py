"""Kills or breaks each operation on a conversation at every single S3 request, and lets two of them interleave; then
somebody recovers, or nobody but the sweep does, and the bucket is checked.

Used by the tests and by benchmarks/conversations_proof.py.
"""

from collections.abc import Callable, Hashable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import Any

from livemem.conversations import log, maintenance, orders, update
from livemem.conversations.turn import ToolCall
from livemem.errors import LiveMemoryError, StillAtWork
from livemem.jobs import maintainable
from tests.support.actors import Actor
from tests.support.counting import Killed
from tests.support.crash import Fault
from tests.support.talk_proof import SPACE, Scene, check_error, delete
from tests.support.world import INVOCATION

Act = Callable[[Scene, Any, Any], Any]
Found = tuple[str, list[str]]
"""What was done, and what is wrong after it."""


@dataclass(frozen=True)
class Operation:
    """What is done to a scene by a process until a moment. `prepare` brings about what it needs."""

    name: str
    act: Act
    prepare: Callable[[Scene], None] = lambda scene: None
    rounds: int = 2
    """How long the conversation is."""

    def __str__(self) -> str:
        return self.name


def _append(scene: Scene, process: Any, until: Any) -> None:
    with suppress(IndexError):
        scene.append(process, scene.wanted[0])


def _wants(**more: Any) -> Callable[[Scene], None]:
    def prepare(scene: Scene) -> None:
        scene.wanted = [scene.draft(300, **more)]

    return prepare


def _came_before(scene: Scene) -> None:
    scene.wanted = [scene.draft(300)]
    scene.append(scene.world.process, scene.wanted[0])
    scene.say(200, 300)


def _wants_lines(scene: Scene) -> None:
    scene.wanted = [scene.draft(200) for _ in range(3)]
    scene.append(scene.world.process, scene.wanted[1])


def _bring(scene: Scene, process: Any, until: Any) -> None:
    gone = scene.deleted
    for one in log.append_all(process, SPACE, scene.id, "bob", scene.wanted):
        assert not gone
        scene.told[one.turn.message_id] = next(d for d in scene.wanted if d.message_id == one.turn.message_id)


def _close(scene: Scene, process: Any, until: Any) -> None:
    log.close(process, SPACE, scene.id, "ann", "the end")


def _event(scene: Scene, process: Any, until: Any) -> None:
    scene.work(process, until)


def _rebuild(scene: Scene, process: Any, until: Any) -> None:
    orders.rebuild(process, SPACE, scene.id, None, {"window_chars": 700})


def _regroup(scene: Scene, process: Any, until: Any) -> None:
    orders.rebuild(process, SPACE, scene.id, None, {"group_chars": 1_500})


def _redo(scene: Scene, process: Any, until: Any) -> None:
    scene.redo(process, 1, 2)


def _deliver(scene: Scene, process: Any, until: Any) -> None:
    """Work off what is queued; Lambda delivers again what failed."""
    if not scene.world.queued:
        return
    invocation = scene.world.queued[0]
    update.carry_out(process, invocation, until, invocation.delivery)
    with suppress(ValueError):
        scene.world.queued.remove(invocation)


def _begin_rebuild(scene: Scene) -> None:
    _rebuild(scene, scene.world.process, None)


def _begin_regroup(scene: Scene) -> None:
    _regroup(scene, scene.world.process, None)


def _begin_redo(scene: Scene) -> None:
    _redo(scene, scene.world.process, None)


def _delete(scene: Scene, process: Any, until: Any) -> None:
    delete(scene, process)


def _erase(scene: Scene, process: Any, until: Any) -> None:
    """The turn that is longer than a block."""
    scene.erase(process, until, 4)


def _sweep(scene: Scene, process: Any, until: Any) -> None:
    maintenance.start_due(process, until)


def _long_ago(scene: Scene) -> None:
    scene.world.pass_time(1_800)


def _daily(scene: Scene, process: Any, until: Any) -> None:
    space = maintainable.find(process, SPACE, daily=True)
    assert space
    maintenance.maintain(process, space)


def _rebuilt(scene: Scene) -> None:
    _begin_rebuild(scene)
    scene.world.settle()
    scene.world.pass_time(25 * 3_600)


RESULT = ToolCall(name="read", arguments={"path": "a.py"}, result="r" * 40_000)
APPEND = Operation("append", _append, _wants())
UPDATE = Operation("update", _event)
IMPORT = Operation("import", _bring, _wants_lines)
DELETE = Operation("deletion", _delete)
ERASE = Operation("erasure of a turn", _erase)
SWEEP = Operation("sweep", _sweep, _long_ago)
REBUILD = Operation("work of a rebuild", _deliver, _begin_rebuild, rounds=1)
REGROUP = Operation("work of a rebuild that reuses", _deliver, _begin_regroup, rounds=1)
REDO = Operation("work of a redo", _deliver, _begin_redo)
OPERATIONS = (
    APPEND,
    Operation("append of a large result", _append, _wants(tool_calls=(RESULT,))),
    Operation("append without an id", _append, _wants(named=False)),
    Operation("append of what came before", _append, _came_before),
    IMPORT,
    Operation("close", _close),
    UPDATE,
    Operation("order of a rebuild", _rebuild),
    REBUILD,
    REGROUP,
    Operation("order of a redo", _redo),
    REDO,
    Operation("work of a redo below three levels", _deliver, _begin_redo, rounds=4),
    DELETE,
    ERASE,
    SWEEP,
    Operation("daily look", _daily, _rebuilt),
)
PAIRS = tuple(
    (first, second)
    for first, others in (
        (APPEND, (APPEND, IMPORT, UPDATE, DELETE)),
        (IMPORT, (APPEND, IMPORT, DELETE)),
        (UPDATE, (APPEND, UPDATE, DELETE, SWEEP, REBUILD, REDO, ERASE)),
        (REBUILD, (APPEND, UPDATE, REBUILD, DELETE, REDO, ERASE)),
        (REDO, (UPDATE, REDO, APPEND, DELETE, ERASE)),
        (SWEEP, (APPEND, UPDATE, DELETE)),
        (DELETE, (APPEND, UPDATE, DELETE, ERASE)),
        (ERASE, (APPEND, UPDATE, DELETE, REDO)),
    )
    for second in others
)


@cache
def _base(rounds: int) -> Scene:
    """Two levels of summaries, after four rounds three, and a few turns that none is made of."""
    scene = Scene.new()
    scene.say(*[300, 200, 400, 1_300, 250, 350] * rounds)
    scene.up()
    scene.say(400, 300)
    return scene


@cache
def _prepared(*operations: Operation) -> Scene:
    scene = _base(max(operation.rounds for operation in operations)).fork()
    for operation in operations:
        operation.prepare(scene)
        scene.world.new_process()
    return scene


def _done_by(scene: Scene, operation: Operation) -> None:
    operation.act(scene, scene.world.process, scene.world.clock() + INVOCATION)


def requests_of(operation: Operation) -> int:
    """How many S3 requests the operation makes undisturbed."""
    scene = _prepared(operation).fork()
    _done_by(scene, operation)
    return len(scene.world.client.requests)


def again(scene: Scene, operation: Operation) -> None:
    """The caller repeats."""
    with suppress(LiveMemoryError):
        _done_by(scene, operation)


def update_first(scene: Scene, operation: Operation) -> None:
    """An event of another turn comes, before any sweep."""
    with suppress(LiveMemoryError):
        scene.work(scene.world.process, scene.world.clock() + INVOCATION)


def nobody(scene: Scene, operation: Operation) -> None:
    """Nobody does anything: the sweep comes by."""


RECOVERIES = (again, update_first, nobody)
_CHECKED: dict[Hashable, list[str]] = {}


def _checked(scene: Scene) -> list[str]:
    """What is wrong when all has come to rest. Many ways lead to one state: what follows is then the same."""
    erased = frozenset(scene.erasing), frozenset(scene.erased)
    told = tuple(scene.told), scene.doomed, scene.deleted, scene.late, tuple(scene.bucket.wrong), erased
    queued = tuple((str(waiting), waiting.ready_at, waiting.tries) for waiting in scene.world.queued)
    objects = frozenset((key, one.etag, one.last_modified) for key, one in scene.bucket.objects.items())
    state = (objects, queued, scene.world.clock(), scene.world.ids.count, told)
    if state not in _CHECKED:
        scene.rest()
        _CHECKED[state] = scene.check()
    return _CHECKED[state]


def crash(operation: Operation, fault: Fault, recovery: Callable[[Scene, Operation], None], point: int) -> list[str]:
    """What is wrong after one crash at request `point`, and a recovery."""
    scene = _prepared(operation).fork()
    fault.arm(scene.world, point)
    with suppress(Killed, LiveMemoryError):
        _done_by(scene, operation)
    scene.world.new_process()
    recovery(scene, operation)
    return _checked(scene)


def _actor(scene: Scene, operation: Operation) -> Actor:
    scene.world.pass_time(0.5)
    until = scene.world.clock() + timedelta(seconds=900)
    actor = Actor(operation.name, scene.world, lambda actor: operation.act(scene, actor.process, actor.until), until)
    scene.model.actors[actor._self] = actor
    return actor


def _of(first: Operation, second: Operation) -> Scene:
    scene = _prepared(first, second).fork()
    if first is not second and first.name.startswith("work") and second.name.startswith("work"):
        # Each has an invocation of its own; both prepared theirs.
        assert len(scene.world.queued) == 2
    return scene


def interleavings(first: Operation, second: Operation, every: int = 1) -> Iterator[Found]:
    """Stop the first one before each of its turns, or so many; the second goes on to its end, or part of the way."""
    turns = turns_of(first, second)
    for stop in range(0, turns + 1, every):
        for part in (None, 3, 9):
            scene = _of(first, second)
            one, two = _actor(scene, first), _actor(scene, second)
            one.step(stop)
            two.finish() if part is None else two.step(part)
            yield f"{first} stopped at {stop}, {second} did {part or 'all'}", _ended(scene, one, two)


def lost_answers(first: Operation, second: Operation, every: int = 1) -> Iterator[Found]:
    """The answer to a write of the first is lost; its client sends it again when the second has ended."""
    for stop in range(0, turns_of(first, second), every):
        scene = _of(first, second)
        one, two = _actor(scene, first), _actor(scene, second)
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
        scene = _of(first, second)
        before = len(scene.world.sent)
        one = _actor(scene, first)
        one.finish()
        mine = scene.world.sent[before:]
        if place >= len(mine):
            return
        two = _actor(scene, second)
        two.finish()
        scene.world.repeat(mine[place])
        yield f"{mine[place].request} once more behind {second}", _ended(scene, one, two)
        place += every


def turns_of(first: Operation, second: Operation) -> int:
    """How many turns the first one takes undisturbed."""
    scene = _of(first, second)
    one = _actor(scene, first)
    turns = 0
    while not one.done:
        one.step()
        turns += 1
    return turns


def _ended(scene: Scene, *actors: Actor) -> list[str]:
    for actor in actors:
        actor.finish()
        check_error(actor)
        if isinstance(actor.error, StillAtWork):
            # Lambda delivers it again.
            scene.world.queued[0].ready_at += timedelta(seconds=200)
    scene.kept = not scene.doomed
    return _checked(scene)


WAYS = (interleavings, lost_answers, late_writes)
