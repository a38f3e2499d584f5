"""What the client sends again, and what it never does."""

import asyncio
import json
from typing import Any

import httpx
import pytest

from live_memory import Client, LiveMemoryError
from live_memory._building import build
from live_memory.operations import OPERATIONS
from tests.support.cases import each
from tests.support.scripted import NOTE, Scripted, good, problem

REFUSED = httpx.ConnectError("connection refused")
LOST = httpx.ReadTimeout("timed out")
CUT = httpx.RemoteProtocolError("peer closed connection")
ONCE: dict[str, dict[str, Any]] = {
    "patch_bank_file": {"space_id": "demo", "path": "a.md", "edits": [], "reason": "x"},
    "correct_memory": {"space_id": "demo", "memory_id": "m", "content": "x"},
    "create_token": {"name": "ann", "permissions": ["read"]},
    "start_consolidation": {"space_id": "demo"},
    "undo_consolidation": {"space_id": "demo", "number": "3"},
    "create_conversation": {"space_id": "demo"},
    "start_digest": {"space_id": "demo"},
}
"""Operations that a second request would carry out twice, or that it would answer otherwise."""


@each(
    "failure", [REFUSED, LOST, CUT, problem(429, "cooldown"), problem(502, "x"), problem(503, "store_unavailable"),
                httpx.Response(504, text="<html>")]
)  # fmt: skip
def test_a_note_is_sent_again_under_the_same_key_until_it_has_an_answer(failure):
    service = Scripted(failure, failure, good(NOTE, 201))

    assert service.client().notes.append("demo", category="todo", content="x").content == "x"

    keys = [request.headers["idempotency-key"] for request in service.asked]
    assert len(keys) == 3
    assert len(set(keys)) == 1


def test_each_note_has_a_key_of_its_own_and_a_given_one_stands():
    service = Scripted(good(NOTE))
    client = service.client()
    client.notes.append("demo", category="todo", content="x")
    client.notes.append("demo", category="todo", content="x")
    client.notes.append("demo", category="todo", content="x", idempotency_key="mine")
    first, second, third = [request.headers["idempotency-key"] for request in service.asked]
    assert first != second
    assert third == "mine"


@each("failure", [LOST, CUT, problem(502, "x"), problem(503, "store_unavailable", 1)])
@each("name", ONCE)
def test_what_could_be_done_twice_is_not_sent_again(name, failure):
    service = Scripted(failure)

    with pytest.raises(LiveMemoryError) as caught:
        service.client().call(name, ONCE[name])

    assert len(service.asked) == 1
    assert caught.value.curable


@each("failure", [REFUSED, httpx.ConnectTimeout("x"), problem(429, "cooldown", 2)])
@each("name", ONCE)
def test_what_did_not_get_through_or_was_turned_away_is_sent_again_whatever_it_is(name, failure):
    service = Scripted(failure, good())
    service.client().call(name, ONCE[name])
    assert len(service.asked) == 2


@each(
    "failure",
    [
        problem(400, "malformed_body"),
        problem(401, "unauthenticated"),
        problem(404, "space_not_found"),
        problem(409, "busy", 10),
        problem(422, "invalid_request"),
        problem(500, "internal_error"),
        problem(503, "commit_unfinished", 30),
        problem(503, "space_broken"),
        problem(503, "not_configured"),
        httpx.Response(302, headers={"location": "https://elsewhere.example.org"}),
        good("no model"),
    ],
)
def test_what_no_repeat_can_cure_is_told_at_once(failure):
    service = Scripted(failure)
    with pytest.raises(LiveMemoryError):
        service.client().spaces.get("demo")
    assert len(service.asked) == 1
    assert service.waited == []


def test_it_gives_up_after_the_retries_and_waits_ever_longer_between_them():
    service = Scripted(LOST)
    with pytest.raises(LiveMemoryError) as caught:
        service.client(retries=8).spaces.get("demo")
    assert (caught.value.status, caught.value.code, caught.value.curable) == (None, "no_answer", True)
    assert len(service.asked) == 9
    ceilings = [0.25, 0.5, 1, 2, 4, 8, 8, 8]
    assert all(top / 2 <= waited <= top for waited, top in zip(service.waited, ceilings, strict=True))


def test_without_retries_nothing_is_sent_again():
    service = Scripted(REFUSED)
    with pytest.raises(LiveMemoryError):
        service.client(retries=0).spaces.get("demo")
    assert len(service.asked) == 1


def test_it_waits_as_long_as_the_service_says_and_not_when_that_is_too_long():
    service = Scripted(problem(503, "search_not_ready", 7), good())
    service.client().call("search_space", {"space_id": "demo", "q": "x"})
    assert 7 <= service.waited[0] <= 8

    hours = Scripted(problem(429, "throttled", 3_600))
    with pytest.raises(LiveMemoryError) as caught:
        hours.client().spaces.get("demo")
    assert caught.value.retry_after == 3_600
    assert hours.waited == []


@each("told", ["soon", "-1", "1.5", "Wed, 21 Oct 2026 07:28:00 GMT", "9" * 30, "²"])
def test_a_retry_after_that_is_no_number_of_seconds_is_as_if_not_said(told):
    service = Scripted(httpx.Response(503, headers={"retry-after": told.encode()}), good())
    service.client().call("get_space", {"space_id": "demo"})
    assert service.waited[0] <= 0.25


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("post_message", {"space_id": "demo", "room": "salon", "author": "Ann", "content": "x"}),
        ("append_turn", {"space_id": "demo", "conversation_id": "c", "user_message": "x"}),
        ("append_message", {"space_id": "demo", "conversation_id": "c", "role": "user", "content": "x"}),
    ],
)
def test_a_message_gets_an_id_and_is_sent_again_with_it(name, arguments):
    service = Scripted(LOST, good())
    service.client().call(name, arguments)
    first, second = [json.loads(request.content) for request in service.asked]
    assert first == second
    assert first["message_id"]
    service.client().call(name, arguments | {"message_id": "m-1"})
    assert json.loads(service.asked[-1].content)["message_id"] == "m-1"


def test_messages_that_have_no_id_get_one_each():
    service = Scripted(LOST, good())
    messages = [{"author": "Ann", "content": "x"}, {"author": "Ann", "content": "x", "message_id": "m-1"}]
    service.client().call("post_message", {"space_id": "demo", "room": "salon", "items": messages})
    sent = json.loads(service.asked[1].content)["items"]
    assert sent[1]["message_id"] == "m-1"
    assert sent[0]["message_id"] not in ("", "m-1")
    assert "message_id" not in messages[0]


def test_an_error_after_an_answer_was_lost_says_that_it_may_have_been_done():
    service = Scripted(LOST, problem(404, "backup_not_found"))
    with pytest.raises(LiveMemoryError, match="may have been carried out") as caught:
        service.client().backups.delete("demo", "2026-02-20T02-00-00")
    assert caught.value.repeated

    turned_away = Scripted(REFUSED, problem(404, "backup_not_found"))
    with pytest.raises(LiveMemoryError) as caught:
        turned_away.client().backups.delete("demo", "2026-02-20T02-00-00")
    assert not caught.value.repeated


def test_who_adds_an_operation_that_changes_something_decides_whether_it_may_be_repeated():
    """One that is new here is either proven above to be sent once, or safe to be done twice and named below."""
    changing = {one.name for one in OPERATIONS.values() if one.method in ("POST", "PATCH")}
    repeated = {name for name in changing if build(name, _least(name)).repeatable}
    assert repeated == {
        *("append_note", "store_memory", "split_memory", "ask_question", "rotate_token"),
        *("append_turn", "append_message", "post_message"),
        *("patch_space", "patch_token", "close_conversation", "create_upload", "create_export"),
    }


def _least(name: str) -> dict[str, object]:
    values = {"array": [], "integer": 1, "boolean": True}
    return {one.name: values.get(one.type, "x") for one in OPERATIONS[name].fields.values() if one.required}


def test_the_waiting_client_really_waits_by_default(monkeypatch):
    assert Client("http://127.0.0.1:9", "x")._sleep.__name__ == "sleep"


def test_the_async_client_repeats_by_the_same_rules():
    async def write(service: Scripted) -> None:
        async with service.async_client() as client:
            await client.notes.append("demo", category="todo", content="x")

    service = Scripted(LOST, problem(503, "store_unavailable", 3), good(NOTE, 201))
    asyncio.run(write(service))
    assert len({request.headers["idempotency-key"] for request in service.asked}) == 1
    assert len(service.asked) == 3
    assert service.waited[0] <= 0.25
    assert 3 <= service.waited[1] <= 4

    with pytest.raises(LiveMemoryError, match="no_answer"):
        asyncio.run(write(Scripted(CUT)))
