"""The HTTP face of the offline LLM: `POST /v1/chat/completions`, `GET /v1/models`, on the standard library's server."""

import json
import logging
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from local.offline_llm.chat import MODEL, ApiError, complete_chat, describe_model, list_models

MAX_BODY_BYTES = 32 * 1024 * 1024
_COMPLETIONS = "/v1/chat/completions"
_MODELS = "/v1/models"

logger = logging.getLogger(__name__)


class OfflineLlmServer(ThreadingHTTPServer):
    """A server that is listening once it is made; `serve_forever` answers, `shutdown` and `server_close` end it.

    Port 0 takes a free port; `base_url` is what an OpenAI client takes as its base URL.
    """

    daemon_threads = True

    def __init__(self, host: str = "127.0.0.1", port: int = 0) -> None:
        super().__init__((host, port), _Handler)
        self.started = int(time.time())

    @property
    def base_url(self) -> str:
        """The URL up to and with `/v1`."""
        return f"http://{self.server_address[0]!s}:{self.server_address[1]}/v1"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = MODEL
    server: OfflineLlmServer
    # An answer goes out in two writes; with Nagle's algorithm the second would wait for an ACK of the first.
    disable_nagle_algorithm = True
    timeout = 60  # seconds a connection may be silent

    def do_GET(self) -> None:
        self._answer("GET")

    def do_POST(self) -> None:
        self._answer("POST")

    def _answer(self, method: str) -> None:
        try:
            status, body = 200, self._route(method, self.path.partition("?")[0].rstrip("/"))
        except ApiError as error:
            status, body = error.status, error.body()
        except Exception:  # a server answers whatever happens; the log has the trace
            logger.exception("request failed")
            status, body = 500, ApiError(500, "The offline LLM failed; its log says why.").body()
        self._send(status, body)

    def _route(self, method: str, path: str) -> dict[str, Any]:
        allowed = "POST" if path == _COMPLETIONS else "GET" if path == _MODELS or path.startswith(_MODELS + "/") else ""
        body = self._read_body() if method == "POST" else b""
        if not allowed:
            raise ApiError(404, f"Unknown request URL: {method} {path[:200]}.", None, "unknown_url")
        if method != allowed:
            raise ApiError(405, f"Not allowed to {method} on {path[:200]}.", None, "method_not_supported")
        if path == _COMPLETIONS:
            return complete_chat(_parse(body), f"chatcmpl-{uuid.uuid4().hex}", int(time.time()))
        if path == _MODELS:
            return list_models(self.server.started)
        return describe_model(path.removeprefix(_MODELS + "/"), self.server.started)

    def _read_body(self) -> bytes:
        length = self.headers.get("Content-Length", "")
        if not length.isascii() or not length.isdigit():
            self.close_connection = True
            raise ApiError(411, "A Content-Length is required.")
        if int(length) > MAX_BODY_BYTES:
            self.close_connection = True
            raise ApiError(413, f"The body is larger than {MAX_BODY_BYTES} bytes.")
        return self.rfile.read(int(length))

    def _send(self, status: int, body: dict[str, Any]) -> None:
        data = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 the name is the base class's
        logger.debug(format, *args)


def _parse(body: bytes) -> object:
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ApiError(400, "We could not parse the JSON body of your request.") from error
