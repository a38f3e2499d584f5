"""How many requests were sent to the store for an event, by their kind as S3 bills them."""

import threading
from collections import Counter
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

KINDS = {
    "get_object": "GET",
    "head_object": "HEAD",
    "list_objects_v2": "LIST",
    "list_object_versions": "LIST",
    "put_object": "PUT",
    "copy_object": "COPY",
    "delete_object": "DELETE",
    "delete_objects": "DELETE",
}
"""The kind of each method of a client. A request that the client repeats by itself counts once."""


class RequestCounts:
    """Counts requests of several threads."""

    def __init__(self) -> None:
        """Begin at nothing."""
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def note(self, kind: str) -> None:
        """One more."""
        with self._lock:
            self._counts[kind] += 1

    def so_far(self) -> Counter[str]:
        """All that were sent, by kind."""
        with self._lock:
            return Counter(self._counts)


SENT: ContextVar[RequestCounts | None] = ContextVar("requests sent", default=None)
"""The counts of the event that this thread works for."""


class CountingS3:
    """An S3 client whose requests are counted."""

    def __init__(self, client: Any) -> None:
        """Pass everything on to `client`."""
        self._client = client

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)
        if name in KINDS:
            method = self._counting(method, KINDS[name])
            # Looked up once.
            setattr(self, name, method)
        return method

    def _counting(self, method: Callable[..., Any], kind: str) -> Callable[..., Any]:
        def call(**arguments: Any) -> Any:
            if counts := SENT.get():
                counts.note(kind)
            return method(**arguments)

        return call
