"""A valid request for consent, and the browser that it came from.

A form counts only in the browser that it was made for. A cookie holds a nonce, the form its digest with the whole
request.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from livemem.signin import client_metadata
from livemem.signin.client_metadata import Client
from livemem.signin.consent import AuthorizationRequest
from livemem_http.oauth.pages import Words

ASKED = (
    *("response_type", "client_id", "redirect_uri", "scope", "state", "resource"),
    *("code_challenge", "code_challenge_method"),
)
"""The parameters of a client's request that the service reads."""


@dataclass(frozen=True)
class Visit:
    """A request that is valid, and the browser that it came from."""

    issuer: str
    words: Words
    client: Client
    asked: Mapping[str, str]
    wanted: AuthorizationRequest
    nonce: str
    provider: str
    """The host of the outside provider with which a person may sign in. Empty without one."""

    @property
    def host(self) -> str:
        return client_metadata.redirect_host(self.wanted.redirect_uri)

    def seal(self) -> str:
        """What shows that a form was made for this request in this browser."""
        return self.wanted.digest(self.nonce)

    def target(self, **told: str) -> str:
        """The client's address with the answer (RFC 6749, 4.1.2; RFC 9207)."""
        state = {"state": self.wanted.state} if self.wanted.state else {}
        return with_query(self.wanted.redirect_uri, {**told, **state, "iss": self.issuer})


def with_query(uri: str, told: Mapping[str, str]) -> str:
    """The address with these parameters behind its own."""
    return f"{uri}{'&' if '?' in uri else '?'}{urlencode(told)}"


def cookie_name(issuer: str) -> str:
    """The name of the cookie that holds the nonce."""
    # The prefix keeps other hosts of the domain from setting it. Browsers want https for it.
    return "__Host-livemem" if issuer.startswith("https:") else "livemem"


def nonce_cookie(issuer: str, nonce: str) -> str:
    """The cookie that ties pages to the browser."""
    return cookie(issuer, cookie_name(issuer), nonce, 3_600)


def cookie(issuer: str, name: str, value: str, seconds: int) -> str:
    """A cookie that no script reads, and that no other site sends but by a link."""
    secure = "; Secure" if issuer.startswith("https:") else ""
    return f"{name}={value}; Path=/; HttpOnly; SameSite=Lax; Max-Age={seconds}{secure}"
