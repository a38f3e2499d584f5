"""Puts as functions are told of them: S3 event notifications for ObjectCreated:Put."""

import json
import logging
import threading
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import quote_plus

from livemem import clock
from local.functions.async_queue import Later
from local.functions.template import Function

_log = logging.getLogger(__name__)

SECONDS = 0.1
"""How long a put waits for others: one invocation tells a function of all of them."""
_MOST = 100


def build_record(bucket: str, key: str) -> dict[str, Any]:
    """What handlers read of the record of a put in S3's notification message structure, version 2.1."""
    where = {"bucket": {"name": bucket}, "object": {"key": quote_plus(key, safe="/")}}
    return {"eventTime": clock.iso_millis(clock.now()), "s3": where}


class PutEvents:
    """Tells functions of the puts that they subscribed to, soon after them. Safe for threads.

    A put that is waiting when the process is killed is told to nobody, as S3 may lose an event: events are hints.
    """

    def __init__(self, functions: Iterable[Function], accept: Callable[[str, bytes], object], later: Later) -> None:
        """`accept` takes a function's id and an event (JSON)."""
        self._triggers = [(function.logical_id, trigger) for function in functions for trigger in function.triggers]
        self._accept = accept
        self._later = later
        self._lock = threading.Lock()
        self._waiting: list[tuple[str, dict[str, Any]]] = []

    def add(self, bucket: str, key: str) -> None:
        """Take a put on."""
        told = [(function, build_record(bucket, key)) for function, trigger in self._triggers if trigger.matches(key)]
        with self._lock:
            is_first = told and not self._waiting
            self._waiting += told
        if is_first:
            self._later(SECONDS, self.flush)

    def flush(self) -> None:
        """Tell of those that wait, now."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
        for function in dict(waiting):
            records = [record for wanted, record in waiting if wanted == function]
            for first in range(0, len(records), _MOST):
                try:
                    self._accept(function, json.dumps({"Records": records[first : first + _MOST]}).encode())
                except OSError:
                    # The objects are stored, and the schedule finds what events miss.
                    _log.exception("%s: no event", function)
