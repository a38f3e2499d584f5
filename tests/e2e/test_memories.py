"""Memories, rooms, a digest and a question, from outside: what was said is remembered, found, and answered from."""

import uuid

import pytest

from tests.e2e.client import Service
from tests.e2e.spaces import fresh_space

PORT = "Zoé Martin is responsible for the port of Kiel."
SAID = [
    "Good morning everybody!",
    "We decided to move the nightly import to the new API.",
    "From now on Ines is responsible for the ferry timetable.",
]


@pytest.fixture
def space(service):
    """A new space."""
    with fresh_space(service, 0) as space_id:
        yield space_id


def store(service, space, content, status=201, *, key=None, **body):
    headers = {"Idempotency_Key": key} if key else {}
    answer = service.send("POST", f"/spaces/{space}/memories", {"content": content, **body}, **headers)
    assert answer.status == status, answer
    return answer.body


def contents(service, space, **query):
    return [one.content for one in service.memories.search(space, **query).items]


def post(service, space, place, status=201):
    message = {"author": "Ines", "content": SAID[place], "message_id": f"m-{place}"}
    answer = service.send("POST", f"/spaces/{space}/rooms/salon/messages", message)
    assert answer.status == status, answer
    return answer.body


def ask(service, space, key, **body):
    """The question once it has ended, and what is asked for with the key then."""
    asked = service.send("POST", f"/spaces/{space}/ask", body, Idempotency_Key=key)
    assert asked.status in (200, 202), asked
    job = asked.body["job"]
    if asked.status == 202:
        assert asked.headers["location"] == f"/v1/jobs/{job}"
    ended = service.wait_until(
        lambda: service.call("get_job", {"job": job}), lambda one: one["status"] in ("done", "failed")
    )
    return {**ended["result"], **ended}


def test_a_fact_is_kept_once_corrected_deleted_and_brought_back(service, space):
    first = store(service, space, PORT, subjects=["zoé"], key="k-1")
    assert "expires_at" not in first
    assert store(service, space, PORT, 200, subjects=["zoé"], key="k-1") == {**first, "repeated": True}

    # In the same words, so that no LLM need be asked.
    merged = store(service, space, "zoé martin is responsible for port of Kiel", 200)
    assert (merged["merged_into"], merged["former"]) == (first["memory_id"], PORT)
    goal = store(service, space, "I would like to understand tides.", kind="goal", ttl="7d")
    assert goal["expires_at"] > goal["created_at"]

    one = f"/spaces/{space}/memories/{first['memory_id']}"
    changed = service.send("PATCH", one, {"content": "Ann is responsible for the port of Kiel."})
    assert (changed.status, changed.body["content"]) == (200, "Ann is responsible for the port of Kiel.")
    assert PORT in [former.content for former in service.memories.get(space, first["memory_id"]).history]

    assert service.send("DELETE", one).status == 422
    assert service.send("DELETE", f"{one}?reason=She%20left.").status == 204
    assert service.send("GET", one).status == 404
    back = service.send("POST", f"{one}/restore")
    assert (back.status, back.body["content"]) == (200, "Ann is responsible for the port of Kiel.")
    assert contents(service, space, q="who looks after Kiel", kind="fact") == [back.body["content"]]

    told = service.memories.list_changes(space, limit=3)
    rest = service.memories.list_changes(space, limit=10, cursor=told.next_cursor)
    whats = [change.what for change in (*told.items, *rest.items)]
    assert whats == ["restored", "deleted", "corrected", "stored", "merged", "stored"]
    assert (told.items[1].reason, rest.next_cursor) == ("She left.", None)


def test_what_is_said_in_a_room_is_found_and_then_remembered(service, space):
    first = post(service, space, 0)
    again = post(service, space, 0, 200)
    assert again == {**first, "repeated": True}
    batch = {"items": [{"author": "Ann", "content": text, "message_id": f"m-{n}"} for n, text in enumerate(SAID)][1:]}
    sent = service.send("POST", f"/spaces/{space}/rooms/salon/messages", batch)
    assert (sent.status, [one["repeated"] for one in sent.body["items"]]) == (200, [False, False])
    repeated = service.send("POST", f"/spaces/{space}/rooms/salon/messages", batch).body["items"]
    assert [(one["repeated"], one["timestamp"]) for one in repeated] == [
        (True, one["timestamp"]) for one in sent.body["items"]
    ]
    assert [
        one["content"]
        for one in service.call("list_messages", {"space_id": space, "room": "salon", "order": "oldest"})["items"]
    ] == SAID
    (room,) = service.call("list_rooms", {"space_id": space})["items"]
    assert (room["room"], room["has_messages"]) == ("salon", True)

    found = service.call("search_space", {"space_id": space, "q": "ferry timetable", "scope": "rooms"})["items"]
    assert found[0]["source"]["message_id"] == "m-2"
    asked = {"space_id": space, "q": "ferry timetable", "lang": "fr", "room": "salon"}
    known = service.call("load_context", asked)
    heading = "[Contexte live - extraits pertinents du Salon, pas une conversation complète]"
    assert heading in known["markdown"]
    assert SAID[2] in [one["text"] for one in known["items"]]

    digest = digested(service, space)
    assert (digest["messages"], digest["dead_letters"]) == (3, [])
    assert service.call("list_messages", {"space_id": space, "room": "salon"})["items"] == []
    late = post(service, space, 0, 200)
    assert (late["repeated"], late["digested"]) == (True, True)
    remembered = service.call("search_memories", {"space_id": space})["items"]
    assert len(remembered) == digest["new"] > 0
    assert {one["provenance"]["digest"] for one in remembered} == {digest["subject"]}
    assert any("Ines" in one["content"] and "timetable" in one["content"] for one in remembered)
    known = service.call("load_context", asked)
    assert "[Mémoire - faits que tu connais]" in known["markdown"]


def digested(service, space):
    """A digest that was started by hand, once it is done."""
    started = service.send("POST", f"/spaces/{space}/digests")
    assert started.status == 202, started
    job = started.body["job"]
    assert started.headers["location"] == f"/v1/jobs/{job}"
    # A digest that the first message set off, for the hour that was due, has nothing to take.
    digest = service.wait_until(lambda: service.call("get_job", {"job": job}), lambda one: one["status"] == "done")
    assert job in [one["job"] for one in service.call("list_jobs", {"space_id": space, "kind": "digest"})["items"]]
    return {**digest["result"], **digest}


def test_a_question_is_answered_from_what_is_known_and_a_repeat_gets_the_same_answer(service, space):
    known = store(service, space, PORT, subjects=["kiel"])
    key, question = uuid.uuid4().hex, {"message": "Who is responsible for the port of Kiel?", "user": "ines"}

    asked = ask(service, space, key, **question)

    assert asked["status"] == "done", asked
    assert "Zoé" in asked["message"]
    assert known["memory_id"] in [source["id"] for source in asked["sources"]]
    assert "search_memories" in [call["name"] for call in asked["tool_calls"]]
    assert asked["usage"]["calls"] > 0
    assert ask(service, space, key, **question) == asked
    other = service.send("POST", f"/spaces/{space}/ask", {**question, "message": "Who?"}, Idempotency_Key=key)
    assert other.status == 422

    more = ask(service, space, uuid.uuid4().hex, message="And who is responsible for Kiel?", user="ines")
    assert more["session"] == asked["session"]
    turns = service.call("list_turns", {"space_id": space, "conversation_id": asked["session"]})["items"]
    assert [turn["user_message"] for turn in turns] == ["And who is responsible for Kiel?", question["message"]]


def test_a_question_that_asks_to_remember_stores_once_and_only_where_it_may(service, space):
    key, question = uuid.uuid4().hex, {"message": "Remember that the ferry to Kiel leaves at nine."}
    asked = ask(service, space, key, **question)
    assert "store_memory" in [call["name"] for call in asked["tool_calls"]]
    ask(service, space, key, **question)
    (stored,) = service.call("search_memories", {"space_id": space})["items"]
    assert "nine" in stored["content"]


def test_who_only_reads_asks_without_storing_and_posts_nothing(service, space):
    body = {
        "name": f"e2e-{uuid.uuid4().hex[:8]}",
        "permissions": ["read"],
        "space_ids": [space],
    }
    made = service.send("POST", "/tokens", body)
    assert made.status == 201, made
    reader = Service(service.url, made.body["token"])

    told = ask(reader, space, uuid.uuid4().hex, message="Remember that the ferry to Oslo leaves at ten.")

    assert told["status"] == "done", told
    assert not [call for call in told["tool_calls"] if call["name"].startswith(("store_", "delete_"))]
    assert contents(service, space) == []
    assert reader.send("POST", f"/spaces/{space}/rooms/salon/messages", {"author": "x", "content": "xyz"}).status == 403
    assert service.send("DELETE", f"/tokens/{made.body['hash']}").status == 200
