"""The second way to say who one is: a person signs in with an outside provider, comes back, and chooses as others do.

A cookie of the person's browser keeps what the client asked for and the one secret of the way (`signin/provider.py`).
The service stores nothing until the provider has named a person to whom a token belongs.
"""

import base64
import binascii
import json
import secrets
import zlib
from http import HTTPStatus

from livemem.errors import ProviderFailed
from livemem.process import Process
from livemem.signin.person import Shown
from livemem.signin.provider import Login
from livemem_http import problems
from livemem_http.oauth import authorization, consent_pages, metadata, pages
from livemem_http.oauth import visit as visits
from livemem_http.oauth.pages import Words
from livemem_http.oauth.request import Answer, Request, Sent
from livemem_http.oauth.visit import ASKED, Visit
from livemem_http.routing import RouteNotFound

COOKIE_CHARACTERS = 3_800
"""Browsers keep cookies of 4,096 bytes with their names."""
MOST_BYTES = 16 * 1024
"""Of a cookie's content."""
SECONDS = 600
"""For so long a person may take at the provider."""


def leave(process: Process, issuer: str, request: Request) -> Answer:
    """The button on the page of sign-in was pressed: send the person to the provider."""
    _check_provider(process)
    from livemem.signin import provider  # noqa: PLC0415 - it loads cryptography, which no other request needs

    found = authorization.sealed(process, issuer, request, request.form())
    if isinstance(found, dict):
        return found
    login = Login(secrets.token_urlsafe(32))
    kept = _packed(login, found)
    if len(kept) > COOKIE_CHARACTERS:
        return consent_pages.token_page(found, found.words("long_request"))
    try:
        target = provider.authorization_url(process, login, _callback(issuer))
    except ProviderFailed as error:
        return _failed(found, error)
    words = found.words
    content = pages.fill(
        "leaving",
        title=words("with_provider", host=found.provider),
        w_leaving=words("to_provider", host=found.provider),
        w_go_on=words("go_on", host=found.provider),
        target=target,
    )
    title = words("with_provider", host=found.provider)
    return pages.page(words, issuer, title, content, leads_to=target, cookie=_cookie(issuer, kept, SECONDS))


def come_back(process: Process, issuer: str, request: Request) -> Answer:
    """A person comes back from the provider, in the browser that was sent there."""
    _check_provider(process)
    from livemem.signin import person, provider  # noqa: PLC0415

    came = request.query()
    way = _unpacked(request.cookie(_cookie_name(issuer)))
    if not way or not way[0].is_of(came.one("state")):
        return consent_pages.failure(issuer, Words.of(request), "foreign", HTTPStatus.FORBIDDEN)
    login, asked = way
    found = authorization.visit_of(process, issuer, request, asked)
    if isinstance(found, dict):
        return found
    try:
        claims = provider.claims(process, login, came.only("code", "iss", "error"), _callback(issuer))
        shown = person.show_person(process, found.wanted, found.nonce, claims, lambda: secrets.token_urlsafe(32))
        named = person.called(process, claims)
        page = _page(process, found, shown, named)
    except ProviderFailed as error:
        page = _failed(found, error)
    # The way was used, and no code leads along it again.
    return {**page, "cookies": [visits.nonce_cookie(issuer, found.nonce), _cookie(issuer, "", 0)]}


def _page(process: Process, visit: Visit, shown: list[Shown], named: str) -> Answer:
    words = visit.words
    if not shown:
        return consent_pages.token_page(visit, words("no_token", person=named))
    if len(shown) == 1:
        return consent_pages.consent_page(process, visit, shown[0].principal, shown[0].ticket)
    boxes = (
        consent_pages.box("radio", "ticket", one.ticket, one.principal.name, checked=number == 0)
        for number, one in enumerate(shown)
    )
    content = pages.fill(
        "token_choice",
        title=words("title_tokens"),
        w_intro=words("person", person=named),
        client=consent_pages.client_of(visit),
        action=metadata.AUTHORIZE,
        hidden=pages.hidden({**visit.asked, "seal": visit.seal(), "token_chosen": "yes"}),
        w_tokens=words("tokens"),
        tokens=pages.joined(boxes),
        w_continue=words("continue"),
        w_cancel=words("cancel"),
        cancel=visit.target(error="access_denied"),
    )
    return pages.page(words, visit.issuer, words("title_tokens"), content)


def _failed(visit: Visit, error: ProviderFailed) -> Answer:
    reason = problems.shown(error.detail)
    return consent_pages.token_page(visit, visit.words("provider_failed", host=visit.provider, reason=reason))


def _check_provider(process: Process) -> None:
    if not process.settings.oidc_issuer:
        raise RouteNotFound("There is no such route; the OpenAPI document lists all.")


def _callback(issuer: str) -> str:
    return f"{issuer}{metadata.CALLBACK}"


def _packed(login: Login, visit: Visit) -> str:
    text = json.dumps([login.secret, *(visit.asked.get(name, "") for name in ASKED)])
    return base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode().rstrip("=")


def _unpacked(kept: str) -> tuple[Login, Sent] | None:
    """What the cookie keeps, to be checked as if it came from anybody. None for one that is no such cookie."""
    try:
        packed = base64.b64decode(kept + "=" * (-len(kept) % 4), b"-_", validate=True)
        values = json.loads(zlib.decompressobj().decompress(packed, MOST_BYTES))
    except (ValueError, RecursionError, binascii.Error, zlib.error):
        return None
    if not isinstance(values, list) or len(values) != 1 + len(ASKED) or not all(isinstance(one, str) for one in values):
        return None
    secret, *asked = values
    return Login(secret), Sent([pair for pair in zip(ASKED, asked, strict=True) if pair[1]])


def _cookie_name(issuer: str) -> str:
    return f"{visits.cookie_name(issuer)}-way"


def _cookie(issuer: str, kept: str, seconds: int) -> str:
    return visits.cookie(issuer, _cookie_name(issuer), kept, seconds)
