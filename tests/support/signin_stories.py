"""How a client of sign-in comes and goes, told as in stories.py."""

from collections.abc import Callable, Mapping
from functools import partial
from json import dumps
from typing import Any
from urllib.parse import urlencode

import boto3
import pytest

from livemem.process import Process
from livemem_http import environment
from livemem_http.oauth import metadata
from livemem_http.routing import INVOKED_BY
from tests.support.functions import request
from tests.support.mcp_stories import use
from tests.support.provider import CLIENT_ID, EMAIL, SECRET, providing
from tests.support.signing_in import CALLBACK, ISSUER, Browser, Client, Got, Send, event_of, got, registered
from tests.support.stories import RUNS, SPACE, Account, Story

PROVIDER_SECRET = "/live-memory/oidc-secret"
DOCUMENT: dict[str, Any] = {
    "client_id": "https://client.example/client.json",
    "client_name": "Client",
    "redirect_uris": [CALLBACK],
}
LONG = 100 * 86_400
OF_EACH_FUNCTION = (
    ("reads", "GET", SPACE, 200),
    ("search", "GET", f"{SPACE}/stale", 200),
    ("conversations", "GET", f"{SPACE}/conversations", 200),
    ("memories", "GET", f"{SPACE}/memories", 200),
    ("rooms", "GET", f"{SPACE}/rooms", 200),
    # No client of sign-in is an administrator.
    ("admin", "GET", "/v1/tokens", 403),
    ("consolidate", "POST", RUNS, 202),
    ("backup", "GET", "/v1/backups", 200),
)


def a_client_from_its_registration_to_its_end(account: Account) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OAUTH_ISSUER", ISSUER)
        published = {DOCUMENT["client_id"]: dumps(DOCUMENT).encode()}
        made: Callable[..., Process] = vars(environment)["Process"]
        patch.setattr(environment, "Process", partial(made, fetch_document=published.__getitem__))
        account.create()
        account.put("broken/_meta.json")
        wanted = {"name": "ann", "permissions": ["read", "write"], "space_ids": ["demo", "broken"]}
        ann = account.call("admin", "POST", "/v1/tokens", 201, body=wanted)["token"]

        send = _sender(account)
        for path in (metadata.PROTECTED, metadata.SERVER):
            assert send("GET", path, "", "", {}).status == 200
            assert send("GET", f"{path}{metadata.RESOURCE_PATH}", "", "", {}).status == 200
        client, browser = registered(send), Browser(send)
        first = browser.open(client.url())
        assert browser.submit({**first.fields(), "token": "lm_wrong"}).status == 403
        target = browser.allow(client.url(), ann).target()
        issued = client.redeem(target).json()
        issued = client.refresh(issued["refresh_token"]).json()
        restarted = f"grant_type=refresh_token&client_id={client.client_id}&refresh_token={issued['refresh_token']}"
        issued = send("POST", metadata.REFRESH_BY_DEFAULT, "", restarted, {}).json()
        use(account, "note", category="todo", content="x", by=issued["access_token"])
        for function, method, route, status in OF_EACH_FUNCTION:
            assert _from_mcp(account, function, method, route, issued["access_token"]) == status, route
        assert browser.open(Client(send, client_id=DOCUMENT["client_id"]).url()).status == 200
        (one,) = account.call("signin", "GET", "/v1/connections", 200, token=ann)["items"]
        route = "/v1/connections/{connection_id}"
        account.call("signin", "DELETE", route, 204, token=ann, connection_id=one["connection_id"])
        assert client.revoke(issued["access_token"]).status == 200
        assert client.redeem(target).error() == "invalid_grant"
        account.clock.move(LONG)
        account.sweep(everything=True, failed=["broken"])
        assert not [key for key in account.service.written() if key.startswith("_system/oauth/")]


def _sender(account: Account) -> Send:
    """To the function of sign-in; the routes are noted."""

    def send(method: str, path: str, query: str, body: str, headers: Mapping[str, str]) -> Got:
        account.called.add((method, path))
        return got(account.service.invoke("signin", event_of(method, path, query, body, headers)))

    return send


def _from_mcp(account: Account, function: str, method: str, route: str, access: str) -> int:
    """The status that a tool of MCP gets from the function that carries it out."""
    path: Any = {"space_id": "demo"} if "{space_id}" in route else {}
    answer: Any = account.service.invoke(function, {**request(method, route, token=access, **path), INVOKED_BY: "mcp"})
    return int(answer["statusCode"])


def a_person_signs_in_with_an_outside_provider(account: Account) -> None:
    with providing() as there, pytest.MonkeyPatch.context() as patch:
        for name, value in (
            ("OAUTH_ISSUER", ISSUER),
            ("OIDC_ISSUER", there.issuer),
            ("OIDC_CLIENT_ID", CLIENT_ID),
            ("OIDC_CLIENT_SECRET", PROVIDER_SECRET),
        ):
            patch.setenv(name, value)
        boto3.client("ssm").put_parameter(Name=PROVIDER_SECRET, Value=SECRET, Type="SecureString")
        account.create()
        wanted = {"name": "ann", "permissions": ["read"], "space_ids": ["demo"], "email": EMAIL}
        account.call("admin", "POST", "/v1/tokens", 201, body=wanted)

        send = _sender(account)
        client, browser = registered(send), Browser(send)
        first = browser.open(client.url())
        left = browser.submit(first.fields(), to=metadata.PROVIDER)
        page = browser.open(f"{ISSUER}{metadata.CALLBACK}?{urlencode(there.let_in(left.target()))}")
        assert client.redeem(browser.submit(page.fields()).target()).status == 200
        account.clock.move(LONG)
        account.sweep(everything=True)


STORIES: list[Story] = [a_client_from_its_registration_to_its_end, a_person_signs_in_with_an_outside_provider]
