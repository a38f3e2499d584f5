"""Many spaces reach their thresholds at once, and few workers ask a slow model: all are served once, in turn."""

import json
from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from livemem.consolidation import pipeline as consolidation
from livemem.errors import LiveMemoryError
from livemem.llm.client import Messages, Reply
from livemem.store.bucket import RUN
from tests.support.actors import Actor
from tests.support.audit import records_of
from tests.support.world import Invocation, World, append_everything, read_prompt

SPACES, SLOTS = 50, 5
ASKING = timedelta(seconds=20)
THRESHOLD = 3
ROUNDS_AND_OVERHEAD = SPACES // SLOTS * (20 + 1)
"""Seconds: rounds of as many spaces as there are workers, and one for all that is not asking."""
EVENTS_AGAIN = range(25, 300, 25)
"""When put events come a second time, or late."""


class Crowd:
    """As many workers as the function service lets work at once. `took` is how long all of it lasted, in seconds."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.workers: dict[Actor, Invocation] = {}
        self.awake_at: dict[Actor, datetime] = {}
        self.took = 0

    def serve(self, until: int) -> None:
        while (self.world.queued or self.workers) and self.took < until:
            while self.world.queued and len(self.workers) < SLOTS:
                self.begin(self.world.queued.popleft())
            for worker in list(self.workers):
                self.go_on(worker)
            self.world.pass_time(1)
            self.took += 1
            if self.took in EVENTS_AGAIN:
                for space_id in spaces():
                    self.world.count(space_id)

    def begin(self, invocation: Invocation) -> None:
        def work(actor: Actor) -> Any:
            def ask(messages: Messages, max_tokens: Any, timeout: float, schema: Any = None) -> Reply:
                self.awake_at[actor] = self.world.clock() + ASKING
                actor.pause()
                return Reply(append_everything(read_prompt(messages)))

            return consolidation.consolidate(
                replace(actor.process, ask=ask),
                invocation["space_id"],
                invocation["job_id"],
                deadline=actor.until,
            )

        worker = Actor("worker", self.world, work, self.world.clock() + timedelta(seconds=900))
        self.workers[worker] = invocation

    def go_on(self, worker: Actor) -> None:
        while not worker.done and self.awake_at.get(worker, self.world.clock()) <= self.world.clock():
            worker.step()
        if worker.done:
            invocation = self.workers.pop(worker)
            if worker.error:
                assert isinstance(worker.error, LiveMemoryError)
                self.world.retry(invocation)


def spaces() -> list[str]:
    return [f"space-{number:02}" for number in range(SPACES)]


def test_50_spaces_that_reach_their_thresholds_at_once_are_each_served_once_and_no_run_is_wasted():
    world = World()
    for space_id in spaces():
        world.create_space(space_id, threshold=THRESHOLD)
        for number in range(THRESHOLD):
            world.note(f"note {number}", space_id=space_id)
    for space_id in spaces():
        world.count(space_id)
    crowd = Crowd(world)

    crowd.serve(until=2 * ROUNDS_AND_OVERHEAD)

    served = Counter(len(records_of(world.inner.objects, space_id)) for space_id in spaces())
    ends = Counter(json.loads(stored.body)["status"] for key, stored in world.inner.objects.items() if RUN.last(key))
    assert (dict(served), dict(ends)) == ({1: SPACES}, {"done": SPACES})
    assert crowd.took <= ROUNDS_AND_OVERHEAD
