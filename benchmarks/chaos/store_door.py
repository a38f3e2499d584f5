"""Stands between the functions and the store: passes requests on, breaks some, and writes all of them down."""

import itertools
import json
import re
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from benchmarks.chaos.door import Answer, Backend, Call, Door
from benchmarks.chaos.logs import Log
from benchmarks.chaos.mischief import Fault, Mischief

_RUN = re.compile(r"([^/]+)/_runs/([0-9A-Z]{26})\.json")
_REFUSAL = '<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>{}</Code><Message>chaos</Message></Error>'
Queued = Callable[[dict[str, Any]], None]
"""Is told the payload of each run that was written as queued."""


class StoreDoor:
    """The proxy. `hit` are the ids of runs of whose space a request met a fault, or whose runtime was killed."""

    def __init__(self, address: str, mischief: Mischief, log: Log, queued: Queued, kill: Callable[[], None]) -> None:
        """Prepare; `address` is host:port of the store. `kill` ends the runtime, and starts it again later."""
        self.hit: set[str] = set()
        self._backend = Backend(address)
        self.announce: Callable[[str, str], None] = lambda *_: None
        """Is told of each put, where the store itself tells nobody."""
        self._kill = kill
        self._mischief = mischief
        self._log = log
        self._queued = queued
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._late = 0
        self._runs: defaultdict[str, set[str]] = defaultdict(set)
        """The runs of each space that were looked at."""
        self.door = Door(self._answer)

    def hit_all(self) -> None:
        """Everything that runs now has met a fault."""
        self.hit.update(*self._runs.values())

    def _hit(self, seen: "_Seen") -> None:
        """So has what runs in the space of a request."""
        self.hit |= self._runs[seen.key.partition("/")[0]]

    def requests(self) -> int:
        """How many have come."""
        return next(self._numbers) - 1

    def outstanding(self) -> int:
        """How many late requests are still to be done."""
        with self._lock:
            return self._late

    def _answer(self, call: Call) -> Answer | None:
        seen = _Seen(next(self._numbers), self._log.now(), call)
        self._follow(seen)
        fault = self._mischief.choose(call)
        if fault is None:
            return self._hand_on(seen, None)
        self._hit(seen)
        return self._break(seen, fault)

    def _break(self, seen: "_Seen", fault: Fault) -> Answer | None:
        if fault.kind in {"reset", "503", "kill before", "late", "hung"}:
            return self._keep_away(seen, fault)
        if fault.kind == "slow":
            time.sleep(fault.seconds)
        answer = self._hand_on(seen, fault)
        match fault.kind:
            case "slow":
                return answer
            case "slow answer":
                time.sleep(fault.seconds)
                return answer
            case "500 though done":
                return _refuse(500, "InternalError") if answer else None
            case "kill after":
                self._kill()
        return None

    def _keep_away(self, seen: "_Seen", fault: Fault) -> Answer | None:
        """What does not reach the store, or not now."""
        answer = _refuse(503, "SlowDown") if fault.kind == "503" else None
        if fault.kind == "kill before":
            self._kill()
        self._write(seen, fault, answer)
        if fault.kind in {"late", "hung"}:
            self._do_later(seen, fault)
        if fault.kind == "hung":
            time.sleep(fault.seconds)
        return answer

    def _do_later(self, seen: "_Seen", fault: Fault) -> None:
        with self._lock:
            self._late += 1

        def do() -> None:
            self._hand_on(seen, Fault(f"{fault.kind}, done"))
            with self._lock:
                self._late -= 1

        timer = threading.Timer(fault.seconds, do)
        timer.daemon = True
        timer.start()

    def _hand_on(self, seen: "_Seen", fault: Fault | None) -> Answer | None:
        try:
            answer = self._backend.ask(seen.call)
        except OSError:
            # The store is away: the sender finds nobody, whether it was done or not.
            self._write(seen, fault, None, away=True)
            self._hit(seen)
            return None
        self._write(seen, fault, answer)
        self._notice(seen, answer)
        return answer

    def _follow(self, seen: "_Seen") -> None:
        if found := _RUN.fullmatch(seen.key):
            self._runs[found[1]].add(found[2])

    def _notice(self, seen: "_Seen", answer: Answer) -> None:
        if seen.verb != "PUT" or answer.status != 200:
            return
        if not seen.call.header("x-amz-copy-source") and "uploadId=" not in seen.call.target:
            self.announce(seen.bucket, seen.key)
        if not _RUN.fullmatch(seen.key):
            return
        with suppress(ValueError, KeyError):
            run = json.loads(seen.call.body)
            if run["status"] == "queued":
                self._queued({name: run[name] for name in ("kind", "space_id", "job_id")})

    def _write(self, seen: "_Seen", fault: Fault | None, answer: Answer | None, *, away: bool = False) -> None:
        call = seen.call
        condition = call.header("if-match") or call.header("if-none-match")
        etag = next((value for name, value in answer.headers if name.lower() == "etag"), None) if answer else None
        self._log.write(
            n=seen.number,
            t=seen.began,
            done=self._log.now(),
            verb=seen.verb,
            key=seen.key,
            keys=_deleted(call) if seen.verb == "DeleteObjects" else None,
            condition=condition,
            says=_says(seen),
            status=answer.status if answer else None,
            etag=etag,
            fault=fault.kind if fault else None,
            seconds=round(fault.seconds, 1) if fault and fault.seconds else None,
            away=away or None,
            call=(call.header("amz-sdk-invocation-id") or "")[:8] or None,
            attempt=call.header("amz-sdk-request"),
        )


class _Seen:
    """A request with what its log line says of it."""

    def __init__(self, number: int, began: float, call: Call) -> None:
        self.number, self.began, self.call = number, began, call
        url = urlsplit(call.target)
        query = parse_qs(url.query, keep_blank_values=True)
        self.bucket, _, self.key = unquote(url.path).lstrip("/").partition("/")
        self.verb = call.method
        if call.method == "GET" and "list-type" in query:
            self.verb, self.key = "LIST", query.get("prefix", [""])[0]
        elif call.method == "POST" and "delete" in query:
            self.verb = "DeleteObjects"


def _deleted(call: Call) -> list[str]:
    return re.findall(r"<Key>([^<]*)</Key>", call.body.decode("utf-8", "replace"))


def _says(seen: _Seen) -> str | None:
    """What a write of the space's own documents says, in short."""
    if seen.verb != "PUT" or not seen.key.endswith(".json"):
        return None
    name = seen.key.rpartition("/")[2]
    wanted = {
        "_meta.json": ("rev", "changes", "committed_run", "deleted_at", "uid"),
        "_lease.json": ("owner", "kind", "worker", "expires_at", "rev"),
    }.get(name, ("status", "step", "worker", "number", "error"))
    with suppress(ValueError):
        document = json.loads(seen.call.body)
        return " ".join(f"{field}={document[field]}" for field in wanted if document.get(field) is not None)
    return None


def _refuse(status: int, code: str) -> Answer:
    return Answer(status, (("Content-Type", "application/xml"),), _REFUSAL.format(code).encode())
