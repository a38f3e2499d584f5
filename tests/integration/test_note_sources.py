"""A note that passes on one of another space, over HTTP: whose source it may name, and what reads say of it."""

import json
from typing import Any

import pytest

from tests.support.service import Service

NOTES = "/v1/spaces/{space_id}/notes"
SOURCE = {"space_id": "lab", "id": "20260220T140000_bob_decision_00000000"}
NOTE = {"category": "decision", "content": "We keep S3 as the only store.", "source": SOURCE}


@pytest.fixture
def team(service: Service) -> Service:
    for space_id in ("team", "lab"):
        made = service.http("backup", "POST", "/v1/spaces", body={"space_id": space_id, "rules": "Keep a log."})
        assert made["statusCode"] == 201
    return service


def token(service: Service, permissions: list[str], spaces: list[str]) -> str:
    body = {"name": "ann", "permissions": permissions, "space_ids": spaces}
    return str(json.loads(service.http("admin", "POST", "/v1/tokens", body=body)["body"])["token"])


def append(service: Service, body: Any, by: str | None = None) -> tuple[int, Any]:
    more = {"token": by} if by else {}
    answer = service.http("ingest", "POST", NOTES, space_id="team", body=body, **more)
    return answer["statusCode"], json.loads(answer["body"])


def test_a_note_says_what_it_passes_on(team: Service):
    status, made = append(team, NOTE, token(team, ["read", "write"], ["team", "lab"]))
    answer = team.http("reads", "GET", f"{NOTES}/{{note_id}}", space_id="team", note_id=made["note_id"])

    assert (status, made["source"], json.loads(answer["body"])["source"]) == (201, SOURCE, SOURCE)


@pytest.mark.parametrize(
    ("permissions", "spaces"), [(["read", "write"], ["team"]), (["write"], ["team", "lab"])], ids=["space", "read"]
)
@pytest.mark.parametrize("several", [False, True])
def test_the_source_is_in_a_space_that_the_token_may_read(
    team: Service, permissions: list[str], spaces: list[str], several: bool
):
    body = {"items": [{"category": "todo", "content": "a"}, NOTE]} if several else NOTE

    status, problem = append(team, body, token(team, permissions, spaces))

    assert (status, problem["code"]) == (403, "forbidden")
    assert not [key for key in team.written() if key.startswith("team/live/") and not key.endswith(".keep")]
