"""A web site of the internet: a server on loopback with a certificate for its name, and a network in which the name has
the address that a test gives it.
"""

import ssl
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import httpcore2
import trustme

from livemem.outbound import public_fetch
from livemem.outbound.public_fetch import Network
from tests.support.llm_server import LlmServer, Step, serving

HOST = "client.example"
URL = f"https://{HOST}/client.json"
PUBLIC = "93.184.216.34"


@cache
def authority() -> trustme.CA:
    return trustme.CA()


@cache
def trusting() -> ssl.SSLContext:
    """Trusts the authority of the tests, and no other."""
    context = ssl.create_default_context()
    context.load_verify_locations(cadata=authority().cert_pem.bytes().decode())
    return context


@cache
def certified(named: str) -> ssl.SSLContext:
    """Of a server, with a certificate for this name."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority().issue_cert(named).configure_cert(tls)
    return tls


class Wires(httpcore2.NetworkBackend):
    """Leads every connection to the server of the test, and remembers the addresses that were called."""

    def __init__(self, port: int, dead: Sequence[str] = ()) -> None:
        self.port = port
        self.dead = dead
        self.called: list[tuple[str, int]] = []

    def connect_tcp(self, host: str, port: int, timeout: float | None = None, *_: Any, **__: Any) -> Any:
        self.called.append((host, port))
        if host in self.dead:
            raise httpcore2.ConnectError
        return httpcore2.SyncBackend().connect_tcp("127.0.0.1", self.port, timeout, socket_options=[])


@dataclass
class Site:
    server: LlmServer
    wires: Wires
    addresses: list[list[str]] = field(default_factory=lambda: [[PUBLIC]])
    """What the name is resolved to: the first time, the second time; the last one stays."""
    resolved: list[str] = field(default_factory=list)
    seconds: float = public_fetch.SECONDS
    timer: Callable[[], float] | None = None

    def resolve(self, host: str) -> list[str]:
        self.resolved.append(host)
        return self.addresses.pop(0) if len(self.addresses) > 1 else self.addresses[0]

    def fetch(self, url: str = URL) -> bytes:
        more: dict[str, Any] = {"timer": self.timer} if self.timer else {}
        network = Network(self.resolve, trusting, self.wires, seconds=self.seconds, **more)
        return public_fetch.fetch(url, network)


@contextmanager
def site(*script: Step, named: str = HOST) -> Iterator[Site]:
    """A site that answers by this script, with a certificate for this name."""
    with serving(*script, tls=certified(named)) as server:
        yield Site(server, Wires(int(server.url.split(":")[2].partition("/")[0])))
