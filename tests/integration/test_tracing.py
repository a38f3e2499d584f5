"""One trace from a request over asynchronous work to the model, in its headers and in the log lines."""

import io
import json
import logging
from collections.abc import Callable
from typing import Any

import pytest

from livemem.llm import client, embeddings, tool_calling
from livemem.settings import Settings
from livemem.store import clients
from livemem_http.logs import PACKAGES
from tests.support import llm_server
from tests.support.functions import request
from tests.support.service import Service
from tests.support.world import BOOTSTRAP_KEY

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
NAMED = f"00-{TRACE}-{PARENT}-01"
SPACE = "/v1/spaces/{space_id}"
ANSWER = (
    '{"bank_files": [{"filename": "log.md", "action": "created", "content": "# Log\\n\\nOne.\\n", "notes": [1]}],'
    ' "synthesis": "One."}'
)


@pytest.fixture(name="demo")
def _demo(service: Service) -> Service:
    answer = service.http("backup", "POST", "/v1/spaces", body={"space_id": "demo", "consolidation_threshold": 1})
    assert answer["statusCode"] == 201
    return service


@pytest.fixture(name="logged")
def _logged(monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[dict[str, Any]]]:
    """The lines as each function writes them: the packages' loggers get new handlers when one is loaded."""
    lines = io.StringIO()
    emit = logging.StreamHandler.emit

    def write(handler: Any, record: logging.LogRecord) -> None:
        if record.name.split(".")[0] in PACKAGES:
            lines.write(f"{handler.format(record)}\n")
        emit(handler, record)

    monkeypatch.setattr(logging.StreamHandler, "emit", write)
    return lambda: [json.loads(line) for line in lines.getvalue().splitlines() if line.startswith("{")]


def trace_in(answer: dict[str, Any]) -> str:
    return str(answer["headers"]["Traceresponse"].split("-")[1])


def test_a_callers_trace_goes_from_the_request_over_the_queue_to_the_model_and_stands_in_every_line(
    demo: Service, logged: Callable[[], list[dict[str, Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    with llm_server.serving(llm_server.answer(llm_server.completion(ANSWER))) as llm:
        monkeypatch.setenv("LLMAAS_API_URL", llm.url)
        note = {"category": "todo", "content": "One."}
        demo.modules.clear()
        written = demo.http(
            "ingest", "POST", f"{SPACE}/notes", space_id="demo", body=note, headers={"Traceparent": NAMED}
        )
        demo.modules.clear()
        queued = demo.http(
            "consolidate", "POST", f"{SPACE}/consolidations", space_id="demo", body={}, headers={"traceparent": NAMED}
        )
        assert (trace_in(written), trace_in(queued)) == (TRACE, TRACE)
        ((_, payload),) = demo.lambda_api.invoked
        # The run is a child of the request that queued it.
        assert payload["traceparent"] == queued["headers"]["Traceresponse"]
        assert demo.work()["status"] == "done"

    (asked,) = llm.asked
    lines = {line["message"]: line for line in logged() if "trace_id" in line}
    assert lines.keys() >= {"note written", "run queued", "model call", "run ended"}
    assert {line["trace_id"] for line in lines.values()} == {TRACE}
    assert asked.headers["traceparent"] == f"00-{TRACE}-{lines['model call']['span_id']}-01"
    # A run of its own: it shares the trace with the request, and not the span.
    assert lines["model call"]["span_id"] == lines["run ended"]["span_id"] != lines["run queued"]["span_id"]


def test_every_kind_of_request_to_a_model_has_the_header() -> None:
    with llm_server.serving() as server:
        found = Settings(llmaas_api_url=server.url, embeddings_api_url=server.url)
        client.connect(found, lambda: {"traceparent": NAMED})([{"role": "user", "content": "x"}], None, 5)
        tool_calling.connect(found, lambda: {"traceparent": NAMED})([{"role": "user", "content": "x"}], [], None, 5)
        embed = embeddings.connect(found, lambda: {"traceparent": NAMED})
        assert embed
        # It answers as a chat does.
        with pytest.raises(embeddings.EmbeddingError):
            embed(["x"], query=True, timeout=5)
    assert [asked.path for asked in server.asked] == ["/v1/chat/completions", "/v1/chat/completions", "/v1/embeddings"]
    assert {asked.headers["traceparent"] for asked in server.asked} == {NAMED}


def test_without_a_valid_trace_each_event_begins_one_and_nothing_else_changes(demo: Service) -> None:
    about = [
        demo.http("reads", "GET", "/v1/about", headers={"traceparent": value})
        for value in (
            f"00-{'0' * 32}-{PARENT}-01",
            f"{NAMED}\r\nX-Evil: 1",
            NAMED.upper(),
            f"{NAMED},{NAMED}",
            "\u2028",
            "x" * 8_000,
        )
    ]
    assert {answer["statusCode"] for answer in about} <= {200, 422}
    traces = [trace_in(answer) for answer in about]
    assert len(set(traces)) == len(about)
    assert TRACE not in traces
    refused = demo.http("reads", "GET", "/v1/spaces", token="lm_nobody", headers={"traceparent": NAMED})
    assert (refused["statusCode"], trace_in(refused)) == (401, TRACE)


def test_an_mcp_call_names_its_trace_in_the_header_or_in_meta_and_functions_behind_it_continue_it(
    demo: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    behind: list[dict[str, Any]] = []

    def invoke(_name: str, event: dict[str, Any]) -> Any:
        behind.append(event)
        return {"statusCode": 200, "headers": {}, "body": "{}"}

    monkeypatch.setattr(clients, "invoke", invoke)

    def called(headers: dict[str, str], meta: Any) -> dict[str, Any]:
        message = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "get_rules", "arguments": {"space_id": "demo"}, "_meta": meta},
        }
        sent = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-06-18", **headers}
        event = request("POST", "/mcp", token=BOOTSTRAP_KEY, body=message, query={"toolset": "full"}, headers=sent)
        answer: dict[str, Any] = demo.invoke("mcp", event)
        assert answer["statusCode"] == 200, answer
        return answer

    other = NAMED.replace(TRACE, "1" * 32)
    assert trace_in(called({"traceparent": NAMED}, {"traceparent": other})) == TRACE
    assert trace_in(called({}, {"traceparent": NAMED})) == TRACE
    assert trace_in(called({}, {"traceparent": ["x"]})) != TRACE
    assert [event["headers"]["traceparent"].split("-")[1] for event in behind[:2]] == [TRACE, TRACE]
    assert "authorization" in behind[0]["headers"]
