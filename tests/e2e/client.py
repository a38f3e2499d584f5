"""A plain HTTP client of the API, as any user could write one: the standard library, JSON in and out."""

import json
import os
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any

POLL_SECONDS = 0.2
TOO_MANY_REQUESTS = 429
PATIENCE_SECONDS = float(os.environ.get("E2E_PATIENCE_SECONDS") or 90)
"""Real parts may start cold; what is waited for comes within a second or two as a rule. A real LLM takes minutes."""


@dataclass(frozen=True)
class Answer:
    status: int
    body: Any
    headers: dict[str, str]


class Client:
    def __init__(self, url: str, token: str | None) -> None:
        self.url = url.rstrip("/")
        self.token = token

    def call(self, method: str, path: str, body: Any = None, *, raw: bytes | None = None, **headers: str) -> Answer:
        """One request; `raw` sends bytes as they are. Header names with `_` for `-`."""
        data = raw if raw is not None else (json.dumps(body).encode() if body is not None else None)
        request = urllib.request.Request(f"{self.url}/v1{path}", data=data, method=method)
        if self.token is not None:
            request.add_header("Authorization", f"Bearer {self.token}")
        if data is not None:
            request.add_header("Content-Type", "application/json")
        for name, value in headers.items():
            request.add_header(name.replace("_", "-"), value)
        answer = _ask(request)
        if answer.status == TOO_MANY_REQUESTS:
            # As any client should.
            time.sleep(int(answer.headers["retry-after"]))
            answer = _ask(request)
        return answer

    def get(self, path: str) -> Any:
        """The body of a GET that must succeed."""
        answer = self.call("GET", path)
        assert answer.status == 200, answer
        return answer.body

    def wait_for_run(self, space_id: str, run_id: str) -> dict[str, Any]:
        """The run once it has ended."""
        return self.wait_until(
            lambda: self.get(f"/spaces/{space_id}/runs/{run_id}"),
            lambda run: run["status"] not in ("queued", "running"),
        )

    def wait_until(self, read: Any, good: Any) -> Any:
        """What `read` gives as soon as `good` likes it."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            seen = read()
            if good(seen):
                return seen
            assert time.monotonic() < deadline, seen
            time.sleep(POLL_SECONDS)


def _ask(request: urllib.request.Request) -> Answer:
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
            return _answer(answer.status, answer.read(), answer.headers)
    except urllib.error.HTTPError as error:
        return _answer(error.code, error.read(), error.headers)


def _answer(status: int, data: bytes, headers: Any) -> Answer:
    try:
        body = json.loads(data) if data else None
    except ValueError:
        body = data.decode(errors="replace")
    return Answer(status, body, {name.lower(): value for name, value in headers.items()})
