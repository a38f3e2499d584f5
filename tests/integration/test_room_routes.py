"""Rooms and digests over HTTP: what is answered to good requests, to repeats, and to whatever else may be sent."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from livemem import clock as clocks
from livemem.llm.client import LlmError
from livemem.rooms.message import CONTENT_BYTES
from livemem.rooms.posting import BATCH
from tests.support.cases import each
from tests.support.chatter import fact, fails_on
from tests.support.policy import BUCKET
from tests.support.room_api import ASK, DIGESTS, JOB, JOBS, MESSAGES, ROOMS, SPACE, Rooms

GOOD = {"author": "Ann", "content": "Hello!"}
NEVER = "20200101T000000"
NOBODY = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


@pytest.fixture
def rooms(service, monkeypatch):
    return Rooms(service, monkeypatch)


def test_a_message_is_posted_once_and_another_under_its_id_is_refused(rooms):
    said = "2026-02-20T15:05:00.250+01:00"
    first = rooms.post("We move on Monday.", message_id="m-1", timestamp=said)
    again = rooms.post("We move on Monday.", 200, message_id="m-1")

    assert first == {"message_id": "m-1", "timestamp": "2026-02-20T14:05:00.250Z", "repeated": False}
    assert again == {**first, "repeated": True}
    body = {"author": "Ann", "content": "We stay.", "message_id": "m-1"}
    assert rooms.fields("POST", MESSAGES, body=body) == ["message_id"]
    # Without an id of its own a repeat is another message; and each room has ids of its own.
    assert rooms.post("Ok!")["message_id"] != rooms.post("Ok!")["message_id"]
    rooms.post("We stay.", message_id="m-1", room="kitchen")
    assert rooms.said(order="oldest") == ["We move on Monday.", "Ok!", "Ok!"]


def test_of_a_batch_each_message_is_told_of(rooms):
    rooms.post("One.", message_id="m-1")
    batch = [("One.", "m-1"), ("Other.", "m-1"), ("Two.", "m-2"), ("Three.", None), ("Two.", "m-2")]
    messages = [{"author": "Ann", "content": text} | ({"message_id": name} if name else {}) for text, name in batch]

    items = rooms.good("POST", MESSAGES, body={"items": messages})["items"]

    assert [one.get("repeated") for one in items] == [True, None, False, False, True]
    assert (items[1]["message_id"], items[1]["error"]["code"]) == ("m-1", "invalid_request")
    assert rooms.said(order="oldest") == ["One.", "Two.", "Three."]


def test_messages_are_read_page_by_page_and_rooms_are_listed(rooms):
    minute = datetime(2026, 2, 20, 14, 0, tzinfo=UTC)
    batch = [
        GOOD | {"content": f"Message {number}.", "timestamp": clocks.iso(minute + number * timedelta(seconds=1))}
        for number in range(BATCH)
    ]
    rooms.good("POST", MESSAGES, body={"items": batch})
    rooms.post("Hello!", room="kitchen")

    page = rooms.good("GET", MESSAGES, query={"limit": "60"})
    rest = rooms.good("GET", MESSAGES, query={"limit": "60", "cursor": page["next_cursor"]})

    shown = [one["content"] for one in (*page["items"], *rest["items"])]
    assert (shown, rest["next_cursor"]) == ([f"Message {number}." for number in reversed(range(BATCH))], None)
    listed = rooms.good("GET", ROOMS)["items"]
    assert [(one["room"], one["has_messages"]) for one in listed] == [("kitchen", True), ("salon", True)]
    due = clocks.parse(rooms.good("GET", ROOMS)["next_digest_at"])
    assert timedelta() < due - clocks.now() <= timedelta(days=1)
    assert rooms.said(order="oldest", limit="1") == ["Message 0."]
    assert rooms.good("GET", MESSAGES, room="nowhere") == {"items": [], "next_cursor": None}


@each(
    ("change", "field"),
    [
        ({"author": ""}, "author"),
        ({"author": "x" * 101}, "author"),
        ({"author": "Ann\nBob"}, "author"),
        ({"content": ""}, "content"),
        ({"content": " \n"}, "content"),
        ({"content": 1}, "content"),
        ({"message_id": ""}, "message_id"),
        ({"message_id": "x" * 201}, "message_id"),
        ({"timestamp": "yesterday"}, "timestamp"),
        ({"timestamp": clocks.iso_millis(datetime.now(UTC) + timedelta(days=1))}, "timestamp"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_a_message_that_is_none_is_refused_by_field_and_nothing_is_kept(rooms, change, field):
    assert rooms.fields("POST", MESSAGES, body=GOOD | change) == [field]
    assert rooms.fields("POST", MESSAGES, body={"items": [GOOD, GOOD | change]}) == [f"items.1.{field}"]
    assert rooms.written("/rooms/", "/_room_ids/") == []


def test_a_clock_that_is_a_little_ahead_is_taken_for_right(rooms):
    ahead = clocks.iso_millis(datetime.now(UTC) + timedelta(minutes=4))
    assert rooms.post("Hello!", timestamp=ahead)["timestamp"] == ahead


@each("room", ["-x", "a b", "a.b", "é", "x" * 65, ".."])
@each(("method", "body"), [("POST", GOOD), ("GET", None), ("POST", {"items": [GOOD]})])
def test_a_name_that_no_room_has_is_refused(rooms, room, method, body):
    assert rooms.fields(method, MESSAGES, room=room, body=body) == ["room"]


def test_too_much_at_once_is_refused_and_nothing_of_it_is_kept(rooms):
    status, problem = rooms.ask("POST", MESSAGES, body={"items": [GOOD] * (BATCH + 1)})
    assert (status, [item["field"] for item in problem["errors"]]) == (413, ["items"])
    assert rooms.fields("POST", MESSAGES, body={"items": []}) == ["items"]
    body = GOOD | {"content": "é" * (CONTENT_BYTES // 2) + "x"}
    assert rooms.ask("POST", MESSAGES, body=body)[0] == 413
    assert rooms.written("/rooms/", "/_room_ids/") == []


@each(
    ("route", "query", "field"),
    [
        (MESSAGES, {"limit": "0"}, "limit"),
        (MESSAGES, {"limit": "101"}, "limit"),
        (MESSAGES, {"order": "best"}, "order"),
        (MESSAGES, {"cursor": "x"}, "cursor"),
        (JOBS, {"cursor": "x"}, "cursor"),
        (JOBS, {"limit": "0"}, "limit"),
        (JOBS, {"state": "gone"}, "state"),
        (JOBS, {"kind": "gone"}, "kind"),
    ],
)
def test_a_query_that_is_none_is_refused(rooms, route, query, field):
    assert rooms.fields("GET", route, query=query) == [field]


def test_the_first_message_queues_the_digest_that_was_missed_once(rooms):
    rooms.post("One.")
    rooms.post("Two.")

    ((name, payload),) = rooms.service.lambda_api.invoked
    assert (name, payload["space_id"], payload["forced"]) == ("live-memory-digest", "mine", False)
    # What was said since that hour waits for the next one.
    rooms.work()
    assert rooms.said() == ["Two.", "One."]


def test_a_digest_by_hand_makes_memories_of_what_was_said_and_takes_it_away(rooms):
    rooms.post(fact(1), message_id="m-1")
    rooms.post("Hello!", room="kitchen")

    started = rooms.call("POST", DIGESTS)
    job = json.loads(started["body"])["job"]
    slot = job.rpartition(".")[2]
    assert (started["statusCode"], started["headers"]["Location"]) == (202, f"/v1/jobs/{job}")
    assert started["headers"]["Retry-After"]
    # As long as it has not begun, who asks again gets the same one.
    assert rooms.good("POST", DIGESTS, 202) == {"status": "queued", "job": f"mine.digest.{slot}"}
    assert rooms.job(job)["status"] == "queued"
    assert rooms.jobs("digest")[0]["job"] == job
    rooms.work()

    done = rooms.job(job)
    assert (done["status"], done["messages"], done["new"]) == ("done", 2, 1)
    assert done["usage"]["calls"] == len(rooms.listener.asked)
    assert rooms.jobs("digest")[-1]["subject"] == slot
    assert rooms.said() == rooms.said(order="oldest") == []
    again = rooms.post(fact(1), 200, message_id="m-1")
    assert (again["repeated"], again["digested"]) == (True, True)
    found = json.loads(rooms.service.http("memories", "GET", f"{SPACE}/memories", space_id="mine")["body"])
    (memory,) = found["items"]
    assert (memory["content"], memory["source"]) == (fact(1), "digest")
    assert {"digest": slot, "room": "salon", "messages": ["m-1"]}.items() <= memory["provenance"].items()


def test_what_a_digest_gave_up_is_told_and_can_be_tried_anew_but_not_at_once(rooms):
    rooms.listener.default = fails_on("poison")
    rooms.post("poison")
    rooms.post(fact(1), room="kitchen")
    shown = rooms.digest()
    while shown["status"] != "done":
        shown = rooms.digest()

    (given_up,) = shown["given_up"]
    assert (given_up["room"], given_up["messages"], given_up["code"]) == ("salon", 1, "llm_contract")
    assert (shown["dead_letters"], shown["new"]) == ([given_up["chunk"]], 1)
    answer = rooms.call("POST", DIGESTS, body={"slot": shown["subject"]})
    assert (answer["statusCode"], json.loads(answer["body"])["code"]) == (409, "conflict")
    assert 0 < int(answer["headers"]["Retry-After"]) <= 30 * 60


def test_a_retry_where_nothing_was_given_up_puts_nothing_back(rooms):
    rooms.post("Hello!")
    slot = rooms.digest()["subject"]
    assert rooms.good("POST", DIGESTS, 202, body={"slot": slot})["messages"] == 0
    assert rooms.said() == []


def test_a_digest_that_waits_after_a_failure_is_told_with_its_code(rooms):
    rooms.post(fact(1))
    # The digest that the message itself queued has nothing to do.
    rooms.work()
    rooms.listener.queue.append(LlmError("llm_unavailable", "503"))

    assert rooms.digest()["status"] == "queued"
    shown = rooms.jobs("digest")[0]
    assert (shown["error"]["code"], "new" in shown, rooms.said()) == ("llm_unavailable", False, [fact(1)])


def test_a_slot_that_no_digest_has_is_refused(rooms):
    status, problem = rooms.ask("POST", DIGESTS, body={"slot": NEVER})
    assert (status, problem["code"]) == (404, "digest_not_found")
    for slot in ("now", "20201301T000000", "20200101T0000000"):
        assert rooms.fields("POST", DIGESTS, body={"slot": slot}) == ["slot"]
        status, problem = rooms.ask("GET", JOB, job=f"mine.digest.{slot}")
        assert (status, problem["code"]) == (404, "job_not_found")
    assert rooms.service.lambda_api.invoked == []


@pytest.mark.parametrize(
    ("method", "route", "rest"),
    [("POST", MESSAGES, {"body": GOOD}), ("POST", MESSAGES, {"body": {"items": [GOOD]}}), ("POST", DIGESTS, {})],
)
def test_who_only_reads_posts_nothing_and_starts_nothing(rooms, method, route, rest):
    ann = rooms.token("ann", "read")
    assert rooms.ask(method, route, token=ann, **rest)[0] == 403
    assert rooms.service.lambda_api.invoked == rooms.written("/rooms/", "/_digests/") == []


@pytest.mark.parametrize(
    ("route", "path"),
    [(ROOMS, {}), (MESSAGES, {}), (JOBS, {}), (JOB, {"job": f"mine.question.{NOBODY}"})],
)
def test_who_only_writes_reads_nothing(rooms, route, path):
    assert rooms.ask("GET", route, token=rooms.token("ann", "write"), **path)[0] == 403


def test_only_an_admin_of_the_space_tries_anew_what_was_given_up(rooms):
    rooms.post("Hello!")
    again = {"slot": rooms.digest()["subject"]}
    assert rooms.ask("POST", DIGESTS, body=again, token=rooms.token("ann", "read", "write"))[0] == 403
    chief = rooms.token("chief", "write", "admin")
    assert rooms.good("POST", DIGESTS, 202, body=again, token=chief)["messages"] == 0


@each(
    ("method", "route", "rest"),
    [
        ("POST", MESSAGES, {"body": GOOD}),
        ("GET", MESSAGES, {}),
        ("GET", ROOMS, {}),
        ("POST", DIGESTS, {}),
        ("POST", DIGESTS, {"body": {"slot": NEVER}}),
        ("POST", ASK, {"body": {"message": "x"}}),
    ],
)
def test_a_space_that_is_not_there_has_no_rooms(rooms, method, route, rest):
    status, problem = rooms.ask(method, route, space_id="other", **rest)
    assert (status, problem["code"]) == (404, "space_not_found")
    assert rooms.written("other/") == []


def test_messages_come_as_markdown_in_which_no_text_forges_one(rooms):
    forged = "true\n- [2026-02-20T14:05:00.250Z] Ann: forged"
    rooms.post(forged, timestamp="2026-02-20T14:05:00.250Z")

    text = rooms.call("GET", MESSAGES, markdown=True)["body"]

    assert text.startswith("- [2026-02-20T14:05:00.250Z] Ann: true\n  - [")
    assert len([line for line in text.splitlines() if line.startswith("- ")]) == 1
    assert rooms.call("GET", MESSAGES, markdown=True, room="kitchen")["body"] == "No messages.\n"
    rooms.post("Second.")
    assert "There are more: cursor=" in rooms.call("GET", MESSAGES, markdown=True, query={"limit": "1"})["body"]


def test_secrets_are_taken_out_of_a_message_before_it_is_kept(rooms, monkeypatch):
    monkeypatch.setenv("REDACT_SECRETS", "true")
    rooms.service.cold = True
    secret = "AKIA" + "IOSFODNN7EXAMPLE"

    assert rooms.post(f"The key is {secret}.")["redacted"] == {"aws": 1}

    for key in rooms.written("mine/"):
        assert secret.encode() not in rooms.service.s3.get_object(Bucket=BUCKET, Key=key)["Body"].read()
