"""The search function and the indexer, called as API Gateway and Lambda call them."""

import json

import pytest

from livemem.search.vectors import decode, encode
from local.offline_llm.encoder import Encoder
from local.offline_llm.server import base_url, bind
from tests.support.functions import sample
from tests.support.service import BUCKET, Service
from tests.support.world import BOOTSTRAP_KEY

SPACE = "/v1/spaces/{space_id}"


def body(answer):
    return json.loads(answer["body"])


@pytest.fixture
def demo(service: Service):
    service.http("backup", "POST", "/v1/spaces", body={"space_id": "demo", "rules": "Keep a log."})
    for category, content in (("decision", "We keep S3 as the only store."), ("issue", "The parser drops tabs.")):
        note = {"category": category, "content": content, "tags": ["first"]}
        service.http("ingest", "POST", f"{SPACE}/notes", space_id="demo", body=note)
    return service


def search(demo, query, route=f"{SPACE}/search", **rest):
    path = {"space_id": "demo"} if "{space_id}" in route else {}
    return demo.http("search", "GET", route, query=query, **path, **rest)


def test_the_sample_event_is_answered(demo):
    answer = demo.invoke("search", sample("search-space") | {"headers": {"authorization": f"Bearer {BOOTSTRAP_KEY}"}})

    assert answer["statusCode"] == 200
    (hit,) = body(answer)["items"]
    note_id = hit["id"]
    assert hit == {
        "kind": "note",
        "id": note_id,
        "score": hit["score"],
        "snippet": "We keep S3 as the only store.",
        "highlights": [[3, 7], [23, 28]],
        "time": hit["time"],
        "author": "admin",
        "category": "decision",
        "source": {"href": f"/v1/spaces/demo/notes/{note_id}"},
    }
    assert body(answer)["ranking"] == "bm25"
    assert body(answer)["unembedded"] == 0
    assert body(answer)["view"]["documents"] == 2


def test_what_is_found_can_be_read_where_the_answer_says(demo):
    demo.http("admin", "PUT", f"{SPACE}/bank/{{path+}}", space_id="demo", path="a b.md", body={"content": "x"})
    file = {"content": "# Store\n\n## Why\n\nBecause it is cheap.\n"}
    demo.http("admin", "PUT", f"{SPACE}/bank/{{path+}}", space_id="demo", path="people/why.md", body=file)

    (hit,) = body(search(demo, {"q": "cheap"}))["items"]

    assert hit["title"] == "people/why.md > Store > Why"
    assert hit["source"] == {"href": "/v1/spaces/demo/bank/people/why.md", "section": "# Store > ## Why"}
    assert "author" not in hit
    note = body(search(demo, {"q": "tabs"}))["items"][0]["source"]["href"].rpartition("/")[2]
    found = demo.http("reads", "GET", f"{SPACE}/notes/{{note_id}}", space_id="demo", note_id=note)
    assert body(found)["content"] == "The parser drops tabs."


def test_the_parts_of_the_score_are_told_on_request(demo):
    (hit,) = body(search(demo, {"q": "store", "explain": "true"}))["items"]

    assert hit["explain"]
    assert sum(hit["explain"].values()) == pytest.approx(hit["score"], abs=0.001)


def test_an_answer_says_its_floor_and_why_a_document_is_not_in_it(demo):
    asked = {"q": "which store", "explain": "true", "why_not": "nobody"}
    answer = body(search(demo, asked))
    assert answer["why_not"] == {"id": "nobody", "reason": "unknown"}
    assert (answer["floor"]["words"], answer["floor"]["least_words"]) == (["stor"], 1)
    assert answer["floor"]["passed_by"] == [hit["id"] for hit in answer["items"]]
    assert "nothing" not in answer

    found = answer["items"][0]["id"]
    told = body(search(demo, {"q": "blorf", "why_not": found}))
    assert (told["items"], told["nothing"], told["why_not"]["reason"]) == ([], "no_match", "no_match")


def test_hits_come_as_markdown_for_a_prompt(demo):
    answer = search(demo, {"q": "tabs"}, headers={"accept": "text/markdown"})

    (line,) = answer["body"].splitlines()
    assert line.startswith("- [note 20")
    assert "admin issue] The parser drops tabs. (/v1/spaces/demo/notes/" in line
    nothing = search(demo, {"q": "nowhere"}, headers={"accept": "text/markdown"})
    assert nothing["body"] == "Nothing was found.\n"


def test_several_spaces_are_searched_at_once(demo):
    demo.http("backup", "POST", "/v1/spaces", body={"space_id": "other", "rules": "x"})
    note = {"category": "todo", "content": "Another store."}
    demo.http("ingest", "POST", f"{SPACE}/notes", space_id="other", body=note)

    found = body(search(demo, {"q": "store", "spaces": "other,demo"}, "/v1/search"))["items"]

    assert [hit["space_id"] for hit in found] == ["other", "demo"]
    assert body(search(demo, {"q": "store", "spaces": "other,nowhere"}, "/v1/search"))["status"] == 404
    # The floor is that of one space, and the answer shows it as there.
    told = body(search(demo, {"q": "store", "spaces": "other,demo", "explain": "true"}, "/v1/search"))["floor"]
    assert (told["words"], told["passed_by"]) == (["stor"], [hit["id"] for hit in found])
    none = body(search(demo, {"q": "sourdough bread, butter", "spaces": "other,demo", "explain": "true"}, "/v1/search"))
    assert (none["items"], none["nothing"], none["floor"]["passed_by"]) == ([], "no_match", [])


def test_a_search_in_many_spaces_names_the_cursor_of_the_next_ones(demo):
    for number in range(20):
        demo.http("backup", "POST", "/v1/spaces", body={"space_id": f"z{number:02}", "rules": "x"})
    demo.http("ingest", "POST", f"{SPACE}/notes", space_id="z19", body={"category": "todo", "content": "A store too."})

    first = body(search(demo, {"q": "store"}, "/v1/search"))
    text = search(demo, {"q": "store"}, "/v1/search", headers={"accept": "text/markdown"})["body"]
    second = body(search(demo, {"q": "store", "cursor": first["next_spaces"]}, "/v1/search"))

    assert {hit["space_id"] for hit in first["items"]} == {"demo"}
    assert f"\nNot all spaces were searched. The next ones: cursor={first['next_spaces']}\n" in text
    assert [hit["space_id"] for hit in second["items"]] == ["z19"]
    assert "next_spaces" not in second
    assert body(search(demo, {"q": "store", "cursor": "x", "spaces": "demo"}, "/v1/search"))["status"] == 422


def test_where_there_is_no_space_nothing_is_found(service):
    answer = search(service, {"q": "store"}, "/v1/search")

    assert (answer["statusCode"], body(answer)["items"]) == (200, [])


def test_a_space_that_can_not_be_searched_is_named_and_the_others_answer(demo):
    for name in ("bad", "worse"):
        demo.http("backup", "POST", "/v1/spaces", body={"space_id": name, "rules": "x"})
    demo.s3.put_object(Bucket=BUCKET, Key="bad/_meta.json", Body=b"broken")
    # SQLite takes no such number, and nobody looks at this one before.
    demo.s3.put_object(
        Bucket=BUCKET, Key="worse/_consolidations/000001_20260220T140000_20260220T140000.json", Body=WILD
    )

    answer = search(demo, {"q": "store", "spaces": "bad,demo,worse"}, "/v1/search")

    assert answer["statusCode"] == 200
    assert [hit["space_id"] for hit in body(answer)["items"]] == ["demo"]
    (failed,) = body(answer)["failed_spaces"]
    assert (failed["space_id"], failed["code"]) == ("bad", "space_broken")
    wanted = {"q": "store", "spaces": "bad,demo"}
    told = search(demo, wanted, "/v1/search", headers={"accept": "text/markdown"})["body"]
    assert "\nNot searched: bad (space_broken). " in told
    assert body(search(demo, {"q": "store", "spaces": "bad"}, "/v1/search"))["code"] == "space_broken"


WILD = json.dumps(
    {
        "number": 10**30,
        "run_id": "x",
        "uid": "x",
        "kind": "consolidation",
        "trigger": "api",
        "started_at": "2026-02-20T14:00:00Z",
        "committed_at": "2026-02-20T14:00:00Z",
        "notes": [{"note_id": "20260220T140000_ann_todo_00000001", "raw": "---\n---\nA store."}],
    }
).encode()


REFUSED = [
    ({}, "q"),
    ({"q": ""}, "q"),
    ({"q": "?"}, "q"),
    ({"q": '"'}, "q"),
    ({"q": "%_%"}, "q"),
    ({"q": "x" * 10_000}, "q"),
    ({"q": "x", "limit": "0"}, "limit"),
    ({"q": "x", "limit": "101"}, "limit"),
    ({"q": "x", "limit": "many"}, "limit"),
    ({"q": "x", "recency": "-1"}, "recency"),
    ({"q": "x", "recency": "nan"}, "recency"),
    ({"q": "x", "explain": "perhaps"}, "explain"),
    ({"q": "x", "scope": "memory"}, "scope"),
    ({"q": "x", "cursor": "Zm9yZ2Vk"}, "cursor"),
    ({"q": "x", "until": "soon"}, "until"),
    ({"q": "x", "since": "2026-02-30T00:00:00Z"}, "since"),
    ({"q": "x", "until": "2026-13-01"}, "until"),
    ({"q": "\udc00"}, "q"),
]


def test_what_can_not_be_asked_is_a_422_that_names_the_field(demo):
    for query, field in REFUSED:
        answer = search(demo, query)
        assert (answer["statusCode"], body(answer)["errors"][0]["field"]) == (422, field), query


HOSTILE = """
"a
a"b'c
a AND b OR NOT c
NEAR(a b, 2)
col:a
a*
*a
-a b
^a
{a b}: c
a;b--
x'; DROP TABLE documents; --
😀 store
日本語のテスト
\u202eerots
\tstore
"""


def test_any_text_with_a_word_is_a_search(demo):
    for text in (*HOSTILE.strip().split("\n"), "é" * 3_000, "a" * 4_000, "a\0b"):
        assert search(demo, {"q": text})["statusCode"] == 200, text


def test_a_question_of_another_script_of_one_stop_word_or_about_a_day_that_does_not_exist_is_answered(demo):
    for content in ("Печь включена.", "L'heure du four est fixe.", "The oven was on at the 28 February 2026."):
        note = {"category": "observation", "content": content}
        demo.http("ingest", "POST", f"{SPACE}/notes", space_id="demo", body=note)

    def snippets(q):
        answer = search(demo, {"q": q})
        assert answer["statusCode"] == 200, q
        return [hit["snippet"] for hit in body(answer)["items"]]

    assert snippets("печь")[0] == "Печь включена."
    assert snippets("烤箱") == []
    # Alone it is a word like any other.
    assert "The parser drops tabs." in snippets("the")
    assert all("oven" in text for text in snippets("oven on 30 February 2026")[:1])
    assert all("four" in text for text in snippets("four le 31 avril 2026")[:1])


def test_a_message_of_10_kb_has_a_context_about_its_beginning(demo):
    answer = demo.http(
        "search", "GET", f"{SPACE}/context", space_id="demo", query={"q": "the parser drops tabs " + "x y " * 2_500}
    )

    assert answer["statusCode"] == 200
    assert [item["text"] for item in body(answer)["items"]][:1] == ["The parser drops tabs."]


def test_where_half_of_the_documents_are_twins_each_text_is_found_once(demo):
    texts = [f"Oven number {number} is checked by {name}." for number, name in enumerate(["Ann", "Bob", "Zoé"] * 4)]
    for content in texts:
        for _ in range(2):
            note = {"category": "observation", "content": content}
            demo.http("ingest", "POST", f"{SPACE}/notes", space_id="demo", body=note)

    answer = body(search(demo, {"q": "oven checked", "limit": "100"}))
    found = [hit["snippet"] for hit in answer["items"]]
    assert set(found) == set(texts)
    context = body(
        demo.http("search", "GET", f"{SPACE}/context", space_id="demo", query={"q": "which oven is checked"})
    )
    told = [item["text"] for item in context["items"]]
    assert len(told) == len(set(told)) == 10


def test_vectors_of_another_model_in_the_bucket_and_files_that_are_none_change_no_answer(demo, monkeypatch):
    server = bind(
        encoder=Encoder(lambda: lambda texts: [[len(text), *text.encode()[:511].ljust(511)] for text in texts])
    )
    server.start()
    try:
        for name, value in (("EMBEDDINGS_API_URL", base_url(server)), ("EMBEDDINGS_MODEL", "offline-fuse")):
            monkeypatch.setenv(name, value)
        demo.modules.clear()
        told = demo.invoke("indexer", sample("indexer-run"))
        assert told["embedded"] == 2
        (own,) = [key for key in demo.written() if "/_vectors/" in key]
        before = body(search(demo, {"q": "tabs", "explain": "true"}))
        names, rows = decode(demo.s3.objects[own].body, 512)
        others = encode(dict(zip(names, -rows, strict=True)))
        for key in (
            own.replace("offline-fuse", "other"),
            own.replace("offline-fuse-512", "other-9999"),
            own.replace("-512/", "-x/"),
        ):
            demo.s3.put_object(Bucket=BUCKET, Key=key, Body=others)
        demo.s3.put_object(Bucket=BUCKET, Key=own.replace("00000001", "00000002"), Body=b"damaged")
        demo.cold = True
        after = body(search(demo, {"q": "tabs", "explain": "true"}))
    finally:
        server.stop()

    assert (before["ranking"], before["unembedded"]) == ("hybrid", 0)
    assert before["items"][0]["snippet"] == "The parser drops tabs."
    for answer in (before, after):
        del answer["view"]
    assert after == before


def test_the_indexer_keeps_a_snapshot_and_what_it_did_is_told(demo):
    file = {"content": "# Store\n"}
    demo.http("admin", "PUT", f"{SPACE}/bank/{{path+}}", space_id="demo", path="a.md", body=file)

    told = demo.invoke("indexer", sample("indexer-run"))

    assert told == {"status": "done", "snapshot": True}
    assert [key for key in demo.written() if "/_search/" in key]
    assert demo.invoke("indexer", sample("indexer-run")) == {"status": "done", "snapshot": False}


def test_what_is_derived_is_in_no_backup_and_no_fork(demo):
    file = {"content": "# Store\n"}
    demo.http("admin", "PUT", f"{SPACE}/bank/{{path+}}", space_id="demo", path="a.md", body=file)
    demo.invoke("indexer", sample("indexer-run"))
    demo.http("backup", "POST", f"{SPACE}/backups", space_id="demo", body={})
    demo.http("backup", "POST", "/v1/spaces", body={"space_id": "copy", "from": {"space": "demo"}})

    assert [key for key in demo.written() if "/_search/" in key and not key.startswith("demo/")] == []
    assert body(demo.http("search", "GET", f"{SPACE}/search", space_id="copy", query={"q": "tabs"}))["items"]
