"""Where a note comes from, over HTTP: one of another space that it passes on, or a branch of a repository."""

import json
from typing import Any

import pytest

from tests.support.policy import BUCKET
from tests.support.service import Service

NOTES = "/v1/spaces/{space_id}/notes"
SOURCE = {"space_id": "lab", "id": "20260220T140000_bob_decision_00000000"}
NOTE = {"category": "decision", "content": "We keep S3 as the only store.", "source": SOURCE}


@pytest.fixture
def team(service: Service) -> Service:
    for space_id in ("team", "lab"):
        made = service.http("backup", "POST", "/v1/spaces", body={"space_id": space_id, "rules": "Keep a log."})
        assert made["statusCode"] == 201
    # One that somebody put there by hand.
    service.s3.put_object(Bucket=BUCKET, Key=f"lab/live/{SOURCE['id']}.md", Body=b"We keep S3 as the only store.")
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


def test_a_note_that_is_not_there_is_passed_on_by_nobody(team: Service):
    status, problem = append(team, NOTE | {"source": SOURCE | {"id": SOURCE["id"].replace("00000000", "00000001")}})
    assert (status, problem["code"]) == (404, "note_not_found")
    status, problem = append(team, NOTE | {"source": SOURCE | {"space_id": "nowhere"}})
    assert (status, problem["code"]) == (404, "space_not_found")
    assert not [
        key for key in team.written() if "/_passed_on/" in key or (key.startswith("team/live/") and key.endswith(".md"))
    ]


def test_a_receipt_names_the_notes_that_pass_on_what_was_erased_to_who_may_see_them(team: Service):
    made = team.http("ingest", "POST", NOTES, space_id="lab", body={"category": "todo", "content": "Ann's number"})
    note_id = json.loads(made["body"])["note_id"]
    passes = {"category": "todo", "content": "x", "source": {"space_id": "lab", "id": note_id}}
    _, copy = append(team, passes)
    asked = {"ids": [note_id], "preview": True}

    def not_reached(**more: Any) -> str:
        answer = team.http("backup", "POST", "/v1/spaces/{space_id}/erasures", space_id="lab", body=asked, **more)
        assert answer["statusCode"] == 200, answer
        return " ".join(json.loads(answer["body"])["not_reached"])

    named = f"The note {copy['note_id']!r} of the space 'team' passes {note_id!r} on: erase it there as well."
    assert named in not_reached()
    assert copy["note_id"] not in not_reached(token=token(team, ["admin"], ["lab"]))
    del asked["preview"]
    # Who erases may not see the copy; who reads the receipt later may.
    hidden = token(team, ["admin", "read"], ["lab"])
    assert copy["note_id"] not in not_reached(token=hidden)

    def receipt(**more: Any) -> str:
        page = team.http("backup", "GET", "/v1/jobs", query={"space_id": "lab", "kind": "erasure"})
        (listed,) = json.loads(page["body"])["items"]
        result = json.loads(team.http("backup", "GET", "/v1/jobs/{job}", job=listed["job"], **more)["body"])["result"]
        return " ".join(result["not_reached"])

    assert named in receipt()
    assert "team" not in receipt(token=hidden)


CODE = {"repository": "github.com/acme/api", "branch": "feature/x", "commit": "0123456789ab"}


def test_a_note_and_a_turn_say_of_which_branch_they_are_and_others_say_nothing(team: Service):
    plain = {"category": "todo", "content": "Measure it."}
    made = append(team, {"items": [{**plain, **CODE, "commit": "0123456789ab" * 3}, plain]})[1]["items"]
    listed = json.loads(team.http("reads", "GET", NOTES, space_id="team")["body"])["items"]
    talks = "/v1/spaces/{space_id}/conversations"
    begun = json.loads(team.http("conversations", "POST", talks, space_id="team", body={})["body"])
    at = {"space_id": "team", "conversation_id": begun["conversation_id"]}
    for turn in ({"user_message": "Hello", **CODE}, {"items": [{"user_message": "Again", "message_id": "m", **CODE}]}):
        assert (
            team.http("conversations", "POST", f"{talks}/{{conversation_id}}/turns", body=turn, **at)["statusCode"]
            < 300
        )
    turns = json.loads(team.http("conversations", "GET", f"{talks}/{{conversation_id}}/turns", **at)["body"])["items"]

    assert [{name: one.get(name) for name in CODE} for one in (made[0], *turns)] == [CODE] * 3
    assert sorted(len(one.keys() & CODE.keys()) for one in listed) == [0, 3]
    assert append(team, {**plain, "branch": "x) `y`"})[0] == 422


@pytest.mark.parametrize(
    ("route", "query"),
    [
        ("/v1/search", {"spaces": "team,lab"}),
        ("/v1/spaces/{space_id}/search", {}),
        ("/v1/spaces/{space_id}/context", {}),
    ],
)
def test_a_header_marks_what_is_of_another_branch_in_one_space_and_in_several(team: Service, route: str, query: Any):
    append(team, {"category": "decision", "content": "The crane lifts forty tons.", **CODE})
    space = {"space_id": "team"} if "{" in route else {}

    def found(**code: str) -> str:
        headers = {"livemem-code": json.dumps({"repository": CODE["repository"], **code})}
        asked = {"q": "what does the crane lift", **query}
        return str(team.http("search", "GET", route, query=asked, headers=headers, **space)["body"])

    assert "forty tons. (on feature/x as of 0123456789ab)" in found(branch="main")
    assert "forty tons." in found(branch="feature/x")
    assert "(on " not in found(branch="feature/x")
