"""A small server on loopback with Anthropic's messages, which answers by script, for tests of what talks to one."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from local.front.httpd import Headers, Request, Response, Server


@dataclass
class AnthropicServer:
    """`script` is answered in its order, then every request gets `{"ok": true}`."""

    url: str = ""
    script: list[Response] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)

    def answer(self, request: Request) -> Response:
        if request.method != "POST" or not request.path.startswith("/v1/messages"):
            return Response(404)
        self.asked.append(json.loads(request.body))
        return self.script.pop(0) if self.script else said('{"ok": true}')


def said(text: str, stop_reason: str = "end_turn") -> Response:
    """A good answer, as a stream."""
    usage = {"input_tokens": 100, "cache_read_input_tokens": 20, "cache_creation_input_tokens": 3, "output_tokens": 7}
    message = {"id": "m", "type": "message", "role": "assistant", "model": "any", "content": [], "usage": usage}
    events: list[tuple[str, dict[str, Any]]] = [
        ("message_start", {"message": message}),
        ("content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}}),
        ("content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": text}}),
        ("content_block_stop", {"index": 0}),
        ("message_delta", {"delta": {"stop_reason": stop_reason}, "usage": {"output_tokens": 7}}),
        ("message_stop", {}),
    ]
    stream = "".join(f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n" for name, data in events)
    return Response(200, (("Content-Type", "text/event-stream"),), stream.encode())


def refused(status: int, kind: str, message: str, headers: Headers = ()) -> Response:
    """An error."""
    body = {"type": "error", "error": {"type": kind, "message": message}}
    return Response(status, (("Content-Type", "application/json"), *headers), json.dumps(body).encode())


@contextmanager
def serving(*script: Response) -> Iterator[AnthropicServer]:
    """A running server; it stops at the end of the block."""
    told = AnthropicServer(script=list(script))
    server = Server("127.0.0.1", 0, told.answer, max_body=8_000_000)
    server.start()
    told.url = server.url
    try:
        yield told
    finally:
        server.stop()
