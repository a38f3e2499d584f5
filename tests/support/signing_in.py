"""A client of sign-in, and a person with a browser: they know what is sent to them, and nothing of the service."""

import base64
import hashlib
import html
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from livemem_http.oauth import endpoints
from tests.support.functions import sample
from tests.support.world import World

ISSUER = "https://memory.example.org"
CALLBACK = "https://claude.ai/api/mcp/auth_callback"
ADDRESS = "8.8.8.8"
"""Any of the internet's."""
VERIFIER = "v" * 60
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).decode().rstrip("=")
INPUT = re.compile(r'<input type="(?P<type>\w+)" name="(?P<name>[^"]*)" value="(?P<value>[^"]*)"(?P<marks>[^>]*)>')
TARGET = re.compile(r'http-equiv="refresh" content="0; url=([^"]*)"')
CANCEL = re.compile(r'<a class="quiet" href="([^"]*)"')


@dataclass
class Got:
    """An answer."""

    status: int
    headers: Mapping[str, str]
    body: str
    cookies: tuple[str, ...] = ()

    def json(self) -> Any:
        return json.loads(self.body)

    def fields(self) -> dict[str, list[str]]:
        """What the form of a page sends if nobody touches it."""
        found: dict[str, list[str]] = {}
        for one in INPUT.finditer(self.body):
            chosen = one["type"] == "hidden" or ("checked" in one["marks"] and "disabled" not in one["marks"])
            if chosen:
                found.setdefault(html.unescape(one["name"]), []).append(html.unescape(one["value"]))
        return found

    def target(self) -> str:
        """Where the page leads by itself."""
        found = TARGET.search(self.body)
        assert found, self.body
        return html.unescape(found[1])

    def cancel(self) -> str:
        """Where its link to cancel leads."""
        found = CANCEL.search(self.body)
        assert found, self.body
        return html.unescape(found[1])

    def error(self) -> str:
        """The code of OAuth's error."""
        assert self.status >= 400, self.body
        return str(self.json()["error"])


Send = Callable[[str, str, str, str, Mapping[str, str]], Got]
"""Sends method, path, query, body and headers."""


def to(world: World, *, address: str = ADDRESS) -> Send:
    """To the function of sign-in in a world, as API Gateway brings it."""

    def send(method: str, path: str, query: str, body: str, headers: Mapping[str, str]) -> Got:
        event = event_of(method, path, query, body, headers, address=address)
        return got(endpoints.handle(lambda: world.process, event))

    return send


def event_of(
    method: str, path: str, query: str, body: str, headers: Mapping[str, str], *, address: str = ADDRESS
) -> dict[str, Any]:
    """An HTTP API event for an endpoint of sign-in."""
    event = sample("reads-health")
    event["routeKey"] = event["requestContext"]["routeKey"] = f"{method} {path}"
    event["rawPath"] = event["requestContext"]["http"]["path"] = path
    event["requestContext"]["http"] |= {"method": method, "sourceIp": address}
    event["rawQueryString"] = query
    event.pop("queryStringParameters", None)
    event["cookies"] = [one for one in headers.get("cookie", "").split("; ") if one]
    event["headers"] = {name: value for name, value in headers.items() if name != "cookie"}
    if body:
        # Forms come in base64, as they do from API Gateway.
        event |= {"body": base64.b64encode(body.encode()).decode(), "isBase64Encoded": True}
    return event


def got(answer: Mapping[str, Any]) -> Got:
    headers = {name.lower(): value for name, value in answer["headers"].items()}
    return Got(answer["statusCode"], headers, answer["body"], tuple(answer.get("cookies", ())))


@dataclass
class Browser:
    """A person's browser, with its cookies."""

    send: Send
    issuer: str = ISSUER
    language: str = "en"
    cookies: dict[str, str] = field(default_factory=dict)

    def open(self, url: str, **headers: str) -> Got:
        parts = urlsplit(url)
        return self._kept(self.send("GET", parts.path, parts.query, "", self._headers(headers)))

    def submit(self, form: Mapping[str, Any], *, to: str = "/oauth/authorize", **headers: str) -> Got:
        """Send a form of a page of the service."""
        body = urlencode(dict(form), doseq=True)
        usual = {"content-type": "application/x-www-form-urlencoded", "origin": self.issuer}
        return self._kept(self.send("POST", to, "", body, self._headers({**usual, **headers})))

    def allow(self, url: str, token: str, **choice: Any) -> Got:
        """Show the token, leave the choice as it is but for `choice`, and allow."""
        first = self.open(url)
        assert first.status == 200, first.body
        second = self.submit({**first.fields(), "token": token})
        assert second.status == 200, second.body
        chosen = {name: value for name, value in {**second.fields(), **choice}.items() if value is not None}
        return self.submit(chosen)

    def _headers(self, more: Mapping[str, str]) -> dict[str, str]:
        cookie = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        return {"accept-language": self.language, **({"cookie": cookie} if cookie else {}), **more}

    def _kept(self, answer: Got) -> Got:
        for line in answer.cookies:
            name, _, value = line.partition(";")[0].partition("=")
            self.cookies[name] = value
            if "Max-Age=0" in line:
                del self.cookies[name]
        return answer


@dataclass
class Client:
    """A client of sign-in, such as an assistant on the web."""

    send: Send
    issuer: str = ISSUER
    callback: str = CALLBACK
    client_id: str = ""

    def register(self, name: str = "Claude", **metadata: Any) -> Got:
        body = json.dumps({"client_name": name, "redirect_uris": [self.callback], **metadata})
        answer = self.send("POST", "/oauth/register", "", body, {"content-type": "application/json"})
        if answer.status == 201:
            self.client_id = answer.json()["client_id"]
        return answer

    def url(self, **changes: str | None) -> str:
        """Where it sends the person."""
        usual: dict[str, str | None] = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": self.callback,
            "scope": "read write",
            "state": "s-1",
            "resource": f"{self.issuer}/mcp",
            "code_challenge": CHALLENGE,
            "code_challenge_method": "S256",
        }
        asked = {name: value for name, value in {**usual, **changes}.items() if value is not None}
        return f"{self.issuer}/oauth/authorize?{urlencode(asked)}"

    def redeem(self, target: str, **changes: str) -> Got:
        """Exchange the code with which the person came back."""
        code = parse_qs(urlsplit(target).query)["code"][0]
        usual = {"code": code, "redirect_uri": self.callback, "code_verifier": VERIFIER}
        return self.token(grant_type="authorization_code", **{**usual, **changes})

    def refresh(self, token: str, **changes: str) -> Got:
        return self.token(grant_type="refresh_token", refresh_token=token, **changes)

    def token(self, **form: str) -> Got:
        sent = {"client_id": self.client_id, "resource": f"{self.issuer}/mcp", **form}
        return self._post("/oauth/token", sent)

    def revoke(self, token: str) -> Got:
        return self._post("/oauth/revoke", {"token": token, "client_id": self.client_id})

    def _post(self, path: str, form: Mapping[str, str]) -> Got:
        headers = {"content-type": "application/x-www-form-urlencoded"}
        return self.send("POST", path, "", urlencode(form), headers)


def registered(send: Send, issuer: str = ISSUER, callback: str = CALLBACK, **rest: Any) -> Client:
    """A client that has registered itself."""
    client = Client(send, issuer, callback)
    answer = client.register(**rest)
    assert answer.status == 201, answer.body
    return client


def signed_in(send: Send, token: str, issuer: str = ISSUER, **choice: Any) -> dict[str, Any]:
    """What a client gets once a person with this token has allowed it."""
    client = registered(send, issuer)
    answer = Browser(send, issuer).allow(client.url(), token, **choice)
    issued = client.redeem(answer.target())
    assert issued.status == 200, issued.body
    return {**issued.json(), "client_id": client.client_id}
