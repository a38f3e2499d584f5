"""Each operation for several things, and its new form: both answer the same and leave the same in the bucket."""

import json
import re
from typing import Any

import pytest

from tests.support.service import Service

SPACE = "/v1/spaces/{space_id}"
NOTES = [{"category": "todo", "content": "Write the runbook.", "tags": ["docs"]}, {"category": "issue", "content": "b"}]
MEMORIES = [{"content": "Ann looks after the ferry."}, {"content": "I keep the memory.", "kind": "self"}]
SAID = "2026-02-20T14:05:00Z"
MESSAGES = [{"author": "Ann", "content": text, "message_id": text, "timestamp": SAID} for text in ("a", "b")]
TURNS = [
    {"message_id": "a", "role": "user", "content": "Why?"},
    {"message_id": "b", "user_message": "And then?", "assistant_message": "Because.", "tool_calls": [{"name": "read"}]},
]
PAIRS: dict[str, tuple[str, tuple[str, Any], tuple[str, Any]]] = {
    "notes": ("ingest", (f"{SPACE}/notes/batch", {"notes": NOTES}), (f"{SPACE}/notes", {"items": NOTES})),
    "memories": (
        "memories",
        (f"{SPACE}/memories/batch", {"memories": MEMORIES}),
        (f"{SPACE}/memories", {"items": MEMORIES}),
    ),
    "messages": (
        "rooms",
        (f"{SPACE}/rooms/{{room}}/messages/batch", {"messages": MESSAGES}),
        (f"{SPACE}/rooms/{{room}}/messages", {"items": MESSAGES}),
    ),
    "turns": (
        "conversations",
        (f"{SPACE}/conversations/{{conversation_id}}/import", "\n".join(map(json.dumps, TURNS))),
        (f"{SPACE}/conversations/{{conversation_id}}/turns", {"items": TURNS}),
    ),
}
CHANGING = re.compile(
    r"[0-9A-HJKMNP-TV-Z]{26}|\d{8}T\d{6}(?:\.?\d{3})?|\d{4}-\d\d-\d\dT[\d:.]+Z|[0-9a-f]{64}|(?<=_)[0-9a-f]{8}\b|\b(?:old|new)\b"
    r"|(?<=/)[\d]{13,}|\"(?:etag|stamp|message_id|op_id|vector)\":\s*\"[^\"]*\"|[0-9a-f]{32}"
)


def told(value: Any) -> str:
    """A value without what differs from call to call."""
    return CHANGING.sub("*", value if isinstance(value, str) else json.dumps(value))


def bucket(service: Service, space: str) -> list[tuple[str, str]]:
    """The objects of a space without what differs from call to call."""
    objects = service.s3.objects
    names = sorted(key for key in objects if key.startswith(f"{space}/"))
    return sorted((told(name), told(objects[name].body.decode("utf-8", "replace"))) for name in names)


def begin(service: Service, space: str) -> dict[str, str]:
    """A space with a conversation."""
    made = service.http("admin", "POST", "/v1/spaces", body={"space_id": space, "rules": "Keep a log."})
    assert made["statusCode"] == 201
    made = service.http("conversations", "POST", f"{SPACE}/conversations", space_id=space, body={})
    return {
        "space_id": space,
        "conversation_id": json.loads(made["body"])["conversation_id"],
        "room": "salon",
    }


def send(service: Service, function: str, route: str, place: dict[str, str], body: Any) -> tuple[int, Any]:
    names = re.findall(r"\{(\w+)\}", route)
    answer = service.http(function, "POST", route, body=body, **{name: place[name] for name in names})
    return answer["statusCode"], json.loads(answer["body"])


@pytest.mark.parametrize("kind", PAIRS)
def test_several_things_are_the_same_by_the_old_operation_and_by_items(service: Service, kind: str):
    function, (old, old_body), (new, new_body) = PAIRS[kind]
    before, after = begin(service, "old"), begin(service, "new")

    status, answer = send(service, function, old, before, old_body)
    status_now, answer_now = send(service, function, new, after, new_body)

    assert (status, told(answer)) == (status_now, told(answer_now))
    assert bucket(service, "old") == bucket(service, "new")


def test_a_summary_is_made_again_by_the_old_operation_and_by_its_level_and_number(service: Service):
    for space in ("old", "new"):
        place = begin(service, space)
        route = f"{SPACE}/conversations/{{conversation_id}}"
        place |= {"level": "1", "n": "1"}
        old = send(service, "conversations", f"{route}/summaries/{{level}}/{{n}}/redo", place, None)
        new = send(service, "conversations", f"{route}/summaries/update", place, {"level": 1, "number": 1})
        assert (old[0], old[1]["code"]) == (new[0], new[1]["code"]) == (404, "summary_not_found")


def test_dead_letters_return_to_their_rooms_by_the_old_operation_and_by_the_slot(service: Service):
    for space in ("old", "new"):
        place = begin(service, space) | {"slot": "20260220T140000"}
        old = send(service, "rooms", f"{SPACE}/digests/{{slot}}/retry", place, None)
        new = send(service, "rooms", f"{SPACE}/digests", place, {"slot": place["slot"]})
        assert (old[0], old[1]["code"]) == (new[0], new[1]["code"]) == (404, "digest_not_found")
