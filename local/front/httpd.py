"""A small HTTP/1.1 server: one thread per connection, keep-alive, whole bodies, an application that is one function.

Both front doors of the local runtime stand on it: the HTTP API (with Lambda's Invoke API) and the embedded S3 server.
"""

import email.utils
import http
import json
import logging
import re
import socket
import socketserver
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_log = logging.getLogger(__name__)

# How long a connection may be silent: between two requests, and within one.
IDLE_SECONDS = 75.0
# After a refusal in the middle of an upload the client is still sending: its bytes are read and thrown away for a
# while, since closing at once would reset the connection and destroy the answer before the client has read it.
_LINGER_BYTES, _LINGER_SECONDS = 64 * 1024 * 1024, 5.0
_CHUNK = 65536
_HOP_BY_HOP = frozenset({"connection", "keep-alive", "transfer-encoding", "upgrade", "date", "content-length"})
_TOKEN = re.compile(r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")
# Control characters would let a value end its line and forge further headers.
_UNSAFE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Request:
    """One request as it arrived: `target` is path and query undecoded, headers keep their order and repetitions."""

    method: str
    target: str
    headers: Headers
    body: bytes = b""
    client: str = "127.0.0.1"
    protocol: str = "HTTP/1.1"
    _index: dict[str, str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Join repeated headers once, since most are looked up several times."""
        index: dict[str, str] = {}
        for name, value in self.headers:
            low = name.lower()
            index[low] = f"{index[low]},{value}" if low in index else value
        object.__setattr__(self, "_index", index)

    @property
    def path(self) -> str:
        """The path, percent-encoded as sent."""
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        """The query string, percent-encoded as sent, without its question mark."""
        return self.target.partition("?")[2]

    def header(self, name: str) -> str | None:
        """The header's value, repeated ones joined by commas, or None."""
        return self._index.get(name.lower())

    def joined_headers(self) -> dict[str, str]:
        """All headers by lower-case name, repeated ones joined by commas."""
        return dict(self._index)


@dataclass(frozen=True)
class Response:
    """One answer. Content-Length is the body's own, except that an answer to HEAD may state another one."""

    status: int
    headers: Headers = ()
    body: bytes = b""


Application = Callable[[Request], Response]


def answer_json(status: int, value: Any, headers: Headers = ()) -> Response:
    """Build a JSON answer."""
    body = json.dumps(value, ensure_ascii=False).encode()
    return Response(status, (("Content-Type", "application/json"), *headers), body)


class _Refusal(Exception):
    """The request cannot be read to its end; the connection is closed after the answer."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Server(ThreadingHTTPServer):
    """Serves an application on a socket that is bound when the object is made and answers from `start` on.

    Raises OSError when the address cannot be bound.
    """

    daemon_threads = True
    block_on_close = False
    request_queue_size = 512

    def __init__(self, host: str, port: int, application: Application, *, max_body: int) -> None:
        self.application = application
        self.max_body = max_body
        self._started = False
        self._busy = 0
        self._idle = threading.Condition()
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        super().__init__((host, port), _Handler)

    @property
    def port(self) -> int:
        """The bound port."""
        return int(self.server_address[1])

    @property
    def url(self) -> str:
        """The URL that reaches this server from this machine."""
        host = str(self.server_address[0])
        host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)  # noqa: S104
        return f"http://{host}:{self.port}"

    def server_bind(self) -> None:
        """Bind without the reverse name lookup that http.server makes here."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    def start(self) -> None:
        """Answer requests in a background thread until `stop`."""
        self._started = True
        threading.Thread(target=self.serve_forever, args=(0.1,), name=f"http-{self.port}", daemon=True).start()

    def stop(self, grace_seconds: float = 0.0) -> None:
        """Accept nothing new, let running requests end for at most the grace, close the socket."""
        if self._started:
            self.shutdown()
        with self._idle:
            self._idle.wait_for(lambda: not self._busy, timeout=grace_seconds)
        self.server_close()

    def answer(self, request: Request) -> Response:
        """Call the application; whatever it raises is logged and becomes a 500."""
        with self._idle:
            self._busy += 1
        try:
            return self.application(request)
        except Exception:  # noqa: BLE001 - the last line of defence of a server
            _log.exception("%s %s", request.method, request.path)
            return answer_json(500, {"message": "Internal Server Error"})
        finally:
            with self._idle:
                self._busy -= 1
                self._idle.notify_all()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002
        """Stay silent about clients that go away; log the rest."""
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            _log.error("connection from %s", client_address, exc_info=error)


class _Handler(BaseHTTPRequestHandler):
    """Reads requests from one connection. The base class parses the request line and the headers."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = IDLE_SECONDS
    server: Server

    def handle_one_request(self) -> None:
        """Read one request, answer it, and say whether the connection lives on."""
        self.close_connection = True
        try:
            self.raw_requestline = self.rfile.readline(_CHUNK + 1)
            if not self.raw_requestline:
                return
            if len(self.raw_requestline) > _CHUNK:
                self.requestline, self.request_version, self.command = "", "HTTP/1.1", ""
                raise _Refusal(414)
            if self.parse_request():
                self._serve()
        except _Refusal as refusal:
            self.close_connection = True
            self._write(answer_json(refusal.status, {"message": _phrase(refusal.status)}))
            self._linger()
        except TimeoutError:
            self.close_connection = True

    def _serve(self) -> None:
        if not self.path.startswith("/"):
            # Absolute form (a client that thinks of us as a proxy), or the `*` of OPTIONS.
            match = re.match(r"^https?://[^/?#]+(/[^#]*)?$", self.path)
            if not match:
                raise _Refusal(400)
            self.path = match[1] or "/"
        request = Request(
            method=self.command,
            target=self.path.partition("#")[0],
            headers=tuple((k, v.strip()) for k, v in self.headers.items()),
            body=self._read_body(),
            client=str(self.client_address[0]),
            protocol=self.request_version,
        )
        self._write(self.server.answer(request))

    def _read_body(self) -> bytes:
        lengths = {v.strip() for v in self.headers.get_all("Content-Length", [])}
        encoding = self.headers.get("Transfer-Encoding")
        if encoding is not None:
            # Two framings in one request are an attack or a bug (RFC 9112, 6.3).
            if lengths or encoding.strip().lower() != "chunked":
                raise _Refusal(400)
            return self._read_chunks()
        if not lengths:
            return b""
        length = self._check_length(lengths)
        body = self.rfile.read(length)
        if len(body) < length:
            raise _Refusal(400)
        return body

    def _check_length(self, lengths: set[str]) -> int:
        text = next(iter(lengths))
        if len(lengths) > 1 or not text.isascii() or not text.isdigit():
            raise _Refusal(400)
        if len(text) > 18 or int(text) > self.server.max_body:
            raise _Refusal(413)
        return int(text)

    def _read_chunks(self) -> bytes:
        body = bytearray()
        while True:
            size_text = self.rfile.readline(1026).split(b";")[0].strip()
            if not re.fullmatch(rb"[0-9A-Fa-f]{1,16}", size_text):
                raise _Refusal(400)
            size = int(size_text, 16)
            if len(body) + size > self.server.max_body:
                raise _Refusal(413)
            if not size:
                break
            body += self.rfile.read(size)
            if self.rfile.readline(3) != b"\r\n":
                raise _Refusal(400)
        for _ in range(100):  # trailers, of which none has a meaning here
            if self.rfile.readline(_CHUNK) in {b"\r\n", b"\n", b""}:
                return bytes(body)
        raise _Refusal(400)

    def handle_expect_100(self) -> bool:
        """Refuse a body that is too large before the client sends it."""
        lengths = {v.strip() for v in self.headers.get_all("Content-Length", [])}
        if lengths:
            self._check_length(lengths)
        self.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        return True

    def _write(self, response: Response) -> None:
        head = self.command == "HEAD"
        stated = next((v for k, v in response.headers if k.lower() == "content-length"), None) if head else None
        lines = [
            f"HTTP/1.1 {response.status} {_phrase(response.status)}",
            f"Date: {email.utils.formatdate(usegmt=True)}",
        ]
        for name, value in response.headers:
            if name.lower() in _HOP_BY_HOP:
                continue
            if not _TOKEN.match(name) or _UNSAFE.search(value):
                _log.error("the answer's header %r holds characters that no header may hold", name)
                self._write(answer_json(500, {"message": "Internal Server Error"}))
                return
            lines.append(f"{name}: {value}")
        bodiless = response.status in {204, 304} or response.status < 200
        if not bodiless:
            lines.append(f"Content-Length: {stated or len(response.body)}")
        if self.close_connection:
            lines.append("Connection: close")
        data = ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8", "replace")
        self.wfile.write(data if head or bodiless else data + response.body)

    def _linger(self) -> None:
        try:
            self.connection.shutdown(socket.SHUT_WR)
            self.connection.settimeout(1.0)
            read, end = 0, time.monotonic() + _LINGER_SECONDS
            while read < _LINGER_BYTES and time.monotonic() < end:
                data = self.connection.recv(_CHUNK)
                if not data:
                    return
                read += len(data)
        except OSError:
            return

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
        """Answer what the base class refuses (a broken request line, too many headers) in our form."""
        self.command = getattr(self, "command", None) or ""
        raise _Refusal(code)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Write no access log."""


def _phrase(status: int) -> str:
    # Python 3.13 renamed 413; API Gateway keeps the old words.
    if status == 413:
        return "Request Entity Too Large"
    try:
        return http.HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"
