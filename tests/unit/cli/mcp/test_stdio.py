"""Messages over stdio, passed on to a service that answers, refuses, breaks off or dies."""

import io
import json
import os
import socket
import threading
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from live_memory.cli.exits import Refused
from live_memory.cli.mcp import kept_answers, stdio
from live_memory.cli.mcp.kept_answers import KeptAnswers
from live_memory.cli.mcp.stdio import Passer, client_of, headers_of
from live_memory.cli.mcp.upstream import Upstream
from local.front.httpd import Response, Server, answer_json

CALL = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "note", "arguments": {}}}


class Upstreams:
    """A service at a loopback port; `again` gives the next one of a list."""

    def __init__(self, *urls):
        self.left = [Upstream(url, "secret", "demo") for url in urls]
        self.revived = 0
        self.refused = []
        self.agents = []
        self.starts = threading.Event()
        self.starts.set()

    def has_personal(self):
        return False

    def beside(self, upstream):
        return None

    def must_start(self):
        return not self.starts.is_set()

    def get(self, agent):
        self.agents.append(agent)
        assert self.starts.wait(30)
        return self.left[0]

    def renewed(self, refused):
        self.refused.append(refused.token)
        return replace(refused, token="other") if len(self.refused) == 1 else None

    def again(self, dead):
        self.revived += 1
        if len(self.left) == 1:
            raise Refused("There is no connection: check the network.")
        assert self.left.pop(0) is dead
        return self.left[0]


@pytest.fixture
def dead(serve):
    server = Server("127.0.0.1", 0, lambda _: Response(200), max_body=1)
    server.start()
    server.stop(grace_seconds=0)
    return server.url


def passed(upstreams, *messages, log=lambda _: None, folder=Path("/")):
    lines = [one if isinstance(one, bytes) else json.dumps(one).encode() for one in messages]
    output = io.BytesIO()
    Passer(upstreams, KeptAnswers(Path("/none"), "core"), output, log, folder).run(io.BytesIO(b"\n".join(lines)))
    return [json.loads(line) for line in output.getvalue().splitlines()]


def result_of(request):
    return answer_json(200, {"jsonrpc": "2.0", "id": json.loads(request.body)["id"], "result": {"text": "a\nb"}})


def test_a_request_gets_the_services_answer_in_one_line_and_a_notification_none(serve):
    asked = []

    def answer(request):
        asked.append(request)
        return result_of(request) if b'"id"' in request.body else Response(202)

    found = passed(Upstreams(serve(answer)), CALL, {"jsonrpc": "2.0", "method": "notifications/initialized"})

    assert found == [{"jsonrpc": "2.0", "id": 7, "result": {"text": "a\nb"}}]
    request = next(one for one in asked if b"tools/call" in one.body)
    assert json.loads(request.body) == CALL
    assert ("authorization", "Bearer secret") in [(name.lower(), value) for name, value in request.headers]
    assert request.query == "space=demo&structured=false&toolset=core"


def test_a_service_that_cannot_be_reached_is_started_once_for_a_message_and_then_asked_again(serve, dead):
    upstreams = Upstreams(dead, serve(result_of))

    assert passed(upstreams, CALL)[0]["result"]
    assert upstreams.revived == 1

    hopeless = Upstreams(dead, dead, dead)
    assert "error" in passed(hopeless, CALL)[0]
    assert hopeless.revived == 1


class Agent(io.BytesIO):
    """An agent that asks, reads the answer, and asks on. `before`: what it had when the service was still starting."""

    def __init__(self, name, upstreams):
        super().__init__()
        told = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": name}}
        asked = {"initialize": told, "tools/list": {}, "tools/call": CALL["params"]}
        self.lines = [
            {"jsonrpc": "2.0", "id": at, "method": name, "params": params}
            for at, (name, params) in enumerate(asked.items())
        ]
        self.upstreams, self.answered, self.before = upstreams, threading.Semaphore(1), []

    def readline(self, size=-1, /):
        if not self.answered.acquire(timeout=30 if self.upstreams.starts.is_set() else 0.5):
            self.before = self.results
            self.upstreams.starts.set()
            assert self.answered.acquire(timeout=30)
        return json.dumps(self.lines.pop(0)).encode() + b"\n" if self.lines else b""

    def flush(self):
        self.answered.release()

    @property
    def results(self):
        return [json.loads(line)["result"] for line in self.getvalue().splitlines()]


@pytest.fixture
def session(serve, tmp_path):
    """Plays a session with the service of this machine; `starts`: it does not run yet."""
    asked = []

    def answer(request):
        message = json.loads(request.body)
        asked.append(message["method"])
        return answer_json(200, {"jsonrpc": "2.0", "id": message["id"], "result": {"of": message["method"]}})

    url = serve(answer)

    def play(name="codex", toolset="core", own=True, starts=False):
        upstreams: Any = Upstreams(url)
        upstreams.left = [replace(upstreams.left[0], own=own or None)]
        asked.clear()
        if starts:
            upstreams.starts.clear()
        agent = Agent(name, upstreams)
        Passer(upstreams, KeptAnswers(tmp_path, toolset), agent, lambda _: None, tmp_path).run(agent)
        assert [one["of"] for one in agent.results] == ["initialize", "tools/list", "tools/call"]
        return [one["of"] for one in agent.before], list(asked)

    return play


def test_an_agent_that_asks_while_the_service_starts_has_the_tools_of_its_last_session_without_a_request(session):
    assert session() == ([], ["initialize", "tools/list", "tools/call"])
    # What acts waits for the service.
    assert session(starts=True) == (["initialize", "tools/list"], ["tools/call"])


@pytest.mark.parametrize(
    ("former", "now"), [({}, {"name": "another"}), ({}, {"toolset": "full"}), ({"own": False}, {}), (None, {})]
)
def test_another_agent_or_toolset_waits_and_so_does_one_of_a_service_elsewhere_or_at_its_first_session(
    session, former, now
):
    if former is not None:
        session(**former)
    assert session(**now, starts=True) == ([], ["initialize", "tools/list", "tools/call"])


@pytest.mark.parametrize("place", ["checkout", "checkout/client/live_memory/_server"])
def test_after_an_upgrade_that_keeps_its_version_an_agent_waits_for_the_tools_of_the_new_code(
    session, tmp_path, monkeypatch, place
):
    package = tmp_path / "checkout/client/live_memory"
    package.mkdir(parents=True)
    monkeypatch.setattr(kept_answers, "PACKAGE", package)
    code = tmp_path / place / "layers/livemem/livemem_mcp/core.py"
    code.parent.mkdir(parents=True)
    code.write_text("1")
    session()
    assert session(starts=True)[0] == ["initialize", "tools/list"]
    code.write_text("10")
    assert session(starts=True)[0] == []
    os.utime(code, ns=(1, 1))
    assert session(starts=True)[0] == []
    assert session(starts=True)[0] == ["initialize", "tools/list"]


def test_the_code_that_makes_the_tools_is_where_kept_answers_look_for_it():
    assert {"core.py", "operations.json", "words.toml"} <= {name for name, _, _ in kept_answers._code()}


@pytest.fixture
def breaks_off():
    """A server that reads a request and goes away; the URL, and the requests."""
    seen = []
    listener = socket.create_server(("127.0.0.1", 0))

    def accept():
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                with connection:
                    seen.append(connection.recv(65536))

    threading.Thread(target=accept, daemon=True).start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}", seen
    listener.close()


def test_a_call_that_may_have_been_carried_out_is_not_repeated_and_a_question_is(serve, breaks_off):
    url, seen = breaks_off
    alive = serve(result_of)

    assert "look before you repeat it" in passed(Upstreams(url, alive), CALL)[0]["error"]["message"]
    assert len(seen) == 1
    assert passed(Upstreams(url, alive), {**CALL, "method": "tools/list"})[0]["result"]


def test_every_refusal_is_an_error_of_the_protocol_that_says_what_to_do_and_holds_no_token(serve, dead):
    problem = {"detail": "This token is not known.", "code": "unauthorized", "status": 401}
    cases = [
        (
            Upstreams(serve(lambda _: answer_json(401, problem))),
            ["This token is not known. [unauthorized]", "livemem login"],
        ),
        (Upstreams(serve(lambda _: Response(502, (), b"<html>"))), ["status 502"]),
        (Upstreams(serve(lambda _: Response(404, (), b""))), ["Is this the address"]),
        (Upstreams(dead), ["check the network"]),
    ]
    for upstreams, words in cases:
        found = passed(upstreams, CALL)
        assert [(one["id"], one["error"]["code"]) for one in found] == [(7, stdio.FAILED)]
        assert all(word in found[0]["error"]["message"] for word in words), found
        assert "secret" not in json.dumps(found)


def test_a_token_that_is_refused_is_replaced_once_and_the_message_is_sent_again(serve):
    sent = []

    def answer(request):
        sent.append(request.header("authorization"))
        return result_of(request) if sent[-1] == "Bearer other" else Response(401)

    upstreams = Upstreams(serve(answer))
    assert passed(upstreams, CALL)[0]["result"] == {"text": "a\nb"}
    assert "Log in again" in passed(upstreams, CALL)[0]["error"]["message"]
    assert sent == ["Bearer secret", "Bearer other", "Bearer secret"]
    assert upstreams.refused == ["secret", "secret"]


def test_the_client_is_known_by_the_name_that_it_gives_at_the_beginning_or_in_a_message(serve):
    upstreams = Upstreams(serve(result_of))
    passed(upstreams, CALL)
    begin = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"clientInfo": {"name": "cline"}}}
    meta = {"io.modelcontextprotocol/clientInfo": {"name": "codex-mcp-client"}}
    passed(upstreams, begin)
    passed(upstreams, {**CALL, "params": {"name": "note", "arguments": {}, "_meta": meta}})
    assert upstreams.agents == ["agent", "cline", "codex-mcp-client"]
    for odd in ({"clientInfo": "x"}, {"clientInfo": {"name": 7}}, {"_meta": []}, [], {"clientInfo": {"name": " "}}):
        assert client_of({"params": odd}) is None
    assert client_of({"params": {"_meta": meta}}) == "codex-mcp-client"


def test_an_error_of_a_notification_goes_to_the_log_alone(dead):
    said = []

    assert not passed(Upstreams(dead), {"jsonrpc": "2.0", "method": "notifications/x"}, log=said.append)
    assert "check the network" in said[0]


def test_what_is_no_message_is_answered_here_and_what_is_too_long_is_not_read_whole(serve, monkeypatch):
    monkeypatch.setattr(stdio, "MAX_LINE", 1_000)
    asked = []
    url = serve(lambda request: asked.append(request) or result_of(request))
    answer = {"jsonrpc": "2.0", "id": 1, "result": {}}
    found = passed(Upstreams(url), b"nonsense", b"[" * 900, b"x" * 5_000, b"", answer, CALL)

    assert sorted(one.get("error", {}).get("code", 0) for one in found) == [-32700, -32700, -32600, 0]
    assert len(asked) == 1


def test_requests_are_answered_side_by_side(serve):
    both = threading.Barrier(2, timeout=20)

    def answer(request):
        both.wait()
        return result_of(request)

    assert {one["id"] for one in passed(Upstreams(serve(answer)), CALL, {**CALL, "id": 8})} == {7, 8}


def test_a_message_belongs_to_the_trace_of_the_environment_unless_it_names_its_own(serve, monkeypatch):
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    monkeypatch.setenv("TRACEPARENT", trace)
    sent = {}

    def answer(request):
        sent[json.loads(request.body)["id"]] = request.joined_headers.get("traceparent")
        return result_of(request)

    named = {"name": "note", "arguments": {}, "_meta": {"traceparent": trace.replace("0af", "1af")}}
    own = {**CALL, "id": 8, "params": named}
    passed(Upstreams(serve(answer)), CALL, own)
    assert sent == {7: trace, 8: None}


def test_what_the_user_should_know_of_the_space_is_in_the_log_once_and_in_the_instructions(serve):
    def answer(request):
        result = {"instructions": "Read first."} if b"initialize" in request.body else {"text": "x"}
        return answer_json(200, {"jsonrpc": "2.0", "id": 1, "result": result})

    upstreams, log = Upstreams(serve(answer)), []
    upstreams.left[0] = replace(upstreams.left[0], notices=("It is another space.",))
    found = [passed(upstreams, {**CALL, "method": method}, log=log.append) for method in ("initialize", "tools/call")]
    assert [one[0]["result"] for one in found] == [
        {"instructions": "Read first.\n\nTell the user once:\n\nIt is another space."},
        {"text": "x"},
    ]
    assert log == ["livemem mcp: It is another space."] * 2, "one for each process"
    log.clear()
    passed(upstreams, CALL, {**CALL, "id": 8}, log=log.append)
    assert log == ["livemem mcp: It is another space."]


def test_the_headers_of_a_message_say_what_its_body_says():
    meta = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}
    call = {"method": "tools/call", "params": {"name": "note", **meta}}
    resource = {"method": "resources/read", "params": {"uri": "livemem://demo/bank/é.md", **meta}}

    assert headers_of(call, None) == {
        "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "note",
    }  # fmt: skip
    assert headers_of(resource, None)["Mcp-Name"] == "=?base64?bGl2ZW1lbTovL2RlbW8vYmFuay/DqS5tZA==?="
    assert headers_of({"method": "tools/list"}, "2025-06-18") == {"MCP-Protocol-Version": "2025-06-18"}
    assert headers_of({"method": "initialize"}, None) == {}
    assert headers_of({"method": "tools/call", "params": []}, None) == {}
