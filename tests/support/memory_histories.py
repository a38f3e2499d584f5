"""Random histories of memories: several authors who store, correct, delete and bring back, sweeps and daily looks that
interleave at single requests; processes that die, or go on with what they know; answers that get lost, writes that come
late, clocks that are off; and a space that is brought back to what it was. Each follows from its number.

Used by the tests and by benchmarks/memories_proof.py.
"""

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from random import Random
from typing import Any

from livemem.errors import LiveMemoryError
from livemem.memories.correcting import Correction
from livemem.memories.memory import Draft
from livemem.store.memory_keys import FOLDERS, KINDS, Kind
from tests.support.actors import Actor, Listing
from tests.support.memory_proof import (
    AUTHORS,
    MIXED,
    SKEW,
    SNAPSHOT_EVERY,
    SPACE,
    TOPICS,
    Log,
    Scene,
    check_error,
    snapshots_often,
    text,
)
from tests.support.mishaps import Mishaps
from tests.support.world import INVOCATION

MOST_ACTORS = 4
HTTP_SECONDS = 29
STEPS = (6, 14)
Work = Callable[[Actor], Any]


@cache
def _begun(*, llm: bool = True) -> Scene:
    return Scene.new(llm=llm)


def play(number: int) -> tuple[list[str], Counter[str]]:
    """What is wrong after a history, and what was done in it."""
    with snapshots_often():
        history = History(number)
        wrong = history.play()
    return [f"history {number}: {one}" for one in wrong], history.done


@dataclass(frozen=True)
class Raced:
    """What came of many who stored a few facts at once: requests by verb, and the memories that there are."""

    wrong: list[str]
    requests: Counter[str]
    memories: list[dict[str, Any]]


def race(number: int, *, lockstep: bool = False) -> Raced:
    """Forty processes store ten facts in four wordings each, in any order of their requests or one each in turn."""
    random = Random(number)
    scene = _begun().fork()
    drafts = [Draft(text(topic, 0, wording)) for topic in range(MIXED, len(TOPICS)) for wording in range(4)]
    random.shuffle(drafts)

    def storing(place: int, draft: Draft) -> Work:
        return lambda actor: scene.store(actor.process, f"author-{place}", draft, f"cause/{place}")

    until = scene.world.clock() + INVOCATION
    actors = [Actor(str(place), scene.world, storing(place, draft), until) for place, draft in enumerate(drafts)]
    while left := [actor for actor in actors if not actor.done]:
        for actor in left if lockstep else [random.choice(left)]:
            actor.step()
    for actor in actors:
        if actor.error:
            raise actor.error
    requests = sum((actor.client.counts for actor in actors), Counter[str]())
    return Raced(scene.check(), requests, list(Log.read(scene.bucket, "fact").standing().values()))


class History(Mishaps):
    """One history."""

    def __init__(self, number: int) -> None:
        self.random = Random(number)
        # Without an LLM what is not said in the same words stays apart.
        self.scene = _begun(llm=self.random.random() < 0.7).fork()
        self.world = self.scene.world
        self.skew = self.random.choice((0, 0, 0, 60, SKEW, -60, -SKEW))
        self.scene.skew = abs(self.skew)
        # Little to speak of, so that much of it meets.
        self.topics = self.random.sample(range(MIXED), k=self.random.randint(1, 2))
        self.actors: list[Actor] = []
        self.idle: list[Actor] = []
        self.spawned = 0
        self.causes: list[str] = []
        self.done: Counter[str] = Counter()

    def play(self) -> list[str]:
        """Let it happen; what is wrong at the end."""
        steps: list[tuple[Callable[[], None], int]] = [
            (self.store, 12),
            (self.store_again, 3),
            (self.correct, 2),
            (self.delete, 2),
            (self.bring_back, 2),
            (self.split, 2),
            (self.settle, 1),
            (self.sweep, 2),
            (self.maintain, 1),
            (self.step, 5),
            (self.pass_time, 4),
            (self.kill, 2),
            (self.lose, 2),
            (self.repeat, 2),
            (self.go_back, 1),
        ]
        kinds, weights = zip(*steps, strict=True)
        self.store()
        for step in self.random.choices(kinds, weights, k=self.random.randint(*STEPS)):
            self.done[step.__name__] += 1
            step()
        for actor in list(self.actors):
            if self.random.random() < 0.7:
                actor.finish()
            else:
                actor.kill()
        self._bury()
        return self._end()

    def _end(self) -> list[str]:
        self.world.pass_time(2 * SKEW)
        readers = [actor.process for actor in self.idle[-2:]]
        for actor in self.idle:
            actor.client.before = lambda index, verb: None
        wrong = self.scene.check(readers)
        if not wrong:
            wrong = self._repeated()
        if not wrong:
            self.scene.rest()
            wrong = self.scene.check_rest()
        return wrong

    def _repeated(self) -> list[str]:
        """A repeat of what was acknowledged changes nothing."""
        told = next((told for told in self.scene.told if told.cause in self.scene.asked), None)
        if not told or not told.cause:
            return []
        before = dict(self.scene.bucket.objects)
        again = self.scene.store(self.world.new_process(), "bob", self.scene.asked[told.cause], told.cause)
        if not again.repeated or again.memory.memory_id != told.memory_id:
            return [f"a repeat of {told} was told {again}"]
        now = self.scene.bucket.objects
        changed = {key for key in before | now if before.get(key) != now.get(key)}
        return [f"a repeat of {told} changed {changed}"] if changed else []

    # What users do

    def store(self) -> None:
        """One to three memories by one process."""
        drafts = [self._draft() for _ in range(self.random.randint(1, 3))]
        causes = [self._cause(draft) for draft in drafts]

        def work(actor: Actor) -> None:
            for draft, cause in zip(drafts, causes, strict=True):
                with suppress(LiveMemoryError):
                    self.scene.store(actor.process, self.random.choice(AUTHORS), draft, cause)

        self._spawn("store", work)

    def store_again(self) -> None:
        """What was asked for before, by who does not know what came of it."""
        if self.causes:
            cause = self.random.choice(self.causes)
            draft = self.scene.asked[cause]
            self._spawn("repeat", lambda actor: self.scene.store(actor.process, "bob", draft, cause))

    def correct(self) -> None:
        memory = self._some_memory()
        if memory:
            thing = self.random.randrange(len(TOPICS[self.topics[0]]))
            changes: dict[str, Any] = self.random.choice(
                ({"content": text(self.topics[0], thing, 1)}, {"ttl": "1h"}, {"ttl": None}, {"subjects": ["port"]})
            )
            cause = self.scene.cause("correct")
            self._spawn(
                "correct", lambda actor: self.scene.correct(actor.process, memory, Correction(**changes), cause)
            )

    def delete(self) -> None:
        memory = self._some_memory()
        if memory:
            cause = self.scene.cause("delete")
            self._spawn("delete", lambda actor: self.scene.delete(actor.process, memory, cause))

    def bring_back(self) -> None:
        deleted = [
            one["memory"]["memory_id"]
            for kind in KINDS
            for one in Log.read(self.scene.bucket, kind).operations
            if one["op"] == "delete"
        ]
        if deleted:
            memory, cause = self.random.choice(deleted), self.scene.cause("restore")
            self._spawn("restore", lambda actor: self.scene.bring_back(actor.process, memory, cause))

    def split(self) -> None:
        memory = self._some_memory()
        if memory:
            cause = self.scene.cause("split")
            self._spawn("split", lambda actor: self.scene.split(actor.process, memory, cause))

    # What schedules do

    def settle(self) -> None:
        self._spawn("settle", lambda actor: self.scene.settle(actor.process, actor.until), seconds=300)

    def sweep(self) -> None:
        self._spawn("sweep", lambda actor: self.scene.sweep(actor.process, actor.until), seconds=300)

    def maintain(self) -> None:
        self._spawn("maintain", lambda actor: self.scene.maintain(actor.process), seconds=300)

    # How time and fate treat them

    def step(self) -> None:
        if self.actors:
            self._step(self.random.choice(self.actors))

    def pass_time(self) -> None:
        """Time passes, and who takes too long is ended."""
        seconds = self.random.choice((1, 20, 100, 400, 3_700, 3_700, 8_000))
        end = self.world.clock() + timedelta(seconds=seconds)
        for actor in [actor for actor in self.actors if actor.deadline <= end]:
            actor.kill()
        self._bury()
        self.world.pass_time(seconds)

    def go_back(self) -> None:
        """The space is brought back to what it was; who knew it as it is now goes on."""
        if self.random.random() < 0.5:
            return
        for actor in list(self.actors):
            actor.kill()
        self._bury()
        self.world.sent.clear()
        for kind in KINDS:
            names = Log.read(self.scene.bucket, kind).names
            kept = self.random.randint(0, len(names))
            for name in names[kept:]:
                del self.scene.bucket.objects[name]
            # A backup that was made while memories were stored may have a snapshot that is newer than the log.
            newest = f"{SPACE}/memories/{FOLDERS[kind]}/snapshot/{kept + self.random.choice((0, SNAPSHOT_EVERY)):08d}~"
            for key in [key for key in self.scene.bucket.objects if key.startswith(newest[:-9]) and key > newest]:
                del self.scene.bucket.objects[key]
            self.scene.told = [told for told in self.scene.told if told.kind != kind or told.number <= kept]

    # Helpers

    def _draft(self) -> Draft:
        topic = self.random.choice(self.topics)
        thing = self.random.randrange(len(TOPICS[topic]))
        wording = self.random.randrange(len(TOPICS[topic][thing]))
        kind: Kind = self.random.choice(("fact", "fact", "fact", "fact", "goal"))
        ttl = self.random.choice((None, None, None, "1m", "1h", "3h"))
        return Draft(text(topic, thing, wording), kind=kind, ttl=ttl, replace=self.random.random() < 0.1)

    def _cause(self, draft: Draft) -> str | None:
        if self.random.random() < 0.3 and not draft.replace:
            return None
        cause = self.scene.cause("store")
        self.scene.asked[cause] = draft
        self.causes.append(cause)
        return cause

    def _some_memory(self) -> str | None:
        there = [memory for kind in KINDS for memory in Log.read(self.scene.bucket, kind).alive(self.world.clock())]
        return self.random.choice(there)["memory_id"] if there else None

    def _spawn(self, name: str, work: Work, *, seconds: float = HTTP_SECONDS) -> None:
        if len(self.actors) == MOST_ACTORS:
            self.actors[0].finish()
            self._bury()
        self.world.pass_time(0.25)
        deadline = self.world.clock() + timedelta(seconds=seconds)
        if self.idle and self.random.random() < 0.6:
            actor = self.idle.pop(self.random.randrange(len(self.idle)))
            actor.go_on(work, deadline)
        else:
            self.spawned += 1
            lists: Listing = self.random.choice(("at once", "at once", "begin", "end"))
            skew = self.skew if self.spawned % 2 else 0
            actor = Actor(name, self.world, work, deadline, skew=skew, lists=lists)
        self.actors.append(actor)
        self._step(actor)

    def _step(self, actor: Actor) -> None:
        if self.random.random() < 0.5:
            actor.finish()
        else:
            actor.step(self.random.randint(1, 12))
        self._bury()

    def _bury(self) -> None:
        ended = [actor for actor in self.actors if actor.done]
        self.actors = [actor for actor in self.actors if not actor.done]
        for actor in ended:
            check_error(actor)
            if not actor.killed:
                self.idle.append(actor)
