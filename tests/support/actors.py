"""Processes that take turns: each stops before every S3 request (and every LLM call) until it is given its turn.

So a test decides the order in which several processes reach the store, can end one for good between two requests, and
can lose the answer to a write. A slow LIST takes two turns.
"""

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, Literal

from botocore.exceptions import ClientError
from greenlet import getcurrent, greenlet

from tests.support.bucket import error
from tests.support.counting import CountingClient, Killed, Request
from tests.support.world import World

Listing = Literal["at once", "begin", "end"]
"""How long a LIST takes, and when it sees the store if it is slow."""
Loss = Literal["again", "for good", "hangs"]
"""What follows on the loss of an answer: the store's client sends the write again, and gets the second answer; or it
gives up, and the process gets an error although the write was done, or may be done only later."""


class Actor:
    """One process of a world, with a store and caches of its own. `deadline` is when its function would time out.

    Its clock is off by `skew` seconds. `loses` is what happens to the answer of its next write.
    """

    def __init__(
        self,
        name: str,
        world: World,
        work: Callable[["Actor"], Any],
        deadline: datetime,
        *,
        skew: float = 0.0,
        lists: Listing = "at once",
    ) -> None:
        self.name = name
        self.deadline = deadline
        self.until = deadline + timedelta(seconds=skew)
        """The deadline by its own clock."""
        self.result: Any = None
        self.error: BaseException | None = None
        self.loses: Loss | None = None
        self.unanswered = ""
        """Key of the last write whose answer it did not get."""
        self.killed = False
        self.done = False
        self.client = CountingClient(world.inner)
        self.process = world.process_on(self.client, clock=world.clock.off_by(skew))
        self.client.reset()
        self._world = world
        self._work = work
        self._lists = lists
        self.client.before = lambda index, verb: self.pause()
        self.client.carry = self._carry
        self._begin()

    def _begin(self) -> None:
        self._self = greenlet(self._run)
        self._self.actor = self

    def _run(self) -> None:
        try:
            if not self.killed:
                self.result = self._work(self)
        except Killed:
            pass
        except BaseException as error:  # noqa: BLE001 - the test looks at it
            self.error = error
        finally:
            self.done = True

    def pause(self) -> None:
        """Give the turn back; called by the process before each request."""
        if getcurrent() is not self._self:
            # What it does in the background while it waits for its turn takes none.
            return
        self._self.parent.switch()
        if self.killed:
            raise Killed

    def _carry(self, request: Request) -> Any:
        if request.verb == "LIST":
            return self._list(request)
        if request.writes and self.loses:
            return self._lose(request, self.loses)
        # Before its outcome is known: a write that was refused may come through the second time.
        self._world.note_sent(request)
        return request.send(self.client.inner)

    def _list(self, request: Request) -> Any:
        if self._lists == "end":
            self.pause()
        answer = request.send(self.client.inner)
        if self._lists == "begin":
            self.pause()
        return answer

    def _lose(self, request: Request, loss: Loss) -> Any:
        self.loses = None
        self.unanswered = request.key
        if loss != "hangs":
            with suppress(ClientError):
                request.send(self.client.inner)
        if loss != "again":
            self._world.note_sent(request)
            raise error("InternalError", 500, request.verb)
        self.pause()
        return request.send(self.client.inner)

    def step(self, requests: int = 1) -> None:
        """Let it do this many requests, or fewer if it ends."""
        for _ in range(requests):
            if self.done:
                return
            self._self.parent = getcurrent()
            self._self.switch()

    def finish(self) -> None:
        """Let it run to its end."""
        while not self.done:
            self.step()

    def go_on(self, work: Callable[["Actor"], Any], deadline: datetime) -> None:
        """Do something else in the same process, with what that has in mind, when the last work has ended."""
        assert self.done
        assert not self.killed
        self.done, self.error, self.loses, self._work = False, None, None, work
        self.until += deadline - self.deadline
        self.deadline = deadline
        self._begin()

    def kill(self) -> None:
        """End it where it stands."""
        if not self.done:
            self.killed = True
        self.finish()


def take_turn() -> None:
    """Let the process that calls this give its turn back, as before a request; called by models."""
    actor: Actor | None = getattr(getcurrent(), "actor", None)
    if actor:
        actor.pause()
