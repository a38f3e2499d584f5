"""Somebody at the command line: an environment, a terminal or a pipe, and a service of which each answer is told."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote

import httpx
from typer.testing import CliRunner

from live_memory import Client
from live_memory.cli.main import app
from live_memory.cli.program import Program
from live_memory.operations import OPERATIONS, Operation
from tests.support.scripted import URL, problem

TOKEN = "lm_SecretOfAnn"
QUEUED = "2026-02-20T14:04:55.120Z"
Answer = Any
"""A JSON value, a text (Markdown), a response, an exception, or a function of the arguments that gives one of these."""


@dataclass(frozen=True)
class Said:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


@dataclass
class CliHarness:
    """Where commands are given. `answers` are those of the service, by operation; a list is played one by one."""

    home: Path
    answers: dict[str, Answer] = field(default_factory=dict)
    terminal: bool = False
    environ: dict[str, str] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)
    waited: list[float] = field(default_factory=list)
    on_sleep: Callable[[], None] = lambda: None
    store: Callable[[httpx.Request], httpx.Response] | None = None
    """What is behind the URLs of archives."""

    def __post_init__(self) -> None:
        usual = {"LIVEMEM_URL": URL, "LIVEMEM_TOKEN": TOKEN, "LIVEMEM_SPACE": "demo"}
        self.environ = {**self._own, **(self.environ or usual)}

    @property
    def config(self) -> Path:
        return self.home / "livemem" / "config.toml"

    def alone(self) -> "CliHarness":
        """Without anything of it in the environment."""
        self.environ = dict(self._own)
        return self

    @property
    def _own(self) -> dict[str, str]:
        # The user's files are neither read nor written, nor is a service found that runs on this machine.
        return {"LIVEMEM_CONFIG": str(self.config), "LIVEMEM_DATA_DIR": str(self.home / "data")}

    def say(self, *arguments: str, stdin: str | bytes = "") -> Said:
        """Give a command. Errors that nobody expects are raised."""
        done = CliRunner().invoke(app, list(arguments), input=stdin, obj=self.program())
        if done.exception and not isinstance(done.exception, SystemExit):
            raise done.exception
        return Said(done.exit_code, done.stdout, done.stderr)

    def program(self) -> Program:
        return Program(
            environ=self.environ,
            connect=self._connect,
            connect_quickly=self._connect,
            detach=lambda *_: False,
            web=lambda: httpx.Client(transport=httpx.MockTransport(self._stored)),
            is_terminal=lambda _: self.terminal,
            sleep=self._sleep,
            now=lambda: sum(self.waited),
            clock=lambda: datetime(2026, 2, 20, 15, tzinfo=UTC),
        )

    def _sleep(self, seconds: float) -> None:
        self.waited.append(seconds)
        self.on_sleep()

    def _connect(self, url: str, token: str, **options: Any) -> Client:
        return Client(url, token, transport=httpx.MockTransport(self._answer), sleep=self.waited.append, **options)

    def _stored(self, request: httpx.Request) -> httpx.Response:
        assert self.store, "nobody said what the store answers"
        assert "authorization" not in request.headers
        return self.store(request)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        operation, arguments = _read(request)
        self.asked.append((operation.name, arguments))
        self.headers.append(request.headers)
        answer = self.answers.get(operation.name, problem(404, "not_found"))
        if isinstance(answer, list):
            answer = answer.pop(0) if len(answer) > 1 else answer[0]
        if callable(answer):
            answer = answer(arguments)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, httpx.Response):
            return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)
        if answer is None:
            return httpx.Response(204)
        if isinstance(answer, str):
            return httpx.Response(200, text=answer, headers={"content-type": "text/markdown"})
        return httpx.Response(200, json=answer)


@cache
def _patterns() -> list[tuple[re.Pattern[str], Operation]]:
    """All operations, each with the form of its paths. What has fewer names in its path is the closer one."""
    closest = sorted(OPERATIONS.values(), key=lambda one: one.path.count("{"))
    plain = [(re.sub(r"\{(\w+)\+\}", r"(?P<\1>.+)", one.path), one) for one in closest]
    return [(re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", path)), one) for path, one in plain]


def _read(request: httpx.Request) -> tuple[Operation, dict[str, Any]]:
    """Which operation was asked for, and with what."""
    path = request.url.raw_path.decode().partition("?")[0].removeprefix("/v1")
    for pattern, operation in _patterns():
        if operation.method == request.method and (found := pattern.fullmatch(path)):
            named = {name: unquote(value) for name, value in found.groupdict().items()}
            query = dict(parse_qsl(request.url.query.decode(), keep_blank_values=True))
            kind = request.headers.get("content-type", "")
            body = json.loads(request.content) if request.content and "json" in kind and "nd" not in kind else {}
            return operation, {**named, **query, **body}
    raise AssertionError(f"no operation: {request.method} {path}")


def note(number: int, content: str = "x", **changed: Any) -> dict[str, Any]:
    """A note as the service shows it; the number tells its second."""
    moment = f"20260220T14{number // 60:02d}{number % 60:02d}"
    return {
        "note_id": f"{moment}_ann_todo_{number:08x}",
        "space_id": "demo",
        "timestamp": f"2026-02-20T14:{number // 60:02d}:{number % 60:02d}Z",
        "agent": "ann",
        "category": "todo",
        "tags": [],
        "content": content,
        "size": len(content),
        "status": "live",
        **changed,
    }


def change(number: int, **changed: Any) -> dict[str, Any]:
    """A change of the bank as the service lists it."""
    return {
        "number": number,
        "kind": "consolidation",
        "trigger": "api",
        "run_id": "01KHXE5Q2V8R0M4T6W9YBNCD3F",
        "started_at": "2026-02-20T14:04:55.800Z",
        "committed_at": "2026-02-20T14:05:00Z",
        "model": "offline-rules",
        "author": None,
        "undoes": None,
        "undone": False,
        "notes_count": 1,
        "files": [{"action": "created", "path": "glossary.md"}],
        "metrics": {},
        **changed,
    }


def run(status: str, **changed: Any) -> dict[str, Any]:
    """The job of a run: `changed` are fields of its result, but for its error."""
    error = {"error": changed.pop("error")} if "error" in changed else {}
    result = {"kind": "consolidation", "trigger": "api", "dry_run": False, "tidy": False, "metrics": {}, **changed}
    job = "demo.consolidation.01KHXE5Q2V8R0M4T6W9YBNCD3F"
    return {"job": job, "kind": "consolidation", "space_id": "demo", "status": status, **error, "result": result}
