"""A relay before a server that adds the authorization that a program can't send, and changes nothing else.

It passes bytes on: what a client of a library mends on its way (white space in the values of headers, names that stand
there twice) is what the program that speaks here wants to find out about.
"""

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

END_OF_HEAD = b"\r\n\r\n"
_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d+)", re.IGNORECASE)
_CONNECTION = re.compile(rb"\r\nconnection:[^\r\n]*", re.IGNORECASE)


@contextmanager
def relayed(url: str, token: str) -> Iterator[str]:
    """The address (scheme, host and port) at which the server of `url` answers whoever asks, as `token` may."""
    parts = urlsplit(url)
    target = (parts.hostname or "127.0.0.1", parts.port or 80)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        threading.Thread(target=_accept, args=(listener, target, token), daemon=True).start()
        yield address
        # What waits in accept() is woken by this alone.
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)


def _accept(listener: socket.socket, target: tuple[str, int], token: str) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        threading.Thread(target=_serve, args=(connection, target, token), daemon=True).start()


def _serve(connection: socket.socket, target: tuple[str, int], token: str) -> None:
    """One request and its answer; then the connection is closed, which the answer says."""
    with connection, suppress(OSError):
        connection.settimeout(60)
        asked = _whole(connection)
        if asked is None:
            return
        with socket.create_connection(target, timeout=60) as server:
            server.sendall(with_token(asked, token))
            while part := server.recv(65_536):
                connection.sendall(part)


def _whole(connection: socket.socket) -> bytes | None:
    """A request with its body; None if the client has gone."""
    asked = b""
    while END_OF_HEAD not in asked:
        part = connection.recv(65_536)
        if not part:
            return None
        asked += part
    head, _, body = asked.partition(END_OF_HEAD)
    length = _LENGTH.search(head)
    while length and len(body) < int(length[1]):
        part = connection.recv(65_536)
        if not part:
            return None
        body += part
    return head + END_OF_HEAD + body


def with_token(asked: bytes, token: str) -> bytes:
    """A request with an authorization header, and a connection that ends with its answer."""
    head, _, rest = asked.partition(END_OF_HEAD)
    head = _CONNECTION.sub(b"", head)
    added = f"\r\nAuthorization: Bearer {token}\r\nConnection: close".encode("latin-1")
    return head + added + END_OF_HEAD + rest
