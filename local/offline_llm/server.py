"""The HTTP face of the offline LLM: chat completions, embeddings, list of models, on the local runtime's own server."""

import json
import time
from typing import Any

from local.front.httpd import Request, Response, Server, answer_json
from local.offline_llm import encoder
from local.offline_llm.api import MODEL, ApiError
from local.offline_llm.embeddings import embed
from local.offline_llm.encoder import Encoder

MAX_BODY_BYTES = 32 * 1024 * 1024
_KNOWN = ("POST /v1/chat/completions", "POST /v1/embeddings", "GET /v1/models")


class OfflineLlm:
    """Answers requests in the form of OpenAI's API. Safe for threads."""

    def __init__(self, encoder: Encoder | None = None) -> None:
        self._started = int(time.time())
        self._encoder = encoder or Encoder()

    def answer(self, request: Request) -> Response:
        """Answer one request; every failure becomes the error object that OpenAI clients expect."""
        try:
            return answer_json(200, self._route(request.method, request.path.rstrip("/"), request.body))
        except ApiError as error:
            return answer_json(error.status, error.body())

    def _route(self, method: str, path: str, body: bytes) -> dict[str, Any]:
        if f"{method} {path}" not in _KNOWN:
            raise ApiError(404, f"Unknown request URL: {method} {path[:200]}.", None, "unknown_url")
        if path == "/v1/models":
            return {"object": "list", "data": self._models()}
        if path == "/v1/embeddings":
            return embed(_parse(body), self._encoder.encode)
        # The rules take memory, and a service at rest asks for nothing.
        from local.offline_llm.chat import complete_chat  # noqa: PLC0415

        return complete_chat(_parse(body))

    def _models(self) -> list[dict[str, Any]]:
        names = [MODEL, *([encoder.MODEL] if self._encoder.is_there() else [])]
        return [{"id": name, "object": "model", "created": self._started, "owned_by": "live-memory"} for name in names]


def bind(host: str = "127.0.0.1", port: int = 0, encoder: Encoder | None = None) -> Server:
    """A server of the offline LLM that listens and answers from `start` on; port 0 takes a free one. Raises OSError."""
    return Server(host, port, OfflineLlm(encoder).answer, max_body=MAX_BODY_BYTES)


def base_url(server: Server) -> str:
    """What an OpenAI client takes as its base URL, with `/v1`."""
    return f"{server.url}/v1"


def _parse(body: bytes) -> object:
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ApiError(400, "We could not parse the JSON body of your request.") from error
