"""Two operations on one space, and everything that can happen between them: each write of the first reaches the store
once more after each request of the second, its answer gets lost, the one stands still anywhere while the other goes on.

Used by the tests and by benchmarks/crash_table.py, as crash.py is. An operation that begins a pair is `first`, at its
request r; the other one is `second`, after s of its requests.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence, Sized
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cache, partial
from itertools import count
from typing import Any

from livemem.bank import corrections, review
from livemem.changes import rules
from livemem.changes import undo as undoing
from livemem.changes.rules import NewRules
from livemem.consolidation import pipeline as consolidation
from livemem.errors import LiveMemoryError
from livemem.notes import appending, idempotency
from livemem.notes.appending import Draft
from livemem.runs import counter, space_change
from livemem.runs import queue as queues
from livemem.runs.queue import Order
from livemem.runs.space_change import SpaceChange
from livemem.spaces import head as heads
from livemem.spaces import life, markers
from livemem.store import timing
from livemem.upkeep import sweep as sweeping
from tests.support.actors import Actor
from tests.support.audit import Audit
from tests.support.counting import WRITES
from tests.support.rest import QUIET, Told, check_alive, check_deserted, check_rest, come_to_rest, uid_of
from tests.support.world import EVERYONE, Invocation, Sent, World

SPACE = "demo"
NOTES = 3
LONG_AGO = 1_500
"""Seconds after which nothing that was interrupted is waited for any more."""
AHEAD = 300
STALL = 200
"""Seconds for which a worker stands still in vain: longer than a lease lives that is not renewed."""


_CHECKED: dict[Hashable, Audit] = {}
"""What came of the states that were checked before."""


@dataclass
class Scene:
    """A world in which a pair acts. `run` is the invocation that its workers got; `told` is what users were told."""

    world: World
    told: Told = field(default_factory=Told)
    run: Invocation | None = None
    revision: str = ""
    """Of the plan that somebody has read."""
    lost: bool = False
    """Whether something is left of which no marker tells."""
    actors: list[tuple["Part", Actor]] = field(default_factory=list)

    def fork(self) -> "Scene":
        """A scene that goes on from here on its own."""
        assert all(actor.done for _, actor in self.actors)
        return Scene(
            self.world.fork(),
            Told(dict(self.told.notes), self.told.space),
            self.run,
            self.revision,
            self.lost,
            list(self.actors),
        )

    def enter(self, part: "Part") -> Actor:
        """Let somebody begin, as far as to the first request. No two begin in the same moment."""
        world = self.world
        world.pass_time(0.5)
        deadline = world.clock() + timedelta(seconds=part.seconds)
        actor = Actor(part.name, world, lambda actor: part.work(self, actor), deadline, skew=part.skew)
        actor.step()
        self.actors.append((part, actor))
        return actor

    def accepted(self, notes: list[Any]) -> None:
        """A user was told that the notes are written."""
        uid = uid_of(self.world, SPACE)
        self.told.notes |= {note.note_id: uid for note in notes if uid}

    def check(self) -> Audit:
        """Let everything come to rest, and check it. Many ways lead to one state: what follows is then the same."""
        state = self._end()
        if state not in _CHECKED:
            _CHECKED[state] = self._check()
        return _CHECKED[state]

    def _end(self) -> Hashable:
        """Ends what has begun; the state that it leaves, as far as anything can depend on it."""
        world = self.world
        for part, actor in self.actors:
            assert actor.done
            if actor.error and not isinstance(actor.error, LiveMemoryError):
                raise actor.error
            if self.run and part.works and (actor.error or actor.killed):
                # Lambda delivers again what failed.
                world.retry(self.run)
        return world.state(), frozenset(self.told.notes.items()), self.told.space, self.lost

    def _check(self) -> Audit:
        world = self.world
        world.new_process()
        found = check_deserted(world, SPACE) + come_to_rest(world, SPACE, lost=self.lost) + self._checked()
        return found + check_alive(world, SPACE) + self._checked()

    def _checked(self) -> Audit:
        uid = uid_of(self.world, SPACE)
        gone = [f"the space {self.told.space}"] if self.told.space not in (None, uid) else []
        return check_rest(self.world, SPACE, self.told.of(uid)) + Audit(lost=gone)


@dataclass(frozen=True)
class Part:
    """What one of the two does, within how many seconds, on a clock that is off by `skew` seconds. `pace` seconds pass
    after each request. `works`: it works off an invocation.
    """

    name: str
    work: Callable[[Scene, Actor], Any]
    works: bool = False
    seconds: float = 29
    skew: float = 0
    pace: float = 0


def _post(scene: Scene, actor: Actor) -> None:
    scene.accepted([appending.append(actor.process, SPACE, "ann", _draft(scene))])


def _post_batch(scene: Scene, actor: Actor) -> None:
    scene.accepted(appending.append_batch(actor.process, SPACE, "ann", [_draft(scene) for _ in range(NOTES)]))


def _post_once(scene: Scene, actor: Actor) -> None:
    scene.accepted([idempotency.append_once(actor.process, SPACE, "ann", _draft(scene), "key")[0]])


def _draft(scene: Scene) -> Draft:
    # Ids count up, so no text comes twice.
    return Draft("progress", f"note {scene.world.ids()}")


def _create(scene: Scene, actor: Actor) -> None:
    wanted = life.NewSpace(SPACE, rules="Keep a log.", threshold=NOTES)
    scene.told.space = life.create(actor.process, EVERYONE, wanted).uid
    for _ in range(NOTES - 1):
        _post(scene, actor)


def _delete(scene: Scene, actor: Actor) -> None:
    scene.told.space = None
    life.delete(actor.process, SPACE, SPACE)


def _work(scene: Scene, actor: Actor) -> None:
    assert scene.run
    payload = scene.run
    consolidation.consolidate(actor.process, SPACE, payload["run_id"], payload["uid"], deadline=actor.until)


def _order(scene: Scene, actor: Actor) -> None:
    queues.order(actor.process, EVERYONE, SPACE, Order(trigger="api"))


def _order_and_work(scene: Scene, actor: Actor) -> None:
    _order(scene, actor)
    _work_off(scene, actor)


def _count(scene: Scene, actor: Actor) -> None:
    counter.hear(actor.process, SPACE)


def _count_and_work(scene: Scene, actor: Actor) -> None:
    _count(scene, actor)
    _work_off(scene, actor)


def _work_off(scene: Scene, actor: Actor) -> None:
    """Work off the newest run that is queued, if there is one."""
    if scene.world.queued:
        scene.run = scene.world.queued.pop()
        _work(scene, actor)


def _undo(scene: Scene, actor: Actor) -> None:
    undoing.undo(actor.process, "admin", SPACE, heads.load(scene.world.process, SPACE).meta.changes)


def _edit(scene: Scene, actor: Actor) -> None:
    corrections.write_file(actor.process, "admin", SPACE, "log.md", "# Log\n\n## Log\n\nRewritten.\n", None)


def _change_rules(scene: Scene, actor: Actor) -> None:
    rules.change(actor.process, "admin", SPACE, NewRules("Keep a log, newest first."))


def _approve(scene: Scene, actor: Actor) -> None:
    assert scene.run
    review.approve(actor.process, EVERYONE, SPACE, scene.run["run_id"], scene.revision)


def _refuse(scene: Scene, actor: Actor) -> None:
    assert scene.run
    review.refuse(actor.process, EVERYONE, SPACE, scene.run["run_id"], "not so")


def _replace_and_work(scene: Scene, actor: Actor) -> None:
    queues.order(actor.process, EVERYONE, SPACE, Order(trigger="api", replace=True))
    _work_off(scene, actor)


def _ask_for_approval(scene: Scene, actor: Actor) -> None:
    space_change.change(actor.process, EVERYONE, SPACE, SpaceChange(consolidation_mode="review"))


def _ask_no_more(scene: Scene, actor: Actor) -> None:
    space_change.change(actor.process, EVERYONE, SPACE, SpaceChange(consolidation_mode="auto"))


def _sweep(scene: Scene, actor: Actor) -> None:
    sweeping.sweep(actor.process, deadline=actor.until)


def _sweep_all(scene: Scene, actor: Actor) -> None:
    sweeping.sweep(actor.process, deadline=actor.until, everything=True)


def _post_and_mark(scene: Scene, actor: Actor) -> None:
    """A note whose counter dies as soon as it has left its marker."""
    _post(scene, actor)
    markers.leave(actor.process, SPACE)


POST = Part("append", _post)
POST_BATCH = Part("batch", _post_batch)
POST_ONCE = Part("append with a key", _post_once)
CREATE = Part("creation", _create)
DELETE = Part("deletion", _delete)
ORDER = Part("order", _order)
COUNT = Part("counter", _count)
RUN = Part("run", _work, works=True, seconds=900)
QUEUED_RUN = Part("queued run", _work_off, works=True, seconds=900)
ORDERED_RUN = Part("run by hand", _order_and_work, works=True, seconds=900)
COUNTED_RUN = Part("automatic run", _count_and_work, works=True, seconds=900)
UNDO = Part("undo", _undo)
EDIT = Part("correction", _edit)
RULES = Part("change of the rules", _change_rules)
APPROVE = Part("approval", _approve)
REFUSE = Part("refusal", _refuse)
REPLACE = Part("plan in place of another", _replace_and_work, works=True, seconds=900)
REVIEW = Part("begin of review", _ask_for_approval)
NO_REVIEW = Part("end of review", _ask_no_more)
SWEEP = Part("sweep", _sweep, seconds=300)
SWEEP_ALL = Part("daily sweep", _sweep_all, seconds=300)
MARK = Part("note whose counter dies", _post_and_mark)


# What was before

Before = Callable[[Scene], None]


def _nothing(scene: Scene) -> None:
    """No space was ever there."""


def _space(scene: Scene) -> None:
    scene.told.space = scene.world.create_space(SPACE, threshold=NOTES).uid


def _write(scene: Scene, notes: int = NOTES) -> None:
    for _ in range(notes):
        scene.accepted([scene.world.note(f"note {scene.world.ids()}", space_id=SPACE)])
        scene.world.clock.move(1)


def _folded(scene: Scene) -> None:
    _space(scene)
    _write(scene)
    scene.world.consolidate(SPACE)


def _folded_twice(scene: Scene) -> None:
    _folded(scene)
    _write(scene)
    scene.world.consolidate(SPACE)


def _folded_and_one_live(scene: Scene) -> None:
    _folded(scene)
    _write(scene, 1)


def _almost_due(scene: Scene) -> None:
    _folded(scene)
    _write(scene, NOTES - 1)


def _at_rest(scene: Scene) -> None:
    """Almost due, and the marker of the last event is old enough to go."""
    _almost_due(scene)
    scene.world.count(SPACE)
    scene.world.pass_time(QUIET)


def _due(scene: Scene) -> None:
    _folded(scene)
    _write(scene)


def _queued(scene: Scene) -> None:
    _due(scene)
    scene.world.count(SPACE)
    scene.run = scene.world.queued.pop()


def _ordered(scene: Scene) -> None:
    _due(scene)
    scene.world.order(SPACE)
    scene.run = scene.world.queued.pop()


def _queued_for_review(scene: Scene) -> None:
    _folded(scene)
    space_change.change(scene.world.process, EVERYONE, SPACE, SpaceChange(consolidation_mode="review"))
    _write(scene)
    scene.world.count(SPACE)
    scene.run = scene.world.queued.pop()


def _planned(scene: Scene) -> None:
    _queued_for_review(scene)
    assert scene.run
    scene.world.work(scene.run)
    plan = scene.world.plan(SPACE)
    assert plan
    scene.revision = plan.revision


def _changed_rules(scene: Scene) -> None:
    _folded(scene)
    rules.change(scene.world.process, "admin", SPACE, NewRules("Keep two logs."))


def _dead_run(requests: int) -> Before:
    def before(scene: Scene) -> None:
        _queued(scene)
        _die(scene, RUN, requests)

    return before


def _dead_creation(requests: int) -> Before:
    """Nothing but what a creation left that died long ago, after so many requests. It left no marker."""

    def before(scene: Scene) -> None:
        scene.lost = True
        _die(scene, CREATE, requests)

    return before


def _dead_deletion(scene: Scene) -> None:
    """A tombstone, and beside it all that was to be deleted."""
    _due(scene)
    _die(scene, DELETE, 4)


def _die(scene: Scene, part: Part, requests: int) -> None:
    actor = scene.enter(part)
    actor.step(requests)
    assert not actor.done
    actor.kill()
    scene.actors.clear()
    scene.world.pass_time(LONG_AGO)


def _work_as_well(scene: Scene) -> None:
    """The same invocation, delivered once more, is worked off."""
    scene.enter(RUN).finish()


def _delete_and_wait(scene: Scene) -> None:
    scene.enter(DELETE).finish()
    scene.world.pass_time(RUN.seconds - 30)


def _wait(scene: Scene) -> None:
    """As long as a sweep may live, almost."""
    scene.world.pass_time(SWEEP.seconds - 10)


# What happens between the two

Found = tuple[str, Audit]
"""Where it happened, and what came of it."""


@dataclass(frozen=True)
class Pair:
    """Two operations. `between` happens, and `gap` seconds pass, after the first one ended or while it stands still."""

    name: str
    before: Before
    first: Part
    second: Part
    ways: tuple["Way", ...]
    between: Before | None = None
    gap: float = 0

    def scene(self) -> Scene:
        """Just before the first one begins."""
        return _begun(self.before).fork()

    def meanwhile(self, scene: Scene) -> None:
        """What happens between the two."""
        if self.between:
            self.between(scene)
        scene.world.pass_time(self.gap, beating=False)

    def play(self) -> Iterator[Found]:
        """Everything that can happen between them."""
        for way in self.ways:
            for where, found in way(self):
                yield f"{way.__name__}: {where}", found


Way = Callable[[Pair], Iterator[Found]]


@cache
def _begun(before: Before) -> Scene:
    scene = Scene(World())
    before(scene)
    return scene


def step(scene: Scene, actor: Actor, part: Part, requests: int = 1) -> None:
    """Let the actor of a part do so many requests at its pace."""
    for _ in range(requests):
        actor.step()
        if part.pace:
            scene.world.pass_time(part.pace)


def _whole(pair: Pair) -> Actor:
    """The first one, undisturbed."""
    actor = pair.scene().enter(pair.first)
    actor.finish()
    return actor


def _requests(pair: Pair) -> range:
    return range(len(_whole(pair).client.requests))


def _writes(pair: Pair) -> list[int]:
    return [index for index, (verb, _) in enumerate(_whole(pair).client.requests) if verb in WRITES.values()]


def _named(actor: Actor, index: int) -> str:
    verb, key = actor.client.requests[index]
    return f"{actor.name}'s request {index} ({verb} {key})"


Asked = Sequence[tuple[str, str]]
"""Requests, as (verb, key or prefix)."""
Standing = Callable[[], tuple[Scene, Actor]]
"""Makes a scene in which the first one stands still, or has ended."""
Meeting = Callable[[Scene, Actor, Actor], Audit | None]
"""Lets something happen in a scene between the first and the second one, and both end; None: nothing happened."""


def _along(
    pair: Pair, standing: Standing, meet: Meeting, asks: Callable[[Actor], Asked]
) -> Iterator[tuple[int, Actor, Audit]]:
    """For each number of requests: the first one, and what comes of it if they `meet` when the second one has done as
    many.

    `asks` tells of the first one, which has ended, what was asked of the store in between. If the second one's next
    request does not concern that, and it does nothing else, then it does not matter which of them comes first: the
    state that follows is the same, and is not played again.
    """
    scene, ahead = standing()
    walker = scene.enter(pair.second)
    asked: Asked | None = None
    found: Audit | None = None
    for done in count():
        if asked is None:
            here, first = standing()
            second = here.enter(pair.second)
            second.step(done)
            found = meet(here, first, second)
            asked = asks(first)
        if found is not None:
            yield done, first, found
        if walker.done:
            ahead.kill()
            return
        following, before = walker.client.requests[done], _beside(scene)
        walker.step()
        if before != _beside(scene) or any(_concerns(following, other) for other in asked):
            asked = None


def _asked(start: int, stop: int | None = None) -> Callable[[Actor], Asked]:
    """These requests of an actor."""
    return lambda actor: actor.client.requests[start:stop]


def _beside(scene: Scene) -> Hashable:
    """What a process may change, or ask, beside its own requests."""
    world, told = scene.world, scene.told
    beside: tuple[Sized, ...] = (
        world.queued,
        world.background,
        world.reindexed,
        world.llm.prompts,
        world.client.requests,
        told.notes,
    )
    return world.ids.count, told.space, id(scene.run), *(len(one) for one in beside)


def _concerns(one: tuple[str, str], other: tuple[str, str]) -> bool:
    """Whether it may matter which of two requests comes first."""
    verbs = {one[0], other[0]}
    if verbs <= {"GET", "HEAD", "LIST"}:
        return False
    if not verbs <= {"GET", "HEAD", "LIST", "PUT", "DELETE"}:
        # It may be about several objects.
        return True
    if "LIST" in verbs:
        listed, written = (one[1], other[1]) if one[0] == "LIST" else (other[1], one[1])
        return written.startswith(listed)
    return one[1] == other[1]


def late(pair: Pair) -> Iterator[Found]:
    """The first one has ended; one of its writes arrives once more while the second one is at work."""
    ended = pair.scene()
    first = ended.enter(pair.first)
    while not first.done:
        step(ended, first, pair.first)
    pair.meanwhile(ended)
    yield "undisturbed", _finished(ended.fork(), pair)
    yield from _late(pair, ended, first)


def overtaken(pair: Pair) -> Iterator[Found]:
    """The same, but the first one stood still somewhere, while something else happened, before it ended."""
    assert pair.between
    for index in _requests(pair):
        ended = pair.scene()
        first = ended.enter(pair.first)
        first.step(index)
        pair.between(ended)
        first.finish()
        ended.world.pass_time(pair.gap)
        for where, found in _late(pair, ended, first):
            yield f"stood before {_named(_whole(pair), index)}; {where}", found


def _late(pair: Pair, ended: Scene, first: Actor) -> Iterator[Found]:
    for sent in ended.world.repeatable():

        def again(scene: Scene, _: Actor, second: Actor, sent: Sent = sent) -> Audit | None:
            if not _repeated(scene, sent):
                second.kill()
                return None
            second.finish()
            return scene.check()

        asked = [(sent.request.verb, sent.request.key)]
        for done, _, found in _along(pair, lambda: (ended.fork(), first), again, lambda _, asked=asked: asked):  # type: ignore[misc]
            yield f"{first.name}'s {sent.request} again after {done} requests", found


def _repeated(scene: Scene, sent: Sent) -> bool:
    """A write arrives once more. False: it is refused, or done already; the rest is as if nothing had been."""
    before = dict(scene.world.inner.objects)
    scene.world.repeat(sent)
    return before != scene.world.inner.objects


def _finished(scene: Scene, pair: Pair) -> Audit:
    scene.enter(pair.second).finish()
    return scene.check()


def echoed(pair: Pair) -> Iterator[Found]:
    """The first one stands still after a write, which arrives once more while the second one is at work."""
    for index in _writes(pair):

        def again(scene: Scene, first: Actor, second: Actor, index: int = index) -> Audit | None:
            if not _repeated(scene, next(sent for sent in scene.world.sent if sent.request.index == index)):
                first.kill()
                second.kill()
                return None
            second.finish()
            first.finish()
            return scene.check()

        for done, first, found in _along(pair, partial(_standing, pair, index + 1), again, _asked(index, index + 1)):
            yield f"{_named(first, index)} again after {done} requests", found


def lost(pair: Pair) -> Iterator[Found]:
    """The answer to a write of the first one gets lost; it is sent again while the second one is at work. The first
    one gets the second answer, and goes on when the second one has ended."""

    def answered(scene: Scene, first: Actor, second: Actor) -> Audit:
        first.step()
        second.finish()
        first.finish()
        return scene.check()

    for index in _writes(pair):
        for done, first, found in _along(pair, partial(_unanswered, pair, index), answered, _asked(index, index + 1)):
            yield f"{_named(first, index)} unanswered, and again after {done} requests", found


def cut(pair: Pair) -> Iterator[Found]:
    """The first one stands still while the second one does everything."""
    for index in _requests(pair):
        scene, first = _standing(pair, index)
        scene.enter(pair.second).finish()
        first.finish()
        yield f"stands before {_named(first, index)}", scene.check()


def crossed(pair: Pair) -> Iterator[Found]:
    """The first one stands still while the second one does a part of its work, and then ends before it."""

    def overtake(scene: Scene, first: Actor, second: Actor) -> Audit:
        first.finish()
        second.finish()
        return scene.check()

    for index in _requests(pair):
        for done, first, found in _along(pair, partial(_standing, pair, index), overtake, _asked(index)):
            yield f"stands before {_named(first, index)} for {done} requests", found


def together(pair: Pair) -> Iterator[Found]:
    """The second one begins so many requests after the first one, and three more as many after each other; then they
    take turns."""
    for apart in _requests(pair):
        scene = pair.scene()
        parts = (pair.first, *[pair.second] * 4)
        actors = []
        for part in parts:
            actors.append(scene.enter(part))
            for actor in actors:
                actor.step(apart)
        while any(not actor.done for actor in actors):
            for actor in actors:
                actor.step()
        yield f"{len(parts)} at once, {apart} requests apart", scene.check()


def failing(pair: Pair) -> Iterator[Found]:
    """All deliveries of the first one fail at the same request: they die there, or the store does not answer it."""
    for index in _requests(pair):
        for fate in ("dies before", "dies after", "503 at", "500 though done at"):
            scene = pair.scene()
            for pause in (0, *(pause.total_seconds() for pause in timing.RETRIES)):
                scene.world.pass_time(pause)
                _fail(scene, pair.first, index, fate)
            scene.actors.clear()
            yield f"{fate} request {index}, each time", scene.check()


def _fail(scene: Scene, part: Part, index: int, fate: str) -> None:
    actor = scene.enter(part)
    if fate.startswith("dies"):
        actor.step(index + (fate == "dies after"))
        actor.kill()
        return
    code, status = ("InternalError", 500) if fate == "500 though done at" else ("SlowDown", 503)
    actor.client.break_at(index, code, status, done=status == 500)
    actor.finish()


def _standing(pair: Pair, requests: int) -> tuple[Scene, Actor]:
    """The first one after so many requests, and what happens in the meantime."""
    scene = pair.scene()
    first = scene.enter(pair.first)
    step(scene, first, pair.first, requests)
    pair.meanwhile(scene)
    return scene, first


def _unanswered(pair: Pair, index: int) -> tuple[Scene, Actor]:
    """The first one waits for the answer to its write `index`, which is done."""
    scene = pair.scene()
    first = scene.enter(pair.first)
    step(scene, first, pair.first, index)
    first.loses = "again"
    first.step()
    pair.meanwhile(scene)
    return scene, first


ALL = (late, echoed, lost, cut)
CROSSED = (late, echoed, lost, crossed)

PAIRS = (
    Pair("deletion & creation, clock ahead", _due, DELETE, replace(CREATE, skew=AHEAD), (late,), gap=600),
    Pair(
        "slow deletion & creation, at the earliest", _due, replace(DELETE, pace=4), CREATE, (late,),
        # The tombstone is there since 16 s.
        gap=life.TOMBSTONE_LIFE.total_seconds() - 16,
    ),
    Pair("append & run", _almost_due, POST, COUNTED_RUN, (late, lost)),
    Pair("batch & run", _folded, POST_BATCH, COUNTED_RUN, (late, lost)),
    Pair("append with a key & run", _almost_due, POST_ONCE, COUNTED_RUN, (late, lost)),
    Pair("undo & run", _folded_twice, UNDO, ORDERED_RUN, ALL),
    Pair("first undo & run", _folded, UNDO, ORDERED_RUN, (late,)),
    Pair("undo & run, clock ahead", _folded_twice, UNDO, replace(ORDERED_RUN, skew=AHEAD), (crossed,)),
    Pair("run & undo", _queued, RUN, UNDO, ALL),
    Pair("twin run & undo", _queued, RUN, UNDO, (crossed,), between=_work_as_well),
    Pair("twin runs", _queued, RUN, RUN, (*CROSSED, together)),
    Pair("run & sweep", _queued, RUN, SWEEP, ALL),
    Pair("stalled run & sweep", _queued, RUN, SWEEP, (cut,), gap=STALL),
    Pair("stalled run & run by hand", _queued, RUN, ORDERED_RUN, (cut,), gap=STALL),
    Pair("stalled run & correction", _queued, RUN, EDIT, (cut,), gap=STALL),
    Pair("sweep & run", _dead_run(20), SWEEP, ORDERED_RUN, CROSSED),
    Pair("sweep & note whose counter dies", _at_rest, SWEEP, MARK, CROSSED),
    Pair("note whose counter dies & sweep", _at_rest, MARK, SWEEP, CROSSED),
    Pair("correction & undo", _folded, EDIT, UNDO, ALL),
    Pair("undo & correction", _folded_twice, UNDO, EDIT, ALL),
    Pair("change of the rules & undo", _folded, RULES, UNDO, ALL),
    Pair("undo & change of the rules", _changed_rules, UNDO, RULES, ALL),
    Pair("creation & creation", _nothing, CREATE, CREATE, CROSSED),
    *(
        Pair(f"creation & creation after one that died at {at}", _dead_creation(at), CREATE, CREATE, CROSSED)
        for at in (2, 4)
    ),
    *(
        Pair(f"sweep & creation after one that died at {at}", _dead_creation(at), SWEEP_ALL, CREATE, CROSSED)
        for at in (2, 4)
    ),
    *(
        Pair(
            f"stalled sweep & creation after {name}, at the earliest", before, SWEEP_ALL, CREATE, (overtaken,),
            between=_wait, gap=life.TOMBSTONE_LIFE.total_seconds() - SWEEP_ALL.seconds + 10,
        )
        for name, before in (("one that died", _dead_creation(4)), ("a deletion that died", _dead_deletion))
    ),
    Pair("twin plans", _queued_for_review, RUN, RUN, (*CROSSED, together)),
    Pair("plan & sweep", _queued_for_review, RUN, SWEEP, ALL),
    Pair("sweep & plan", _queued_for_review, SWEEP, RUN, CROSSED),
    Pair("sweep & refusal", _planned, SWEEP, REFUSE, CROSSED),
    Pair("stalled plan & run by hand", _queued_for_review, RUN, ORDERED_RUN, (cut,), gap=STALL),
    Pair("plan & end of review", _queued_for_review, RUN, NO_REVIEW, CROSSED),
    Pair("run & begin of review", _queued, RUN, REVIEW, CROSSED),
    Pair("approval & approval", _planned, APPROVE, APPROVE, CROSSED),
    Pair("approval & refusal", _planned, APPROVE, REFUSE, ALL),
    Pair("refusal & approval", _planned, REFUSE, APPROVE, ALL),
    Pair("stalled approval & refusal", _planned, APPROVE, REFUSE, (cut,), gap=STALL),
    Pair("stalled refusal & approval", _planned, REFUSE, APPROVE, (cut,), gap=STALL),
    Pair("stalled approval & plan in place of another", _planned, APPROVE, REPLACE, (cut,), gap=STALL),
    Pair("plan in place of another & approval", _planned, REPLACE, APPROVE, ALL),
    Pair("approval & end of review", _planned, APPROVE, NO_REVIEW, CROSSED),
    Pair("end of review & approval", _planned, NO_REVIEW, APPROVE, ALL),
    Pair("approval & correction", _planned, APPROVE, EDIT, ALL),
    Pair("correction & approval", _planned, EDIT, APPROVE, ALL),
    Pair("approval & undo", _planned, APPROVE, UNDO, ALL),
    Pair("approval & sweep", _planned, APPROVE, SWEEP, ALL),
    Pair("approval that fails", _planned, APPROVE, SWEEP, (failing,)),
    Pair("run by hand that fails", _ordered, RUN, SWEEP, (failing,)),
    Pair("run that fails", _queued, RUN, SWEEP, (failing,)),
    Pair("order & run", _due, ORDER, QUEUED_RUN, (late, lost)),
    Pair("counter & run", _ordered, COUNT, RUN, CROSSED),
    Pair("run & counter", _ordered, RUN, COUNT, CROSSED),
    Pair(
        "run over a deletion & creation, at the earliest", _queued, RUN, CREATE, (overtaken,),
        between=_delete_and_wait, gap=life.TOMBSTONE_LIFE.total_seconds() - RUN.seconds + 30,
    ),
)  # fmt: skip
