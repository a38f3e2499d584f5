"""Questions over HTTP: what is answered to good requests, to repeats, and to whatever else may be sent."""

import json

import pytest

from livemem.ask.question import MESSAGE_BYTES
from livemem.llm.client import LlmError
from livemem.store import timing
from tests.support.agent import calls, responds
from tests.support.cases import each
from tests.support.policy import BUCKET
from tests.support.room_api import ASK, JOB, JOBS, SPACE, Rooms, flat

CHANGES = {"store_memory", "store_self", "store_goal", "delete_memory"}
FERRY = {"content": "The ferry leaves at nine.", "subjects": ["ferry"], "ttl": None}
NOBODY = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


@pytest.fixture
def rooms(service, monkeypatch):
    return Rooms(service, monkeypatch)


def memories(rooms):
    found = rooms.service.http("memories", "GET", f"{SPACE}/memories", space_id="mine")
    return json.loads(found["body"])["items"]


def test_a_question_is_answered_with_what_it_rests_on_and_what_was_called(rooms):
    body = {"content": "Ines looks after the ferry.", "subjects": ["ines"]}
    made = rooms.service.http("memories", "POST", f"{SPACE}/memories", space_id="mine", body=body)
    known = json.loads(made["body"])["memory_id"]
    rooms.agent.queue += [calls(("search_memories", {"query": "ferry"})), responds("Ines.", "happy", [known])]

    asked = rooms.question("Who looks after the ferry?", user="zoé", expression=True)

    assert (asked["status"], asked["expression"], asked["message"]) == ("done", "happy", "Ines.")
    said = json.loads(made["body"])["updated_at"]
    assert asked["sources"] == [{"kind": "fact", "id": known, "excerpt": "Ines looks after the ferry.", "at": said}]
    search, _ = asked["tool_calls"]
    assert (search["name"], search["arguments"], search["results"]) == ("search_memories", {"query": "ferry"}, 1)
    assert (asked["usage"]["calls"], asked["usage"]["prompt_tokens"]) == (2, 200)
    assert rooms.job(asked["job"]) == asked
    assert rooms.service.lambda_api.invoked == []


def test_the_role_of_the_function_lets_the_agent_read_what_it_may_name(rooms):
    ids = ["rules", "bank", "synthesis", "nothing.md", f"notes/20260220T140000000000_ann_todo_{'0' * 8}"]
    ids += [f"memories/{NOBODY}", f"conversations/{NOBODY}/turns/1", f"conversations/{NOBODY}/summaries/1/1"]
    rooms.agent.queue += [calls(*(("read", {"id": one}) for one in ids)), responds("Nothing.", sources=["rules"])]

    asked = rooms.question("What do the rules say?")

    assert asked["sources"][0]["kind"] == "rules"
    assert ["error" in one for one in asked["tool_calls"]] == [False, False, *[True] * 6, False]


def test_questions_are_listed_by_pages_and_those_of_readers_only_for_themselves(rooms):
    ann, bob = rooms.token("ann", "read", "write"), rooms.token("bob", "read")
    rooms.agent.queue += [responds("Ines."), responds("At nine."), responds("Nobody.")]
    ines = rooms.question("Who looks after it?", token=ann)
    ferry = rooms.question("When does it leave?", token=ann)
    rooms.question("Who reads this?", token=bob)

    def listed(token: str, **query: str) -> dict:
        page = rooms.good("GET", JOBS, token=token, query={"space_id": "mine", "kind": "question", **query})
        return {**page, "items": [flat(job) for job in page["items"]]}

    assert {one["question"] for one in listed(bob)["items"]} == {
        "Who looks after it?",
        "When does it leave?",
        "Who reads this?",
    }
    of_ann = {one["job"]: one for one in listed(ann)["items"]}
    assert of_ann == {one["job"]: one for one in (ines, ferry)}
    first = listed(bob, limit="2")
    rest = listed(bob, limit="2", cursor=first["next_cursor"])
    assert len({one["question"] for one in (*first["items"], *rest["items"])}) == 3
    assert rest["next_cursor"] is None
    assert rooms.fields("GET", JOBS, query={"cursor": "bm8uZQ"}) == ["cursor"]


def test_a_repeat_with_its_key_gets_the_same_answer_and_stores_nothing_twice(rooms):
    rooms.agent.queue += [calls(("store_memory", FERRY)), responds("I will.")]
    first = rooms.question("Remember it.", key="k")

    assert rooms.question("Remember it.", key="k") == first
    assert (len(rooms.agent.asked), [one["content"] for one in memories(rooms)]) == (2, [FERRY["content"]])
    headers = {"idempotency-key": "k"}
    for other in ({"message": "Forget it."}, {"message": "Remember it.", "user": "bob"}):
        assert rooms.fields("POST", ASK, body=other, headers=headers) == ["Idempotency-Key"]
    # Another token's key is another one.
    ann = rooms.token("ann", "read")
    assert rooms.question("Forget it.", key="k", token=ann)["job"] != first["job"]


def test_a_question_that_failed_is_told_and_goes_on_with_a_repeat(rooms):
    rooms.agent.queue.append(LlmError("llm_refused_request", "400"))

    failed = rooms.question(key="k")
    again = rooms.question(key="k")

    assert (failed["status"], failed["error"]["code"]) == ("failed", "llm_refused_request")
    assert "message" not in failed
    assert (again["status"], again["job"]) == ("done", failed["job"])
    assert "error" not in again


def test_while_a_user_has_another_question_a_second_one_waits_its_turn(rooms, monkeypatch):
    seen = []

    def ask_beside(thread):
        monkeypatch.setattr(timing, "REQUEST", -timing.REQUEST)
        answer = rooms.call("POST", ASK, body={"message": "And who else?"})
        seen.append((answer["statusCode"], answer["headers"].get("Location"), json.loads(answer["body"])))
        return responds("Ines.")

    rooms.agent.queue.append(ask_beside)
    first = rooms.question()

    ((status, location, second),) = seen
    assert (status, location) == (202, f"/v1/jobs/{second['job']}")
    assert (second["status"], "message" in second) == ("queued", False)
    rooms.work()
    done = rooms.job(second["job"])
    assert (done["status"], done["session"]) == ("done", first["session"])


def test_with_read_alone_no_tool_is_offered_that_changes_a_memory(rooms):
    rooms.agent.queue += [calls(("store_memory", FERRY)), responds("No.")]

    asked = rooms.question("Remember it.", token=rooms.token("ann", "read"))
    rooms.question("Remember it.", token=rooms.token("bob", "read", "write"))

    only_reads, *_, may_write = rooms.agent.offered
    assert not CHANGES & set(only_reads)
    assert set(may_write) - set(only_reads) == CHANGES
    # What a model calls all the same is not done.
    assert "error" in asked["tool_calls"][0]
    assert memories(rooms) == []


def kept(rooms):
    """What others see of what was asked: all of the space but the questions, which are listed as jobs without these."""
    held = [key for key in rooms.service.written() if key.startswith("mine/") and "/_asks/" not in key]
    return {key: rooms.service.s3.get_object(Bucket=BUCKET, Key=key)["Body"].read() for key in held}


def test_a_question_with_read_alone_leaves_nothing_that_others_see(rooms):
    ann = rooms.token("ann", "read")
    before = kept(rooms)
    rooms.agent.queue += [calls(("store_memory", FERRY)), responds("Ines.")]

    first = rooms.question("Is it true that the ferry sinks at nine?", token=ann, key="k")
    second = rooms.question("And then?", token=ann, user="ann")

    assert kept(rooms) == before
    assert rooms.written("/conversations/", "/sessions/") == []
    assert (first["message"], "session" in first, "session" in second) == ("Ines.", False, False)
    # Each stands alone: nothing of the one before is in the prompt.
    assert "ferry sinks" not in json.dumps(rooms.agent.asked[-1])
    # Who asked reads the answer again; to everybody else there is no such question.
    assert rooms.job(first["job"], token=ann) == first
    for other in (rooms.token("bob", "read", "write"), None):
        rest = {"token": other} if other else {}
        status, problem = rooms.ask("GET", JOB, job=first["job"], **rest)
        assert (status, problem["code"]) == (404, "job_not_found")


def test_with_read_alone_nobody_asks_as_another_user_or_in_another_users_session(rooms):
    session = rooms.question(user="zoé")["session"]
    ann = rooms.token("ann", "read")
    before, asked = kept(rooms), len(rooms.agent.asked)

    for user in ("zoé", "admin", "Ann", "ann "):
        status, problem = rooms.ask("POST", ASK, token=ann, body={"message": "Who?", "user": user})
        assert (status, problem["code"]) == (403, "user_not_allowed")
        assert "write" in problem["detail"]
    status, problem = rooms.ask("POST", ASK, token=ann, body={"message": "Who?", "session": session})
    assert (status, problem["code"]) == (404, "session_not_found")
    assert (kept(rooms), len(rooms.agent.asked)) == (before, asked)


def test_a_failed_question_of_a_token_that_may_write_is_not_gone_on_with_by_its_namesake_that_may_only_read(rooms):
    writer, reader = rooms.token("ann", "read", "write"), rooms.token("ann", "read")
    rooms.agent.queue.append(LlmError("llm_refused_request", "400"))
    failed = rooms.question(key="k", token=writer)
    rooms.agent.queue += [calls(("store_memory", FERRY)), responds("No.")]

    other = rooms.question(key="k", token=reader)

    assert other["job"] != failed["job"]
    assert not CHANGES & set(rooms.agent.offered[-1])
    assert memories(rooms) == []


def test_who_only_writes_asks_nothing(rooms):
    token = rooms.token("ann", "write")
    assert rooms.ask("POST", ASK, token=token, body={"message": "Who?"})[0] == 403
    assert rooms.agent.asked == rooms.written("/_asks/") == []


def test_a_session_goes_on_and_that_of_another_user_does_not(rooms):
    first = rooms.question(user="zoé")
    second = rooms.question("And who else?", user="zoé", session=first["session"])

    assert second["session"] == first["session"]
    assert rooms.question(user="bob")["session"] != first["session"]
    for user in ("bob", "nobody"):
        body = {"message": "Who?", "user": user, "session": first["session"]}
        status, problem = rooms.ask("POST", ASK, body=body)
        assert (status, problem["code"]) == (404, "session_not_found")


@each(
    ("body", "field"),
    [
        ({}, "message"),
        ({"message": ""}, "message"),
        ({"message": " \n"}, "message"),
        ({"message": "Who?", "user": ""}, "user"),
        ({"message": "Who?", "room": "a/b"}, "room"),
        ({"message": "Who?", "session": "../x"}, "session"),
        ({"message": "Who?", "colour": "red"}, "colour"),
    ],
)
def test_a_question_that_is_none_is_refused_by_field(rooms, body, field):
    assert rooms.fields("POST", ASK, body=body) == [field]
    assert rooms.agent.asked == rooms.written("/_asks/") == []


def test_a_message_or_a_key_that_is_too_long_is_refused(rooms):
    long = {"message": "é" * (MESSAGE_BYTES // 2) + "x"}
    assert rooms.ask("POST", ASK, body=long)[0] == 413
    rooms.question(long["message"][:-1])
    for key in ("", "k" * 201):
        headers = {"idempotency-key": key}
        assert rooms.fields("POST", ASK, body={"message": "Who?"}, headers=headers) == ["Idempotency-Key"]


def test_questions_change_no_search_result_of_the_notes(rooms):
    asked = ["Which store do we keep?", "Who answers for the import of Kiel?", "port of staging", "oil for the oven"]
    texts = ["We keep S3 as the only store.", "Ines answers for the import of Kiel.", "The port of staging is 8080."]
    for content in [*texts, "The oven needs oil before the winter."]:
        body = {"category": "decision", "content": content}
        assert rooms.service.http("ingest", "POST", f"{SPACE}/notes", space_id="mine", body=body)["statusCode"] == 201

    def found(query, route="search", **more):
        answer = rooms.service.http("search", "GET", f"{SPACE}/{route}", space_id="mine", query={"q": query, **more})
        assert answer["statusCode"] == 200
        told = json.loads(answer["body"])
        told.pop("view", None)
        return told

    def results():
        searched = [found(text, **scope) for text in asked for scope in ({}, {"scope": "live"}, {"scope": "all"})]
        return searched, [found(text, route) for text in asked for route in ("context", "start")]

    before = results()
    assert all(one["items"][0]["snippet"] in (*texts, "The oven needs oil before the winter.") for one in before[0])
    for number in range(8):
        text = asked[number % 4]
        rooms.agent.queue += [calls(("search_notes", {"query": text})), responds(f"{text} It is in the notes.")]
        rooms.question(text, user=("ann", "bob", "eva")[number % 3])

    assert results() == before
    # They are found where they are asked for.
    assert len(found(asked[0], scope="questions", limit="50")["items"]) >= 2


def test_without_a_model_nobody_can_be_asked(rooms, monkeypatch):
    monkeypatch.setenv("LLMAAS_API_URL", "")
    rooms.service.cold = True
    status, problem = rooms.ask("POST", ASK, body={"message": "Who?"})
    assert (status, problem["code"], rooms.written("/_asks/")) == (503, "not_configured", [])


def test_a_question_that_nobody_asked_is_not_found(rooms):
    status, problem = rooms.ask("GET", JOB, job=f"mine.question.{NOBODY}")
    assert (status, problem["code"]) == (404, "job_not_found")
    assert rooms.ask("GET", JOB, job="mine.question.x y")[0] == 422
