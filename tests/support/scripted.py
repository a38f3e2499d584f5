"""A service that answers by script, for the client: no network, no waiting."""

from typing import Any

import httpx

from live_memory import AsyncClient, Client

URL = "https://memory.example.org"
TOKEN = "lm_SecretOfAnn"
NOTE = {
    "note_id": "20260220T140000_ann_todo_1a2b3c4d",
    "space_id": "demo",
    "timestamp": "2026-02-20T14:00:00Z",
    "agent": "ann",
    "category": "todo",
    "tags": [],
    "content": "x",
    "size": 1,
    "status": "live",
    "consolidation": None,
}

Step = httpx.Response | Exception


def good(body: Any = None, status: int = 200) -> httpx.Response:
    return httpx.Response(status, json={} if body is None else body)


def problem(status: int, code: str, retry_after: int | None = None) -> httpx.Response:
    """An error as the service tells it."""
    body = {"type": "about:blank", "title": "x", "status": status, "code": code, "detail": "why", "request_id": "r-1"}
    headers = {"content-type": "application/problem+json"}
    return httpx.Response(
        status, json=body, headers=headers | ({"retry-after": str(retry_after)} if retry_after is not None else {})
    )


class Scripted:
    """Plays the answers in their order, the last one for ever; keeps what was asked and how long was waited."""

    def __init__(self, *steps: Step) -> None:
        self.steps = list(steps) or [good()]
        self.asked: list[httpx.Request] = []
        self.waited: list[float] = []

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        step = self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]
        if isinstance(step, Exception):
            raise step
        if not hasattr(step, "_content"):
            return step
        # One response may be played twice.
        return httpx.Response(step.status_code, headers=step.headers, content=step.content)

    def client(self, **options: Any) -> Client:
        return Client(URL, TOKEN, transport=httpx.MockTransport(self.answer), sleep=self.waited.append, **options)

    def async_client(self, **options: Any) -> AsyncClient:
        async def sleep(seconds: float) -> None:
            self.waited.append(seconds)

        return AsyncClient(URL, TOKEN, transport=httpx.MockTransport(self.answer), sleep=sleep, **options)

    @property
    def paths(self) -> list[str]:
        return [request.url.raw_path.decode() for request in self.asked]
