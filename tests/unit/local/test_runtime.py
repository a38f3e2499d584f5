"""Which requests the local runtime answers at all. It is not started here, so a request that is let in gets 503."""

import json
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest

from livemem_http import environment
from local import runtime as runtime_module
from local.config import read_config
from local.front.httpd import Request
from local.functions.async_queue import AsyncQueue
from local.functions.schedules import Scheduler
from local.runtime import Runtime
from tests.support.cases import each

PATHS = (
    *("/", "/docs", "/assets/0/app.js", "/v1/health", "/v1/spaces", "/mcp", "/oauth/authorize", "/healthz", "/metrics"),
    *("/.well-known/oauth-protected-resource", "/no/such/path"),
)


@pytest.fixture
def ask(tmp_path):
    made: dict[str, Runtime] = {}

    def ask(host: str, path: str = "/", **variables: str):
        name = str(sorted(variables.items()))
        if name not in made:
            data = str(tmp_path / str(len(made)))
            made[name] = Runtime(read_config({"PORT": "0", "LIVEMEM_DATA_DIR": data, **variables}))
        return made[name]._answer(Request("GET", path, (("Host", host),)))

    yield ask
    for runtime in made.values():
        runtime.stop()


def test_no_route_of_a_service_on_loopback_answers_a_name_that_somebody_made_point_to_it(ask):
    assert {path: ask("evil.example:3000", path).status for path in PATHS} == dict.fromkeys(PATHS, 421)


def test_the_refusal_names_the_address_and_what_to_set(ask):
    message = json.loads(ask("evil.example").body)["message"]
    assert "http://127.0.0.1:" in message
    assert "OAUTH_ISSUER" in message
    assert "livemem serve --host" in message


@each(
    ("host", "status"),
    [
        ("localhost:3000", 503),
        ("LocalHost", 503),
        ("127.0.0.1", 503),
        ("127.9.9.9:80", 503),
        ("[::1]:3000", 503),
        ("host.docker.internal:3000", 503),
        ("localhost.evil.example", 421),
        ("evil.localhost", 421),
        ("localhost.", 421),
        ("127.0.0.1.nip.io:3000", 421),
        ("user@localhost", 421),
        ("192.168.0.9:3000", 421),
        ("[fe80::1]:3000", 421),
        ("2130706433", 421),
    ],
)
def test_a_service_on_loopback_answers_to_the_names_of_loopback(ask, host, status):
    assert ask(host).status == status


@each(
    ("variables", "host"),
    [
        ({"HOST": "0.0.0.0"}, "memory.lan:3000"),
        ({"LIVEMEM_SHARED": "true"}, "memory.example.org"),
        ({"LIVEMEM_SHARED": "true", "HOST": "0.0.0.0"}, "livemem:3000"),
        ({"OAUTH_ISSUER": "https://memory.example.org"}, "memory.example.org"),
        ({"OAUTH_ISSUER": "https://memory.example.org:8443"}, "MEMORY.example.org:8443"),
        ({"HOST": "localhost"}, "localhost:3000"),
    ],
)
def test_a_service_for_others_answers_to_the_names_by_which_they_reach_it(ask, variables, host):
    assert ask(host, **variables).status == 503


def test_a_public_address_opens_no_other_name(ask):
    assert ask("evil.example", OAUTH_ISSUER="https://memory.example.org").status == 421
    assert ask("x.memory.example.org", OAUTH_ISSUER="https://memory.example.org").status == 421


def test_a_call_that_nobody_waits_for_any_more_does_not_begin(tmp_path, monkeypatch):
    waiting: Future[Any] = Future()
    made = Runtime(read_config({"PORT": "0", "LIVEMEM_DATA_DIR": str(tmp_path / "data")}))
    monkeypatch.setattr(runtime_module, "INTEGRATION_SECONDS", 0.01)
    pool: Any = SimpleNamespace(submit=lambda _: waiting, close=lambda: None)
    made._pools["IngestFunction"] = pool
    try:
        with pytest.raises(OSError, match="did not answer"):
            made._invoke("live-memory-ingest", b"{}")
        assert waiting.cancelled()
    finally:
        made.stop()


def test_what_was_left_is_loaded_and_what_all_share_is_made_before_the_ports_open(tmp_path, monkeypatch):
    order: list[str] = []
    monkeypatch.setattr(AsyncQueue, "start", lambda _: order.append("queue"))
    monkeypatch.setattr(environment, "process", lambda: order.append("process"))
    made = Runtime(
        read_config(
            {
                "PORT": "0",
                "LIVEMEM_DATA_DIR": str(tmp_path / "data"),
                "LLMAAS_API_URL": "http://127.0.0.1:9/v1",
                "EMBEDDINGS_API_URL": "off",
            }
        )
    )
    monkeypatch.setattr(made._server, "start", lambda: order.append("port"))
    monkeypatch.setattr(made, "_load_handlers", lambda: None)
    monkeypatch.setattr(Scheduler, "start", lambda _: None)
    try:
        made.start()
    finally:
        made.stop()
    assert order == ["process", "queue", "port"]
