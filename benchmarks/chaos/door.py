"""A small HTTP server that may also hang up: what stands between two programs and breaks what passes through."""

import http.client
import http.server
import socket
import socketserver
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

_HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "expect", "content-length"}
_IDLE = 20.0
_RESET = struct.pack("ii", 1, 0)


@dataclass(frozen=True)
class Call:
    """A request as it came; `port` is that of its sender's end of the connection."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    port: int

    def header(self, name: str) -> str | None:
        """The value of a header, or None."""
        return next((value for known, value in self.headers if known.lower() == name), None)


@dataclass(frozen=True)
class Answer:
    """What is sent back."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""


Handle = Callable[[Call], Answer | None]
"""Answers a call; None resets the connection instead."""


class Door(socketserver.ThreadingTCPServer):
    """Listens on a free port of this machine from the start, and answers from `open` on."""

    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    request_queue_size = 256

    def __init__(self, handle: Handle, on_close: Callable[[int], None] | None = None) -> None:
        """Bind; `on_close` is told the sender's port of each connection that has ended."""
        self.handle_call = handle
        self.on_close = on_close
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.server_address[1])

    @property
    def url(self) -> str:
        """How it is reached."""
        return f"http://127.0.0.1:{self.port}"

    def open(self) -> None:
        """Begin to answer."""
        threading.Thread(target=self.serve_forever, args=(0.1,), daemon=True).start()

    def close(self) -> None:
        """Answer no more."""
        self.shutdown()
        self.server_close()

    def shutdown_request(self, request: Any) -> None:
        """Close without a farewell, so that a reset stays one."""
        self.close_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Stay silent: who was killed hangs up."""


class _Handler(http.server.BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server: Door

    def setup(self) -> None:
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def finish(self) -> None:
        if self.server.on_close:
            self.server.on_close(int(self.client_address[1]))
        super().finish()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is http.server's
        """Say nothing."""

    def _pass(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = tuple((name, value) for name, value in self.headers.items())
        answer = self.server.handle_call(Call(self.command, self.path, headers, body, int(self.client_address[1])))
        self.close_connection = True
        if answer is None:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            return
        self.close_connection = False
        names = {name.lower() for name, _ in answer.headers}
        head = [f"HTTP/1.1 {answer.status} {http.client.responses.get(answer.status, 'Unknown')}"]
        head += [f"{name}: {value}" for name, value in answer.headers if name.lower() not in _HOP_BY_HOP]
        if "date" not in names:
            head.append(f"Date: {self.date_time_string()}")
        length = next((value for name, value in answer.headers if name.lower() == "content-length"), None)
        bodiless = self.command == "HEAD" or answer.status in {204, 304}
        if answer.status != 204:
            head.append(f"Content-Length: {length if bodiless and length else len(answer.body)}")
        data = "\r\n".join([*head, "", ""]).encode("latin-1") + (b"" if bodiless else answer.body)
        self.connection.sendall(data)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _pass  # noqa: N815 - the names are http.server's


class Backend:
    """What is behind a door: hands calls on, over connections that are kept, one for each thread."""

    def __init__(self, address: str, timeout: float = 120.0) -> None:
        """Prepare; `address` is host:port."""
        self._address = address
        self._timeout = timeout
        self._local = threading.local()

    def ask(self, call: Call) -> Answer:
        """The answer to a call; raises OSError when there is none, done or not."""
        connection: http.client.HTTPConnection | None = getattr(self._local, "connection", None)
        now = time.monotonic()
        if connection is not None and now - self._local.used > _IDLE:
            # The other side may be about to close it, and that would look like a fault.
            connection.close()
            connection = None
        if connection is None:
            connection = http.client.HTTPConnection(self._address, timeout=self._timeout)
        self._local.connection, self._local.used = connection, now
        try:
            connection.putrequest(call.method, call.target, skip_host=True, skip_accept_encoding=True)
            for name, value in call.headers:
                if name.lower() not in _HOP_BY_HOP:
                    connection.putheader(name, value)
            if call.body or call.method in {"PUT", "POST"}:
                connection.putheader("Content-Length", str(len(call.body)))
            connection.endheaders(call.body or None)
            response = connection.getresponse()
            return Answer(response.status, tuple(response.getheaders()), response.read())
        except (OSError, http.client.HTTPException) as error:
            with suppress(OSError):
                connection.close()
            self._local.connection = None
            raise ConnectionError(str(error)) from error
