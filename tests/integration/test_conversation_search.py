"""Searches in conversations and their context, called as API Gateway calls them."""

import json
from dataclasses import replace

import pytest

from livemem.conversations import conversation as conversations
from livemem.conversations import log, removal, update
from livemem.conversations.conversation import NewConversation
from livemem.conversations.parameters import Parameters
from livemem.conversations.turn import Draft, ToolCall
from livemem_http.environment import process
from tests.support.service import Service
from tests.support.talk import Summariser
from tests.support.world import INVOCATION

SPACE = "/v1/spaces/{space_id}"
NOBODY = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


def body(answer):
    return json.loads(answer["body"])


class Talked:
    """A conversation in the service's bucket."""

    def __init__(self, service: Service, **wanted):
        self.service = service
        told = NewConversation(parameters=Parameters(batch_delay_ms=0, group_raw_chars=500), **wanted)
        self.id = conversations.create(process(), "demo", "ann", told).conversation_id

    def say(self, user, assistant="", **more):
        log.append(process(), "demo", self.id, "ann", Draft(user, assistant, **more))

    def update(self):
        until = process().clock() + INVOCATION
        update.look(replace(process(), ask=Summariser()), "demo", self.id, until)

    def get(self, what, query, **rest):
        query = {"conversation_id": self.id, **query}
        return self.service.http("search", "GET", f"{SPACE}/{what}", query=query, space_id="demo", **rest)


@pytest.fixture
def talked(service: Service):
    service.http("backup", "POST", "/v1/spaces", body={"space_id": "demo", "rules": "Keep a log."})
    found = Talked(service, cwd="/shop", host="laptop")
    found.say("Store? Which store do we keep?", "S3 is the store.", tool_calls=[ToolCall(name="grep")])
    found.say("Oven? Is the oven on?", "No.")
    found.update()
    return found


def test_what_was_said_and_what_was_summarised_is_found(talked):
    answer = body(talked.get("search", {"q": "which store"}))
    by_id = {hit["id"]: hit for hit in answer["items"]}
    one = by_id[f"{talked.id}/1/user"]

    assert one == {
        "kind": "turn",
        "id": f"{talked.id}/1/user",
        "score": one["score"],
        "snippet": "Store? Which store do we keep?",
        "highlights": [[0, 5], [13, 18]],
        "time": one["time"],
        "author": "ann",
        "role": "user",
        "source": {
            "href": f"/v1/spaces/demo/conversations/{talked.id}/turns/1",
            "conversation_id": talked.id,
            "turn_index": "1",
        },
    }
    # The summary of one turn is left out beside its turn.
    assert f"{talked.id}/l1/1" not in by_id
    summaries = body(talked.get("search", {"q": "which store", "levels": "1,2,3"}))["items"]
    summary = next(hit for hit in summaries if hit["id"] == f"{talked.id}/l1/1")
    assert summary["kind"] == "summary"
    assert summary["source"] == {
        "href": f"/v1/spaces/demo/conversations/{talked.id}/summaries",
        "conversation_id": talked.id,
        "level": "1",
        "number": "1",
        "covers": "1-1",
    }
    assert "author" not in summary
    assert answer["ranking"] == "bm25"
    assert answer["view"]["documents"] == 6
    assert len(body(talked.get("search", {"q": "store", "limit": "1"}))["items"]) == 1
    kinds = {hit["kind"] for hit in body(talked.get("search", {"q": "store", "levels": "1,2,3"}))["items"]}
    assert kinds == {"summary"}


def test_summaries_change_no_score_of_a_turn(talked):
    def scores():
        items = body(talked.get("search", {"q": "which store"}))["items"]
        return {hit["id"]: hit["score"] for hit in items if hit["kind"] == "turn"}

    talked.say("Store? Is it cheap?", "The store costs little.")
    before = scores()
    talked.update()
    talked.update()

    assert len(body(talked.get("search", {"q": "which store", "levels": "1,2,3"}))["items"]) > 1
    assert scores() == pytest.approx(before, abs=1e-3)
    assert len(before) > 1


def test_hits_come_as_markdown_for_a_prompt(talked):
    text = talked.get("search", {"q": "store", "levels": "0"}, headers={"accept": "text/markdown"})["body"]

    assert text.splitlines()[0].startswith("- [turn 20")
    assert "ann user] Store? Which store do we keep? (/v1/spaces/demo/conversations/" in text
    summaries = talked.get("search", {"q": "store", "levels": "1"}, headers={"accept": "text/markdown"})["body"]
    assert summaries.startswith("- [summary 20")


def test_the_conversations_of_a_folder_are_searched(talked):
    other = Talked(talked.service, cwd="/home")
    other.say("Another store.")

    def which(**query):
        answer = talked.service.http("search", "GET", f"{SPACE}/search", space_id="demo", query={"q": "store", **query})
        assert answer["statusCode"] == 200, answer["body"]
        return {hit["source"]["conversation_id"] for hit in body(answer)["items"]}

    assert which(scope="conversations") == {talked.id, other.id}
    assert which(cwd="/home") == {other.id}
    assert which(cwd="/shop", host="laptop") == {talked.id}
    assert which(cwd="/shop", host="elsewhere") == set()


def test_the_search_of_a_space_has_conversations_as_a_scope_and_as_a_filter(talked):
    Talked(talked.service).say("Another store.")

    def search(route=f"{SPACE}/search", **query):
        path = {"space_id": "demo"} if "{space_id}" in route else {}
        return body(talked.service.http("search", "GET", route, query={"q": "store", **query}, **path))["items"]

    assert search(scope="live,bank") == []
    assert len(search(scope="conversations")) == 3
    assert len(search(scope="all")) == len(search()) == 3
    assert {hit["source"]["turn_index"] for hit in search(conversation_id=talked.id)} == {"1"}
    assert len(search("/v1/search", conversation_id=talked.id)) == 2


def test_the_context_is_markdown_and_the_same_as_data(talked):
    for number in range(3):
        talked.say(f"Hello {number}", "Hi")
    answer = body(talked.get("context", {"q": "which store"}))
    items = answer["items"]

    when = items[0]["time"][:16].replace("T", " ")
    assert answer["markdown"].startswith(
        f"## Recent Conversation (Raw)\n\n[Turn 3] {when} UTC\nUser: Hello 0\nAssistant: Hi\n"
    )
    assert answer["chars"] == len(answer["markdown"])
    assert answer["degraded"] == []
    # The newest turns, the one that matches, and the newest summary, but not the one of just that turn.
    assert [item["id"].removeprefix(f"conversations/{talked.id}/") for item in items] == [
        *("turns/3", "turns/4", "turns/5"),
        "turns/1",
        "summaries/1/2",
    ]
    assert [item["kind"] for item in items] == ["turn"] * 4 + ["summary"]
    share = round(100 * items[3]["relevance"])
    assert items[3]["text"] == "User: Store? Which store do we keep?\nAssistant: S3 is the store.\nTools: grep"
    assert f"[Turn 1 - Relevance: {share}%] {when} UTC\nUser: Store?" in answer["markdown"]
    assert ["relevance" in item for item in items] == [False, False, False, True, False]
    text = talked.get("context", {"q": "which store"}, headers={"accept": "text/markdown"})
    assert text["body"] == answer["markdown"]
    assert text["headers"]["Content-Type"].startswith("text/markdown")
    assert not [item for item in body(talked.get("context", {}))["items"] if "relevance" in item]


REFUSED = [
    ("search", {}, "q"),
    ("search", {"q": "?"}, "q"),
    ("search", {"q": "x", "levels": "4"}, "levels"),
    ("search", {"q": "x", "levels": ""}, "levels"),
    ("search", {"q": "x", "limit": "0"}, "limit"),
    ("search", {"q": "x", "limit": "101"}, "limit"),
    ("search", {"q": "x", "limit": "many"}, "limit"),
    ("search", {"q": "x", "scope": "bank"}, "scope"),
    ("search", {"q": "x", "cwd": "/shop"}, "conversation_id"),
    ("search", {"q": "x", "min_score": "2"}, "min_score"),
    ("search", {"q": "x", "min_score": "nan"}, "min_score"),
    ("context", {"max_chars": "499"}, "max_chars"),
    ("context", {"max_turns": "0"}, "max_turns"),
    ("context", {"raw_chars": "1"}, "raw_chars"),
    ("context", {"limit": "51"}, "limit"),
    ("context", {"room": "salon"}, "room"),
    ("context", {"kinds": "turn"}, "kinds"),
]


def test_what_can_not_be_asked_is_a_422_that_names_the_field(talked):
    for what, query, field in REFUSED:
        answer = talked.get(what, query)
        assert (answer["statusCode"], body(answer)["errors"][0]["field"]) == (422, field), query
    assert "0, 1, 2, 3" in talked.get("search", {"q": "x", "levels": "4"})["body"]


def test_a_message_without_a_word_is_no_bad_query_of_a_context(talked):
    for message in ("?!", "oven " * 1_000):
        assert talked.get("context", {"q": message})["statusCode"] == 200, message


def test_what_is_not_there_is_a_404(talked):
    for what in ("search", "context"):
        assert talked.get(what, {"q": "store", "conversation_id": NOBODY})["statusCode"] == 404
        assert talked.get(what, {"q": "store", "conversation_id": "x"})["statusCode"] == 422
    removal.delete(process(), "demo", talked.id)
    for what in ("search", "context"):
        assert talked.get(what, {"q": "store"})["statusCode"] == 404


def test_the_indexer_may_do_what_a_deletion_orders(talked):
    assert "forgotten" not in talked.service.invoke("indexer", {"space_id": "demo"})
    removal.delete(process(), "demo", talked.id)

    assert talked.service.invoke("indexer", {"space_id": "demo"})["forgotten"] == 1
    assert not [key for key in talked.service.written() if "/_search/" in key]
