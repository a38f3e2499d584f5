"""Processes that take turns: each stops before every S3 request (and every LLM call) until it is given its turn.

So a test decides the order in which several processes reach the store, and can end one for good between two requests.
"""

import threading
from collections.abc import Callable
from typing import Any

from tests.support.counting import CountingClient, Killed
from tests.support.world import World


class Actor:
    """One process of a world, with a store and caches of its own. `deadline` is when its function would time out."""

    def __init__(self, name: str, world: World, work: Callable[["Actor"], Any], deadline: Any) -> None:
        self.name = name
        self.deadline = deadline
        self.result: Any = None
        self.error: BaseException | None = None
        self.client = CountingClient(world.inner)
        self.process = world.process_on(self.client)
        self._work = work
        self._turn = threading.Semaphore(0)
        self._paused = threading.Semaphore(0)
        self._killed = False
        self.done = False
        self.client.before = lambda index, verb: self.pause()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._turn.acquire()
            if not self._killed:
                self.result = self._work(self)
        except Killed:
            pass
        except BaseException as error:  # noqa: BLE001 - the test looks at it
            self.error = error
        finally:
            self.done = True
            self._paused.release()

    def pause(self) -> None:
        """Give the turn back; called by the process before each request."""
        self._paused.release()
        self._turn.acquire()
        if self._killed:
            raise Killed

    def step(self, requests: int = 1) -> None:
        """Let it do this many requests, or fewer if it ends."""
        for _ in range(requests):
            if self.done:
                return
            self._turn.release()
            self._paused.acquire()

    def finish(self) -> None:
        """Let it run to its end."""
        while not self.done:
            self.step()

    def kill(self) -> None:
        """End it where it stands."""
        self._killed = True
        self.finish()
        self._thread.join()
