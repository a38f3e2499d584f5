"""No route reads or changes a space that a newer version of the service wrote."""

import json
from typing import Any

from livemem.spaces.head import LAYOUT
from tests.support.policy import BUCKET
from tests.support.routes import ROUTES, VALUES, good
from tests.support.service import Service

SPACE = "/v1/spaces/{space_id}"
CONVERSATION = f"{SPACE}/conversations/{{conversation_id}}"
EDIT = {"op": "append_to_section", "heading": "## A", "content": "x"}
MEMORY = {"content": "The store is S3."}
BODIES: dict[str, Any] = {
    f"POST {CONVERSATION}/turns": {"user_message": "x"},
    f"POST {CONVERSATION}/messages": {"role": "user", "content": "x"},
    f"POST {SPACE}/notes": {"category": "todo", "content": "x"},
    f"POST {SPACE}/memories": MEMORY,
    f"PATCH {SPACE}/memories/{{memory_id}}": MEMORY,
    f"POST {SPACE}/rooms/{{room}}/messages": {"author": "ann", "content": "x"},
    f"POST {SPACE}/ask": {"message": "Who?"},
    f"PATCH {SPACE}/bank/{{path+}}": {"edits": [EDIT], "reason": "x"},
    f"PUT {SPACE}/bank/{{path+}}": {"content": "# A\n"},
    f"PUT {SPACE}/rules": {"rules": "Keep all."},
    f"POST {SPACE}/plan/approve": {"job": "mine.consolidation.01ARZ3NDEKTSV4RRFFQ69G5FAV", "plan_revision": "x"},
    f"POST {SPACE}/plan/refuse": {"job": "mine.consolidation.01ARZ3NDEKTSV4RRFFQ69G5FAV"},
    f"POST {SPACE}/erasures": {"ids": [VALUES["note_id"]]},
}
QUERIES: dict[str, dict[str, str]] = {
    **{f"GET {SPACE}/{route}": {"q": "x"} for route in ("context", "search")},
    f"GET {SPACE}/read": {"id": "bank/a.md"},
    f"DELETE {SPACE}": {"confirm": "mine"},
    f"DELETE {SPACE}/memories/{{memory_id}}": {"reason": "x"},
}
OPEN = f"{SPACE}/backups"
"""Backups of a space stay in reach: one of before brings it back under another id."""


def test_every_route_refuses_a_space_of_a_newer_layout_and_changes_nothing(service: Service):
    for space_id in ("mine", "other"):
        assert service.http("backup", "POST", "/v1/spaces", body={"space_id": space_id})["statusCode"] == 201
    found = json.loads(service.s3.get_object(Bucket=BUCKET, Key="mine/_meta.json")["Body"].read())
    newer = json.dumps(found | {"layout": LAYOUT + 1}).encode()
    service.s3.put_object(Bucket=BUCKET, Key="mine/_meta.json", Body=newer)
    service.cold = True
    before = {key: stored.body for key, stored in service.s3.objects.items() if key.startswith("mine/")}

    wrong = {}
    for function, key in ROUTES:
        if "{space_id}" not in key or OPEN + "/" in key:
            continue
        event = good(key) | {"queryStringParameters": QUERIES.get(key), "body": json.dumps(BODIES.get(key, {}))}
        answer = service.invoke(function, event)
        code = json.loads(answer["body"]).get("code")
        if (answer["statusCode"], code) != (503, "space_too_new"):
            wrong[key] = (answer["statusCode"], answer["body"][:200])

    assert wrong == {}
    assert {key: stored.body for key, stored in service.s3.objects.items() if key.startswith("mine/")} == before
