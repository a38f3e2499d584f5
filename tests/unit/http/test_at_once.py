"""Several events at once in one process, as on a desk: each has its own request, trace and log lines."""

import json
import logging
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from aws_lambda_powertools import Metrics

from livemem import background
from livemem_http import metrics, tracing
from livemem_http.api import Api
from livemem_http.logs import entry, function_logger
from livemem_http.views.fields import View

AT_ONCE = 8


class Said(View):
    value: str


def language(number: int) -> str:
    return ("en", "fr")[number % 2]


def event(number: int) -> dict:
    path = f"/v1/spaces/{number}"
    return {
        "version": "2.0",
        "routeKey": "GET /v1/spaces/{space_id}",
        "rawPath": path,
        "rawQueryString": "",
        "headers": {"traceparent": f"00-{number:032x}-{'2' * 16}-01", "accept-language": language(number)},
        "pathParameters": {"space_id": str(number)},
        "requestContext": {"http": {"method": "GET", "path": path}, "requestId": f"r{number}", "stage": "$default"},
    }


def context(number: int) -> Any:
    return SimpleNamespace(
        function_name=f"function-{number}",
        memory_limit_in_mb=256,
        invoked_function_arn="arn",
        aws_request_id=f"request-{number}",
    )


@pytest.fixture
def answers(capsys, request):
    meeting = threading.Barrier(AT_ONCE)
    api = Api()
    service = request.node.name
    logger = function_logger(service)

    @api.route("GET", "/v1/spaces/{space_id}", needs="nothing", summary="Say")
    def say(space_id: str) -> Said:
        """Say."""
        meeting.wait(20)
        # Also a thread beside the work belongs to its trace.
        traces = []
        with background.every(lambda: traces.append(tracing.current()), 0.001):
            while not traces:
                pass
        logging.getLogger("livemem.said").info("said")
        return Said(value=f"{space_id} {api.language()} {traces[0].trace_id}")

    handler = entry(logger)(api.handle)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        made = list(pool.map(lambda number: handler(event(number), context(number)), range(1, AT_ONCE + 1)))
    return made, [json.loads(line) for line in capsys.readouterr().out.splitlines()], service


def test_each_of_many_requests_at_once_gets_the_answer_to_its_own(answers):
    made, *_ = answers
    for number, answer in enumerate(made, 1):
        trace = f"{number:032x}"
        assert answer["statusCode"] == 200
        assert json.loads(answer["body"]) == {"value": f"{number} {language(number)} {trace}"}
        assert trace in answer["headers"][tracing.ANSWER]


def test_each_log_line_names_its_own_invocation_and_trace(answers):
    _, lines, service = answers
    told = {(line["function_request_id"], line["function_name"], line["trace_id"]) for line in lines}
    assert told == {(f"request-{n}", f"function-{n}", f"{n:032x}") for n in range(1, AT_ONCE + 1)}
    assert {line["service"] for line in lines} == {service}


def test_metrics_of_two_pieces_of_work_at_once_are_not_mixed(capsys, monkeypatch):
    monkeypatch.setenv("POWERTOOLS_METRICS_NAMESPACE", "n")
    with metrics.emitted("one") as one, metrics.emitted("two") as two:
        one.add_metric("First", "Count", 1)
        two.add_metric("Second", "Count", 2)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["service"], line.get("First"), line.get("Second")) for line in lines] == [
        ("two", None, [2.0]),
        ("one", [1.0], None),
    ]
    assert Metrics(service="x", namespace="n").provider.metric_set == {}


def test_a_model_of_an_answer_is_built_once_though_several_threads_need_it_first():
    """Pydantic itself takes a half-built model apart."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(30):

            class Answer(View):
                value: str
                inner: Said | None = None

            with ThreadPoolExecutor(AT_ONCE) as pool:
                made = list(pool.map(lambda _, form=Answer: form(value="a").model_dump_json(), range(AT_ONCE)))
            assert set(made) == {'{"value":"a"}'}
    finally:
        sys.setswitchinterval(before)
