"""A client around an S3 client that counts requests, and can stop the process or break the store at any of them."""

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.support.bucket import error

READS = {
    "get_object": "GET",
    "head_object": "HEAD",
    "list_objects_v2": "LIST",
    "list_object_versions": "LIST versions",
}
WRITES = {
    "put_object": "PUT",
    "copy_object": "COPY",
    "delete_object": "DELETE",
    "delete_objects": "DeleteObjects",
}
NAMES = READS | WRITES


class Killed(BaseException):
    """The process is gone: nothing in the service catches it."""


@dataclass(slots=True)
class Request:
    """One request on its way to a store."""

    index: int
    name: str
    arguments: Mapping[str, Any]

    @property
    def verb(self) -> str:
        return NAMES[self.name]

    @property
    def key(self) -> str:
        """Or the prefix; empty where there is neither."""
        return str(self.arguments.get("Key", self.arguments.get("Prefix", "")))

    @property
    def writes(self) -> bool:
        """Whether it may change the store."""
        return self.name in WRITES

    def send(self, store: Any) -> Any:
        """Let the store execute it; this may be done again."""
        return getattr(store, self.name)(**self.arguments)

    def __str__(self) -> str:
        return f"{self.index} {self.verb} {self.key}"


class CountingClient:
    """Passes requests on; `requests` is what was asked, in order, as (verb, key or prefix).

    `carry` brings a request to the store and its answer back: a test may let something happen on the way.
    """

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.requests: list[tuple[str, str]] = []
        self.before: Callable[[int, str], None] = lambda index, verb: None
        self.after: Callable[[int, str], None] = lambda index, verb: None
        self.carry: Callable[[Request], Any] = lambda request: request.send(inner)

    @property
    def counts(self) -> Counter[str]:
        """Requests by verb: GET, LIST, PUT, COPY, DELETE, DeleteObjects and so on."""
        return Counter(verb for verb, _ in self.requests)

    def reset(self) -> None:
        self.requests.clear()

    def __getattr__(self, name: str) -> Any:
        if name not in NAMES:
            return getattr(self.inner, name)

        verb = NAMES[name]

        def call(**arguments: Any) -> Any:
            if hasattr(arguments.get("Body"), "read"):
                # The request may be sent once more when the file is gone.
                arguments["Body"] = arguments["Body"].read()
            request = Request(len(self.requests), name, arguments)
            self.requests.append((verb, request.key))
            self.before(request.index, verb)
            answer = self.carry(request)
            self.after(request.index, verb)
            return answer

        # It is asked for again and again.
        setattr(self, name, call)
        return call

    def kill_at(self, point: int, *, done: bool) -> None:
        """Stop the process at request `point`, before it reaches the store or after the store did it (`done`)."""

        def stop(index: int, verb: str) -> None:
            if index >= point:
                raise Killed

        if done:
            self.after = stop
            # Once it is dead it stays dead.
            self.before = lambda index, verb: stop(index - 1, verb)
        else:
            self.before = stop

    def break_at(self, point: int, code: str, status: int, *, done: bool) -> None:
        """Answer request `point` with an error, although the store did it if `done`."""

        def fail(index: int, verb: str) -> None:
            if index == point:
                raise error(code, status, verb)

        if done:
            self.after = fail
        else:
            self.before = fail


class Rounds:
    """A client whose requests are answered all at once when nobody in the process has anything else to do."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.sizes: list[int] = []
        """Of each round trip so far, how many requests it had."""
        self.passes = False
        """Whether each request is answered at once, and none is counted: for what comes before that is measured."""
        # Nobody asked for so long. On a busy machine threads wait for their turn.
        self._quiet = 0.15 * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
        self._lock = threading.Condition()
        self._waiting = 0
        self._last = 0.0
        self._round = 0

    def __getattr__(self, name: str) -> Any:
        if name not in ("get_object", "list_objects_v2", "put_object", "delete_object"):
            return getattr(self.inner, name)

        def call(**arguments: Any) -> Any:
            if self.passes:
                return getattr(self.inner, name)(**arguments)
            with self._lock:
                mine = self._round
                self._waiting += 1
                self._last = time.monotonic()
                while self._round == mine:
                    self._lock.wait(self._quiet / 5)
                    if self._round == mine and time.monotonic() - self._last > self._quiet:
                        self.sizes.append(self._waiting)
                        self._waiting = 0
                        self._round += 1
                        self._lock.notify_all()
            return getattr(self.inner, name)(**arguments)

        return call
