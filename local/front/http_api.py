"""The HTTP API: finds the function of a request, invokes it and answers, as API Gateway does on AWS."""

import json
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass

from local.front.httpd import Request, Response, answer_json
from local.front.payload import MalformedAnswerError, build_event, decode_path, read_answer
from local.functions.pools import FunctionPool, PoolClosedError
from local.functions.template import DEFAULT_PATH, Function, Route
from local.metrics import Metrics

_log = logging.getLogger(__name__)

# API Gateway's quotas for HTTP APIs: payload size, and integration timeout (30 s, of which Lambda's part is 29).
MAX_BODY_BYTES = 10 * 1024 * 1024
INTEGRATION_SECONDS = 29.0


@dataclass(frozen=True)
class Match:
    """Where a request goes."""

    function: Function
    route: Route
    parameters: dict[str, str]


class Router:
    """Chooses among the routes of all functions, the most specific one first, as HTTP APIs do."""

    def __init__(self, functions: tuple[Function, ...]) -> None:
        routes = [(route, function) for function in functions for route in function.routes]
        routes.sort(key=lambda pair: _specificity(pair[0]))
        self._routes = [(route.pattern, route, function) for route, function in routes]

    def find(self, method: str, path: str) -> Match | None:
        """Find the route of a method and a decoded path, or None."""
        for pattern, route, function in self._routes:
            found = pattern.fullmatch(path) if route.method in {method, "ANY"} else None
            if found:
                return Match(function, route, found.groupdict())
        return None


def _specificity(route: Route) -> tuple[bool, bool, list[int], bool]:
    kinds = [2 if part.endswith("+}") else int(part.startswith("{")) for part in route.path.strip("/").split("/")]
    return route.path == DEFAULT_PATH, 2 in kinds, kinds, route.method == "ANY"


class HttpApi:
    """Answers requests with the functions' answers."""

    def __init__(
        self,
        functions: tuple[Function, ...],
        pools: Mapping[str, FunctionPool],
        integration_seconds: float = INTEGRATION_SECONDS,
        metrics: Metrics | None = None,
    ) -> None:
        self._router = Router(functions)
        self._pools = pools
        self._integration_seconds = integration_seconds
        self._metrics = metrics or Metrics()

    def answer(self, request: Request) -> Response:
        """Answer one request; every failure becomes the answer that API Gateway gives for it."""
        match = self._router.find(request.method, decode_path(request.path))
        began = time.monotonic()
        answer = self._answer(request, match)
        route, method = (match.route.path, match.route.method) if match else ("none", "none")
        # Whatever a client sends, there is one series for a route and a status.
        self._metrics.add("livemem_http_requests_total", route=route, method=method, status=str(answer.status))
        if match:
            seconds = time.monotonic() - began
            self._metrics.observe("livemem_http_request_seconds", seconds, function=match.function.logical_id)
        return answer

    def _answer(self, request: Request, match: Match | None) -> Response:
        if match is None:
            return answer_json(404, {"message": "Not Found"})
        if len(request.body) > MAX_BODY_BYTES:
            return answer_json(413, {"message": "Request Entity Too Large"})
        event = build_event(request, match.route, match.parameters)
        identity = (("apigw-requestid", event["requestContext"]["requestId"]),)
        future = self._pools[match.function.logical_id].submit(json.dumps(event, ensure_ascii=False).encode())
        try:
            outcome = future.result(self._integration_seconds)
            if outcome.failed:
                return answer_json(500, {"message": "Internal Server Error"}, identity)
            response = read_answer(outcome.payload)
        except (TimeoutError, PoolClosedError):
            # Still waiting for an environment: then it need not run any more. Running: it runs on, as on AWS.
            future.cancel()
            return answer_json(503, {"message": "Service Unavailable"}, identity)
        except MalformedAnswerError as error:
            _log.error("%s: malformed answer: %s", match.function.logical_id, error)
            return answer_json(500, {"message": "Internal Server Error"}, identity)
        return Response(response.status, (*response.headers, *identity), response.body)
