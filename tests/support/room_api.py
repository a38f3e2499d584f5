"""Rooms, digests and questions as clients meet them: by the handlers, with models that answer by script."""

import json
from typing import Any

import pytest

from livemem.process import Process
from livemem_http import environment
from tests.support.agent import ScriptedAgent, asks_itself
from tests.support.chatter import Listener
from tests.support.service import Service

SPACE = "/v1/spaces/{space_id}"
ROOMS = f"{SPACE}/rooms"
MESSAGES = f"{ROOMS}/{{room}}/messages"
DIGESTS = f"{SPACE}/digests"
DIGEST = f"{DIGESTS}/{{slot}}"
ASK = f"{SPACE}/ask"
JOBS = "/v1/jobs"
JOB = f"{JOBS}/{{job}}"


def flat(job: dict[str, Any]) -> dict[str, Any]:
    """A job with its result beside the rest."""
    return {**job.get("result", {}), **job}


class Rooms:
    """The rooms of a space `mine`, with models that answer by script."""

    def __init__(self, service: Service, patch: pytest.MonkeyPatch) -> None:
        self.service = service
        self.listener, self.agent = Listener(), ScriptedAgent()
        models: dict[str, Any] = {"ask": self.listener, "converse": self.agent}
        patch.setattr(environment, "Process", lambda **parts: asks_itself(Process(**parts | models)))
        service.http("backup", "POST", "/v1/spaces", body={"space_id": "mine", "consolidation_threshold": 0})

    def call(self, method: str, route: str, *, markdown: bool = False, **rest: Any) -> Any:
        """The answer as API Gateway gets it."""
        function = {ASK: "ask", JOB: "backup", JOBS: "backup"}.get(route, "rooms")
        path = ({"space_id": "mine"} if "{space_id}" in route else {}) | (
            {"room": "salon"} if "{room}" in route else {}
        )
        headers = rest.pop("headers", {}) | ({"accept": "text/markdown"} if markdown else {})
        return self.service.http(function, method, route, headers=headers, **path | rest)

    def ask(self, method: str, route: str, **rest: Any) -> tuple[int, Any]:
        """The status and the body."""
        answer = self.call(method, route, **rest)
        return answer["statusCode"], json.loads(answer["body"])

    def good(self, method: str, route: str, status: int = 200, **rest: Any) -> Any:
        """The body of what must succeed."""
        got, answer = self.ask(method, route, **rest)
        assert got == status, answer
        return answer

    def post(self, content: str, status: int = 201, **rest: Any) -> Any:
        """Post a message."""
        path = {name: rest.pop(name) for name in ("token", "room") if name in rest}
        return self.good("POST", MESSAGES, status, body={"author": "Ann", "content": content, **rest}, **path)

    def question(
        self,
        message: str = "Who looks after it?",
        status: int = 200,
        *,
        key: str | None = None,
        token: str | None = None,
        **body: Any,
    ) -> Any:
        """Ask the agent."""
        rest: dict[str, Any] = {"headers": {"idempotency-key": key} if key else {}} | (
            {"token": token} if token else {}
        )
        return flat(self.good("POST", ASK, status, body={"message": message, **body}, **rest))

    def job(self, job: str, **rest: Any) -> Any:
        """A job, with its result beside the rest."""
        return flat(self.good("GET", JOB, job=job, **rest))

    def jobs(self, kind: str, **rest: Any) -> Any:
        """The jobs of a kind, in the same form."""
        query = {"space_id": "mine", "kind": kind}
        return [flat(job) for job in self.good("GET", JOBS, query=query, **rest)["items"]]

    def digest(self) -> Any:
        """Start a digest by hand and carry it out; the answer to a look at it."""
        job = self.good("POST", DIGESTS, 202)["job"]
        self.work()
        return self.job(job)

    def work(self) -> None:
        """Work off all that is queued."""
        while self.service.lambda_api.invoked:
            self.service.work()

    def said(self, **query: str) -> list[str]:
        """What the messages of a page say."""
        return [one["content"] for one in self.good("GET", MESSAGES, query=query)["items"]]

    def token(self, name: str, *permissions: str) -> str:
        """A new token of the space."""
        body = {"name": name, "permissions": list(permissions), "space_ids": ["mine"]}
        return str(json.loads(self.service.http("admin", "POST", "/v1/tokens", body=body)["body"])["token"])

    def fields(self, method: str, route: str, **rest: Any) -> list[str]:
        """The fields that a refusal names."""
        status, problem = self.ask(method, route, **rest)
        assert status == 422, problem
        return [item["field"] for item in problem["errors"]]

    def written(self, *parts: str) -> list[str]:
        """The keys that hold one of these."""
        return [key for key in self.service.written() if any(part in key for part in parts)]
