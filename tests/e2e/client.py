"""The project's client, and beside it what only a test wants: the status and headers of an answer, odd requests."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx

from live_memory import Client, models

POLL_SECONDS = 0.2
TOO_MANY_REQUESTS = 429
PATIENCE_SECONDS = float(os.environ.get("E2E_PATIENCE_SECONDS") or 90)
"""Real parts may start cold; what is waited for comes within a second or two as a rule. A real LLM takes minutes."""


@dataclass(frozen=True)
class Answer:
    status: int
    body: Any
    headers: httpx.Headers


class Ended:
    """A run that has ended: the job and its result as one."""

    def __init__(self, job: models.JobView) -> None:
        self.job, self.result = job, job.result

    def __getattr__(self, name: str) -> Any:
        of = self.job if name in models.JobView.model_fields else self.result
        return getattr(of, name)


class Service(Client):
    """The service as a program sees it, and by `send` as the wire has it."""

    def __init__(self, url: str, token: str | None) -> None:
        super().__init__(url, token or "", timeout=PATIENCE_SECONDS)
        self.token = token

    def send(self, method: str, path: str, body: Any = None, *, raw: bytes | None = None, **headers: str) -> Answer:
        """One request as it is; `raw` sends bytes. Header names with `_` for `-`."""
        named = {"Accept-Encoding": "identity"} | {name.replace("_", "-"): value for name, value in headers.items()}
        if raw is not None:
            named.setdefault("Content-Type", "application/json")
        given: dict[str, Any] = {"content": raw} if raw is not None else {"json": body} if body is not None else {}
        got = self._http.request(method, path, headers=named, **given)
        if got.status_code == TOO_MANY_REQUESTS:
            # As any client should.
            time.sleep(int(got.headers["retry-after"]))
            got = self._http.request(method, path, headers=named, **given)
        return Answer(got.status_code, _body(got), got.headers)

    def ended(self, job: str) -> Ended:
        """The run of a job once it has ended."""
        return Ended(self.jobs.wait(job, timeout=PATIENCE_SECONDS))

    def plan(self, job: str) -> models.PlanDetail:
        """The plan of a job, which waits."""
        result = self.jobs.get(job).result
        assert isinstance(result, models.ConsolidationResult)
        assert result.pending_plan
        return result.pending_plan

    def wait_until(self, read: Callable[[], Any], good: Callable[[Any], Any]) -> Any:
        """What `read` gives as soon as `good` likes it."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            seen = read()
            if good(seen):
                return seen
            assert time.monotonic() < deadline, seen
            time.sleep(POLL_SECONDS)


def _body(got: httpx.Response) -> Any:
    try:
        return got.json() if got.content else None
    except ValueError:
        return got.text
