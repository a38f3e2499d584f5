"""A small server on loopback with OpenAI's responses, which says the same each time, for tests of Codex."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from local.front.httpd import Request, Response, Server


@dataclass
class ResponsesServer:
    """`asked` holds the requests."""

    url: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list)

    def answer(self, request: Request) -> Response:
        self.asked.append(json.loads(request.body))
        text = {"type": "output_text", "text": "At nine.", "annotations": []}
        item = {"type": "message", "role": "assistant", "id": "m", "status": "completed", "content": [text]}
        used = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        told = [
            {"type": "response.created", "response": {"id": "r"}},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": {"id": "r", "output": [item], "usage": used}},
        ]
        stream = "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in told)
        return Response(200, (("Content-Type", "text/event-stream"),), stream.encode())

    @property
    def settings(self) -> str:
        """The part of Codex's configuration that leads it here."""
        return f"""
model = "played"
model_provider = "played"
mcp_optional_startup_grace_ms = 30000
[model_providers.played]
name = "played"
base_url = "{self.url}/v1"
wire_api = "responses"
"""


def tools_of(asked: dict[str, Any]) -> list[str]:
    """The names of the tools of servers in a request."""
    return [one["name"] for tool in asked["tools"] for one in tool.get("tools", [])]


@contextmanager
def serving() -> Iterator[ResponsesServer]:
    """A running server; it stops at the end of the block."""
    told = ResponsesServer()
    server = Server("127.0.0.1", 0, told.answer, max_body=8_000_000)
    server.start()
    told.url = server.url
    try:
        yield told
    finally:
        server.stop()
