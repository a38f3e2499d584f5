"""Calls of operations by their names, for clients that wait for each answer. A client adds how one request is sent."""

from collections.abc import Callable, Mapping
from typing import Any

from live_memory import _building, _exchange
from live_memory._answers import Reply
from live_memory._repeating import Policy
from live_memory.errors import LiveMemoryError


class Calls:
    """Builds requests, sends them again where that is safe, and reads the answers."""

    def __init__(self, policy: Policy, sleep: Callable[[float], None]) -> None:
        """`sleep` waits for a number of seconds between two tries."""
        self._policy = policy
        self._sleep = sleep

    def call(self, name: str, arguments: Mapping[str, Any], *, idempotency_key: str | None = None) -> Any:
        """Carry out an operation by its name, JSON in and out; None where it answers nothing."""
        return self._send(_building.build(name, arguments, key=idempotency_key))

    def markdown(self, name: str, arguments: Mapping[str, Any]) -> str:
        """The answer as Markdown, of an operation that has such a form."""
        text: str = self._send(_building.build(name, arguments, accept=_building.MARKDOWN))
        return text

    def _send(self, request: _building.Request) -> Any:
        steps = _exchange.steps(request, self._policy)
        step = next(steps)
        while True:
            came: Reply | LiveMemoryError | None = None
            if isinstance(step, _building.Request):
                came = self._ask(step)
            else:
                self._sleep(step)
            try:
                step = steps.send(came)
            except StopIteration as end:
                return end.value

    def close(self) -> None:
        """Close the connections."""
        raise NotImplementedError

    def _ask(self, request: _building.Request) -> Reply | LiveMemoryError:
        """The answer to a request, or the error if there is none."""
        raise NotImplementedError
