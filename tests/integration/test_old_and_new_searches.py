"""Every search and context that had an operation of its own, beside its new form: both are sent, and say the same."""

import json
from typing import Any

import pytest

from livemem.memories import memory as memories
from livemem.memories import storing
from livemem.rooms import message as messages
from livemem.rooms import posting
from livemem_http.environment import process
from tests.integration.test_conversation_search import Talked, talked
from tests.support.service import Service

__all__ = ["talked"]
SPACE = "/v1/spaces/{space_id}"
SAME = ("id", "kind", "score", "relevance", "snippet", "highlights")


@pytest.fixture
def service_with_all(talked: Talked) -> Talked:
    for room, author, content in (("salon", "Ann", "Who turned the oven off?"), ("kitchen", "bob", "The oven is on.")):
        posting.post(process(), "demo", room, messages.MessageDraft(author, content))
    for content in ("The oven is a Bosch.", "The store has an oven."):
        storing.store(process(), "demo", "ann", memories.MemoryDraft(content, subjects=("oven",)))
    return talked


def ask(service: Service, function: str, path: str, *, markdown: bool = False, **query: Any) -> Any:
    headers = {"accept": "text/markdown"} if markdown else {}
    answer = service.http(function, "GET", f"{SPACE}/{path}", space_id="demo", query=query, headers=headers)
    assert answer["statusCode"] == 200, answer["body"]
    return answer["body"] if markdown else json.loads(answer["body"])


def of_one(talked: Talked, what: str, *, markdown: bool = False, **query: Any) -> Any:
    headers = {"accept": "text/markdown"} if markdown else {}
    answer = talked.service.http(
        "search",
        "GET",
        f"{SPACE}/conversations/{{conversation_id}}/{what}",
        space_id="demo",
        conversation_id=talked.id,
        query=query,
        headers=headers,
    )
    assert answer["statusCode"] == 200, answer["body"]
    return answer["body"] if markdown else json.loads(answer["body"])


def hits(answer: Any) -> list[dict[str, Any]]:
    return [{name: hit.get(name) for name in SAME} for hit in answer["items"]]


def test_each_old_search_finds_what_its_new_form_finds(service_with_all: Talked) -> None:
    talked, service = service_with_all, service_with_all.service
    before = service.written()
    for old, new in (
        (of_one(talked, "search", q="store"), {"conversation_id": talked.id, "limit": "5"}),
        (
            of_one(talked, "search", q="store", include_turns="false", max_results="3"),
            {"conversation_id": talked.id, "levels": "1,2,3", "limit": "3"},
        ),
        (ask(service, "search", "conversations/search", q="store"), {"scope": "conversations", "limit": "5"}),
        (ask(service, "search", "conversations/search", q="store", cwd="/shop"), {"cwd": "/shop", "limit": "5"}),
        (
            ask(service, "search", "conversations/search", q="store", cwd="/shop", host="laptop", levels="0"),
            {"cwd": "/shop", "host": "laptop", "levels": "0", "limit": "5"},
        ),
    ):
        answer = ask(service, "search", "search", q="store", **new)
        assert hits(answer) == hits(old)
        assert answer["items"]
        assert (answer["ranking"], answer["view"]["documents"]) == (old["ranking"], old["view"]["documents"])
    for old, new in (
        (ask(service, "search", "rooms/search", q="oven"), {"scope": "rooms"}),
        (ask(service, "search", "rooms/search", q="oven", room="salon", limit="1"), {"room": "salon", "limit": "1"}),
    ):
        answer = ask(service, "search", "search", q="oven", **new)
        assert hits(answer) == hits(old)
        for hit, former in zip(answer["items"], old["items"], strict=True):
            assert (hit["source"]["room"], hit["source"]["message_id"]) == (former["room"], former["message_id"])
    assert service.written() == before


def test_each_old_context_says_what_its_new_form_says(service_with_all: Talked) -> None:
    talked, service = service_with_all, service_with_all.service
    before = service.written()
    for old, new in (
        ({}, {}),
        ({"q": "store", "max_results": "2", "max_turns": "1"}, {"q": "store", "limit": "2", "max_turns": "1"}),
    ):
        named = {"conversation_id": talked.id, **new}
        assert ask(service, "search", "context", markdown=True, **named) == of_one(
            talked, "context", markdown=True, **old
        )
        answer, former = ask(service, "search", "context", **named), of_one(talked, "context", **old)
        sections = former["sections"]
        assert [item["id"] for item in answer["items"]] == [
            *(
                f"conversations/{talked.id}/turns/{turn['turn_index']}"
                for turn in (*sections["recent_turns"], *sections["relevant_turns"])
            ),
            *(
                f"conversations/{talked.id}/summaries/{one['level']}/{one['number']}"
                for one in (*sections["relevant_summaries"], *sections["recent_summaries"])
            ),
        ]
    for query in ({"q": "oven", "lang": "fr"}, {"limit": "1"}):
        old = ask(service, "search", "memories/context", room="salon", **query)
        new = ask(service, "search", "context", room="salon", **query)
        assert (new["markdown"], new["degraded"]) == (old["markdown"], old["degraded"])
        assert [item["text"] for item in new["items"]] == [one["content"] for one in (*old["messages"], *old["facts"])]
    assert service.written() == before


def test_the_newest_memories_come_in_the_same_pages(service_with_all: Talked) -> None:
    service = service_with_all.service
    new = ask(service, "memories", "memories", order="recent", limit="1")
    old = ask(service, "memories", "memories/recent", limit="1")

    assert (new["items"], new["next_cursor"]) == (old["items"], old["next_cursor"])
    rest = {"limit": "1", "cursor": new["next_cursor"]}
    assert (
        ask(service, "memories", "memories", **rest)["items"]
        == ask(service, "memories", "memories/recent", **rest)["items"]
    )
