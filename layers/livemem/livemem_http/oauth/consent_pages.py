"""What a person sees of sign-in: the page for a token, the page for a choice, and the one that says what is wrong."""

from collections.abc import Mapping
from html import escape
from http import HTTPStatus
from urllib.parse import parse_qs, urlsplit

from livemem.access.principal import Principal
from livemem.process import Process
from livemem.signin import client_metadata
from livemem.signin.consent import SCOPES, AuthorizationRequest
from livemem.spaces import directory
from livemem_http.oauth import metadata, pages
from livemem_http.oauth.pages import Html, Words
from livemem_http.oauth.request import Answer
from livemem_http.oauth.visit import Visit

MOST_LISTED = 100
"""Spaces that a person can choose from. Each costs a GET."""


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
