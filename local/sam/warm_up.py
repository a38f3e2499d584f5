"""One call per function before anybody waits for it: the first makes an image and a container, in seconds."""

import json
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import httpx

from local import ROOT
from local.functions.schedules import build_scheduled_event
from local.functions.template import Function, Template
from local.sam.servers import StackError

_SECONDS = 120
_PLACEHOLDER = re.compile(r"\{[^}]+\}")


def warm_up(template: Template, api_url: str, lambda_url: str, say: Callable[[str], None]) -> None:
    """Call each function as it is called in use, so that nothing happens: by a route without a token, or with an event
    of nothing. Raises StackError.
    """
    for function in template.functions:
        calls: list[tuple[str, str, str, dict[str, Any] | None]] = []
        if function.routes:
            route = next((route for route in function.routes if route.method == "GET"), function.routes[0])
            method = "GET" if route.method == "ANY" else route.method
            calls.append(("API", method, api_url + _PLACEHOLDER.sub("warm-up", route.path), None))
        if function.triggers or function.schedules or not function.routes:
            url = f"{lambda_url}/2015-03-31/functions/{function.logical_id}/invocations"
            calls.append(("Lambda", "POST", url, first_event(function)))
        for how, method, url, event in calls:
            began = time.monotonic()
            try:
                answer = httpx.request(method, url, json=event, timeout=_SECONDS, trust_env=False)
            except httpx.HTTPError as error:
                raise StackError(f"{url} did not answer: {error}") from error
            say(f"{function.logical_id} ({how}) {time.monotonic() - began:.1f} s")
            # The CLI says so in a header only if the error has none but the oldest fields.
            failed = "X-Amz-Function-Error" in answer.headers or '"errorType"' in answer.text[:2_000]
            if answer.status_code >= 500 or (event is not None and (failed or answer.status_code != 200)):
                raise StackError(f"{function.logical_id} failed at its first call ({answer.status_code}); see the log.")


def first_event(function: Function) -> dict[str, Any]:
    """An event that starts nothing: no records, a schedule's own, or a run in a space that there is not."""
    if function.triggers:
        return {"Records": []}
    if function.schedules:
        return build_scheduled_event(function.schedules[0], datetime.now(UTC))
    # What other functions start.
    sample: dict[str, Any] = json.loads((ROOT / "events" / f"{function.code.name}-run.json").read_bytes())
    return sample
