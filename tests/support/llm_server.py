"""A small OpenAI-compatible server on loopback that answers by script, for tests of what talks to one."""

import gzip
import json
import ssl
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Asked:
    """A request as the server got it; the names of its headers are in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


@dataclass
class LlmServer:
    """`script` is answered in its order, one step a request; then every request gets a good completion."""

    url: str
    script: deque[Callable[[BaseHTTPRequestHandler], None]] = field(default_factory=deque)
    asked: list[Asked] = field(default_factory=list)
    sent: int = 0
    """Bytes of bodies that `endless` could get rid of."""
    over: threading.Event = field(default_factory=threading.Event)


Step = Callable[[BaseHTTPRequestHandler], None]


def completion(content: Any = '{"ok": true}', **changes: Any) -> dict[str, Any]:
    """The body of a good chat completion; `changes` go over its one choice, or over the whole that they are part of."""
    whole = {
        "id": "c-1",
        "object": "chat.completion",
        "created": 1,
        "model": "scripted",
        "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
    }
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}
    for name, value in changes.items():
        (whole if name in (*whole, "choices") else choice)[name] = value
    return {"choices": [choice]} | whole


def answer(body: Any = None, status: int = 200, content_type: str = "application/json") -> Step:
    """Answer with a status and a body: JSON, or bytes as they are."""
    payload = body if isinstance(body, bytes) else json.dumps(completion() if body is None else body).encode()

    def step(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Content-Type", content_type)
        handler.send_header("Content-Length", str(len(payload)))
        handler.end_headers()
        handler.wfile.write(payload)

    return step


def hang_up(handler: BaseHTTPRequestHandler) -> None:
    """Close the connection without an answer."""
    handler.close_connection = True


def hang_up_half_way(handler: BaseHTTPRequestHandler) -> None:
    """Announce a body and close the connection in the middle of it."""
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"choices": [')
    handler.close_connection = True


def not_http(handler: BaseHTTPRequestHandler) -> None:
    """Answer with something that is no HTTP."""
    handler.wfile.write(b"SSH-2.0-OpenSSH_9.2\r\n")
    handler.close_connection = True


@contextmanager
def serving(*script: Step, tls: ssl.SSLContext | None = None) -> Iterator[LlmServer]:
    """A running server; it stops at the end of the block."""
    server = LlmServer("", deque(script))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is http.server's
            pass

        def handle(self) -> None:
            with suppress(ConnectionError, ssl.SSLError):  # a client may leave in the middle of an answer
                super().handle()

        def do_POST(self) -> None:
            size = int(self.headers.get("Content-Length", "0"))
            body = json.loads(self.rfile.read(size) or b"null")
            server.asked.append(
                Asked(self.command, self.path, {name.lower(): value for name, value in self.headers.items()}, body)
            )
            step = server.script.popleft() if server.script else answer()
            step(self)

        do_GET = do_POST  # noqa: N815 - the name is http.server's

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    if tls:
        http.socket = tls.wrap_socket(http.socket, server_side=True, do_handshake_on_connect=False)
    server.url = f"http{'s' if tls else ''}://127.0.0.1:{http.server_address[1]}/v1"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.over.set()
        http.shutdown()
        http.server_close()
        thread.join()


def silent(server: LlmServer) -> Step:
    """Say nothing until the server stops."""
    return lambda handler: (server.over.wait(), setattr(handler, "close_connection", True))[1]


def trickling(server: LlmServer, *, seconds: float) -> Step:
    """Send blanks for so long, as providers do to keep a connection, and nothing else."""

    def step(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", "100")
        handler.end_headers()
        handler.close_connection = True
        with suppress(OSError):
            for _ in range(100):
                handler.wfile.write(b" ")
                server.over.wait(seconds / 100)

    return step


def endless(server: LlmServer, *, status: int = 200, most: int = 256 * 1024 * 1024) -> Step:
    """Send a body that goes on until the client hangs up, or for `most` bytes; `server.sent` counts them."""

    def step(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(most))
        handler.end_headers()
        handler.close_connection = True
        piece = b"[" + b"1," * 32_768
        with suppress(OSError):
            while server.sent < most:
                handler.wfile.write(piece)
                server.sent += len(piece)

    return step


def compressed(body: bytes, status: int = 200) -> Step:
    """Answer with a gzip body, whatever the client accepts."""
    payload = gzip.compress(body)

    def step(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Encoding", "gzip")
        handler.send_header("Content-Length", str(len(payload)))
        handler.end_headers()
        handler.wfile.write(payload)

    return step


def redirect(url: str, status: int = 307) -> Step:
    """Send the client elsewhere."""

    def step(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Location", url)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    return step


def unused_url() -> str:
    """An address of this machine where nothing listens."""
    http = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    port = http.server_address[1]
    http.server_close()
    return f"http://127.0.0.1:{port}/v1"
