"""The functions' handlers on the sample events and on hostile ones."""

import base64
import hashlib
import io
import json
import logging
from typing import Any

import pytest

from livemem import limits
from livemem.access import decision
from livemem.errors import NotConfigured
from livemem.notes import appending
from livemem.store import aws
from livemem.store.bucket import RUN
from scripts.openapi import load
from tests.support import llm_server
from tests.support.cases import each
from tests.support.functions import EVENTS, request, sample
from tests.support.world import BOOTSTRAP_KEY

NO_JOB = "demo.consolidation.01HZZZZZZZ0000000000000001"
SPACE = "/v1/spaces/{space_id}"
HTTP = {
    "ingest": "ingest-note",
    "reads": "reads-health",
    "admin": "admin-put-rules",
    "consolidate": "consolidate-start",
    "backup": "backup-create",
    "conversations": "conversations-create",
    "memories": "memories-store",
    "rooms": "rooms-post",
    "ask": "ask-question",
    "mcp": "mcp-note",
}


def body(answer):
    return json.loads(answer["body"])


@pytest.fixture
def demo(service):
    answer = service.http("backup", "POST", "/v1/spaces", body={"space_id": "demo", "consolidation_threshold": 2})
    assert answer["statusCode"] == 201
    return service


def append(service, content="x", **rest):
    return service.http(
        "ingest", "POST", f"{SPACE}/notes", space_id="demo", body={"category": "todo", "content": content}, **rest
    )


@pytest.mark.parametrize("name", sorted(file.stem for file in EVENTS.glob("*.json")))
def test_every_sample_event_passes_through_its_handler(service, name):
    demo = service
    if name != "backup-create-space":
        body = {"space_id": "demo", "consolidation_threshold": 2}
        assert service.http("backup", "POST", "/v1/spaces", body=body)["statusCode"] == 201
    event = sample(name)
    if "headers" in event:
        event["headers"]["authorization"] = f"Bearer {BOOTSTRAP_KEY}"
    answer = demo.invoke(name.split("-")[0], event)
    expected = {
        "ingest-note": 201,
        "ingest-batch": 201,
        "reads-health": 200,
        "reads-bank-file": 404,
        "reads-bank": 200,
        "backup-create-space": 201,
        "admin-undo": 404,
        "admin-put-rules": 200,
        "admin-edit-bank-file": 404,
        "consolidate-start": 202,
        "consolidate-run": {"status": "ignored"},
        "counter-put": {"demo": "below_threshold"},
        "search-space": 200,
        "indexer-run": {"status": "done", "snapshot": False},
        "backup-create": 201,
        "backup-restore": {"status": "gone"},
        "backup-erasure": {"status": "gone"},
        "backup-job": {"status": "gone"},
        "conversations-create": 201,
        "conversations-turn": 404,
        "memories-store": 201,
        # Neither the note nor the other space is there.
        "memories-search": 200,
        "rooms-post": 201,
        "ask-question": 200,
        "mcp-list": 200,
        "mcp-note": 200,
        "summarize-put": {"results": ["gone"]},
        "summarize-run": {"results": ["gone"]},
        "summarize-job": {"results": ["gone"]},
        "ask-run": {"result": "gone"},
        "digest-job": {"results": [{"slot": None, "result": "nothing", "error": None}]},
        "digest-run": {"results": [{"slot": None, "result": "nothing", "error": None}]},
        "digest-schedule": {"queued": {}, "hours_since_digest": 0.0},
    }
    if name in ("backup-nightly", "backup-space"):
        assert answer["status"] == ("ok" if name == "backup-nightly" else "made")
    elif name.startswith("sweep"):
        # Nothing waits in a space that was just created.
        assert answer["spaces"] == (1 if name == "sweep-all" else 0)
    else:
        assert answer.get("statusCode", answer) == expected[name]


def test_a_put_event_at_the_threshold_starts_one_run_and_its_repeats_start_none(demo):
    first, second = body(append(demo, "a"))["note_id"], body(append(demo, "b"))["note_id"]
    event = sample("counter-put")
    for note_id in (second, first, second):
        event["Records"][0]["s3"]["object"]["key"] = f"demo/live/{note_id}.md"
        demo.invoke("counter", event)
    assert len(demo.lambda_api.invoked) == 1
    (queued,) = [key for key in demo.written() if "/_runs/" in key]
    # The LLM of this test can't be reached: an error that is told, and every note still live.
    answer = demo.work()
    assert answer["status"] == "failed"
    run = body(demo.http("backup", "GET", "/v1/jobs/{job}", job=f"demo.consolidation.{queued[-31:-5]}"))
    assert run["error"]["code"] == "llm_unreachable"
    assert len(body(demo.http("reads", "GET", f"{SPACE}/notes", space_id="demo"))["items"]) == 2
    health = body(demo.http("reads", "GET", "/v1/health"))
    assert health["status"] == "degraded"
    assert [problem["code"] for problem in health["spaces"]] == ["blocked", "last_run_failed"]


def test_health_tells_that_every_call_of_the_llm_fails_although_its_models_are_listed(demo, monkeypatch):
    models = llm_server.answer({"data": [{"id": "m"}]})
    with llm_server.serving(llm_server.answer({"error": {}}, 500), models) as server:
        for name, value in (("LLMAAS_API_URL", server.url), ("LLMAAS_MODEL", "m")):
            monkeypatch.setenv(name, value)
        demo.modules.clear()
        append(demo, "a")
        demo.http("consolidate", "POST", f"{SPACE}/consolidations", space_id="demo", body={})
        assert demo.work()["status"] == "failed"
        health = body(demo.http("reads", "GET", "/v1/health"))

    assert (health["status"], health["checks"]["llm"]) == ("degraded", "failing")
    assert health["checks"]["llm_last_call"] == "llm_unavailable"


def correct(service, content):
    return service.http(
        "admin", "PUT", f"{SPACE}/bank/{{path+}}", space_id="demo", path="x.md", body={"content": content}
    )


def test_a_correction_at_the_threshold_is_answered_and_starts_a_consolidation(demo):
    append(demo, "a")
    append(demo, "b")

    assert correct(demo, "# X\n")["statusCode"] == 201
    assert len(demo.lambda_api.invoked) == 1


def test_an_undo_at_the_threshold_is_answered_and_starts_a_consolidation(demo):
    correct(demo, "# X\n")
    append(demo, "a")
    append(demo, "b")

    answer = demo.http("admin", "POST", f"{SPACE}/consolidations/{{number}}/undo", space_id="demo", number="1")

    assert answer["statusCode"] == 200
    assert len(demo.lambda_api.invoked) == 1


def test_an_event_whose_key_is_percent_encoded_as_minio_sends_it_counts(demo):
    event = sample("counter-put")
    (note_id, _) = (body(append(demo, "a"))["note_id"], append(demo, "b"))
    event["Records"][0]["s3"]["object"]["key"] = f"demo%2Flive%2F{note_id}.md"
    assert demo.invoke("counter", event) == {"demo": "started"}


def test_header_names_are_taken_in_any_case(demo):
    event = sample("ingest-note")
    event["headers"] = {"Authorization": f"Bearer {BOOTSTRAP_KEY}", "Idempotency-Key": "k"}
    assert demo.invoke("ingest", event)["statusCode"] == 201
    assert demo.invoke("ingest", event)["statusCode"] == 200


@pytest.mark.parametrize(
    "key", ["demo/bank/x.md", "demo/live/x.md", "live/x.md", "demo/live/%2e%2e/x.md", "_system/tokens.json"]
)
def test_keys_that_are_no_live_notes_are_ignored(demo, key):
    event = sample("counter-put")
    event["Records"][0]["s3"]["object"]["key"] = key
    assert demo.invoke("counter", event) == {}


@each("function", HTTP)
@each("token", [None, "", "wrong", "lm_ünïcödé", "x" * 100_000, "\x00"])
def test_no_function_answers_without_a_good_token(service, function, token):
    event = sample(HTTP[function])
    if function == "reads":
        event["routeKey"], event["rawPath"] = "GET /v1/whoami", "/v1/whoami"
        event["requestContext"]["http"]["path"] = "/v1/whoami"
    event["headers"].pop("authorization")
    if token is not None:
        event["headers"]["authorization"] = f"Bearer {token}"
    answer = service.invoke(function, event)
    assert answer["statusCode"] == 401
    assert body(answer)["code"] == "unauthenticated"
    assert [key for key in service.written() if not key.startswith("_system/")] == []


@each(
    ("raw", "status", "code"),
    [
        ("no json", 400, "malformed_body"),
        ('{"category": "todo", ', 400, "malformed_body"),
        ("[1]", 400, "malformed_body"),
        ('"text"', 400, "malformed_body"),
        ("[" * 100_000, 400, "malformed_body"),
        ('{"content": NaN}', 400, "malformed_body"),
        ('{"content": ' + "9" * 10_000 + "}", 400, "malformed_body"),
        ('{"category": "todo", "content": "x", "content": "y"}', 400, "malformed_body"),
        ("{}", 422, "invalid_request"),
        ('{"category": "todo", "content": "\\ud800"}', 422, "invalid_request"),
        ('{"category": "todo", "content": null}', 422, "invalid_request"),
        ('{"category": "todo", "content": "x", "tags": "y"}', 422, "invalid_request"),
        ('{"category": "todo", "content": "x", "tags": ["a\\nb"]}', 422, "invalid_request"),
        (json.dumps({"category": "todo", "content": "x" * 1_100_000}), 413, "too_large"),
    ],
)
def test_a_hostile_body_gets_a_problem_document_and_leaves_the_bucket_alone(demo, raw, status, code):
    before = demo.written()
    answer = demo.http("ingest", "POST", f"{SPACE}/notes", space_id="demo", body=raw)
    problem = body(answer)
    assert (answer["statusCode"], problem["code"]) == (status, code)
    assert answer["headers"]["Content-Type"] == "application/problem+json"
    assert problem["status"] == status
    assert problem["title"]
    assert problem["detail"]
    assert problem["request_id"] == "JKJaXmPLvHcESHA="
    if status == 422:
        assert problem["errors"][0]["field"] in ("category", "content", "tags")
    assert "carried out" not in problem["detail"]
    assert demo.written() == before


def test_a_body_is_json_whatever_the_client_calls_it_and_base64_is_decoded(demo):
    event = sample("ingest-note")
    event["headers"] = {
        "authorization": f"Bearer {BOOTSTRAP_KEY}", "content-type": "application/x-www-form-urlencoded"
    }  # fmt: skip
    event["body"] = base64.b64encode('{"category": "todo", "content": "Grüße"}'.encode()).decode()
    event["isBase64Encoded"] = True
    answer = demo.invoke("ingest", event)
    assert body(answer)["content"] == "Grüße"


@pytest.mark.parametrize(("files", "status"), [(11, 200), (12, 413)])
def test_an_answer_that_lambda_would_refuse_is_told_with_what_to_do(demo, files, status):
    for number in range(files):
        demo.s3.put_object(Bucket="live-memory", Key=f"demo/bank/{number:02}.md", Body=b"x" * 500_000)

    answer = demo.http("reads", "GET", f"{SPACE}/bank", space_id="demo", query={"content": "true"})

    assert answer["statusCode"] == status
    assert len(json.dumps(answer)) < 6_000_000
    if status == 413:
        assert body(answer)["code"] == "answer_too_large"
        assert body(answer)["detail"].startswith("The answer is larger")


def test_a_change_whose_answer_is_too_large_is_said_to_be_carried_out(demo, monkeypatch):
    monkeypatch.setattr(limits, "ANSWER_BYTES", 100)

    answer = append(demo)

    assert (answer["statusCode"], body(answer)["code"]) == (413, "answer_too_large")
    assert body(answer)["detail"].startswith("The request was carried out")
    assert any(key.startswith("demo/live/") for key in demo.written())


def test_what_was_refused_is_never_said_to_be_carried_out(demo, monkeypatch):
    monkeypatch.setattr(limits, "ANSWER_BYTES", 100)

    answer = append(demo, content="")

    assert "carried out" not in answer["body"]


def test_a_body_that_is_nested_deeply_is_malformed_however_deep(demo):
    for depth in (22, 100, *range(900, 1_001, 10)):
        raw = '{"content": ' + "[" * depth + "]" * depth + "}"

        answer = demo.http("ingest", "POST", f"{SPACE}/notes", space_id="demo", body=raw)

        assert (answer["statusCode"], body(answer)["code"]) == (400, "malformed_body")


def test_half_a_million_empty_notes_are_refused_before_a_model_is_made(demo):
    raw = '{"items": [' + "{}," * 349_000 + "{}]}"

    answer = demo.http("ingest", "POST", f"{SPACE}/notes", space_id="demo", body=raw)

    assert (answer["statusCode"], body(answer)["code"]) == (413, "too_large")
    assert body(answer)["detail"] == "body: 349003 values, but at most 20000 are allowed"


def test_a_batch_with_an_error_in_each_note_gets_a_short_answer(demo):
    batch = [{f"unknown_{index}": index for index in range(150)}] * 100

    answer = demo.http("ingest", "POST", f"{SPACE}/notes", space_id="demo", body={"items": batch})

    assert answer["statusCode"] == 422
    assert len(body(answer)["errors"]) == 20
    assert body(answer)["detail"].endswith("(and 15197 more)")


def test_a_body_that_is_not_utf_8_is_malformed(demo):
    event = sample("ingest-note")
    event["headers"]["authorization"] = f"Bearer {BOOTSTRAP_KEY}"
    event["body"], event["isBase64Encoded"] = base64.b64encode(b'{"content": "\xff"}').decode(), True

    answer = demo.invoke("ingest", event)

    assert (answer["statusCode"], body(answer)["code"]) == (400, "malformed_body")


def test_no_body_at_all_is_a_missing_body_whatever_type_it_claims(demo):
    event = sample("ingest-note")
    event["headers"] = {"authorization": f"Bearer {BOOTSTRAP_KEY}", "content-type": "text/plain"}
    del event["body"]

    assert demo.invoke("ingest", event)["statusCode"] == 422


def test_answers_are_utf_8_as_it_is(demo):
    answer = append(demo, content="Grüße 你好 😀")

    assert '"content": "Grüße 你好 😀"' in answer["body"]
    assert answer["headers"]["Content-Type"] == "application/json"
    refused = append(demo, tags=["ü" * 60])
    assert "\\u" not in refused["body"]


def test_several_notes_under_a_key_are_each_written_once(demo):
    def sent() -> Any:
        items = {"items": [{"category": "todo", "content": content} for content in ("a", "b")]}
        headers = {"Idempotency-Key": "k"}
        return demo.http("ingest", "POST", f"{SPACE}/notes", space_id="demo", body=items, headers=headers)

    first, again = sent(), sent()

    assert (first["statusCode"], again["statusCode"]) == (201, 200)
    assert body(again) == body(first)
    assert body(demo.http("reads", "GET", SPACE, space_id="demo"))["live"]["notes_count"] == 2


def test_a_batch_is_checked_whole_before_the_first_note_is_written(demo):
    batch = [{"category": "todo", "content": "good"}, {"category": "todo", "content": ""}]
    answer = demo.http("ingest", "POST", f"{SPACE}/notes", space_id="demo", body={"items": batch})
    assert (answer["statusCode"], body(answer)["errors"][0]["field"]) == (422, "items.1.content")
    answer = demo.http("ingest", "POST", f"{SPACE}/notes", space_id="demo", body={"items": batch[:1] * 101})
    assert (answer["statusCode"], body(answer)["errors"][0]["field"]) == (413, "items")
    assert body(demo.http("reads", "GET", SPACE, space_id="demo"))["live"]["notes_count"] == 0


@each(
    ("wanted", "status", "field"),
    [
        ({"space_id": "-x"}, 422, "space_id"),
        ({"space_id": "_system"}, 422, "space_id"),
        ({"space_id": "a/b"}, 422, "space_id"),
        ({}, 422, "space_id"),
        ({"space_id": "new", "rules": " "}, 422, "rules"),
        ({"space_id": "new", "rules": "x" * 50_001}, 413, "rules"),
        ({"space_id": "new", "description": "x" * 501}, 413, "description"),
        ({"space_id": "new", "rules_template": "none"}, 422, "rules_template"),
        ({"space_id": "new", "consolidation_threshold": -1}, 422, "consolidation_threshold"),
        ({"space_id": "new", "consolidation_threshold": True}, 422, "consolidation_threshold"),
        ({"space_id": "new", "consolidation_threshold": "3"}, 422, "consolidation_threshold"),
        ({"space_id": "new", "bank_chars": -1}, 422, "bank_chars"),
        ({"space_id": "new", "bank_chars": 1}, 422, "bank_chars"),
        ({"space_id": "new", "bank_chars": 1_999}, 422, "bank_chars"),
        ({"space_id": "new", "bank_chars": 500_001}, 422, "bank_chars"),
        ({"space_id": "new", "bank_chars": 2_000.5}, 422, "bank_chars"),
        ({"space_id": "new", "bank_chars": True}, 422, "bank_chars"),
        ({"space_id": "new", "colour": "red"}, 422, "colour"),
    ],
)
def test_a_bad_space_is_refused_with_the_field(service, wanted, status, field):
    answer = service.http("backup", "POST", "/v1/spaces", body=wanted)
    assert (answer["statusCode"], body(answer)["errors"][0]["field"]) == (status, field)
    assert [key for key in service.written() if not key.startswith("_system/")] == []


def test_a_space_that_exists_is_a_conflict_and_an_unknown_one_is_not_found(demo):
    assert demo.http("backup", "POST", "/v1/spaces", body={"space_id": "demo"})["statusCode"] == 409
    for path in ("", "/rules", "/summary", "/synthesis", "/notes", "/bank", "/consolidations"):
        answer = demo.http("reads", "GET", f"{SPACE}{path}", space_id="other")
        assert (answer["statusCode"], body(answer)["code"]) == (404, "space_not_found")
    assert body(demo.http("reads", "GET", f"{SPACE}/synthesis", space_id="demo"))["code"] == "synthesis_not_found"


@each("path", ["../x.md", "/x.md", "_x.md", "x.txt", "a//b.md", "a/./b.md", "ü.md", f"{'x' * 250}.md"])
def test_a_bad_bank_path_is_refused_on_every_route(demo, path):
    for function, method in (("reads", "GET"), ("admin", "PUT"), ("admin", "DELETE")):
        sent = {"content": "# X\n"} if method == "PUT" else None
        answer = demo.http(function, method, f"{SPACE}/bank/{{path+}}", space_id="demo", path=path, body=sent)
        assert (answer["statusCode"], body(answer)["errors"][0]["field"]) == (422, "path")


def test_a_bank_file_is_answered_as_markdown_to_who_prefers_that(demo):
    content = "# Log\n\n- Grüße \x07\n"
    demo.s3.put_object(Bucket="live-memory", Key="demo/bank/log.md", Body=content.encode())

    def get(accept, path="log.md"):
        event = request("GET", f"{SPACE}/bank/{{path+}}", token=BOOTSTRAP_KEY, space_id="demo", path=path)
        event["headers"] |= {"accept": accept} if accept else {}
        return demo.invoke("reads", event)

    markdown = get("text/markdown, */*")
    # What nobody sees is shown in Markdown, which goes to terminals and models; JSON has the very text.
    shown = content.replace("\x07", "\\u{7}")
    assert (markdown["statusCode"], markdown["body"], markdown["isBase64Encoded"]) == (200, shown, False)
    assert markdown["headers"]["Content-Type"] == "text/markdown; charset=utf-8"
    for accept in (None, "*/*", "application/json", "text/markdown;q=0.1, */*"):
        answer = get(accept)
        assert body(answer)["content"] == content
        assert (answer["headers"]["Content-Type"], answer["headers"]["Vary"]) == (
            "application/json",
            "Accept, Authorization",
        )
        assert answer["headers"]["ETag"] != markdown["headers"]["ETag"]
    missing = get("text/markdown", "none.md")
    assert (missing["statusCode"], missing["headers"]["Content-Type"]) == (404, "application/problem+json")


@pytest.mark.parametrize(("reason", "status"), [("x" * 501, 413), ("\ud800", 422), ("é" * 251, 413)])
def test_a_reason_that_cannot_be_recorded_is_refused_and_leaves_the_space_free(demo, reason, status):
    def bank_file(method, reason, **rest):
        return demo.http("admin", method, f"{SPACE}/bank/{{path+}}", space_id="demo", path="x.md", **rest)

    def put(reason):
        return bank_file("PUT", reason, body={"content": "# X\n", "reason": reason})

    refused = put(reason)
    assert (refused["statusCode"], body(refused)["errors"][0]["field"]) == (status, "reason")
    assert put("y" * 500)["statusCode"] == 201
    refused = bank_file("DELETE", reason, query={"reason": reason})
    assert (refused["statusCode"], body(refused)["errors"][0]["field"]) == (status, "reason")
    assert bank_file("DELETE", reason, query={"reason": "y" * 500})["statusCode"] == 204


def test_a_token_for_one_space_cannot_reach_another_by_a_route_that_is_unknown(demo):
    entry = {"permissions": ["read"], "space_ids": ["mine"], "created_at": "2026-01-01T00:00:00Z"}
    digest = "sha256:" + hashlib.sha256(b"lm_ann").hexdigest()
    registry = {"version": 1, "tokens": [{"hash": digest, "name": "ann", **entry}]}
    demo.s3.put_object(Bucket="live-memory", Key="_system/tokens.json", Body=json.dumps(registry))
    before = demo.written()
    for key in ("ANY /v1/spaces/{space_id}", "$default", None):
        event = request("DELETE", SPACE, token="lm_ann", space_id="demo", query={"confirm": "demo"})
        event["routeKey"], event["pathParameters"] = key, {"space_id": "mine"}

        answer = demo.invoke("admin", event)

        assert (answer["statusCode"], body(answer)["code"]) == (404, "route_not_found")
    assert demo.written() == before


def test_tokens_are_held_to_their_permissions_and_spaces(demo):
    entry = {"permissions": ["read", "write"], "space_ids": ["demo"], "created_at": "2026-01-01T00:00:00Z"}
    digest = "sha256:" + hashlib.sha256(b"lm_ann").hexdigest()
    registry = {"version": 1, "tokens": [{"hash": digest, "name": "ann", **entry}]}
    demo.s3.put_object(Bucket="live-memory", Key="_system/tokens.json", Body=json.dumps(registry))
    demo.modules.clear()

    assert append(demo, token="lm_ann")["statusCode"] == 201
    assert body(append(demo, token="lm_ann"))["agent"] == "ann"
    assert demo.http("reads", "GET", SPACE, space_id="demo", token="lm_ann")["statusCode"] == 200
    # Whether the other space exists is not told.
    assert demo.http("reads", "GET", SPACE, space_id="other", token="lm_ann")["statusCode"] == 403
    refused = demo.http("admin", "DELETE", SPACE, space_id="demo", query={"confirm": "demo"}, token="lm_ann")
    assert refused["statusCode"] == 403
    who = body(demo.http("reads", "GET", "/v1/whoami", token="lm_ann"))
    assert who == {"name": "ann", "permissions": ["read", "write"], "space_ids": ["demo"]}
    other = demo.http(
        "consolidate", "POST", f"{SPACE}/consolidations", space_id="demo", body={"agent": "bob"}, token="lm_ann"
    )
    assert other["statusCode"] == 403
    assert demo.http("backup", "POST", "/v1/spaces", body={"space_id": "mine"}, token="lm_ann")["statusCode"] == 201
    assert demo.http("reads", "GET", SPACE, space_id="mine", token="lm_ann")["statusCode"] == 200


def with_token(demo, name, *permissions):
    """The token of a new registry, for the space demo."""
    entry = {"permissions": list(permissions), "space_ids": ["demo"], "created_at": "2026-01-01T00:00:00Z"}
    digest = "sha256:" + hashlib.sha256(f"lm_{name}".encode()).hexdigest()
    registry = {"version": 1, "tokens": [{"hash": digest, "name": name, **entry}]}
    demo.s3.put_object(Bucket="live-memory", Key="_system/tokens.json", Body=json.dumps(registry))
    demo.modules.clear()
    return f"lm_{name}"


def test_an_admin_changes_the_rules_and_sees_it_in_the_history(demo):
    route = f"{SPACE}/rules"
    sent = {"rules": "Keep a log.", "reason": "simpler"}
    answer = demo.http("admin", "PUT", route, space_id="demo", body=sent)

    assert (answer["statusCode"], body(answer)) == (200, {"rules": "Keep a log.", "consolidation": 1})
    assert body(demo.http("reads", "GET", route, space_id="demo")) == {"rules": "Keep a log."}
    shown = body(demo.http("reads", "GET", f"{SPACE}/consolidations/{{number}}", space_id="demo", number="1"))
    assert (shown["kind"], shown["author"], shown["changes"][0]["reason"]) == ("rules", "admin", "simpler")
    assert body(demo.http("admin", "PUT", route, space_id="demo", body=sent))["code"] == "conflict"
    agent = with_token(demo, "ann", "read", "write")
    assert demo.http("admin", "PUT", route, space_id="demo", body=sent, token=agent)["statusCode"] == 403
    undo = f"{SPACE}/consolidations/{{number}}/undo"
    assert demo.http("admin", "POST", undo, space_id="demo", number="1")["statusCode"] == 200
    assert body(demo.http("reads", "GET", route, space_id="demo"))["rules"] != "Keep a log."


@each(
    ("wanted", "status", "field"),
    [
        ({}, 422, "rules"),
        ({"rules": None}, 422, "rules"),
        ({"rules": "journal"}, 422, "rules"),
        ({"rules": "x", "rules_template": "journal"}, 422, "rules_template"),
        ({"rules": "x" * 50_001}, 413, "rules"),
        ({"rules": "x", "colour": "red"}, 422, "colour"),
    ],
)
def test_bad_rules_are_refused_with_the_field(demo, wanted, status, field):
    answer = demo.http("admin", "PUT", f"{SPACE}/rules", space_id="demo", body=wanted)
    assert (answer["statusCode"], body(answer)["errors"][0]["field"]) == (status, field)


def test_an_agent_edits_a_section_once_an_admin_allows_it(demo):
    file = {"space_id": "demo", "path": "log.md"}
    demo.http("admin", "PUT", f"{SPACE}/bank/{{path+}}", **file, body={"content": "# Log\n\n- on\n"})
    agent = with_token(demo, "ann", "read", "write")
    edit = {"op": "replace_section", "heading": "# Log", "content": "- one"}

    def patch(*edits, reason="a typo"):
        sent = {"edits": list(edits), "reason": reason}
        return demo.http("admin", "PATCH", f"{SPACE}/bank/{{path+}}", **file, body=sent, token=agent)

    assert (patch(edit)["statusCode"], body(patch(edit))["code"]) == (403, "forbidden")
    refused = demo.http("admin", "PATCH", SPACE, space_id="demo", body={"corrections": "write"}, token=agent)
    assert refused["statusCode"] == 403
    assert demo.http("admin", "PATCH", SPACE, space_id="demo", body={"corrections": "write"})["statusCode"] == 200
    answer = patch(edit)
    assert (answer["statusCode"], body(answer)["content"]) == (200, "# Log\n\n- one\n")
    shown = body(demo.http("reads", "GET", f"{SPACE}/consolidations/{{number}}", space_id="demo", number="2"))
    assert (shown["author"], shown["changes"][0]["edits"]) == ("ann", [edit])
    wrong = body(patch(edit, {"op": "delete_section", "heading": "## Missing"}))
    assert (wrong["code"], wrong["errors"][0]["field"]) == ("invalid_request", "edits.1")
    assert patch({"op": "rename", "heading": "# Log"})["statusCode"] == 422
    assert patch(edit, reason="")["statusCode"] == 422


def test_a_reason_that_is_no_text_is_refused_and_leaves_the_space_free(demo):
    route, file = f"{SPACE}/bank/{{path+}}", {"space_id": "demo", "path": "log.md"}
    sent = '{"content": "# Log\\n", "reason": "\\ud83d"}'
    answer = demo.http("admin", "PUT", route, **file, body=sent)
    assert (answer["statusCode"], body(answer)["errors"][0]["field"]) == (422, "reason")
    assert demo.http("admin", "PUT", route, **file, body={"content": "# Log\n"})["statusCode"] == 201


def test_a_patch_that_makes_a_run_due_names_it(demo):
    demo.http("admin", "PATCH", SPACE, space_id="demo", body={"auto_paused": True})
    append(demo, "a")
    append(demo, "b")

    changed = body(demo.http("admin", "PATCH", SPACE, space_id="demo", body={"auto_paused": False, "language": "fr"}))

    ((_, payload),) = demo.lambda_api.invoked
    assert (changed["started_run"], changed["language"]) == (payload["job_id"], "fr")
    again = body(demo.http("admin", "PATCH", SPACE, space_id="demo", body={"language": None}))
    assert not {"started_run", "language"} & again.keys()


def test_the_runs_of_a_space_are_listed_for_those_who_may_see_it(demo):
    entry = {"permissions": ["read"], "space_ids": ["other"], "created_at": "2026-01-01T00:00:00Z"}
    digest = "sha256:" + hashlib.sha256(b"lm_ann").hexdigest()
    registry = {"version": 1, "tokens": [{"hash": digest, "name": "ann", **entry}]}
    demo.s3.put_object(Bucket="live-memory", Key="_system/tokens.json", Body=json.dumps(registry))
    demo.modules.clear()
    started = body(demo.http("consolidate", "POST", f"{SPACE}/consolidations", space_id="demo", body={}))

    of_space = demo.http("backup", "GET", "/v1/jobs", query={"space_id": "demo", "kind": "consolidation"})

    assert [job["job"] for job in body(of_space)["items"]] == [started["job"]]
    assert body(demo.http("backup", "GET", "/v1/jobs"))["items"] == body(of_space)["items"]
    assert body(demo.http("backup", "GET", "/v1/jobs", token="lm_ann"))["items"] == []
    # Whether the space exists is not told.
    for name, status in (("demo", 403), ("nowhere", 403), ("other", 404), ("no name", 422)):
        refused = demo.http("backup", "GET", "/v1/jobs", query={"space_id": name}, token="lm_ann")
        assert refused["statusCode"] == status


def test_a_look_back_is_asked_for_by_a_number_or_a_time(demo):
    for content in ("# A\n", "# B\n"):
        demo.http("admin", "PUT", f"{SPACE}/bank/{{path+}}", space_id="demo", path="a.md", body={"content": content})
    for at, status in (("1", 200), ("9999-12-31T23:59:59Z", 200), ("2026-01-01T00:00:00 02:00", 404), ("3", 404)):
        for route in ("bank", "summary"):
            answer = demo.http("reads", "GET", f"{SPACE}/{route}", space_id="demo", query={"at": at})
            assert answer["statusCode"] == status, (route, at)
    whole = body(demo.http("reads", "GET", f"{SPACE}/summary", space_id="demo", query={"at": "1", "rules": "false"}))
    assert ([file["content"] for file in whole["bank"]], "rules" in whole, whole["at"]["change"]) == (
        ["# A\n"],
        False,
        1,
    )
    refused = demo.http("reads", "GET", f"{SPACE}/synthesis", space_id="demo", query={"at": "soon"})
    assert (refused["statusCode"], body(refused)["errors"][0]["field"]) == (422, "at")


def test_a_secret_in_a_note_is_taken_out_if_the_stack_is_told_so_and_the_answer_says_it(demo, monkeypatch):
    monkeypatch.setenv("REDACT_SECRETS", "true")
    demo.modules.clear()
    secret = "lm_" + "a1B" * 14 + "c"

    written = append(demo, f"Use {secret}.", headers={"Idempotency-Key": "k"})
    again = append(demo, f"Use {secret}.", headers={"Idempotency-Key": "k"})
    notes = {"items": [{"category": "todo", "content": content} for content in ("a", f"b {secret}")]}
    batch = demo.http("ingest", "POST", f"{SPACE}/notes", space_id="demo", body=notes)
    listed = demo.http("reads", "GET", f"{SPACE}/notes", space_id="demo")

    assert (written["statusCode"], body(written)["redacted"]) == (201, {"token": 1})
    assert (again["statusCode"], body(again)) == (200, body(written))
    assert [note.get("redacted") for note in body(batch)["items"]] == [None, {"token": 1}]
    assert [note.get("redacted") for note in body(listed)["items"]] == [None] * 3
    assert secret not in str([written, again, batch, listed])


@pytest.mark.parametrize("key", ["", "short", "changeme-changeme-changeme-changeme", "a" * 40])
def test_with_a_weak_bootstrap_key_the_service_answers_health_only(service, monkeypatch, key):
    monkeypatch.setenv("ADMIN_BOOTSTRAP_KEY_SHA256", "")
    monkeypatch.setenv("ADMIN_BOOTSTRAP_KEY", key)
    answer = service.http("reads", "GET", "/v1/whoami", token=key or "x")
    assert (answer["statusCode"], body(answer)["code"]) == (503, "not_configured")
    health = service.http("reads", "GET", "/v1/health", token=None)
    assert (health["statusCode"], body(health)["status"]) == (200, "error")
    # Who sends a token is told the same: it is not looked at.
    assert service.http("reads", "GET", "/v1/health", token="x")["body"] == health["body"]


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("LLMAAS_TEMPERATURE", "3", "LLMAAS_TEMPERATURE: is out of bounds (at least 0, at most 2)"),
        ("S3_ENDPOINT_URL", "minio:9000", "S3_ENDPOINT_URL: must be an http or https URL"),
        ("LOG_LEVEL", "LOUD", "LOG_LEVEL: must be 'DEBUG', 'INFO', 'WARNING' or 'ERROR'"),
        ("ADMIN_BOOTSTRAP_KEY", f"{BOOTSTRAP_KEY}\udcff", "ADMIN_BOOTSTRAP_KEY: must be text in UTF-8"),
    ],
)
def test_a_bad_variable_is_named_by_health_and_every_other_route_says_not_configured(
    service, monkeypatch, name, value, sentence
):
    monkeypatch.setenv(name, value)

    for function, method, route, parameters in (
        ("reads", "GET", "/v1/whoami", {}),
        ("backup", "POST", "/v1/spaces", {}),
        ("ingest", "POST", f"{SPACE}/notes", {"space_id": "demo"}),
        ("consolidate", "POST", f"{SPACE}/consolidations", {"space_id": "demo"}),
    ):
        answer = service.http(function, method, route, body={} if method == "POST" else None, **parameters)
        assert (answer["statusCode"], body(answer)["code"]) == (503, "not_configured")
        assert sentence in body(answer)["detail"]
    # With a token, with a wrong one and without: it can't be checked, so all are told the same.
    for token in (BOOTSTRAP_KEY, "x", None):
        health = service.http("reads", "GET", "/v1/health", token=token)
        assert (health["statusCode"], body(health)["status"]) == (200, "error")
        assert body(health)["checks"] == {
            "configuration": "settings_refused",
            "configuration_detail": f"The service is not set up: {sentence}.",
        }
        assert BOOTSTRAP_KEY not in health["body"]


@pytest.mark.filterwarnings("ignore:No application metrics")
def test_a_run_that_finds_a_bad_variable_fails_so_that_lambda_tries_again(demo, monkeypatch):
    demo.http("consolidate", "POST", f"{SPACE}/consolidations", space_id="demo")
    monkeypatch.setenv("LLMAAS_TEMPERATURE", "3")
    demo.modules.clear()

    with pytest.raises(NotConfigured):
        demo.work()


def test_a_key_parameter_that_cannot_be_read_is_told_by_health(demo, monkeypatch):
    # The name that the template gives it; nobody has written it yet.
    monkeypatch.setenv("LLMAAS_API_KEY", "/live-memory/llm-api-key")
    demo.modules.clear()

    health = body(demo.http("reads", "GET", "/v1/health"))

    assert (health["status"], health["checks"]["llm"]) == ("degraded", "not_configured")
    assert health["checks"]["llm_detail"] == "The parameter with the LLM's key can't be read."


def test_a_run_that_cannot_be_queued_is_told_and_not_left_hanging(demo, monkeypatch):
    demo.lambda_api.close()
    aws.lambda_client.cache_clear()
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    answer = demo.http("consolidate", "POST", f"{SPACE}/consolidations", space_id="demo")
    assert (answer["statusCode"], body(answer)["code"]) == (503, "store_unavailable")
    (key,) = [key for key in demo.written() if RUN.last(key)]
    run = json.loads(demo.s3.get_object(Bucket="live-memory", Key=key)["Body"].read())
    assert (run["status"], run["code"], run["error"]["code"]) == ("failed", None, "not_started")


def test_an_unexpected_error_is_told_without_its_text(demo, monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("secret detail")

    monkeypatch.setattr(appending, "append", fail)
    answer = append(demo)
    assert (answer["statusCode"], body(answer)["code"]) == (500, "internal_error")
    assert "secret" not in answer["body"]


@pytest.fixture
def logged(demo):
    """The log lines of the packages, as they are written."""
    lines = io.StringIO()
    # Loaded last: the packages' loggers follow it.
    demo.modules["ingest"] = load("ingest")
    handler: Any
    (handler,) = logging.getLogger("livemem_http").handlers
    before = handler.setStream(lines)
    yield lambda: [json.loads(line) for line in lines.getvalue().splitlines()]
    handler.setStream(before)


@pytest.mark.parametrize(
    ("owner", "name"),
    [(appending, "append"), (decision, "authorise"), (limits, "ANSWER_BYTES")],
    ids=["in the handler", "before the resolver", "behind the resolver"],
)
def test_the_request_id_of_every_500_is_in_a_log_line(demo, logged, monkeypatch, owner, name):
    def fail(*_, **__):
        raise RuntimeError("secret detail")

    monkeypatch.setattr(owner, name, fail)

    answer = append(demo)

    problem = body(answer)
    assert (answer["statusCode"], problem["code"]) == (500, "internal_error")
    assert answer["headers"]["Content-Type"] == "application/problem+json"
    (line,) = [line for line in logged() if line["level"] == "ERROR"]
    assert line["request_id"] == problem["request_id"] == "JKJaXmPLvHcESHA="
    assert line["message"] == "unexpected error"
    assert "secret" not in answer["body"] + str(line)


@each(
    ("what", "sent", "status", "code"),
    [
        ("approve", None, 422, "invalid_request"),
        ("approve", {}, 422, "invalid_request"),
        ("approve", {"plan_revision": 1}, 422, "invalid_request"),
        ("approve", {"plan_revision": "x", "anyway": True}, 422, "invalid_request"),
        ("approve", {"plan_revision": "x"}, 404, "run_not_found"),
        ("refuse", {}, 404, "run_not_found"),
        ("refuse", {"job": "demo.digest.20260220T140000"}, 422, "invalid_request"),
        ("refuse", {"job": "other.consolidation.01HZZZZZZZ0000000000000001"}, 422, "invalid_request"),
        ("refuse", {"job": "demo.consolidation.x"}, 422, "invalid_request"),
        ("refuse", {"reason": "x" * 501}, 413, "too_large"),
        ("refuse", {"reason": "x", "anyway": True}, 422, "invalid_request"),
    ],
)
def test_a_decision_on_a_plan_that_is_none_is_refused(demo, what, sent, status, code):
    more = {} if sent is None else {"body": {"job": NO_JOB, **sent}}

    answer = demo.http("admin", "POST", f"{SPACE}/plan/{what}", space_id="demo", **more)

    assert (answer["statusCode"], body(answer)["code"]) == (status, code)


def test_who_decides_on_plans_and_on_whether_they_wait_is_told_by_the_token(demo):
    agent = with_token(demo, "ann", "read", "write")
    route, none = f"{SPACE}/plan/refuse", {"job": NO_JOB}

    mode = demo.http("admin", "PATCH", SPACE, space_id="demo", body={"consolidation_mode": "review"}, token=agent)
    refusal = demo.http("admin", "POST", route, space_id="demo", body=none, token=agent)
    shown = demo.http("backup", "GET", "/v1/jobs/{job}", job=NO_JOB, token=agent)

    assert (mode["statusCode"], refusal["statusCode"]) == (403, 403)
    assert (shown["statusCode"], body(shown)["code"]) == (404, "job_not_found")
    demo.http("admin", "PATCH", SPACE, space_id="demo", body={"corrections": "write"})
    refusal = demo.http("admin", "POST", route, space_id="demo", body=none, token=agent)
    assert (refusal["statusCode"], body(refusal)["code"]) == (404, "run_not_found")


@each("mode", ["", "REVIEW", "manual", 1, ["review"]])
def test_another_mode_of_consolidation_is_refused_at_creation_and_later(demo, mode):
    new = {"space_id": "other", "consolidation_mode": mode}

    answers = [
        demo.http("backup", "POST", "/v1/spaces", body=new),
        demo.http("admin", "PATCH", SPACE, space_id="demo", body={"consolidation_mode": mode}),
    ]

    assert {(answer["statusCode"], body(answer)["errors"][0]["field"]) for answer in answers} == {
        (422, "consolidation_mode")
    }


def test_a_space_may_ask_for_approval_from_its_creation_on(demo):
    made = demo.http("backup", "POST", "/v1/spaces", body={"space_id": "other", "consolidation_mode": "review"})

    assert body(made)["consolidation_mode"] == "review"
    assert "pending_plan" not in body(made)


def test_notes_are_listed_by_their_state_or_by_their_ids(demo):
    note_id = body(append(demo, "We keep S3."))["note_id"]

    def listed(**query: str):
        return demo.http("reads", "GET", f"{SPACE}/notes", space_id="demo", query=query)

    assert body(listed(status="consolidated"))["items"] == []
    assert [note["content"] for note in body(listed(ids=note_id))["items"]] == ["We keep S3."]
    for wrong, field in (
        ({"status": "gone"}, "status"),
        ({"status": "consolidated", "order": "asc"}, "order"),
        ({"ids": note_id, "agent": "ann"}, "ids"),
        ({"ids": ",".join([note_id] * 101 + [f"{note_id[:-8]}{n:08x}" for n in range(101)])}, "ids"),
        ({"status": "consolidated", "cursor": "x"}, "cursor"),
    ):
        refused = listed(**wrong)
        assert (refused["statusCode"], body(refused)["errors"][0]["field"]) == (422, field), wrong
