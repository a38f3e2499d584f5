"""Clients that register themselves (RFC 7591). A client's id *is* its registration, so nothing is stored.

Anybody may register anything, so a registration proves nothing, and a stored one would only be a way to fill the
bucket. The consent page therefore shows to which host a client sends the person.
"""

import base64
import binascii
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from livemem.process import Process
from livemem.signin.refusal import Refused
from livemem.text.invisible import visible

PREFIX = "lmc_"
ID_CHARACTERS = 2_000
MOST_REDIRECTS = 10
NAME_CHARACTERS = 80
REDIRECT_CHARACTERS = 500
LOOPBACK = ("127.0.0.1", "::1", "localhost")
NO_APP = frozenset(
    ("http", "javascript", "data", "file", "vbscript", "blob", "about", "ftp", "ws", "wss", "mailto", "filesystem")
)
"""Schemes that are no app's own."""
_URI = re.compile(r"[a-z][a-z0-9+.-]{1,60}://[A-Za-z0-9._~:/?@!$&'()*+,;=%\[\]-]+")


@dataclass(frozen=True)
class Client:
    """A client: its id, its name as it gives it, and the addresses to which a code may be sent."""

    client_id: str
    name: str
    redirect_uris: tuple[str, ...]

    def may_redirect(self, uri: str) -> bool:
        """Whether the address is one of its own, to the letter. Of loopback addresses any port (RFC 8252, 7.3)."""
        if uri in self.redirect_uris:
            return True
        return any(_without_port(uri) == _without_port(own) != "" for own in self.redirect_uris) and _fits(uri)


def register(metadata: Mapping[str, Any]) -> Client:
    """The client of a registration. No request. Raises Refused.

    Only its name and its addresses count. Every client is a public one, also one that asks for a secret. The answer says
    that (RFC 7591, 3.2.1).
    """
    uris = metadata.get("redirect_uris")
    if not isinstance(uris, Sequence) or isinstance(uris, str) or not 1 <= len(uris) <= MOST_REDIRECTS:
        raise Refused("invalid_redirect_uri", f"redirect_uris must be a list of 1 to {MOST_REDIRECTS} addresses.")
    for uri in uris:
        if not isinstance(uri, str) or not _fits(uri):
            raise Refused(
                "invalid_redirect_uri",
                "A redirect address must be https, http on loopback, or a scheme of an app, without user or fragment.",
            )
    name = metadata.get("client_name")
    name = visible(" ".join(name.split()))[:NAME_CHARACTERS] if isinstance(name, str) else ""
    client_id = _encode(name, tuple(uris))
    if len(client_id) > ID_CHARACTERS:
        raise Refused("invalid_client_metadata", "The registration is too long: name fewer redirect addresses.")
    return Client(client_id, name, tuple(uris))


def find(process: Process, client_id: str) -> Client:  # noqa: ARG001 - what is not self-registered has to be looked up
    """The client of an id that was given by `register`. No request. Raises Refused."""
    try:
        if len(client_id) > ID_CHARACTERS or not client_id.startswith(PREFIX):
            raise ValueError
        text = client_id.removeprefix(PREFIX)
        name, uris = json.loads(base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True))
        client = register({"client_name": name, "redirect_uris": uris})
    except (ValueError, TypeError, RecursionError, binascii.Error, Refused):
        raise Refused("invalid_client", "The client is not known: register it again.") from None
    if client.client_id != client_id:
        raise Refused("invalid_client", "The client is not known: register it again.")
    return client


def redirect_host(uri: str) -> str:
    """The host to which a redirect sends, or the scheme of an app."""
    parts = urlsplit(uri)
    return parts.netloc if parts.scheme in ("http", "https") else f"{parts.scheme}:"


def is_loopback(uri: str) -> bool:
    """Whether the address is on the person's own machine."""
    parts = urlsplit(uri)
    return parts.scheme == "http" and parts.hostname in LOOPBACK


def _encode(name: str, uris: tuple[str, ...]) -> str:
    text = json.dumps([name, list(uris)], separators=(",", ":")).encode()
    return PREFIX + base64.urlsafe_b64encode(text).decode().rstrip("=")


def _fits(uri: str) -> bool:
    if len(uri) > REDIRECT_CHARACTERS or not _URI.fullmatch(uri):
        return False
    try:
        parts = urlsplit(uri)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return False
    if not host or "@" in parts.netloc or ".." in host:
        return False
    return parts.scheme == "https" or is_loopback(uri) or parts.scheme not in NO_APP


def _without_port(uri: str) -> str:
    """A loopback address without its port; empty for any other."""
    try:
        parts = urlsplit(uri)
        return f"{parts.hostname} {parts.path}?{parts.query}" if is_loopback(uri) and "@" not in parts.netloc else ""
    except ValueError:
        return ""
