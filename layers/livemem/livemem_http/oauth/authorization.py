"""The page of sign-in, in two steps: a person shows a token, then chooses spaces and rights (RFC 6749, 4.1.1).

Nobody is ever redirected without having pressed a button here. Everybody can register a client, and could otherwise
send people from this address to any other one (RFC 9700, 4.11). A form counts only in the browser that it was made for.
A cookie holds a nonce, the form its digest with the whole request.
"""

import hmac
import math
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from http import HTTPStatus
from urllib.parse import parse_qs, urlencode, urlsplit

from livemem.access.principal import Principal
from livemem.errors import Forbidden, LiveMemoryError, TooSoon, Unauthenticated
from livemem.process import Process
from livemem.signin import client_metadata, consent, wrong_tokens
from livemem.signin.client_metadata import Client
from livemem.signin.consent import SCOPES, AuthorizationRequest, TokenRefused
from livemem.signin.refusal import Refused
from livemem.spaces import directory
from livemem_http import problems
from livemem_http.oauth import metadata, pages
from livemem_http.oauth.pages import Html, Words
from livemem_http.oauth.request import Answer, Request, Sent

ASKED = (
    *("response_type", "client_id", "redirect_uri", "scope", "state", "resource"),
    *("code_challenge", "code_challenge_method"),
)
MOST_LISTED = 100
"""Spaces that a person can choose from. Each costs a GET."""
_NONCE = re.compile(r"[A-Za-z0-9_-]{43}")


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
        return _told(self.wanted.redirect_uri, {**told, **state, "iss": self.issuer})


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
        back = _told(uri, {**told, **state, "iss": issuer})
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


def token_page(visit: Visit, error: str = "", *, cookie: str | None = None) -> Answer:
    """The first page. `error`: why the person is still there."""
    words = visit.words
    title = words("title_token", client=_called(visit))
    content = pages.fill(
        "token",
        title=title,
        w_intro=words("intro", client=_called(visit)),
        client=client_of(visit),
        error=pages.notice("error", error),
        action=metadata.AUTHORIZE,
        hidden=pages.hidden({**visit.asked, "seal": visit.seal()}),
        w_token=words("token"),
        w_hint=words("hint", issuer=urlsplit(visit.issuer).netloc),
        w_continue=words("continue"),
        w_cancel=words("cancel"),
        cancel=visit.target(error="access_denied"),
        provider=_provider(visit),
    )
    status = HTTPStatus.FORBIDDEN if error else HTTPStatus.OK
    return pages.page(words, visit.issuer, title, content, status=status, cookie=cookie)


def _provider(visit: Visit) -> Html:
    """The other way to say who one is: the outside provider."""
    if not visit.provider:
        return Html("")
    return pages.fill(
        "provider",
        action=metadata.PROVIDER,
        w_or=visit.words("or"),
        w_provider=visit.words("with_provider", host=visit.provider),
    )


def consent_page(process: Process, visit: Visit, principal: Principal, ticket: str, error: str = "") -> Answer:
    """The second page, for a person who has shown that a token is theirs."""
    words = visit.words
    title = words("title_consent", client=_called(visit))
    content = pages.fill(
        "consent",
        title=title,
        w_signed_in=words("signed_in", agent=principal.name),
        client=client_of(visit),
        error=pages.notice("error", words(error) if error else ""),
        action=metadata.AUTHORIZE,
        hidden=pages.hidden({**visit.asked, "seal": visit.seal(), "ticket": ticket}),
        w_spaces=words("spaces"),
        spaces=_spaces(process, visit, principal),
        w_rights=words("rights"),
        rights=pages.joined(_right(words, scope, visit.wanted, principal) for scope in SCOPES),
        w_end_it=words("end_it"),
        w_allow=words("allow"),
        w_cancel=words("cancel"),
        cancel=visit.target(error="access_denied"),
    )
    return pages.page(words, visit.issuer, title, content, status=HTTPStatus.BAD_REQUEST if error else HTTPStatus.OK)


def client_of(visit: Visit) -> Html:
    """The client, its wishes, and where it sends the person. The name proves nothing, the host does."""
    words = visit.words
    local = client_metadata.is_loopback(visit.wanted.redirect_uri)
    return pages.fill(
        "client",
        w_client=words("client"),
        name=visit.client.name or words("no_name"),
        published=_published(visit),
        w_goes_to=words("goes_to"),
        host=visit.host,
        w_asks_for=words("asks_for"),
        scope=", ".join(words(scope) for scope in visit.wanted.scope),
        warning=pages.notice("warning", words("loopback") if local else ""),
    )


def _published(visit: Visit) -> Html:
    """The host of the client's document, if it has one. Nobody else can publish there."""
    address = urlsplit(visit.client.client_id)
    if address.scheme != "https":
        return Html("")
    return pages.row(visit.words("published_by"), address.netloc)


def _called(visit: Visit) -> str:
    return visit.client.name or visit.host


def _spaces(process: Process, visit: Visit, principal: Principal) -> Html:
    """The choice of spaces. The one that the client's URL names is chosen already (`/mcp?space=demo`)."""
    words = visit.words
    found, more = directory.page(process, principal, limit=MOST_LISTED, after=None)
    listed = [meta.space_id for meta in found]
    named = parse_qs(urlsplit(visit.asked.get("resource", "")).query).get("space", [""])[0]
    wanted = {named} if named in listed else set(listed)
    boxes = [box("checkbox", "space_id", one, one, checked=one in wanted) for one in listed]
    if len(listed) == 1 and len(principal.space_ids) == 1:
        return pages.joined(boxes)
    everything = named not in listed
    parts = [
        box("radio", "spaces", "all", words("all_spaces"), checked=everything, identity="all"),
        *([box("radio", "spaces", "these", words("only_these"), checked=not everything)] if boxes else []),
        Html('<div class="list">'),
        *boxes,
        *([Html(f"<small>{words('more_spaces', number=str(MOST_LISTED))}</small>")] if more else []),
        Html("</div>"),
    ]
    return pages.joined(parts)


def _right(words: Words, scope: str, wanted: AuthorizationRequest, principal: Principal) -> Html:
    if scope not in wanted.scope:
        return Html("")
    may = scope in principal.permissions
    text = words(f"{scope}_text") if may else words("lacking")
    return box("checkbox", "right", scope, words(scope), checked=may, disabled=not may, more=text)


def box(
    kind: str,
    name: str,
    value: str,
    text: str,
    *,
    checked: bool,
    disabled: bool = False,
    more: str = "",
    identity: str = "",
) -> Html:
    """A box to tick, or a button to choose, with its text."""
    marks = f"{' checked' if checked else ''}{' disabled' if disabled else ''}"
    marks += f' id="{identity}"' if identity else ""
    told = escape(text) + (f" <small>{escape(more)}</small>" if more else "")
    return Html(f'<label><input type="{kind}" name="{name}" value="{escape(value)}"{marks}><span>{told}</span></label>')


def _back(visit: Visit) -> tuple[str, str]:
    return visit.host, visit.target(error="access_denied")


def failure(
    issuer: str,
    words: Words,
    name: str,
    status: int,
    *,
    back: tuple[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
    **values: str,
) -> Answer:
    """A page that says what is wrong. `back`: a host, and the address there to which a link leads."""
    link = Html("")
    if back:
        host, target = back
        link = Html(f'<p><a href="{escape(target)}">{escape(words("back", host=host))}</a></p>')
    title = words("title_failed")
    content = pages.fill("failed", title=title, reason=words(name, **values), back=link)
    return pages.page(words, issuer, title, content, status=int(status), headers=headers)


def _told(uri: str, told: Mapping[str, str]) -> str:
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
