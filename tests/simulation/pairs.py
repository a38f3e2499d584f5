"""Two actions on one space, and everything that can happen between them: each write of the first reaches the store once
more after each request of the second, its answer gets lost, the one stands still anywhere while the other goes on.

Of a pair the `first` one is at its turn r, the other one is `second`, after s of its turns. A turn is a request to the
store, or a call of the LLM where the model takes turns (actors.take_turn).
"""

from collections.abc import Callable, Hashable, Iterator, Sequence, Sized
from dataclasses import dataclass
from functools import cache, cached_property, partial
from itertools import count

from livemem.store import timing
from tests.simulation.kills import Found
from tests.simulation.scene import Action, Before, Kind, Scene, prepared
from tests.support.actors import Actor
from tests.support.counting import WRITES
from tests.support.faults import Fault
from tests.support.world import Sent

Asked = Sequence[tuple[str, str]]
"""Requests, as (verb, key or prefix)."""
_CHECKED: dict[Hashable, list[str]] = {}
"""What came of the states that were checked before."""
DEADLY = (
    Fault("dies before", done=False),
    Fault("dies after", done=True),
    Fault("503 at", done=False, code="SlowDown", status=503),
    Fault("500 though done at", done=True, code="InternalError", status=500),
)


@dataclass(frozen=True)
class Pair:
    """Two actions. `before` makes the scene, else what both of them need does. `between` happens, and `gap` seconds
    pass, after the first one ended or while it stands still.
    """

    first: Action
    second: Action
    ways: tuple["Way", ...]
    before: Before | None = None
    between: Before | None = None
    gap: float = 0
    name: str = ""

    def __str__(self) -> str:
        return self.name or f"{self.first} & {self.second}"


class Play:
    """A pair that is played. With a `stride` each way stops at every so many-th turn only, and each at other ones."""

    def __init__(self, kind: Kind, pair: Pair, stride: int = 1) -> None:
        self.kind, self.pair, self.stride = kind, pair, stride

    def all(self) -> Iterator[Found]:
        """Everything that can happen between the two."""
        with self.kind.limits():
            for way in self.pair.ways:
                for where, found in way(self):
                    yield f"{self.pair}: {way.__name__}: {where}", found

    def scene(self) -> Scene:
        """Just before the first one begins."""
        if self.pair.before is None:
            return prepared(self.kind, self.pair.first, self.pair.second).fork()
        return prepared(self.kind, _begin_with(self.pair.before)).fork()

    def meanwhile(self, scene: Scene) -> None:
        """What happens between the two."""
        if self.pair.between:
            self.pair.between(scene)
        scene.world.pass_time(self.pair.gap, beating=False)

    @cached_property
    def turns(self) -> Sequence[tuple[str, str]]:
        """The turns of the first one, undisturbed: (verb, key), or of the LLM ("", "")."""
        actor = self.scene().enter(self.pair.first)
        found, seen = [], 0
        while not actor.done:
            asked = actor.client.requests[seen:]
            seen = len(actor.client.requests)
            found.append(asked[-1] if asked else ("", ""))
            actor.step()
        return found

    def stops(self, *, writes: bool = False) -> Iterator[int]:
        """The turns before which the first one stops: all, or those that write."""
        found = [turn for turn, (verb, _) in enumerate(self.turns) if not writes or verb in WRITES.values()]
        yield from found[self._offset() :: self.stride]

    def _offset(self) -> int:
        # Pairs of one kind meet different ones.
        return sum(str(self.pair).encode()) % self.stride

    def standing(self, turn: int) -> tuple[Scene, Actor]:
        """The first one before a turn, and what happens in the meantime."""
        scene = self.scene()
        first = scene.enter(self.pair.first)
        walk(scene, first, self.pair.first, turn)
        self.meanwhile(scene)
        return scene, first

    def unanswered(self, turn: int) -> tuple[Scene, Actor]:
        """The first one waits for the answer to its write, which is done."""
        scene = self.scene()
        first = scene.enter(self.pair.first)
        walk(scene, first, self.pair.first, turn)
        first.loses = "again"
        first.step()
        self.meanwhile(scene)
        return scene, first

    def named(self, turn: int) -> str:
        return f"{self.pair.first}'s turn {turn} ({' '.join(self.turns[turn])})"

    def ended(self, scene: Scene, *actors: tuple[Action, Actor]) -> list[str]:
        """What is wrong when both have ended. Many ways lead to one state: what follows is then the same."""
        for action, actor in actors:
            actor.finish()
            scene.left(action, actor)
        state = self.kind.name, scene.state()
        if state not in _CHECKED:
            scene.world.new_process()
            wrong = scene.seen()
            _CHECKED[state] = wrong + scene.rest()
        return _CHECKED[state]

    def along(
        self,
        standing: Callable[[], tuple[Scene, Actor]],
        meet: Callable[[Scene, Actor, Actor], bool],
        asks: Callable[[Actor], Asked],
    ) -> Iterator[tuple[int, list[str]]]:
        """For each number of turns of the second one: what comes of it if they `meet` after as many, and both end.

        `meet` returns False if nothing happened. `asks` tells of the first one, which has ended, what was asked of the
        store in between. If the second one's next turn does not concern that, and it does nothing else, then it does
        not matter which of them comes first: the state that follows is the same, and is not played again.
        """
        pair = self.pair
        scene, ahead = standing()
        walker = scene.enter(pair.second)
        asked: Asked | None = None
        found: list[str] | None = None
        for done in count():
            if done % self.stride == self._offset():
                if asked is None:
                    here, first = standing()
                    second = here.enter(pair.second)
                    second.step(done)
                    found = None
                    if meet(here, first, second):
                        found = self.ended(here, (pair.first, first), (pair.second, second))
                    else:
                        first.kill()
                        second.kill()
                    asked = asks(first)
                if found is not None:
                    yield done, found
            if walker.done:
                ahead.kill()
                return
            before, following = _beside(scene), walker.client.requests[-1]
            walker.step()
            if before != _beside(scene) or any(_concerns(following, other) for other in asked or ()):
                asked = None

    def behind(self, turn: int) -> Callable[[Actor], Asked]:
        """What the first one asks from a turn on."""
        skipped = sum(verb != "" for verb, _ in self.turns[:turn])
        return lambda actor: actor.client.requests[skipped:]

    def at(self, turn: int) -> Callable[[Actor], Asked]:
        """What it asks in one turn."""
        return lambda actor: [self.turns[turn]]


Way = Callable[[Play], Iterator[Found]]


@cache
def _begin_with(before: Before) -> Action:
    return Action("nothing", lambda *_: None, before)


def walk(scene: Scene, actor: Actor, action: Action, turns: int = 1) -> None:
    """Let the actor of an action take so many turns at its pace."""
    for _ in range(turns):
        actor.step()
        if action.pace:
            scene.world.pass_time(action.pace)


def _beside(scene: Scene) -> Hashable:
    """What a process may change, or ask, beside its own requests."""
    world = scene.world
    beside: tuple[Sized, ...] = (
        world.queued,
        world.background,
        world.reindexed,
        world.llm.prompts,
        world.client.requests,
    )
    kept = (len(value) if isinstance(value, Sized) else id(value) for value in vars(scene).values())
    return world.ids.count, *kept, *(len(one) for one in beside)


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


def _repeated(scene: Scene, sent: Sent) -> bool:
    """A write arrives once more. False: it is refused, or done already; the rest is as if nothing had been."""
    before = dict(scene.world.inner.objects)
    scene.world.repeat(sent)
    return before != scene.world.inner.objects


def late(play: Play) -> Iterator[Found]:
    """The first one has ended; one of its writes arrives once more while the second one is at work."""
    ended = play.scene()
    first = ended.enter(play.pair.first)
    while not first.done:
        walk(ended, first, play.pair.first)
    play.meanwhile(ended)
    alone = ended.fork()
    second = alone.enter(play.pair.second)
    yield "undisturbed", play.ended(alone, (play.pair.second, second), (play.pair.first, first))
    yield from _late(play, ended, first)


def overtaken(play: Play) -> Iterator[Found]:
    """The same, but the first one stood still somewhere, while something else happened, before it ended."""
    assert play.pair.between
    for turn in play.stops():
        ended = play.scene()
        first = ended.enter(play.pair.first)
        first.step(turn)
        play.pair.between(ended)
        first.finish()
        ended.world.pass_time(play.pair.gap)
        for where, found in _late(play, ended, first):
            yield f"stood before {play.named(turn)}; {where}", found


def _late(play: Play, ended: Scene, first: Actor) -> Iterator[Found]:
    for sent in ended.world.repeatable()[play._offset() :: play.stride]:

        def again(scene: Scene, _: Actor, second: Actor, sent: Sent = sent) -> bool:
            happened = _repeated(scene, sent)
            if happened:
                second.finish()
            return happened

        asked = [(sent.request.verb, sent.request.key)]
        standing = lambda: (ended.fork(), first)  # noqa: E731
        for done, found in play.along(standing, again, lambda _, asked=asked: asked):  # type: ignore[misc]
            yield f"{first.name}'s {sent.request} again after {done}", found


def echoed(play: Play) -> Iterator[Found]:
    """The first one stands still after a write, which arrives once more while the second one is at work."""
    before = len(play.scene().world.sent)
    for turn in play.stops(writes=True):
        place = before + sum(verb in WRITES.values() for verb, _ in play.turns[:turn])

        def again(scene: Scene, first: Actor, second: Actor, place: int = place) -> bool:
            happened = _repeated(scene, scene.world.sent[place])
            if happened:
                second.finish()
            return happened

        for done, found in play.along(partial(play.standing, turn + 1), again, play.at(turn)):
            yield f"{play.named(turn)} again after {done}", found


def lost(play: Play) -> Iterator[Found]:
    """The answer to a write of the first one gets lost; it is sent again while the second one is at work. The first one
    gets the second answer, and goes on when the second one has ended.
    """

    def answered(scene: Scene, first: Actor, second: Actor) -> bool:
        first.step()
        second.finish()
        return True

    for turn in play.stops(writes=True):
        for done, found in play.along(partial(play.unanswered, turn), answered, play.at(turn)):
            yield f"{play.named(turn)} unanswered, and again after {done}", found


def cut(play: Play) -> Iterator[Found]:
    """The first one stands still while the second one does everything."""
    for turn in play.stops():
        scene, first = play.standing(turn)
        second = scene.enter(play.pair.second)
        second.finish()
        yield (
            f"stands before {play.named(turn)}",
            play.ended(scene, (play.pair.second, second), (play.pair.first, first)),
        )


def crossed(play: Play) -> Iterator[Found]:
    """The first one stands still while the second one does a part of its work, and then ends before it."""

    def overtake(scene: Scene, first: Actor, second: Actor) -> bool:
        first.finish()
        second.finish()
        return True

    for turn in play.stops():
        for done, found in play.along(partial(play.standing, turn), overtake, play.behind(turn)):
            yield f"stands before {play.named(turn)} for {done}", found


def together(play: Play) -> Iterator[Found]:
    """The second one begins so many turns after the first one, and three more as many after each other; then they take
    turns.
    """
    for apart in play.stops():
        scene = play.scene()
        parts = (play.pair.first, *[play.pair.second] * 4)
        actors: list[Actor] = []
        for part in parts:
            actors.append(scene.enter(part))
            for actor in actors:
                actor.step(apart)
        while any(not actor.done for actor in actors):
            for actor in actors:
                actor.step()
        yield f"{len(parts)} at once, {apart} apart", play.ended(scene, *zip(parts, actors, strict=True))


def failing(play: Play) -> Iterator[Found]:
    """All deliveries of the first one fail at the same request: they die there, or the store does not answer it."""
    for turn in play.stops():
        for fault in DEADLY:
            scene = play.scene()
            for pause in (0, *(pause.total_seconds() for pause in timing.RETRIES)):
                scene.world.pass_time(pause)
                actor = scene.enter(play.pair.first)
                if fault.code:
                    fault.arm(actor, turn)
                else:
                    actor.step(turn + fault.done)
                    actor.kill()
                actor.finish()
            yield f"{fault.name} turn {turn}, each time", play.ended(scene)


ALL = (late, echoed, lost, cut)
CROSSED = (late, echoed, lost, crossed)
EVERY = {late, overtaken, echoed, lost, cut, crossed, together, failing}
