"""A client around an S3 client that counts requests, and can stop the process or break the store at any of them."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from tests.support.bucket import error

READS = {"get_object": "GET", "list_objects_v2": "LIST"}
WRITES = {"put_object": "PUT", "delete_object": "DELETE", "delete_objects": "DeleteObjects"}
NAMES = READS | WRITES


class Killed(BaseException):
    """The process is gone: nothing in the service catches it."""


class CountingClient:
    """Passes requests on; `requests` is what was asked, in order, as (verb, key or prefix)."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.requests: list[tuple[str, str]] = []
        self.before: Callable[[int, str], None] = lambda index, verb: None
        self.after: Callable[[int, str], None] = lambda index, verb: None

    @property
    def counts(self) -> Counter[str]:
        """Requests by verb: GET, LIST, PUT, DELETE, DeleteObjects."""
        return Counter(verb for verb, _ in self.requests)

    def reset(self) -> None:
        self.requests.clear()

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.inner, name)
        verb = NAMES.get(name)
        if verb is None:
            return method

        def call(**arguments: Any) -> Any:
            index = len(self.requests)
            self.requests.append((verb, str(arguments.get("Key", arguments.get("Prefix", "")))))
            self.before(index, verb)
            answer = method(**arguments)
            self.after(index, verb)
            return answer

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
