"""The page of sign-in, in two steps: a person shows a token, then chooses spaces and rights (RFC 6749, 4.1.1).

Nobody is ever redirected without having pressed a button here. Everybody can register a client, and could otherwise
send people from this address to any other one (RFC 9700, 4.11).
"""

import hmac
import math
import re
import secrets
from http import HTTPStatus
from urllib.parse import urlsplit

from livemem.errors import Forbidden, LiveMemoryError, TooSoon, Unauthenticated
from livemem.process import Process
from livemem.signin import client_metadata, consent, wrong_tokens
from livemem.signin.consent import TokenRefused
from livemem.signin.refusal import Refused
from livemem_http import problems
from livemem_http.oauth import metadata, pages
from livemem_http.oauth.consent_pages import consent_page, failure, token_page
from livemem_http.oauth.pages import Words
from livemem_http.oauth.request import Answer, Request, Sent
from livemem_http.oauth.visit import ASKED, Visit, cookie_name, nonce_cookie, with_query

_NONCE = re.compile(r"[A-Za-z0-9_-]{43}")


def show(process: Process, issuer: str, request: Request) -> Answer:
    """The first page."""
    found = visit_of(process, issuer, request, request.query())
    return found if isinstance(found, dict) else token_page(found, cookie=nonce_cookie(issuer, found.nonce))


def decide(process: Process, issuer: str, request: Request) -> Answer:
    """What a person sent from one of the pages: a token, or a choice."""
    sent = request.form()
    found = sealed(process, issuer, request, sent)
    if isinstance(found, dict):
        return found
    ticket = sent.one("ticket")
    return _choose(process, found, sent, ticket) if ticket else _show_token(process, found, request, sent)


def sealed(process: Process, issuer: str, request: Request, sent: Sent) -> Visit | Answer:
    """The visit whose page sent this form, or the page that refuses it."""
    found = visit_of(process, issuer, request, sent)
    if isinstance(found, dict):
        return found
    # Of a form that another page made a browser tells the origin, and has no nonce for it.
    foreign = request.headers.get("origin", issuer) != issuer
    if foreign or not hmac.compare_digest(sent.one("seal").encode(errors="replace"), found.seal().encode()):
        return failure(issuer, found.words, "foreign", HTTPStatus.FORBIDDEN)
    return found


def failed(issuer: str, request: Request, error: LiveMemoryError) -> Answer:
    """The page for an error that is not of the person's doing."""
    words = Words.of(request)
    if isinstance(error, Refused):
        return failure(issuer, words, "refused", HTTPStatus.BAD_REQUEST, reason=problems.shown(error.detail))
    return failure(issuer, words, "unavailable", error.status)


def visit_of(process: Process, issuer: str, request: Request, sent: Sent) -> Visit | Answer:
    """The visit, or the page that refuses it."""
    words = Words.of(request)
    asked = sent.only(*ASKED)
    client, uri = consent.check_client(process, asked)
    try:
        wanted = consent.check_request(asked, client, uri, metadata.resource(issuer))
    except Refused as error:
        told = {"error": error.reason, "error_description": error.detail}
        state = {"state": asked["state"][: consent.STATE_CHARACTERS]} if "state" in asked else {}
        back = with_query(uri, {**told, **state, "iss": issuer})
        host = client_metadata.redirect_host(uri)
        return failure(issuer, words, "refused", HTTPStatus.BAD_REQUEST, back=(host, back), reason=error.detail)
    nonce = request.cookie(cookie_name(issuer))
    if not _NONCE.fullmatch(nonce):
        nonce = secrets.token_urlsafe(32)
    provider = urlsplit(process.settings.oidc_issuer or "").netloc
    return Visit(issuer, words, client, asked, wanted, nonce, provider)


def _show_token(process: Process, visit: Visit, request: Request, sent: Sent) -> Answer:
    ticket = secrets.token_urlsafe(32)
    try:
        with wrong_tokens.counted(process, visit.seal(), request.address()):
            principal = consent.show_token(process, visit.wanted, visit.nonce, sent.one("token").strip(), ticket)
    except Unauthenticated:
        return token_page(visit, visit.words("unknown_token"))
    except TokenRefused as error:
        return token_page(visit, visit.words(error.reason))
    except TooSoon as error:
        minutes = str(math.ceil((error.retry_after or 0) / 60))
        headers = {"Retry-After": str(error.retry_after)}
        return failure(
            visit.issuer, visit.words, "too_many", HTTPStatus.TOO_MANY_REQUESTS, headers=headers, minutes=minutes
        )
    return consent_page(process, visit, principal, ticket)


def _choose(process: Process, visit: Visit, sent: Sent, ticket: str) -> Answer:
    scope, space_ids = sent.all("right"), sent.all("space_id")
    everything = sent.one("spaces") == "all"
    code = secrets.token_urlsafe(32)
    try:
        if not scope or not (everything or space_ids):
            principal = consent.holder(process, visit.wanted, visit.nonce, ticket)
            # Who has only chosen a token has not seen these yet.
            error = "" if sent.one("token_chosen") else "choose_spaces" if scope else "choose_rights"
            return consent_page(process, visit, principal, ticket, error)
        chosen = [] if everything else space_ids
        consent.approve(process, visit.wanted, visit.nonce, ticket, scope=scope, space_ids=chosen, code=code)
    except (Unauthenticated, Forbidden):
        return failure(visit.issuer, visit.words, "ended", HTTPStatus.FORBIDDEN, back=_back(visit))
    words, target = visit.words, visit.target(code=code)
    content = pages.fill(
        "leaving",
        title=words("title_done"),
        w_leaving=words("leaving", host=visit.host),
        w_go_on=words("go_on", host=visit.host),
        target=target,
    )
    return pages.page(words, visit.issuer, words("title_done"), content, leads_to=target)


def _back(visit: Visit) -> tuple[str, str]:
    return visit.host, visit.target(error="access_denied")
