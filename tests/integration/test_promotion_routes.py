"""Promotions over HTTP: what an agent of two spaces is answered, and one that has only one of them."""

import json

import pytest

SPACE = "/v1/spaces/{space_id}"
CONTENT = "We keep S3 as the only store."


@pytest.fixture
def spaces(service):
    """An agent's own space and the team's."""
    for space_id in ("mine", "team"):
        body = {"space_id": space_id, "consolidation_threshold": 0}
        assert service.http("admin", "POST", "/v1/spaces", body=body)["statusCode"] == 201
    return service


def token(service, *space_ids, permissions=("read", "write"), name="ann"):
    body = {"name": name, "permissions": list(permissions), "space_ids": list(space_ids)}
    return json.loads(service.http("admin", "POST", "/v1/tokens", body=body)["body"])["token"]


def call(service, function, method, route, status, space_id, **rest):
    answer = service.http(function, method, f"{SPACE}{route}", space_id=space_id, **rest)
    assert answer["statusCode"] == status, answer
    return json.loads(answer["body"]) if answer["body"] else None


def promote(service, status, source_id, target="team", **rest):
    body = {"id": source_id, "target_space_id": target}
    return call(service, "memories", "POST", "/promote", status, "mine", body=body, **rest)


def take_back(service, status, promotion_id, **rest):
    route = "/promotions/{promotion_id}"
    return call(service, "backup", "DELETE", route, status, "team", promotion_id=promotion_id, **rest)


def test_a_note_is_promoted_read_with_its_source_and_taken_back(spaces):
    ann = token(spaces, "mine", "team")
    body = {"category": "decision", "content": CONTENT, "tags": ["s3"]}
    source = call(spaces, "ingest", "POST", "/notes", 201, "mine", body=body, token=ann)

    made = promote(spaces, 201, source["note_id"], token=ann)
    again = promote(spaces, 200, source["note_id"], token=ann)

    assert again == made
    assert made.keys() == {"promotion_id", "space_id", "kind", "id", "promoted_by", "promoted_at"}
    copy = call(spaces, "reads", "GET", "/notes/{note_id}", 200, "team", note_id=made["id"], token=ann)
    expected = {"agent": "ann", "category": "decision", "content": CONTENT, "tags": ["s3"], "status": "live"}
    assert {name: copy[name] for name in expected} == expected
    assert copy["source"] == {
        "space_id": "mine",
        "note_id": source["note_id"],
        "promotion_id": made["promotion_id"],
        "promoted_by": "ann",
        "promoted_at": made["promoted_at"],
    }
    shown = spaces.http(
        *("reads", "GET", f"{SPACE}/notes/{{note_id}}"),
        space_id="team",
        note_id=made["id"],
        headers={"accept": "text/markdown"},
        token=ann,
    )
    assert "promoted from the space mine by ann" in shown["body"]
    take_back(spaces, 204, made["promotion_id"], token=ann)
    take_back(spaces, 204, made["promotion_id"], token=ann)
    assert call(spaces, "reads", "GET", "/notes", 200, "team")["items"] == []
    (change,) = call(spaces, "reads", "GET", "/consolidations", 200, "team")["items"]
    assert (change["trigger"], change["author"]) == ("promotion", "ann")


def test_a_memory_is_promoted_with_its_source_and_one_that_is_known_is_said_to_be(spaces):
    source = call(spaces, "memories", "POST", "/memories", 201, "mine", body={"content": CONTENT})
    known = call(spaces, "memories", "POST", "/memories", 201, "mine", body={"content": "Ann likes tea."})
    there = call(spaces, "memories", "POST", "/memories", 201, "team", body={"content": "Ann likes tea."})

    made = promote(spaces, 201, source["memory_id"])
    same = promote(spaces, 201, known["memory_id"])

    assert (same["id"], same["already_known"]) == (there["memory_id"], True)
    copy = call(spaces, "memories", "GET", "/memories/{memory_id}", 200, "team", memory_id=made["id"])
    assert copy["provenance"]["promoted"]["memory_id"] == source["memory_id"]
    for one in (made, same):
        take_back(spaces, 204, one["promotion_id"])
    assert [one["content"] for one in call(spaces, "memories", "GET", "/memories/recent", 200, "team")["items"]] == [
        "Ann likes tea."
    ]


def test_a_token_without_the_other_space_learns_nothing_of_it(spaces):
    source = call(spaces, "ingest", "POST", "/notes", 201, "mine", body={"category": "todo", "content": "x"})
    here = token(spaces, "mine")
    refused = {
        json.dumps({**promote(spaces, 403, source["note_id"], target, token=here), "request_id": ""})
        for target in ("team", "nowhere")
    }

    assert len(refused) == 1
    blind = token(spaces, "mine", "team", permissions=("write",))
    assert promote(spaces, 403, source["note_id"], token=blind)["code"] == "forbidden"
    promotion_id = promote(spaces, 201, source["note_id"])["promotion_id"]
    bob = token(spaces, "mine", "team", name="bob")
    assert take_back(spaces, 403, promotion_id, token=bob)["code"] == "forbidden"
    assert take_back(spaces, 404, "01ARZ3NDEKTSV4RRFFQ69G5FAV")["code"] == "promotion_not_found"


def test_bodies_that_name_no_note_or_no_other_space_are_refused(spaces):
    source = call(spaces, "ingest", "POST", "/notes", 201, "mine", body={"category": "todo", "content": "x"})
    wrong = {
        "target_space_id": [
            (source["note_id"], "mine"),
            (source["note_id"], "../team"),
            (source["note_id"], "te\u200bam"),
        ],
        "id": [("../../x", "team"), ("live/x.md", "team"), ("", "team"), (f"{source['note_id']}\u200b", "team")],
    }
    for field, bodies in wrong.items():
        for source_id, target in bodies:
            problem = promote(spaces, 422, source_id, target)
            assert [one["field"] for one in problem["errors"]] == [field], (source_id, target)
    assert promote(spaces, 404, source["note_id"], "nowhere")["code"] == "space_not_found"
    assert promote(spaces, 404, "20260220T140000_ann_todo_00000000")["code"] == "note_not_found"
    assert promote(spaces, 404, "01ARZ3NDEKTSV4RRFFQ69G5FAV")["code"] == "memory_not_found"
    assert not [key for key in spaces.written() if "promot" in key]
