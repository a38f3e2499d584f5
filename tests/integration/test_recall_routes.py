"""Searches in rooms, and what is known of a message, called as API Gateway calls them."""

import json
from functools import partial

import pytest

from livemem import clock as clocks
from livemem.memories import memory as memories
from livemem.memories import storing
from livemem.process import Process
from livemem.rooms import message as messages
from livemem.rooms import posting
from livemem.store import keys
from livemem_http import environment
from livemem_http.environment import process
from tests.support.cases import each
from tests.support.policy import Role
from tests.support.service import Service, running
from tests.support.world import HandClock, Ids

SPACE = "/v1/spaces/{space_id}"


@pytest.fixture
def told(service: Service):
    """A space in whose rooms something is said, and that knows a few facts."""
    service.http("backup", "POST", "/v1/spaces", body={"space_id": "demo", "rules": "Keep a log."})
    for room, author, content, time in (
        ("salon", "Ann Smith", "Who turned the oven off?", "2026-02-20T14:00:00Z"),
        ("kitchen", "bob", "The oven is on again.", "2026-02-20T14:05:00.250Z"),
    ):
        draft = messages.MessageDraft(author, content, f"m-{author[:3]}", time)
        posting.post(process(), "demo", room, draft)
    fact = memories.MemoryDraft("The oven is a Bosch.", category="kitchen", subjects=["oven"], ttl="7d")
    storing.store(process(), "demo", "ann", fact)

    def get(what, headers=None, **query):
        headers = (headers or {}) | ({"accept": "text/markdown"} if query.pop("markdown", False) else {})
        space_id = query.pop("space_id", "demo")
        return service.http("search", "GET", f"{SPACE}/{what}", space_id=space_id, query=query, headers=headers)

    return get


def body(answer, status=200):
    assert answer["statusCode"] == status, answer["body"]
    return json.loads(answer["body"])


def test_what_is_said_in_rooms_is_found(told):
    answer = body(told("search", scope="rooms", q="who turned the oven off"))
    best, other = answer["items"]

    assert best == {
        "kind": "message",
        "id": best["id"],
        "author": "Ann Smith",
        "time": "2026-02-20T14:00:00Z",
        "score": best["score"],
        "snippet": "Who turned the oven off?",
        "highlights": best["highlights"],
        "source": {"href": "/v1/spaces/demo/rooms/salon/messages", "room": "salon", "message_id": "m-Ann"},
    }
    assert best["id"].startswith("salon/20260220T140000_")
    assert (other["source"]["room"], other["source"]["message_id"]) == ("kitchen", "m-bob")
    assert (answer["ranking"], answer["view"]["documents"]) == ("bm25", 2)
    assert [hit["source"]["room"] for hit in body(told("search", q="oven", room="kitchen"))["items"]] == ["kitchen"]
    assert len(body(told("search", scope="rooms", q="oven", limit="1"))["items"]) == 1


def test_hits_come_as_markdown_for_a_prompt(told):
    text = told("search", scope="rooms", q="turned", markdown=True)["body"]

    assert text == (
        "- [message 2026-02-20T14:00:00Z Ann Smith] Who turned the oven off? (/v1/spaces/demo/rooms/salon/messages)\n"
    )
    assert told("search", scope="rooms", q="violin", markdown=True)["body"] == "Nothing was found.\n"


def test_the_context_is_two_blocks_and_the_same_as_data(told):
    answer = body(told("context", q="oven", room="salon", lang="fr"))

    assert answer["markdown"] == (
        "[Contexte live - extraits pertinents du Salon, pas une conversation complète]\n"
        "• Ann Smith (20/02 15:00) : Who turned the oven off?\n"
        "\n"
        "[Mémoire - faits que tu connais]\n"
        "• The oven is a Bosch.\n"
    )
    assert answer["chars"] == len(answer["markdown"])
    said, fact = answer["items"]
    assert said == {
        "kind": "message",
        "room": "salon",
        "message_id": "m-Ann",
        "by": "Ann Smith",
        "text": "Who turned the oven off?",
        "time": "2026-02-20T14:00:00.000Z",
    }
    assert (fact["kind"], fact["text"]) == ("memory", "The oven is a Bosch.")
    assert 0 < fact["relevance"] <= 1
    assert answer["degraded"] == []


def test_each_item_of_a_context_has_an_id_that_is_read_and_a_message_its_room_and_its_own_id(told):
    for asked in ({"room": "kitchen"}, {"room": "kitchen", "q": "oven"}, {"q": "the oven", "kinds": "message,memory"}):
        items = body(told("context", **asked))["items"]
        assert {item["kind"] for item in items} == {"message", "memory"}
        said = [(item["room"], item["message_id"]) for item in items if item["kind"] == "message"]
        assert ("kitchen", "m-bob") in said
        assert len(set(said)) == len(said)
        assert not [item for item in items if item["kind"] == "message" and "id" in item]
        read = [told("read", id=item["id"]) for item in items if item["kind"] == "memory"]
        assert [answer["statusCode"] for answer in read] == [200]


def test_the_context_comes_as_markdown_in_both_languages_and_without_a_question(told):
    text = told("context", q="oven", room="kitchen", lang="en", markdown=True)["body"]

    assert text == (
        "[Live context - relevant excerpts from Kitchen, not a complete conversation]\n"
        "• bob (20/02 15:05): The oven is on again.\n"
        "\n"
        "[Memory - facts that you know]\n"
        "• The oven is a Bosch.\n"
    )
    assert told("context", room="kitchen", lang="en", markdown=True)["body"] == text
    assert told("context", room="kitchen", markdown=True)["body"] == text
    assert not [item for item in body(told("context", room="kitchen"))["items"] if "relevance" in item]


def test_headings_follow_accept_language_where_the_query_names_none_and_caches_know_it(told):
    french = {"accept-language": "de, fr-CH;q=0.8"}
    for what, asked, begin in (("context", {"room": "salon"}, "[Contexte"), ("start", {}, "# Mémoire")):
        answer = told(what, headers=french, markdown=True, **asked)
        assert answer["body"].startswith(begin)
        assert answer["headers"]["Vary"].startswith("Accept, Accept-Language, Livemem-Code")
        assert not told(what, headers=french, lang="en", markdown=True, **asked)["body"].startswith(begin)


def test_a_search_of_the_space_finds_memories_and_messages(told):
    items = {hit["kind"]: hit for hit in body(told("search", q="oven", scope="all"))["items"]}
    memory, message = items["memory"], items["message"]

    assert (memory["category"], memory["subjects"], memory["author"]) == ("kitchen", ["oven"], "ann")
    assert memory["source"] == {
        "href": f"/v1/spaces/demo/memories/{memory['id']}",
        "memory_id": memory["id"],
        "kind": "fact",
    }
    assert memory["expires_at"] > memory["time"]
    assert message["source"]["href"] == f"/v1/spaces/demo/rooms/{message['source']['room']}/messages"
    assert body(told("search", q="oven", scope="live,bank"))["items"] == []
    assert {hit["kind"] for hit in body(told("search", q="oven"))["items"]} == {"memory", "message"}
    assert {hit["kind"] for hit in body(told("search", q="oven", scope="memories"))["items"]} == {"memory"}
    assert keys.check_memory_id(memory["id"])


@each(
    ("what", "query", "field"),
    [
        ("search", {}, "q"),
        ("search", {"q": "?"}, "q"),
        ("search", {"q": "oven", "limit": "0"}, "limit"),
        ("search", {"q": "oven", "limit": "101"}, "limit"),
        ("search", {"q": "oven", "room": "a/b"}, "room"),
        ("search", {"q": "oven", "room": "salon", "kind": "fact"}, "scope"),
        ("search", {"q": "oven", "kind": "opinion"}, "kind"),
        ("context", {}, "q"),
        ("context", {"lang": "de", "room": "salon"}, "lang"),
        ("context", {"limit": "51", "room": "salon"}, "limit"),
        ("context", {"room": ".."}, "room"),
        ("context", {"q": "oven", "limit": "3"}, "limit"),
        ("context", {"room": "salon", "max_chars": "900"}, "max_chars"),
    ],
)
def test_what_can_not_be_asked_is_refused_by_name(told, what, query, field):
    answer = body(told(what, **query), 422)
    assert [one["field"] for one in answer["errors"]] == [field]


@pytest.mark.parametrize("what", ["search", "context"])
def test_a_space_that_is_not_there_is_not_found(told, what):
    assert told(what, q="oven", space_id="nowhere")["statusCode"] == 404


def test_the_indexer_may_read_what_it_keeps_ready(told, service):
    # What its role refuses is an AssertionError.
    assert service.invoke("indexer", {"space_id": "demo"})["status"] == "done"
    assert body(told("search", q="oven", scope="memories,rooms"))["view"]["documents"] == 3


@pytest.fixture
def aged(roles: dict[str, Role], monkeypatch: pytest.MonkeyPatch):
    """A service whose time is moved by hand."""
    clock = HandClock()
    monkeypatch.setattr(clocks, "now", clock)
    monkeypatch.setattr(environment, "Process", partial(Process, clock=clock, new_id=Ids(clock)))
    with running(roles, monkeypatch, clock) as service:
        yield service, clock


def token(service: Service, name: str, *permissions: str) -> str:
    wanted = {"name": name, "permissions": list(permissions), "space_ids": ["demo"]}
    return str(body(service.http("admin", "POST", "/v1/tokens", body=wanted), 201)["token"])


def test_a_section_is_confirmed_over_http_and_start_search_and_sources_say_when(aged: tuple[Service, HandClock]):
    service, clock = aged
    service.http("backup", "POST", "/v1/spaces", body={"space_id": "demo", "rules": "Keep a log."})
    file = f"{SPACE}/bank/{{path+}}"
    of = {"space_id": "demo", "path": "log.md"}
    text = "# Log\n\n## A\n\n- apples\n\n## B\n\n- bread\n"
    body(service.http("admin", "PUT", file, **of, body={"content": text}), 201)
    clock.move(100 * 86_400)
    ann = token(service, "ann", "read", "write")
    wish = {"edits": [{"op": "confirm_section", "heading": "## A"}], "reason": "looked it up"}

    confirmed = body(service.http("admin", "PATCH", file, **of, body=wish, token=ann))
    corrected = {**wish, "edits": [{"op": "delete_section", "heading": "## A"}]}
    body(service.http("admin", "PATCH", file, **of, body=corrected, token=ann), 403)

    assert confirmed["consolidation"] == 2
    begun = body(service.http("search", "GET", f"{SPACE}/start", space_id="demo"))
    days = {part["source"]: part["verified_at"][:10] for part in begun["parts"] if part["kind"] == "section"}
    assert days == {"bank/log.md#Log > A": "2026-05-31", "bank/log.md#Log > B": "2026-02-20"}
    assert "### bank/log.md\n\n#### A (2026-05-31)\n" in begun["markdown"]
    found = body(service.http("search", "GET", f"{SPACE}/search", space_id="demo", query={"q": "apples bread"}))
    assert {hit["snippet"].strip(): hit["verified_at"][:10] for hit in found["items"]} == {
        "- apples": "2026-05-31",
        "- bread": "2026-02-20",
    }
    told = body(service.http("reads", "GET", file, **of, query={"sources": "true"}))["sections"]
    assert {one["heading"]: (one.get("verified_at") or "")[:10] for one in told} == {
        "# Log": "",
        "## A": "2026-05-31",
        "## B": "2026-02-20",
    }
    (stale,) = body(service.http("search", "GET", f"{SPACE}/stale", space_id="demo"))["items"]
    assert stale["id"] == "bank/log.md#Log > B"


def test_one_thing_is_read_by_its_id_in_json_and_markdown_and_in_pages(service: Service):
    service.http(
        "backup", "POST", "/v1/spaces", body={"space_id": "demo", "rules": "# Rules\n\n" + "Keep a log.\n" * 90}
    )
    reader = token(service, "eve", "read")

    def read(headers=None, **query):
        return service.http(
            "search", "GET", f"{SPACE}/read", space_id="demo", query=query, token=reader, headers=headers
        )

    first = body(read(id="rules", max_chars="600"))
    last = body(read(id="/v1/spaces/demo/rules", cursor=first["next_cursor"]))
    assert (first["id"], first["kind"], last["next_cursor"]) == ("rules", "rules", None)
    assert first["chars"] == len(first["text"]) + first["remaining"] == len(first["text"] + last["text"])
    text = read({"accept": "text/markdown"}, id="rules", max_chars="600")
    assert text["headers"]["Content-Type"].startswith("text/markdown")
    assert text["body"].endswith(f"[{first['remaining']} characters more: cursor {first['next_cursor']}]\n")
    refused = {
        404: [{"id": "bank/no.md"}, {"id": "memories/01ARZ3NDEKTSV4RRFFQ69G5FAV"}, {"id": "synthesis"}],
        422: [
            {},
            {"id": ""},
            {"id": "bank/../x.md"},
            {"id": "/v1/spaces/other/rules"},
            {"id": "rules", "max_chars": "499"},
            {"id": "rules", "cursor": "!"},
            {"id": "rules", "at": "1"},
        ],
    }
    given = [(status, query) for status, some in refused.items() for query in some]
    assert [(status, query) for status, query in given if read(**query)["statusCode"] != status] == []


def test_with_read_alone_a_start_is_for_the_tokens_own_user(service: Service):
    service.http("backup", "POST", "/v1/spaces", body={"space_id": "demo", "rules": "Keep a log."})
    reader, writer = token(service, "eve", "read"), token(service, "bot", "read", "write")

    def started(of: str, user: str, status: int):
        query = {"user": user}
        return body(service.http("search", "GET", f"{SPACE}/start", space_id="demo", query=query, token=of), status)

    assert started(reader, "eve", 200)["parts"]
    for other in ("bot", "Eve", "eve\u200b"):
        assert started(reader, other, 403)["code"] == "user_not_allowed"
    assert started(writer, "zoé", 200)["parts"]
    for wrong in ("", "a\nb", "x" * 201):
        assert started(writer, wrong, 422)["errors"][0]["field"] == "user"


def test_over_http_a_start_shows_what_an_agent_would_have_been_given_then(aged: tuple[Service, HandClock]):
    service, clock = aged
    service.http("backup", "POST", "/v1/spaces", body={"space_id": "demo", "rules": "Keep a log."})
    of = {"space_id": "demo", "path": "log.md"}
    for status, text in ((201, "# Log\n\n- apples\n"), (200, "# Log\n\n- pears\n")):
        body(service.http("admin", "PUT", f"{SPACE}/bank/{{path+}}", **of, body={"content": text}), status)
        clock.move(3_600)

    def started(at: str, status: int = 200):
        query = {"at": at, "max_chars": "4000", "lang": "en"}
        return body(service.http("search", "GET", f"{SPACE}/start", space_id="demo", query=query), status)

    then = started("1")
    assert then["at"]["change"] == 1
    assert "apples" in then["markdown"]
    assert "after change 1." in then["markdown"]
    assert "pears" in started("2")["markdown"]
    assert started("soon", 422)["errors"][0]["field"] == "at"
    assert started("3", 404)["code"] == "consolidation_not_found"
