"""A small HTTP/1.1 server: one thread per connection, keep-alive, whole bodies, an application that is one function.

h11 says where a request begins and ends; this module reads the socket, sets the bounds and calls the application. All
doors of the local runtime stand on it: the HTTP API with Lambda's Invoke API, and the offline LLM.
"""

import email.utils
import io
import json
import logging
import os
import socket
import socketserver
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from http.client import responses
from typing import Any

import h11

_log = logging.getLogger(__name__)

# How long a connection may be silent: between two requests, and within one.
IDLE_SECONDS = 75.0
# After a refusal in the middle of an upload the client is still sending: its bytes are read and thrown away for a
# while, since closing at once would reset the connection and destroy the answer before the client has read it.
_LINGER_BYTES, _LINGER_SECONDS = 64 * 1024 * 1024, 5.0
_CHUNK = 65536
# Of the request line and all headers together, of one chunk's head, and of all trailers: as far as it is not read yet.
MAX_HEAD_BYTES = 65536
_PHRASES = {**responses, 413: "Request Entity Too Large"}  # Python 3.13 renamed it; API Gateway keeps the old words
_HOP_BY_HOP = frozenset({"connection", "keep-alive", "transfer-encoding", "upgrade", "date", "content-length"})

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Request:
    """One request as it arrived: `target` is path and query undecoded, headers keep their order and repetitions.

    `client` and `server` are the addresses of the connection's two ends.
    """

    method: str
    target: str
    headers: Headers
    body: bytes = b""
    client: str = "127.0.0.1"
    server: str = "127.0.0.1"

    @cached_property
    def joined_headers(self) -> dict[str, str]:
        """By lower-case name, repeated ones joined by commas."""
        index: dict[str, str] = {}
        for name, value in self.headers:
            low = name.lower()
            index[low] = f"{index[low]},{value}" if low in index else value
        return index

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
        return self.joined_headers.get(name.lower())


@dataclass(frozen=True)
class Response:
    """One answer. Content-Length is the body's own, except that an answer to HEAD may state another one."""

    status: int
    headers: Headers = ()
    body: bytes = b""


Application = Callable[[Request], Response]


def answer_json(status: int, value: Any, headers: Headers = ()) -> Response:
    """Build a JSON answer."""
    body = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    return Response(status, (("Content-Type", "application/json"), *headers), body)


class _Refusal(Exception):
    """The request cannot be read to its end; the connection is closed after the answer."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens at an address. Raises OSError when that cannot be bound."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    both = host == "::" and socket.has_dualstack_ipv6()
    try:
        listening = socket.create_server((host, port), family=family, backlog=512, dualstack_ipv6=both)
    except OSError as error:
        # Without the address, which is named where it is told.
        raise OSError(error.errno, os.strerror(error.errno or 0)) from error
    # Where several processes have it, all but one find nothing to accept.
    listening.setblocking(False)
    return listening


class Server(socketserver.ThreadingTCPServer):
    """Serves an application on a socket that is bound when the object is made and answers from `start` on.

    `max_body`: bytes, or what says them by the request's target. Raises OSError when the address cannot be bound.
    """

    daemon_threads = True
    block_on_close = False

    def __init__(
        self,
        host: str,
        port: int,
        application: Application,
        *,
        max_body: int | Callable[[str], int],
        listening: socket.socket | None = None,
    ) -> None:
        """Bind the address, or take a socket of `listen`, which other processes may have as well."""
        self.application = application
        self.max_body = max_body if callable(max_body) else lambda _: max_body
        self._started = False
        self._busy = 0
        self._idle = threading.Condition()
        super().__init__((host, port), _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listening or listen(host, port)
        self.server_address = self.socket.getsockname()

    @property
    def host(self) -> str:
        """The bound address."""
        return str(self.server_address[0])

    @property
    def port(self) -> int:
        """The bound port."""
        return int(self.server_address[1])

    @property
    def url(self) -> str:
        """The URL that reaches this server from this machine."""
        loopback = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104
        host = loopback.get(self.host, self.host)
        host = f"[{host}]" if ":" in host else host
        return f"http://{host}:{self.port}"

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
        """Call the application. Any exception is logged and becomes a 500."""
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


class _Handler(socketserver.BaseRequestHandler):
    """One connection: its requests, one after the other."""

    request: socket.socket
    server: Server

    def handle(self) -> None:
        """Answer requests until either side ends the connection."""
        self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.request.settimeout(IDLE_SECONDS)
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD_BYTES)
        try:
            while (request := self._read_request()) is not None:
                method = request.method
                response = self.server.answer(request)
                del request  # a large body is not kept while its answer is under way, or nothing is
                self._write(response, method)
                del response
                if self._http.our_state is not h11.DONE:
                    return
                self._http.start_next_cycle()
        except _Refusal as refusal:
            self._write(answer_json(refusal.status, {"message": _PHRASES[refusal.status]}), "", close=True)
            self._linger()
        except TimeoutError:
            return

    def _read_request(self) -> Request | None:
        """The next request, or None when the client has ended the connection in between."""
        head = self._next_event()
        if isinstance(head, h11.ConnectionClosed):
            return None
        assert isinstance(head, h11.Request)
        headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in head.headers.raw_items())
        target = head.target.decode("latin-1").partition("#")[0]
        # Whoever takes us for a proxy gets no answer, and what follows a CONNECT would be no HTTP.
        if not target.startswith("/") or head.method == b"CONNECT" or not head.http_version.startswith(b"1."):
            raise _Refusal(400)
        return Request(
            method=head.method.decode("ascii"),
            target=target,
            headers=headers,
            body=self._read_body(head, self.server.max_body(target)),
            client=str(self.client_address[0]),
            server=str(self.request.getsockname()[0]),
        )

    def _read_body(self, head: h11.Request, most: int) -> bytes:
        names = dict(head.headers)
        # Two framings in one request are an attack or a bug (RFC 9112, 6.3).
        if {b"content-length", b"transfer-encoding"} <= names.keys():
            raise _Refusal(400)
        if int(names.get(b"content-length", b"0")) > most:
            raise _Refusal(413)
        if self._http.they_are_waiting_for_100_continue:
            self._send(h11.InformationalResponse(status_code=100, headers=[], reason=b"Continue"))
        body = io.BytesIO()
        while isinstance(event := self._next_event(), h11.Data):
            if body.tell() + len(event.data) > most:
                raise _Refusal(413)
            body.write(event.data)
        return body.getvalue()  # no copy, which counts where an archive is uploaded

    def _next_event(self) -> Any:
        while True:
            try:
                event = self._http.next_event()
                if event is not h11.NEED_DATA:
                    return event
                self._http.receive_data(self.request.recv(_CHUNK))
            except h11.RemoteProtocolError as error:
                raise _Refusal(431 if error.error_status_hint == 431 else 400) from error

    def _write(self, response: Response, method: str, *, close: bool = False) -> None:
        head = method == "HEAD"
        stated = next((v for k, v in response.headers if k.lower() == "content-length"), None) if head else None
        headers = [("Date", email.utils.formatdate(usegmt=True))]
        headers += [(name, value.strip()) for name, value in response.headers if name.lower() not in _HOP_BY_HOP]
        bodiless = response.status in {204, 304} or response.status < 200
        if not bodiless:
            headers.append(("Content-Length", stated or str(len(response.body))))
        if close:
            headers.append(("Connection", "close"))
        reason = _PHRASES.get(response.status, "Unknown").encode("ascii")
        try:
            encoded = [(name.encode("ascii"), value.encode("utf-8", "replace")) for name, value in headers]
            first = h11.Response(status_code=response.status, headers=encoded, reason=reason)
        except (h11.LocalProtocolError, UnicodeError):
            # Control characters would let a value end its line and forge further headers.
            _log.exception("a header of the answer holds characters that no header may hold")
            self._write(answer_json(500, {"message": "Internal Server Error"}), method, close=close)
            return
        body = [h11.Data(data=response.body)] if response.body and not head and not bodiless else []
        self._send(first, *body, h11.EndOfMessage())

    def _send(self, *events: Any) -> None:
        # One write: with two, the second would be a packet of its own.
        self.request.sendall(b"".join(self._http.send(event) or b"" for event in events))

    def _linger(self) -> None:
        try:
            self.request.shutdown(socket.SHUT_WR)
            self.request.settimeout(1.0)
            read, end = 0, time.monotonic() + _LINGER_SECONDS
            while read < _LINGER_BYTES and time.monotonic() < end:
                data = self.request.recv(_CHUNK)
                if not data:
                    return
                read += len(data)
        except OSError:
            return
