"""One call per function before anybody waits for it: the first makes an image and a container, in seconds."""

import json
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from local.config import ROOT
from local.functions.schedules import build_scheduled_event
from local.functions.template import Function, Route, Template
from local.sam.servers import StackError

_SECONDS = 120
_PLACEHOLDER = re.compile(r"\{[^}]+\}")


def warm_up_api(template: Template, url: str, say: Callable[[str], None]) -> None:
    """Call each function that has routes, without a token, so that nothing happens but a refusal. Raises StackError."""
    for function in template.functions:
        if function.routes:
            began = time.monotonic()
            route = _route(function)
            status, _ = _send(_method(route), f"{url}{_path(route)}", b"")
            if status >= 500:
                raise StackError(f"{function.logical_id} answered its first request with {status}.")
            say(f"{function.logical_id} (API) {time.monotonic() - began:.1f} s")


def warm_up_lambda(template: Template, url: str, say: Callable[[str], None]) -> None:
    """Invoke each function that is invoked otherwise than by a route, with an event of nothing. Raises StackError."""
    for function in template.functions:
        if function.triggers or function.schedules or not function.routes:
            began = time.monotonic()
            path = f"/2015-03-31/functions/{function.logical_id}/invocations"
            status, failed = _send("POST", url + path, json.dumps(first_event(function)).encode())
            if status != 200 or failed:
                raise StackError(f"{function.logical_id} failed at its first invocation ({status}); see the log.")
            say(f"{function.logical_id} (Lambda) {time.monotonic() - began:.1f} s")


def _route(function: Function) -> Route:
    return next((route for route in function.routes if route.method == "GET"), function.routes[0])


def _method(route: Route) -> str:
    return "GET" if route.method == "ANY" else route.method


def _path(route: Route) -> str:
    return _PLACEHOLDER.sub("warm-up", route.path)


def first_event(function: Function) -> dict[str, Any]:
    """An event that starts nothing: no records, a schedule's own, or a run in a space that there is not."""
    now = datetime.now(UTC)
    if function.triggers:
        return {"Records": []}
    if function.schedules:
        return build_scheduled_event(function.schedules[0], now)
    # What other functions start.
    sample: dict[str, Any] = json.loads((ROOT / "events" / f"{function.code.name}-run.json").read_bytes())
    return sample


def _send(method: str, url: str, body: bytes) -> tuple[int, bool]:
    """Status, and whether the answer is a function's error instead of its result."""
    request = urllib.request.Request(url, data=body or None, method=method)
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS) as answer:
            # The CLI says so in a header only if the error has none but the oldest fields.
            text = answer.read(2_000)
            return int(answer.status), "X-Amz-Function-Error" in answer.headers or b'"errorType"' in text
    except urllib.error.HTTPError as error:
        return error.code, False
    except OSError as error:
        raise StackError(f"{url} did not answer: {error}") from error
