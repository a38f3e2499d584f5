"""The endpoints that clients call themselves: tokens, their end, and registration."""

from http import HTTPStatus

from livemem.process import Process
from livemem.signin import consent, exchange
from livemem.signin.exchange import Issued
from livemem.signin.refusal import Refused
from livemem_http.oauth import metadata
from livemem_http.oauth.request import Answer, Request, Sent, json_answer


def issue(process: Process, issuer: str, request: Request) -> Answer:
    """A code, or a refresh token, becomes tokens (RFC 6749, 4.1.3 and 6)."""
    sent = request.form()
    consent.check_resource(sent.one("resource"), metadata.resource(issuer))
    kind = sent.one("grant_type")
    if kind == "authorization_code":
        code, client_id, uri, verifier = _needed(sent, "code", "client_id", "redirect_uri", "code_verifier")
        return _issued(exchange.redeem(process, code, client_id=client_id, redirect_uri=uri, verifier=verifier))
    if kind == "refresh_token":
        token, client_id = _needed(sent, "refresh_token", "client_id")
        return _issued(exchange.refresh(process, token, client_id=client_id))
    raise Refused("unsupported_grant_type", "grant_type must be authorization_code or refresh_token.")


def revoke(process: Process, _: str, request: Request) -> Answer:
    """A token ends with its grant (RFC 7009). Of one that is not known nobody learns that."""
    (token,) = _needed(request.form(), "token")
    exchange.revoke(process, token)
    return json_answer(HTTPStatus.OK, {})


def register(_: Process, __: str, request: Request) -> Answer:
    """A client registers itself (RFC 7591). Nothing is stored: its registration is its id."""
    client = consent.register(request.json())
    told = {
        "client_id": client.client_id,
        **({"client_name": client.name} if client.name else {}),
        "redirect_uris": [*client.redirect_uris],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
        "scope": " ".join(consent.SCOPES),
    }
    return json_answer(HTTPStatus.CREATED, told)


def _needed(sent: Sent, *names: str) -> list[str]:
    found = sent.only(*names)
    missing = [name for name in names if name not in found]
    if missing:
        raise Refused("invalid_request", f"{' and '.join(missing)} must be given.")
    return [found[name] for name in names]


def _issued(tokens: Issued) -> Answer:
    told = {
        "access_token": tokens.access_token,
        "token_type": "Bearer",
        "expires_in": tokens.seconds,
        "refresh_token": tokens.refresh_token,
        "scope": " ".join(tokens.scope),
    }
    return json_answer(HTTPStatus.OK, told, {"Pragma": "no-cache"})
