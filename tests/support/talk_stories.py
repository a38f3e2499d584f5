"""What can happen to conversations, told as in stories.py."""

from http.server import BaseHTTPRequestHandler
from json import dumps, loads
from typing import Any

import pytest

from tests.support.functions import sample
from tests.support.llm_server import answer, completion
from tests.support.part import of_proof
from tests.support.policy import BUCKET, Request
from tests.support.stories import BOOTSTRAP_KEY, HOUR, SPACE, Account, Story
from tests.support.talk import captures, hears

ALL = f"{SPACE}/conversations"
ONE = f"{ALL}/{{conversation_id}}"
DAY = 24 * HOUR
FOLDER = {"cwd": "/home/ann/ferry", "host": "laptop"}


def call(account: Account, method: str, route: str, status: int, **rest: Any) -> Any:
    return account.call("conversations", method, route, status, **rest)


NAMED = {"category": "decision", "content": "The import is mended.", "turns": []}


def willing(account: Account) -> None:
    """From here on the LLM summarises, and the embedding model has a vector for each text."""

    def serve(handler: BaseHTTPRequestHandler) -> None:
        body = account.llm.asked[-1].body
        if "messages" in body:
            answer(completion(captures(NAMED, of=hears("Short answers."))(body["messages"])))(handler)
            return
        data = [
            {"object": "embedding", "index": place, "embedding": [1.0, len(text) % 7, 0.5]}
            for place, text in enumerate(body["input"])
        ]
        answer({"object": "list", "model": "text-embedding-3-small", "data": data})(handler)

    account.llm.script.clear()
    account.llm.script.extend([serve] * 50)


def unwilling(account: Account) -> None:
    account.llm.script.clear()
    account.llm.script.extend([answer({}, 500)] * 20)


def something_of_everything(account: Account) -> str:
    """A conversation with each kind of object that one can have."""
    one = begun(account)
    say(account, one, message_id="m-1", tool_calls=[{"name": "read", "result": "x" * 40_000}])
    update(account, one, 202, strategy="full", ratio=0.2)
    assert worked_off(account) == ["done"]
    account.put(f"demo/conversations/{one}/claims/summaries.json", "no claim")
    return one


def begun(account: Account, **wanted: Any) -> str:
    account.create()
    willing(account)
    # One call after the other: the LLM's answer is made of what it was asked last.
    parameters = {"concurrency": 1, "batch_delay_ms": 0, "verbatim_chars": 0, **wanted}
    made = call(account, "POST", ALL, 201, body={**FOLDER, "parameters": parameters, "capture": "notes"})
    assert made["capture"] == "notes"
    return str(made["conversation_id"])


def say(account: Account, one: str, text: str = "x", status: int = 201, **more: Any) -> int:
    body = {"user_message": text, "assistant_message": f"{text}, indeed", **more}
    account.clock.move(1)
    return int(call(account, "POST", f"{ONE}/turns", status, conversation_id=one, body=body)["turn_index"])


def told(account: Account, one: str, index: int = 1) -> Any:
    """What becomes of a turn's put event."""
    event = sample("summarize-put")
    key = f"demo/conversations/{one}/turns/{9_999_999_999 - index:010d}.turn.json"
    event["Records"][0]["s3"]["object"]["key"] = key
    (result,) = account.service.invoke("summarize", event)["results"]
    return result


def worked_off(account: Account) -> list[str]:
    """What became of all that is queued."""
    done = []
    while account.service.lambda_api.invoked:
        done += account.service.work()["results"]
    return done


def made(account: Account, one: str, **query: str) -> list[tuple[int, int]]:
    """Level and number of the summaries that are there."""
    query = {"state": "sealed", **query}
    found = call(account, "GET", f"{ONE}/summaries", 200, conversation_id=one, query=query)["items"]
    return [(item["level"], item["number"]) for item in found]


def update(account: Account, one: str, status: int, **wish: Any) -> Any:
    return call(account, "POST", f"{ONE}/summaries/update", status, conversation_id=one, body=wish)


def a_conversation_from_its_beginning_to_its_deletion(account: Account) -> None:
    one = begun(account)
    say(account, one, "why", message_id="m-1", tool_calls=[{"name": "read", "result": "x" * 40_000}])
    say(account, one, "why", 200, message_id="m-1", tool_calls=[{"name": "read", "result": "x" * 40_000}])
    message = {"role": "user", "content": "and now?", "message_id": "m-2"}
    call(account, "POST", f"{ONE}/messages", 201, conversation_id=one, body=message)
    items = [{"message_id": f"i-{n}", "role": "assistant", "content": "The import is mended soon."} for n in range(2)]
    assert call(account, "POST", f"{ONE}/turns", 200, conversation_id=one, body={"items": items})["imported"] == 2
    assert told(account, one) == "done"
    for query in ({}, FOLDER, {"cwd": FOLDER["cwd"]}):
        (listed,) = call(account, "GET", ALL, 200, query=query)["items"]
        assert listed["turn_count"] == 4
    assert call(account, "GET", ONE, 200, conversation_id=one)["levels"][0]["summarised"] > 0
    assert len(call(account, "GET", f"{ONE}/turns", 200, conversation_id=one)["items"]) == 4
    turn = call(account, "GET", f"{ONE}/turns/{{turn_index}}", 200, conversation_id=one, turn_index="1")
    assert len(turn["tool_calls"][0]["result"]) == 40_000
    assert made(account, one)
    assert update(account, one, 200)["status"] == "nothing_to_do"
    call(account, "POST", f"{ONE}/close", 201, conversation_id=one)
    call(account, "POST", f"{ONE}/close", 200, conversation_id=one)
    (job, *_) = account.jobs("summaries", subject=one)
    account.job(job["job"])
    account.put(f"demo/conversations/{one}/claims/summaries.json")
    account.put(f"demo/conversations/{one}/versions.json", dumps({"version": 1}))
    wanted = {"name": "ann", "permissions": ["admin"], "space_ids": ["demo"]}
    token = account.call("admin", "POST", "/v1/tokens", 201, body=wanted)["token"]
    call(account, "DELETE", ONE, 204, conversation_id=one, token=token)
    call(account, "GET", ONE, 404, conversation_id=one)
    # What was captured of it stays, and says where it came from.
    route = "/v1/spaces/{space_id}/notes"
    noted = account.call("reads", "GET", route, 200)["items"]
    assert {(note["source"]["conversation_id"], note["source"]["gone"]) for note in noted} == {(one, True)}
    note = account.call("reads", "GET", f"{route}/{{note_id}}", 200, note_id=noted[0]["note_id"])
    assert (note["content"], note["source"]["gone"]) == (NAMED["content"], True)
    stays = [f"demo/conversations/{one}/conversation.json", f"demo/conversations/{one}/deleted"]
    assert left(account, one) == stays
    # What comes late goes with the next sweep.
    account.put(f"demo/conversations/{one}/v1/summaries/l1/000001/{'0' * 64}.json")
    account.clock.move(HOUR / 4)
    account.sweep()
    assert left(account, one) == stays
    account.service.index()
    account.clock.move(2 * HOUR)
    account.sweep(everything=True)
    assert left(account, one) == []


def a_conversation_that_is_deleted_while_its_summary_is_made(account: Account) -> None:
    one = begun(account)
    say(account, one, "why")
    here = f"demo/conversations/{one}/conversation.json"

    def bury(request: Request) -> bool:
        """Between the worker's last look and its write."""
        if request.action == "s3:PutObject" and "/summaries/" in request.resource:
            with account.service.recorder.beside():
                known = loads(account.service.s3.get_object(Bucket=BUCKET, Key=here)["Body"].read())
                account.put(here, dumps({**known, "deleted_at": "2026-02-20T12:00:00Z"}))
        return False

    account.service.recorder.deadly = bury
    assert told(account, one) == "cancelled"
    assert not [key for key in left(account, one) if "/summaries/" in key]


def a_worker_that_dies(account: Account) -> None:
    one = begun(account)
    say(account, one, "why")
    with account.dying("s3:PutObject", f"demo/conversations/{one}/v1/summaries/"):
        told(account, one)
    account.sweep()
    assert worked_off(account) == ["done"]
    (job,) = account.jobs("summaries", subject=one)
    assert job["status"] == "done"
    # One that died when it had written the end.
    account.put(f"demo/conversations/{one}/claims/summaries.json", dumps(_claim_of(job["job"].rpartition(".")[2])))
    account.clock.move(HOUR)
    account.sweep()
    assert worked_off(account) == []


def _claim_of(job_id: str) -> dict[str, Any]:
    return {"worker": "x", "job_id": job_id, "kind": "work", "seconds": 90}


def a_turn_that_is_erased(account: Account) -> None:
    # The test's store takes what was written and removed in one moment for removed.
    account.clock.move(60)
    one = begun(account)
    say(account, one, "my number is 555 0199", message_id="m-1", tool_calls=[{"name": "read", "result": "x" * 40_000}])
    assert told(account, one) == "done"
    account.clock.move(60)
    path = {"conversation_id": one, "turn_index": "1"}
    done = account.call("backup", "POST", f"{SPACE}/erasures", 200, body={"ids": [f"{one}/1"]})
    # With the note that was captured from it.
    assert (done["status"], done["ids"][1:]) == ("done", [f"{one}/1"])
    turn = call(account, "GET", f"{ONE}/turns/{{turn_index}}", 200, **path)
    assert turn["user_message"].startswith("Erased on ")
    assert "tool_calls" not in turn
    say(account, one, "my number is 555 0199", 200, message_id="m-1")
    # The summary is made anew by whoever comes next.
    account.clock.move(HOUR / 4)
    account.sweep()
    assert worked_off(account) == ["done"]
    assert made(account, one) == [(1, 1)]


def left(account: Account, one: str) -> list[str]:
    """What there is of a conversation, but for when to look at it again."""
    return [key for key in account.service.written() if one in key and not key.startswith("_due/")]


def summaries_by_hand(account: Account) -> None:
    one = begun(account, group_raw_chars=500)
    for number in range(3):
        say(account, one, f"{number}" * 150)
    assert update(account, one, 200, dry_run=True)["plan"]["calls"] > 3
    assert update(account, one, 200, level=1)["status"] == "done"
    # The levels above are made by an invocation of its own.
    assert update(account, one, 202)["status"] == "running"
    assert worked_off(account) == ["done"]
    assert made(account, one, level="2")


def a_budget_of_tokens_for_summaries(account: Account) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LLM_DAILY_TOKEN_BUDGET", "1")
        one = begun(account)
        say(account, one)
        update(account, one, 200)
        say(account, one)
        assert account.job(update(account, one, 202)["job"])["error"]["code"] == "token_budget_exhausted"
        say(account, one)
        account.clock.move(HOUR)
        assert told(account, one, 3) == "waiting"


def all_anew_and_one_anew(account: Account) -> None:
    one = begun(account)
    for _ in range(2):
        say(account, one)
    assert told(account, one) == "done"
    plan = update(account, one, 200, strategy="full", dry_run=True, ratio=0.2)["plan"]
    assert (plan["generation"], plan["calls"]) == (2, 2)
    assert update(account, one, 202, strategy="full", ratio=0.2)["status"] == "queued"
    assert worked_off(account) == ["done"]
    assert call(account, "GET", ONE, 200, conversation_id=one)["generation"] == 2
    assert update(account, one, 202, level=1, number=2)["status"] == "queued"
    assert worked_off(account) == ["done", "nothing"]
    account.clock.move(2 * DAY)
    assert account.sweep(everything=True)["summary_versions_removed"] == {"demo": 1}


def an_llm_that_does_not_summarise(account: Account) -> None:
    one = begun(account)
    say(account, one)
    unwilling(account)
    assert told(account, one) == "waiting"
    assert told(account, one) == "busy"
    assert update(account, one, 202)["status"] == "queued"
    account.clock.move(2 * HOUR)
    willing(account)
    assert account.sweep()["conversations_started"] == {"demo": 1}
    assert worked_off(account) == ["done"]
    account.clock.move(HOUR)
    account.sweep()
    assert not [key for key in account.service.written() if key.startswith("_due/")]


def a_turn_whose_event_never_came(account: Account) -> None:
    one = begun(account, group_raw_chars=500)
    for number in range(3):
        say(account, one, f"{number}" * 150)
    account.clock.move(HOUR)
    assert account.sweep()["conversations_started"] == {"demo": 1}
    assert worked_off(account) == ["done"]
    say(account, one)
    account.clock.move(HOUR)
    account.sweep()
    assert worked_off(account) == ["done"]
    # Summaries of level 1 and 2 are there to be looked at.
    say(account, one)
    assert told(account, one, 5) == "done"
    account.clock.move(HOUR)
    assert "conversations_started" not in account.sweep()


def a_deletion_of_a_conversation_that_is_interrupted(account: Account) -> None:
    one = something_of_everything(account)
    with account.dying("s3:DeleteObject", f"demo/conversations/{one}/turns/"):
        call(account, "DELETE", ONE, 204, conversation_id=one)
    account.put(f"demo/_by_cwd/{'0' * 32}/{'0' * 13}_{one}")
    account.clock.move(HOUR + 1)
    # It goes on with the deletion; what is left then is old enough an hour later.
    account.sweep(everything=True)
    account.clock.move(HOUR + 1)
    assert account.sweep(everything=True)["conversations_cleaned"] == {"demo": 1}
    assert left(account, one) == []


def a_conversation_that_can_not_be_looked_at(account: Account) -> None:
    one = something_of_everything(account)
    say(account, one)
    account.put(f"demo/conversations/{one}/versions.json", "[")
    account.clock.move(HOUR)
    before = {key for key in account.service.written() if key.startswith("_due/")}
    account.sweep()
    assert {key for key in account.service.written() if key.startswith("_due/")} != before


def a_space_with_a_conversation_that_is_deleted(account: Account) -> None:
    one = something_of_everything(account)
    account.put(f"demo/conversations/{one}/deleted")
    account.delete()
    assert told(account, one) == "gone"
    account.clock.move(HOUR)
    account.sweep()


def a_job_that_goes_on(account: Account) -> None:
    one = begun(account)
    for _ in range(2):
        say(account, one)
    with pytest.MonkeyPatch.context() as patch:
        # There is time for one summary, and for no second one.
        patch.setattr("livemem.llm.answering.SHORTEST_ASK", 800)
        account.llm.script[0] = _slowly(account)
        assert told(account, one) == "unfinished"
    assert worked_off(account) == ["done"]
    assert len(made(account, one, level="1")) == 2


def searches_and_the_context(account: Account) -> None:
    one = begun(account, group_raw_chars=500)
    for number in range(3):
        say(account, one, f"the store {number} " * 20)
    assert told(account, one, 3) == "done"
    # A summary of one turn is a copy of it, and is found where turns are not asked for.
    for asked, kind in ({}, "turn"), ({"levels": "1,2,3"}, "summary"):
        found = searched(account, "search", conversation_id=one, limit="5", **asked)
        assert {hit["kind"] for hit in found["items"]} == {kind}
    assert searched(account, "search", scope="conversations")["items"]
    assert searched(account, "search", cwd=FOLDER["cwd"])["items"]
    assert searched(account, "search", scope="all")["items"]
    for name in ("turns/2", "summaries/1/1"):
        assert account.call("search", "GET", f"{SPACE}/read", 200, query={"id": f"conversations/{one}/{name}"})["text"]
    context = searched(account, "context", conversation_id=one)
    assert {item["kind"] for item in context["items"]} >= {"turn"}
    assert context["degraded"] == []
    willing(account)
    assert update(account, one, 202, strategy="full", ratio=0.2)["status"] == "queued"
    assert worked_off(account) == ["done"]
    account.llm.script.clear()
    account.llm.script.extend([_embed(account)] * 20)
    assert account.service.invoke("indexer", {"space_id": "demo"})["embedded"]
    # Of turns that are not shown as they are.
    context = searched(account, "context", conversation_id=one, max_turns="1")
    assert [item for item in context["items"] if item["kind"] == "turn" and "relevance" in item]
    with account.dying("s3:DeleteObject", f"demo/conversations/{one}/turns/"):
        call(account, "DELETE", ONE, 204, conversation_id=one)
    account.service.lambda_api.indexing.clear()
    assert account.service.invoke("indexer", {"space_id": "demo"})["status"] == "done"
    assert not searched(account, "search", scope="conversations")["items"]


def searched(account: Account, route: str, **query: str) -> Any:
    account.llm.script.clear()
    account.llm.script.extend([_embed(account)] * 20)
    return account.call("search", "GET", f"{SPACE}/{route}", 200, query={"q": "store", **query})


def _embed(account: Account) -> Any:
    def embed(handler: BaseHTTPRequestHandler) -> None:
        texts = account.llm.asked[-1].body["input"]
        data = [
            {"object": "embedding", "index": place, "embedding": [1.0, len(text) % 7, 0.5]}
            for place, text in enumerate(texts)
        ]
        answer({"object": "list", "model": "text-embedding-3-small", "data": data})(handler)

    return embed


def what_was_said_is_found_again(account: Account) -> None:
    one = begun(account, group_raw_chars=500)
    for number in range(3):
        say(account, one, f"the store {number} " * 20)
    assert update(account, one, 202)["status"] == "running"
    assert worked_off(account) == ["done"]

    def search(route: str, token: str = BOOTSTRAP_KEY, **query: str) -> Any:
        query["q"] = "the store"
        return account.call("search", "GET", f"{SPACE}/{route}", 200, token=token, query=query)

    wanted = {"name": "ann", "permissions": ["read"], "space_ids": ["demo"]}
    token = account.call("admin", "POST", "/v1/tokens", 201, body=wanted)["token"]
    assert search("search", conversation_id=one, token=token)["items"]
    assert account.service.index()["status"] == "done"
    assert search("search", conversation_id=one)["items"]
    assert search("search", scope="conversations")["items"]
    search("search", cwd=FOLDER["cwd"])
    assert search("context", conversation_id=one)["markdown"]
    say(account, one, "another store")
    assert search("context", conversation_id=one)["markdown"]
    call(account, "DELETE", ONE, 204, conversation_id=one)
    account.service.lambda_api.indexing[:-1] = []
    assert account.service.index()["status"] == "done"


def _slowly(account: Account) -> Any:
    summarise = account.llm.script[0]

    def step(handler: BaseHTTPRequestHandler) -> None:
        account.clock.move(200)
        summarise(handler)

    return step


def notes_that_are_folded_before_their_block_has_its_summary(account: Account) -> None:
    one = begun(account)
    # Once by the function of the routes, once by the one of events.
    for index, carry_on in ((1, lambda: update(account, one, 200)), (2, lambda: told(account, one, 2))):
        say(account, one)
        with account.dying("s3:PutObject", f"demo/conversations/{one}/v1/summaries/l1/"):
            carry_on() if index == 2 else account.service.http(
                "conversations", "POST", f"{ONE}/summaries/update", space_id="demo", conversation_id=one, body={}
            )
        account.service.lambda_api.invoked.clear()
        account.start()
        account.work()
        willing(account)
        carry_on()
        account.service.lambda_api.invoked.clear()
        assert account.call("reads", "GET", "/v1/spaces/{space_id}/notes", 200)["items"] == []


def what_was_heard_of_a_user(account: Account) -> None:
    one = begun(account)
    say(account, one, user="dev")
    assert told(account, one) == "done"
    account.clock.move(HOUR)
    account.sweep()
    parts = account.call("search", "GET", f"{SPACE}/start", 200, query={"user": "dev"})["parts"]
    assert [part["source"] for part in parts if part["why"] == "user"] == [f"conversations/{one}/summaries/1/1"]


STORIES: list[Story] = [
    a_conversation_from_its_beginning_to_its_deletion,
    notes_that_are_folded_before_their_block_has_its_summary,
    a_conversation_that_is_deleted_while_its_summary_is_made,
    a_turn_that_is_erased,
    all_anew_and_one_anew,
    a_deletion_of_a_conversation_that_is_interrupted,
    a_space_with_a_conversation_that_is_deleted,
    a_job_that_goes_on,
    searches_and_the_context,
    # They ask for nothing that no other story asks for.
    *of_proof(
        what_was_heard_of_a_user,
        a_worker_that_dies,
        summaries_by_hand,
        a_budget_of_tokens_for_summaries,
        an_llm_that_does_not_summarise,
        a_turn_whose_event_never_came,
        a_conversation_that_can_not_be_looked_at,
        what_was_said_is_found_again,
    ),
]
