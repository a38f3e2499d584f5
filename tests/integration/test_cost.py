"""Each answer says what it has cost: the requests that the store got for it, and how long it took."""

import re

import pytest

from livemem.store.clients import RequestCounts
from tests.support.functions import request
from tests.support.service import Service
from tests.support.world import BOOTSTRAP_KEY

SPACE = "/v1/spaces/{space_id}"
FORM = re.compile(r'store;desc="(none|\d+ [A-Z]+(?:, \d+ [A-Z]+)*)", total;dur=\d+\.\d')


def told(answer) -> str:
    found = FORM.fullmatch(answer["headers"]["Server-Timing"])
    assert found, answer["headers"]["Server-Timing"]
    return found[1]


@pytest.fixture
def demo(service: Service) -> Service:
    service.http("backup", "POST", "/v1/spaces", body={"space_id": "demo", "consolidation_threshold": 0})
    for content in ("first", "second"):
        note = {"category": "todo", "content": content}
        service.http("ingest", "POST", f"{SPACE}/notes", space_id="demo", body=note)
    return service


def test_an_answer_names_the_requests_that_the_store_got_for_it(demo, monkeypatch):
    sent = []
    note = RequestCounts.note
    monkeypatch.setattr(RequestCounts, "note", lambda self, kind: (sent.append(kind), note(self, kind)))

    answer = demo.http("reads", "GET", f"{SPACE}/notes", space_id="demo")

    assert sent
    assert told(answer) == ", ".join(f"{sent.count(kind)} {kind}" for kind in sorted(set(sent)))


def test_what_is_not_sent_again_and_what_is_refused_has_its_cost_too(demo):
    demo.cold = True
    whole = demo.http("reads", "GET", SPACE, space_id="demo")
    etag = {"if-none-match": whole["headers"]["ETag"]}
    again = demo.http("reads", "GET", SPACE, space_id="demo", headers=etag)
    refused = demo.http("reads", "GET", SPACE, space_id="demo", token="lm_wrong")
    missing = demo.http("reads", "GET", SPACE, space_id="other")

    assert again["statusCode"] == 304
    assert told(again) == told(whole)
    assert told(refused) == "1 GET", "a token that is not known may be a new one"
    assert told(missing) == "1 GET"


def test_an_answer_of_a_service_that_is_not_configured_has_cost_nothing(demo, monkeypatch):
    monkeypatch.setenv("ADMIN_BOOTSTRAP_KEY_SHA256", "no digest")
    demo.cold = True

    answer = demo.invoke("reads", request("GET", "/v1/health", token=BOOTSTRAP_KEY))

    assert told(answer) == "none"
