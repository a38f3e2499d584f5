"""Answers that are not sent again to who has them, and are sent compressed to who takes that: through the handlers."""

import base64
import gzip
import json

import pytest

from livemem import limits
from tests.support.functions import request, sample
from tests.support.routes import ROUTES, good
from tests.support.world import BOOTSTRAP_KEY

SPACE = "/v1/spaces/{space_id}"
KEPT = ["rules", "summary", "synthesis", "notes", "notes/{note_id}", "bank", "bank/{path+}"]
KEPT += ["consolidations", "consolidations/{number}"]


@pytest.fixture
def demo(service):
    service.http("backup", "POST", "/v1/spaces", body={"space_id": "demo", "consolidation_threshold": 0})
    service.http("admin", "PUT", f"{SPACE}/bank/{{path+}}", space_id="demo", path="log.md", body={"content": "# Log\n"})
    service.s3.put_object(Bucket="live-memory", Key="demo/_synthesis.md", Body=b"Short.")
    return service


def write(demo, content: str) -> str:
    note = {"category": "todo", "content": content}
    answer = demo.http("ingest", "POST", f"{SPACE}/notes", space_id="demo", body=note)
    return json.loads(answer["body"])["note_id"]


def get(demo, route: str, token: str | None = BOOTSTRAP_KEY, query=None, path=None, **headers: str):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    whole = request("GET", route, token=token, query=query, headers=named, space_id="demo", **(path or {}))
    return demo.invoke("reads", whole)


@pytest.mark.parametrize("accept", ["application/json", "text/markdown"])
def test_each_read_of_a_space_is_told_to_be_unchanged_until_it_changes(demo, accept):
    note = write(demo, "first")
    paths = {"notes/{note_id}": {"note_id": note}, "bank/{path+}": {"path": "log.md"}}
    paths["consolidations/{number}"] = {"number": "1"}
    for name in KEPT:
        route, path = f"{SPACE}/{name}", paths.get(name)
        first = get(demo, route, accept=accept, path=path)
        assert first["statusCode"] == 200, name
        again = get(demo, route, accept=accept, path=path, if_none_match=first["headers"]["ETag"])
        assert (again["statusCode"], again["body"], name) == (304, "", name)
        assert again["headers"]["ETag"] == first["headers"]["ETag"]
        assert again["headers"]["Content-Type"] == first["headers"]["Content-Type"]
        assert again["headers"]["Cache-Control"] == "private, no-cache"
        other = get(demo, route, accept=accept, path=path, if_none_match='"other", nonsense')
        assert (other["statusCode"], other["body"]) == (200, first["body"])

    etag = get(demo, f"{SPACE}/notes", accept=accept)["headers"]["ETag"]
    write(demo, "second")
    assert get(demo, f"{SPACE}/notes", accept=accept, if_none_match=etag)["statusCode"] == 200


POLLED = {
    "reads": ["/v1/spaces", SPACE, "/v1/whoami", "/v1/about", "/v1/usage"],
    "memories": [f"{SPACE}/memories"],
    "rooms": [f"{SPACE}/rooms"],
    "conversations": [f"{SPACE}/conversations"],
    "backup": ["/v1/backups", "/v1/jobs"],
    "admin": ["/v1/tokens"],
}
"""What a page that shows a space asks again and again, by the function that answers."""


def test_everything_that_a_page_polls_is_sent_again_only_when_it_changed(demo):
    for function, routes in POLLED.items():
        for route in routes:
            path = {"space_id": "demo"} if "{space_id}" in route else {}
            first = demo.http(function, "GET", route, **path)
            assert first["statusCode"] == 200, route
            named = {"if-none-match": first["headers"]["ETag"]}
            again = demo.http(function, "GET", route, headers=named, **path)
            assert (again["statusCode"], again["body"], route) == (304, "", route)


def test_only_an_answer_to_a_get_has_an_etag(demo):
    for function, key in ROUTES:
        if not key.startswith("GET "):
            assert "ETag" not in demo.invoke(function, good(key))["headers"], key


@pytest.mark.parametrize("token", [None, "lm_wrong"])
def test_who_has_no_access_learns_not_even_that_nothing_changed(demo, token):
    etag = get(demo, f"{SPACE}/bank")["headers"]["ETag"]
    for asked in (etag, "*"):
        answer = get(demo, f"{SPACE}/bank", token=token, if_none_match=asked)
        assert answer["statusCode"] == 401
        assert "ETag" not in answer["headers"]


def test_what_is_not_there_is_told_whatever_etag_is_sent(demo):
    answer = get(demo, f"{SPACE}/bank/{{path+}}", path={"path": "none.md"}, if_none_match="*")

    assert answer["statusCode"] == 404


def test_the_sample_event_gets_the_bank_compressed_and_then_nothing_again(demo):
    content = "# Log\n\n" + "- The same line again.\n" * 200
    demo.s3.put_object(Bucket="live-memory", Key="demo/bank/log.md", Body=content.encode())
    event = sample("reads-bank")
    event["headers"]["authorization"] = f"Bearer {BOOTSTRAP_KEY}"

    answer = demo.invoke("reads", event)

    assert (answer["statusCode"], answer["isBase64Encoded"]) == (200, True)
    assert answer["headers"]["Content-Encoding"] == "gzip"
    assert answer["headers"]["Vary"] == "Accept, Authorization, Accept-Encoding"
    whole = gzip.decompress(base64.b64decode(answer["body"]))
    assert [file["content"] for file in json.loads(whole)["items"]] == [content]
    assert len(answer["body"]) * 10 < len(whole)
    event["headers"]["if-none-match"] = answer["headers"]["ETag"]
    assert demo.invoke("reads", event)["statusCode"] == 304
    event["headers"]["accept-encoding"] = "gzip;q=0"
    assert demo.invoke("reads", event)["statusCode"] == 304


def test_an_answer_that_is_too_large_is_given_to_who_takes_it_compressed(demo, monkeypatch):
    demo.s3.put_object(Bucket="live-memory", Key="demo/bank/log.md", Body=b"- line\n" * 1_000)
    monkeypatch.setattr(limits, "ANSWER_BYTES", 2_000)

    bare, taken = (get(demo, f"{SPACE}/bank", query={"content": "true"}, accept_encoding=c) for c in ("br", "gzip"))

    assert (bare["statusCode"], taken["statusCode"]) == (413, 200)
    assert "Accept-Encoding: gzip" in json.loads(bare["body"])["detail"]


def test_a_problem_document_is_told_as_it_is(demo):
    answer = get(demo, f"{SPACE}/bank/{{path+}}", path={"path": "none.md"}, accept_encoding="gzip")

    assert (answer["isBase64Encoded"], json.loads(answer["body"])["status"]) == (False, 404)
