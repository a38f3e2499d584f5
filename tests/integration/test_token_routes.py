"""The routes of tokens as their callers meet them: what is shown, what is refused, and what an agent can do with it."""

import json
from collections.abc import Callable
from typing import Any

from tests.support.cases import each
from tests.support.functions import request
from tests.support.routes import ROUTES, good
from tests.support.service import Service
from tests.support.world import BOOTSTRAP_KEY

WANTED = {"name": "ann", "permissions": ["read", "write"], "space_ids": ["demo"]}
TOKEN = "/v1/tokens/{token_hash}"


def call(service: Service, method: str, route: str, *, status: int, token: str = BOOTSTRAP_KEY, **rest: Any) -> Any:
    answer = service.http("backup" if route == "/v1/spaces" else "admin", method, route, token=token, **rest)
    assert answer["statusCode"] == status, answer
    return json.loads(answer["body"]) if answer["body"] else None


def make(service: Service, **changes: Any) -> Any:
    return call(service, "POST", "/v1/tokens", status=201, body=WANTED | changes)


def test_a_token_is_shown_once_and_nowhere_else(service: Service):
    made = make(service, expires_in_days=90, email="ann@example.org")

    assert made["token"].startswith("lm_")
    assert set(made) == {
        "token", "hash", "name", "permissions", "space_ids", "email", "created_at", "expires_at", "revoked",
        "made_by",
    }  # fmt: skip
    (listed,) = call(service, "GET", "/v1/tokens", status=200)["items"]
    assert listed == {name: value for name, value in made.items() if name != "token"}
    stored = service.s3.get_object(Bucket="live-memory", Key="_system/tokens.json")["Body"].read().decode()
    assert made["token"] not in stored
    assert made["hash"] in stored


def test_the_list_tells_that_a_token_was_used(service: Service):
    made = make(service)

    service.http("reads", "GET", "/v1/whoami", token=made["token"])

    (listed,) = call(service, "GET", "/v1/tokens", status=200)["items"]
    assert listed["last_used_at"] >= made["created_at"]


def test_a_token_with_a_list_uses_its_own_new_space_at_once_over_every_door(service: Service):
    call(service, "POST", "/v1/spaces", status=201, body={"space_id": "demo", "rules": "x"})
    token = make(service)["token"]
    doors: dict[str, Callable[[str], Any]] = {
        "route": lambda space: service.http("reads", "GET", NOTES, token=token, space_id=space),
        "writing": lambda space: service.http("ingest", "POST", NOTES, token=token, space_id=space, body=NOTE),
        "several spaces": lambda space: service.http("search", "GET", "/v1/search", token=token, query=asked(space)),
        "job": lambda space: service.http("backup", "GET", "/v1/jobs/{job}", token=token, job=f"{space}.run.{NOBODY}"),
        "mcp": lambda space: service.invoke("mcp", request("POST", "/mcp", token=token, body=told(space), headers=MCP)),
    }

    def refused(space: str) -> list[str]:
        return [name for name, ask in doors.items() if "may not use this space" in ask(space)["body"]]

    assert refused("new") == list(doors)
    call(service, "POST", "/v1/spaces", status=201, token=token, body={"space_id": "new", "rules": "x"})

    assert refused("new") == []
    assert refused("other") == list(doors)


NOTES = "/v1/spaces/{space_id}/notes"
NOTE = {"category": "progress", "content": "x"}
NOBODY = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
MCP = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-06-18"}


def asked(space: str) -> dict[str, str]:
    return {"q": "harbour", "spaces": f"demo,{space}"}


def told(space: str) -> dict[str, Any]:
    """A call of a tool in a space."""
    arguments = {"space_id": space, "q": "harbour"}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "search", "arguments": arguments}}


@each(
    ("body", "field"),
    [
        ({"name": "a b"}, "name"),
        ({"name": 7}, "name"),
        ({"permissions": "read"}, "permissions"),
        ({"permissions": ["root"]}, "permissions"),
        ({"permissions": []}, "permissions"),
        ({"permissions": [["read"]]}, "permissions.0"),
        ({"space_ids": ["demo", "a/b"]}, "space_ids.1"),
        ({"space_ids": ["__proto__"]}, "space_ids.0"),
        ({"space_ids": "demo"}, "space_ids"),
        ({"space_ids": None}, "space_ids"),
        ({"expires_in_days": -1}, "expires_in_days"),
        ({"expires_in_days": 0}, "expires_in_days"),
        ({"expires_in_days": 10**9}, "expires_in_days"),
        ({"expires_in_days": 10**90}, "expires_in_days"),
        ({"expires_in_days": 1.5}, "expires_in_days"),
        ({"expires_in_days": "90"}, "expires_in_days"),
        ({"expires_in_days": True}, "expires_in_days"),
        ({"expires_at": "2001-01-01T00:00:00Z"}, "expires_at"),
        ({"expires_at": "9999-12-31T00:00:00Z"}, "expires_at"),
        ({"expires_at": "tomorrow"}, "expires_at"),
        ({"expires_at": 1}, "expires_at"),
        ({"email": "x"}, "email"),
        ({"token": "lm_mine"}, "token"),
        ({"hash": "sha256:0"}, "hash"),
    ],
)
def test_what_can_be_no_token_is_a_422_that_names_the_field(service: Service, body: dict[str, Any], field: str):
    problem = call(service, "POST", "/v1/tokens", status=422, body=WANTED | body)

    assert [error["field"] for error in problem["errors"]] == [field]
    made = make(service)
    # What is null in a change stays as it is.
    if not {"name", "token"} & set(body) and None not in body.values():
        problem = call(service, "PATCH", TOKEN, status=422, token_hash=made["hash"][7:23], body=body)
        assert [error["field"] for error in problem["errors"]] == [field]


def test_a_token_changes_by_its_first_digits_and_all_spaces_take_a_word_of_their_own(service: Service):
    made = make(service)
    one = {"token_hash": made["hash"][7:23]}

    changed = call(service, "PATCH", TOKEN, status=200, body={"permissions": ["read"], "expires_in_days": None}, **one)
    assert changed == {name: value for name, value in made.items() if name != "token"} | {"permissions": ["read"]}
    call(service, "PATCH", TOKEN, status=422, body={"space_ids": []}, **one)
    assert call(service, "PATCH", TOKEN, status=200, body={"all_spaces": True}, **one)["space_ids"] == []
    assert call(service, "PATCH", TOKEN, status=404, body={}, token_hash="0" * 16)["code"] == "token_not_found"


def test_an_admin_of_one_space_manages_its_tokens_alone(service: Service):
    boss = make(service, name="boss", permissions=["read", "write", "admin"])["token"]
    other = make(service, name="other", space_ids=["other"])

    assert [entry["name"] for entry in call(service, "GET", "/v1/tokens", status=200, token=boss)["items"]] == ["boss"]
    call(service, "POST", "/v1/tokens", status=201, token=boss, body=WANTED)
    for spaces in ([], ["other"], ["demo", "other"]):
        call(service, "POST", "/v1/tokens", status=403, token=boss, body=WANTED | {"space_ids": spaces})
    call(service, "DELETE", TOKEN, status=404, token=boss, token_hash=other["hash"])


def test_a_token_that_is_revoked_is_refused_at_once_where_it_was_revoked_and_after_30_seconds_everywhere(
    service: Service,
):
    made = make(service)

    call(service, "DELETE", TOKEN, status=200, token_hash=made["hash"])

    call(service, "POST", "/v1/tokens/self/rotate", status=401, token=made["token"])
    call(service, "DELETE", TOKEN, status=200, token_hash=made["hash"], query={"forget": "true"})
    call(service, "DELETE", TOKEN, status=404, token_hash=made["hash"])


def test_a_rotated_token_says_when_the_old_one_ends(service: Service):
    made = make(service)
    rotate = "/v1/tokens/self/rotate"

    new = call(service, "POST", rotate, status=201, token=made["token"], headers={"idempotency-key": "k"})

    assert (new["name"], new["space_ids"], new["token"] != made["token"]) == ("ann", ["demo"], True)
    assert call(service, "POST", rotate, status=409, token=made["token"])["code"] == "conflict"
    call(service, "POST", rotate, status=201, token=made["token"], headers={"idempotency-key": "k"})
    call(service, "POST", rotate, status=401, token=new["token"])
    call(service, "POST", rotate, status=409)
    for grace in (-1, 604_801, "60", True):
        call(service, "POST", rotate, status=422, token=made["token"], body={"grace_seconds": grace})


def test_what_a_stolen_admin_token_made_ends_with_it_and_is_told(service: Service):
    boss = make(service, name="boss", permissions=["read", "write", "admin"], expires_in_days=1)
    thief = {"token": boss["token"]}
    hidden = call(service, "POST", "/v1/tokens", status=201, body=WANTED | {"name": "hidden"}, **thief)
    own = {"token_hash": boss["hash"]}

    assert hidden["made_by"] == {"hash": boss["hash"][:23], "name": "boss"}
    assert hidden["expires_at"] == boss["expires_at"]
    for never in ({"expires_in_days": None}, {"expires_in_days": 3_650}):
        problem = call(service, "PATCH", TOKEN, status=403, body=never, **own, **thief)
        assert boss["expires_at"] in problem["detail"]
    call(service, "POST", "/v1/tokens", status=403, body=WANTED | {"expires_in_days": 2}, **thief)

    revoked = call(service, "DELETE", TOKEN, status=200, **own)

    assert (revoked["hash"], revoked["others"]) == (boss["hash"], [hidden["hash"]])
    call(service, "POST", "/v1/tokens/self/rotate", status=401, token=hidden["token"])
    assert make(service)["made_by"] == {"name": "admin"}
    kept = call(service, "DELETE", TOKEN, status=200, query={"descendants": "false"}, **own)
    assert kept["others"] == []


def test_a_rotation_without_grace_whose_answer_was_lost_is_repeated_and_nothing_else_opens(service: Service):
    made = make(service, permissions=["read", "write", "admin"], space_ids=["mine"])
    rotate, key = "/v1/tokens/self/rotate", {"idempotency-key": "k"}
    call(service, "POST", rotate, status=201, token=made["token"], headers=key, body={"grace_seconds": 0})
    service.modules.clear()

    for function, route in ROUTES:
        event = good(route, made["token"])
        event["headers"] |= key if not route.endswith(rotate) else {"idempotency-key": "other"}
        assert service.invoke(function, event)["statusCode"] == 401, route
    new = call(service, "POST", rotate, status=201, token=made["token"], headers=key, body={"grace_seconds": 0})

    assert call(service, "GET", "/v1/tokens", status=200, token=new["token"])["items"]


def test_the_usage_of_a_space_is_for_who_reads_it_and_that_of_all_for_an_admin(service: Service):
    assert service.http("backup", "POST", "/v1/spaces", body={"space_id": "demo"})["statusCode"] == 201
    reader = make(service, permissions=["read"])["token"]
    asked = [{"space_id": "demo"}, {"space_id": "other"}, {}, {"space_id": "../x"}]

    got = [service.http("reads", "GET", "/v1/usage", token=reader, query=query)["statusCode"] for query in asked]

    assert got == [200, 403, 403, 422]
    everything = service.http("reads", "GET", "/v1/usage", query={"space_id": "gone"})
    assert everything["statusCode"] == 404
