"""What a client says of itself, whether it registers or publishes a document: its name, and where a code may be sent.

A name proves nothing, since anybody may give any. So the consent page also shows to which host a client sends the
person. Hosts are ASCII: a name of other letters comes and is shown as what it is, `xn--...`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from livemem.signin.refusal import Refused
from livemem.text.invisible import visible

MOST_REDIRECTS = 10
NAME_CHARACTERS = 80
REDIRECT_CHARACTERS = 500
LOOPBACK = ("127.0.0.1", "::1", "localhost")
_REST = r"[A-Za-z0-9._~:/?@!$&'()*+,;=%\[\]-]*"
_WEB = re.compile(rf"https?://{_REST}")
_APP = re.compile(
    # Editors hand an address on to the extension that it names by publisher and name. Those without a dot open files.
    r"(?:(?:antigravity|code-oss|cursor|kiro|trae|vscode|vscode-insiders|vscodium|windsurf)://[\w-]+\.[\w-]+|warp://mcp"
    r"|(?!com\.apple\.|microsoft\.)[a-z]{2,}(?:\.[a-z0-9-]+)+:(?://[\w.-]+|/(?!/)[\w.-]*))"
    rf"(?:[/?]{_REST})?",
    re.ASCII,
)
"""The addresses of apps: of known clients, whose schemes have no dot, and of schemes that are a domain of the app's
maker in reverse order (RFC 8252, 7.1). All others may belong to browsers and operating systems, which act on them.
"""


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


def described(client_id: str, metadata: Mapping[str, Any]) -> Client:
    """The client of this id that says this of itself. Raises Refused."""
    uris = metadata.get("redirect_uris")
    if not isinstance(uris, Sequence) or isinstance(uris, str) or not 1 <= len(uris) <= MOST_REDIRECTS:
        raise Refused("invalid_redirect_uri", f"redirect_uris must be a list of 1 to {MOST_REDIRECTS} addresses.")
    for uri in uris:
        if not isinstance(uri, str) or not _fits(uri):
            raise Refused(
                "invalid_redirect_uri",
                "A redirect address must be https, http on loopback, or of an app whose scheme is a domain in reverse "
                "order (com.example.app:/callback), without user or fragment.",
            )
    name = metadata.get("client_name")
    name = visible(" ".join(name.split()))[:NAME_CHARACTERS] if isinstance(name, str) else ""
    return Client(client_id, name, tuple(uris))


def redirect_host(uri: str) -> str:
    """The host to which a redirect sends, or the scheme of an app."""
    parts = urlsplit(uri)
    return parts.netloc if parts.scheme in ("http", "https") else f"{parts.scheme}:"


def is_loopback(uri: str) -> bool:
    """Whether the address is on the person's own machine."""
    parts = urlsplit(uri)
    return parts.scheme == "http" and parts.hostname in LOOPBACK


def _fits(uri: str) -> bool:
    if len(uri) > REDIRECT_CHARACTERS:
        return False
    if _APP.fullmatch(uri):
        return True
    try:
        parts = urlsplit(uri)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return False
    if not _WEB.fullmatch(uri) or not host or "@" in parts.netloc or ".." in host:
        return False
    return parts.scheme == "https" or is_loopback(uri)


def _without_port(uri: str) -> str:
    """A loopback address without its port; empty for any other."""
    try:
        parts = urlsplit(uri)
        return (
            f"{parts.hostname} {parts.path or '/'}?{parts.query}"
            if is_loopback(uri) and "@" not in parts.netloc
            else ""
        )
    except ValueError:
        return ""
