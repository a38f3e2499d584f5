"""Fetches a small JSON document from an address that a stranger names, and gives the stranger nothing else by it.

The name is resolved once. All of its addresses must be public. The connection goes to one of these very addresses, so a
name that means another address a moment later is of no use. TLS verifies the name. There are no redirects and no
proxies. Time and size are limited in all.
"""

import socket
import ssl
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address, ip_address, ip_network
from typing import Any
from urllib.parse import urlsplit

import httpcore2

from livemem.background import within
from livemem.outbound.http_client import trust

SECONDS = 3.0
MOST_BYTES = 5 * 1024
"""Of the document."""
MOST_BYTES_IN_ALL = 64 * 1024
"""Of the answer with its headers."""
MOST_ADDRESSES = 4
"""Addresses of one name that are tried."""
PORT = 443

_HEADERS: Mapping[bytes | str, bytes | str] = {
    "Accept": "application/json",
    "Accept-Encoding": "identity",
    "User-Agent": "live-memory",
}
# IANA's registries of special-purpose addresses, and Azure's address of the host (WireServer). Python's own
# `is_global` is not asked: its answers have changed with its versions.
_NOT_PUBLIC = tuple(
    ip_network(block)
    for block in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "168.63.129.16/32",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "192.175.48.0/24",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/3",
    )
)
_PUBLIC = ip_network("2000::/3")
"""All that is given to networks of the internet in IPv6. NAT64, mapped, local, link-local and multicast are outside."""
_NOT_PUBLIC_THEREIN = tuple(
    ip_network(block) for block in ("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20")
)
"""Teredo and other protocols, documentation, 6to4, AS112."""


class NotFetched(Exception):
    """There is no document. The text says why, as the end of a sentence: `it` is the server."""


def resolved(host: str) -> list[str]:
    """The addresses of a name, as the system knows them. Raises OSError."""
    addresses = socket.getaddrinfo(host, PORT, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in addresses))


@dataclass(frozen=True)
class Network:
    """What a fetch needs of the world. `backend` opens connections to addresses."""

    resolve: Callable[[str], Sequence[str]] = resolved
    trust: Callable[[], ssl.SSLContext] = trust
    backend: httpcore2.NetworkBackend = field(default_factory=httpcore2.SyncBackend)
    timer: Callable[[], float] = time.monotonic
    seconds: float = SECONDS


def fetch(url: str, network: Network | None = None) -> bytes:
    """The document at an https URL. Raises NotFetched."""
    network = network or Network()
    deadline = _Deadline(network.timer, network.timer() + network.seconds)
    try:
        host = _host(url)
        addresses = _addresses(network, host, deadline)
        backend = _Pinned(network.backend, addresses, deadline)
        with (
            httpcore2.ConnectionPool(ssl_context=network.trust(), network_backend=backend) as pool,
            pool.stream("GET", url, headers=_HEADERS) as response,
        ):
            return _body(response)
    except (httpcore2.TimeoutException, TimeoutError) as error:
        raise NotFetched(f"it did not answer within {network.seconds:.0f} seconds") from error
    except httpcore2.ConnectError as error:
        raise NotFetched("no connection with a valid certificate can be made to it") from error
    except (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.UnsupportedProtocol, ValueError) as error:
        raise NotFetched("it did not answer as a web server does") from error


def _host(url: str) -> str:
    parts = urlsplit(url)
    plain = url.isascii() and url.isprintable() and " " not in url and "@" not in parts.netloc
    if parts.scheme != "https" or not plain or not parts.hostname or parts.port not in (None, PORT):
        raise NotFetched("its address is not a plain https URL without user and port")
    return parts.hostname


def _addresses(network: Network, host: str, deadline: "_Deadline") -> list[str]:
    try:
        addresses = list(within(deadline.left(), lambda: network.resolve(host)))
    except (OSError, UnicodeError) as error:
        if isinstance(error, TimeoutError):
            raise
        raise NotFetched("its name is not known") from error
    if not addresses or not all(is_public(address) for address in addresses):
        raise NotFetched("its name does not stand for public addresses alone")
    return addresses[:MOST_ADDRESSES]


def _body(response: httpcore2.Response) -> bytes:
    if 300 <= response.status < 400:
        raise NotFetched("it redirects, which is not followed")
    if response.status != 200:
        raise NotFetched(f"it answers {response.status}")
    headers = {name.lower(): value.decode("latin-1").strip().lower() for name, value in response.headers}
    kind = headers.get(b"content-type", "").partition(";")[0].strip()
    if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        raise NotFetched("its answer is not JSON")
    if headers.get(b"content-encoding", "identity") != "identity":
        raise NotFetched("its answer is compressed, which was not asked for")
    body = b""
    for part in response.iter_stream():
        body += part
        if len(body) > MOST_BYTES:
            raise NotFetched(f"its answer has more than {MOST_BYTES} bytes")
    return body


class _Deadline:
    """The end of a fetch, for all of its steps together."""

    def __init__(self, timer: Callable[[], float], end: float) -> None:
        self._timer = timer
        self._end = end

    def left(self) -> float:
        """Seconds that are left. Raises TimeoutError when none are."""
        rest = self._end - self._timer()
        if rest <= 0:
            raise TimeoutError
        return rest


class _Pinned(httpcore2.NetworkBackend):
    """Connects to the given addresses, for any name."""

    def __init__(self, inner: httpcore2.NetworkBackend, addresses: Sequence[str], deadline: _Deadline) -> None:
        self._inner = inner
        self._addresses = addresses
        self._deadline = deadline

    def connect_tcp(
        self,
        host: str,  # noqa: ARG002 - the addresses of this name are known
        port: int,
        timeout: float | None = None,  # noqa: ARG002 - the deadline counts
        local_address: str | None = None,  # noqa: ARG002
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,  # noqa: ARG002
    ) -> httpcore2.NetworkStream:
        """A connection to the first of the addresses that takes one."""
        failed: Exception = TimeoutError()
        for number, address in enumerate(self._addresses):
            share = self._deadline.left() / (len(self._addresses) - number)
            try:
                return _Limited(self._inner.connect_tcp(address, port, share), self._deadline)
            except (httpcore2.NetworkError, httpcore2.TimeoutException) as error:
                failed = error
        raise failed


class _Limited(httpcore2.NetworkStream):
    """A connection on which all reads and writes together end with the fetch, and which reads so many bytes at most."""

    def __init__(self, inner: httpcore2.NetworkStream, deadline: _Deadline) -> None:
        self._inner = inner
        self._deadline = deadline
        self._read = 0

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002
        """Bytes as they come."""
        chunk = self._inner.read(max_bytes, self._deadline.left())
        self._read += len(chunk)
        if self._read > MOST_BYTES_IN_ALL:
            raise NotFetched(f"its answer has more than {MOST_BYTES} bytes")
        return chunk

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002
        """Send the bytes."""
        self._inner.write(buffer, self._deadline.left())

    def close(self) -> None:
        """Close the connection."""
        self._inner.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002
    ) -> httpcore2.NetworkStream:
        """The same connection with TLS."""
        return _Limited(self._inner.start_tls(ssl_context, server_hostname, self._deadline.left()), self._deadline)

    def get_extra_info(self, info: str) -> Any:
        """What the connection knows."""
        return self._inner.get_extra_info(info)


def is_public(address: str) -> bool:
    """Whether the address is one of a server on the internet. False for a text that is no address."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    if isinstance(parsed, IPv4Address):
        return not any(parsed in block for block in _NOT_PUBLIC)
    return parsed.scope_id is None and parsed in _PUBLIC and not any(parsed in block for block in _NOT_PUBLIC_THEREIN)
