"""Random histories of rooms and digests: people who post (and post again), digests by the clock, by hand and by force,
several workers at once, that interleave at single requests; processes that die, answers that get lost, writes that come
late, clocks that are off or put forward and back, an LLM that fails, messages of which it makes nothing. At the end
everything comes to rest by the hourly look alone. Each follows from its number.

Used by the tests and by benchmarks/memories_proof.py.
"""

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from functools import cache
from random import Random
from typing import Any

from livemem.digests import due
from livemem.digests.work import Order
from livemem.rooms.message import Draft
from tests.support.actors import Actor, Listing
from tests.support.digest_proof import BEGINNINGS, ROOMS, Digests, Scene, check_error, days, small_digests
from tests.support.mishaps import Mishaps
from tests.support.world import INVOCATION, Invocation

MOST_ACTORS = 4
HTTP_SECONDS = 29
STEPS = (6, 14)
Work = Callable[[Actor], Any]


@cache
def _begun() -> Scene:
    return Scene.new()


def play(number: int, *, calm: bool = False) -> tuple[list[str], Counter[str]]:
    """What is wrong after a history, and what was done in it."""
    with small_digests():
        history = History(number, calm=calm)
        wrong = history.play()
    return [f"history {number}: {one}" for one in wrong], history.done


class History(Mishaps):
    """One history. A `calm` one has no faults: there the LLM is asked once for each chunk."""

    def __init__(self, number: int, *, calm: bool = False) -> None:
        self.random = Random(number)
        self.calm = calm
        self.scene = _begun().fork(self.random.choice(BEGINNINGS))
        self.world = self.scene.world
        self.skew = 0 if calm else self.random.choice((0, 0, 60, 240, -60, -240))
        self.actors: list[Actor] = []
        self.invocations: dict[Actor, Invocation] = {}
        self.spawned = 0
        self.posted: list[tuple[str, Draft]] = []
        self.done: Counter[str] = Counter()

    def play(self) -> list[str]:
        """Let it happen; what is wrong at the end."""
        steps: list[tuple[Callable[[], None], int]] = [
            (self.post, 10),
            (self.post_again, 3),
            (self.force, 2),
            (self.start, 2),
            (self.clock_strikes, 3),
            (self.deliver, 8),
            (self.retry, 1),
            (self.maintain, 1),
            (self.step, 5),
            (self.pass_time, 5),
        ]
        if not self.calm:
            steps += [(self.kill, 2), (self.lose, 3), (self.repeat, 2), (self.break_model, 1), (self.lose_queued, 1)]
            steps.append((self.stall, 2))
        kinds, weights = zip(*steps, strict=True)
        self.post()
        for step in self.random.choices(kinds, weights, k=self.random.randint(*STEPS)):
            self.done[step.__name__] += 1
            step()
        for actor in list(self.actors):
            if self.calm or self.random.random() < 0.7:
                actor.finish()
            else:
                actor.kill()
        self._bury()
        return self._end()

    def _end(self) -> list[str]:
        scene = self.scene
        scene.rest()
        wrong = scene.check()
        if not wrong and self.calm:
            chunks = sum(len(one["chunks"]) for one in Digests.read(scene.bucket).inputs.values())
            if scene.model.calls != chunks:
                wrong.append(f"{scene.model.calls} calls of the LLM for {chunks} chunks")
        if not wrong and Digests.read(scene.bucket).dead:
            # What was given up is digested once the model can.
            scene.model.poison = False
            self.world.pass_time(3_600)
            scene.retry(self.world.new_process())
            scene.rest()
            wrong = scene.check(all_digested=True)
        if not wrong:
            self.world.pass_time(days(3))
            scene.maintain(self.world.new_process())
            stay = [key for key in scene.bucket.objects if "/_room_ids/" in key or key.startswith("_rooms/")]
            wrong = [f"stays behind: {key}" for key in stay]
        return wrong

    # What users do

    def post(self) -> None:
        """A few messages of a room, some with ids of their own."""
        where = self.random.choice(ROOMS)
        drafts = [self._draft() for _ in range(self.random.randint(1, 4))]
        self.posted += [(where, draft) for draft in drafts if draft.message_id]
        self._spawn("post", lambda actor: self.scene.post(actor.process, where, drafts))

    def post_again(self) -> None:
        """What was posted before, by who does not know what came of it."""
        if self.posted:
            where, draft = self.random.choice(self.posted)
            self._spawn("repeat", lambda actor: self.scene.post(actor.process, where, [draft]))

    def start(self) -> None:
        self._spawn("start", lambda actor: due.start(actor.process, "demo"))

    def retry(self) -> None:
        self._spawn("retry", lambda actor: self.scene.retry(actor.process))

    # What events and schedules do

    def force(self) -> None:
        """A room is full."""
        self.world.enqueue("digest", Order(forced=True).payload("demo"))

    def clock_strikes(self) -> None:
        self._spawn("hourly", lambda actor: due.start_due(actor.process, actor.until), seconds=300)

    def deliver(self) -> None:
        """A queued invocation is delivered, sometimes twice."""
        queued = self.world.queued
        if not queued:
            return
        invocation = queued[self.random.randrange(len(queued))]
        if self.calm or self.random.random() < 0.8:
            queued.remove(invocation)
        order = Order.of(invocation, invocation.delivery)
        actor = self._spawn(
            "worker", lambda actor: self.scene.digest(actor.process, order, actor.until), seconds=900, steps=40
        )
        self.invocations[actor] = invocation

    def maintain(self) -> None:
        self._spawn("maintain", lambda actor: self.scene.maintain(actor.process), seconds=300)

    # How time and fate treat them

    def step(self) -> None:
        if self.actors:
            self._step(self.random.choice(self.actors), 40)

    def pass_time(self) -> None:
        """Time passes, and who takes too long is ended. Calm ones end before that by themselves."""
        seconds = self.random.choice((1, 30, 100, 400, 1_500, 3_700, 15_000))
        end = self.world.clock() + timedelta(seconds=seconds)
        for actor in list(self.actors):
            if self.calm:
                actor.finish()
            elif actor.deadline <= end:
                actor.kill()
        self._bury()
        self.world.pass_time(seconds, beating=self.calm or self.random.random() < 0.7)

    def break_model(self) -> None:
        self.scene.model.fails = self.random.randint(1, 4)

    def stall(self) -> None:
        """A worker stands still for longer than its claim lives, while more is said and another one goes on."""
        order, until = Order(forced=True), 900

        def work(actor: Actor) -> Any:
            return self.scene.digest(actor.process, order, actor.until)

        first = self._spawn("stalled", work, seconds=until, steps=0)
        first.step(self.random.randint(1, 45))
        self.post()
        self.world.pass_time(self.random.choice((130, 400)), beating=False)
        self._spawn("second", work, seconds=until, steps=60)
        if self.random.random() < 0.7:
            first.finish()
        self._bury()

    # Helpers

    def _draft(self) -> Draft:
        poisonous = not self.calm and self.random.random() < 0.05
        return self.scene.draft(named=self.random.random() < 0.7, poisonous=poisonous)

    def _spawn(self, name: str, work: Work, *, seconds: float = HTTP_SECONDS, steps: int = 12) -> Actor:
        if len(self.actors) == MOST_ACTORS:
            self.actors[0].finish()
            self._bury()
        self.world.pass_time(0.25)
        self.spawned += 1
        lists: Listing = "at once" if self.calm else self.random.choice(("at once", "at once", "begin", "end"))
        skew = self.skew if self.spawned % 2 else 0
        deadline = self.world.clock() + timedelta(seconds=min(seconds, INVOCATION.total_seconds()))
        actor = Actor(name, self.world, work, deadline, skew=skew, lists=lists)
        self.scene.model.actors[actor._self] = actor
        self.actors.append(actor)
        if steps:
            self._step(actor, steps)
        return actor

    def _step(self, actor: Actor, most: int) -> None:
        if self.random.random() < 0.5:
            actor.finish()
        else:
            actor.step(self.random.randint(1, most))
        self._bury()

    def _bury(self) -> None:
        ended = [actor for actor in self.actors if actor.done]
        self.actors = [actor for actor in self.actors if not actor.done]
        for actor in ended:
            check_error(actor)
            if actor in self.invocations and (actor.killed or actor.error):
                self.world.retry(self.invocations[actor])


def stalled(stop: int, part: int | None) -> list[str]:
    """What is wrong after a worker stood still before a request for longer than its claim lives, while more was said
    and another one did all its work, or as many requests of it.
    """
    with small_digests():
        scene = _begun().fork(BEGINNINGS[0])

        def worker(name: str) -> Actor:
            until = scene.world.clock() + INVOCATION
            actor = Actor(
                name, scene.world, lambda one: scene.digest(one.process, Order(forced=True), one.until), until
            )
            scene.model.actors[actor._self] = actor
            return actor

        def say(*named: bool) -> None:
            scene.post(scene.world.new_process(), ROOMS[0], [scene.draft(named=one) for one in named])

        say(True, False, True, True)
        first = worker("first")
        first.step(stop)
        say(True, False)
        scene.world.pass_time(400, beating=False)
        second = worker("second")
        second.step(part) if part else second.finish()
        first.finish()
        second.finish()
        for actor in (first, second):
            check_error(actor)
        scene.rest()
        return scene.check()
