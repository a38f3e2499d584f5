"""What can happen to memories, rooms and questions, told as in stories.py."""

import re
from http.server import BaseHTTPRequestHandler
from json import dumps, loads
from typing import Any

import pytest

from tests.support.functions import sample
from tests.support.llm_server import answer, completion
from tests.support.part import of_proof
from tests.support.policy import BUCKET
from tests.support.stories import HOUR, SPACE, Account, Story, entered
from tests.support.talk import extract
from tests.support.world import verdicts

MEMORIES = f"{SPACE}/memories"
MEMORY = f"{MEMORIES}/{{memory_id}}"
ROOM = f"{SPACE}/rooms/{{room}}/messages"
DIGESTS = f"{SPACE}/digests"
DIGEST = f"{DIGESTS}/{{slot}}"
ASK = f"{SPACE}/ask"
DAY = 24 * HOUR
DIRECTIONS = 40
TOPIC = re.compile(r"([0-9]+): ")


def serving(account: Account, *, verdict: str = "different", agent: Any = None) -> None:
    """From here on the models answer: vectors by the topic that a text begins with, facts of what was said in a room,
    verdicts, and an agent that calls `agent`'s tools and then responds.
    """
    steps = list(agent or ())

    def serve(handler: BaseHTTPRequestHandler) -> None:
        body = account.llm.asked[-1].body
        if body is None:
            answer({"object": "list", "data": []})(handler)
        elif "input" in body:
            data = [_vector(place, text) for place, text in enumerate(body["input"])]
            answer({"object": "list", "model": "text-embedding-3-small", "data": data})(handler)
        elif "tools" in body:
            calls = steps.pop(0) if steps else [("respond", {"expression": "neutral", "message": "x", "sources": []})]
            answer(_calling(calls))(handler)
        elif "# Messages of the room" in body["messages"][-1]["content"]:
            answer(completion(_facts(body["messages"][-1]["content"])))(handler)
        elif "# Pairs (JSON)" in body["messages"][-1]["content"]:
            # A model that counts fewer tokens than there are has not read both.
            used = {"prompt_tokens": 1_500, "completion_tokens": 7, "total_tokens": 1_507}
            answer(completion(verdicts(body["messages"], lambda new, there: verdict), usage=used))(handler)
        else:
            answer(completion(extract(body["messages"])))(handler)

    account.llm.script.clear()
    account.llm.script.extend([serve] * 200)


def _vector(place: int, text: str) -> dict[str, Any]:
    found = TOPIC.match(text)
    topic = int(found[1]) if found else len(text)
    angle = [0.0] * DIRECTIONS
    # Those of one topic are the same, `12: ` is somewhat like `1: `, others are like nothing else.
    angle[1 if topic in (1, 12) else 2 + topic % (DIRECTIONS - 2)] = 1.0
    if topic == 12:
        angle[0], angle[1] = 0.6, 0.8
    return {"object": "embedding", "index": place, "embedding": angle}


def _calling(calls: list[tuple[str, Any]]) -> dict[str, Any]:
    made = [
        {"id": f"c{place}", "type": "function", "function": {"name": name, "arguments": dumps(given)}}
        for place, (name, given) in enumerate(calls)
    ]
    message = {"role": "assistant", "content": None, "tool_calls": made}
    return completion(finish_reason="tool_calls", message=message)


def _facts(prompt: str) -> str:
    lines = prompt.split("\n")
    place = next(place for place, line in enumerate(lines) if line.startswith("# Messages of the room"))
    said = loads(lines[place + 1])
    found = [{"kind": "fact", "content": one["content"], "messages": [one["number"]]} for one in said]
    return dumps({"memories": [{**one, "ttl": "1d"} for one in found]})


def call(account: Account, method: str, route: str, status: int, **rest: Any) -> Any:
    return account.call("memories", method, route, status, **rest)


def store(account: Account, content: str, status: int = 201, **more: Any) -> str:
    return str(call(account, "POST", MEMORIES, status, body={"content": content, **more})["memory_id"])


def remembering(account: Account, **models: Any) -> None:
    account.create()
    serving(account, **models)


def token(account: Account, *permissions: str) -> str:
    wanted = {"name": "ann", "permissions": list(permissions), "space_ids": ["demo"]}
    return str(account.call("admin", "POST", "/v1/tokens", 201, body=wanted)["token"])


def a_memory_from_its_storing_to_its_end(account: Account) -> None:
    remembering(account, verdict="same")
    ann = token(account, "read", "write")
    made = call(account, "POST", MEMORIES, 201, body={"content": "1: We keep S3.", "ttl": "1d"}, token=ann)
    one = made["memory_id"]
    store(account, "1: We keep S3 as the only store.", 200, ttl="1d")
    batch = {"items": [{"content": "3: I listen.", "kind": "self"}, {"content": "4: Learn.", "kind": "goal"}]}
    assert call(account, "POST", MEMORIES, 200, body=batch)["failed"] == 0
    assert call(account, "GET", MEMORIES, 200, query={"q": "1: store"})["ranking"] == "vector"
    assert len(call(account, "GET", MEMORIES, 200)["items"]) == 3
    call(account, "PATCH", MEMORY, 200, memory_id=one, body={"content": "1: We keep S3 alone."})
    assert call(account, "GET", MEMORY, 200, memory_id=one)["revision"] == 3
    assert searched(account, f"{SPACE}/read", id=one)["kind"] == "memory"
    call(account, "DELETE", MEMORY, 204, memory_id=one, query={"reason": "x"})
    for _ in range(2):
        call(account, "POST", f"{MEMORY}/restore", 200, memory_id=one)
    assert len(call(account, "GET", f"{MEMORIES}/changes", 200)["items"]) == 7
    searched(account, f"{SPACE}/context", q="1: store", room="general")
    account.clock.move(2 * DAY)
    assert account.sweep()["memories_expired"] == {"demo": 1}
    call(account, "GET", MEMORY, 404, memory_id=one)
    account.delete()
    account.clock.move(HOUR)
    account.sweep()


def searched(account: Account, route: str, **query: str) -> Any:
    return account.call("search", "GET", route, 200, query=query)


def memories_that_are_nearly_the_same(account: Account) -> None:
    remembering(account, verdict="same")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LLM_DAILY_TOKEN_BUDGET", "1000000")
        first = store(account, "1: The ferry leaves at nine.")
        assert store(account, "12: The ferry to Kiel leaves at nine in the morning.", 200) == first
        # What the first has used is counted.
        assert store(account, "1: At nine the ferry leaves.", 200) == first
    assert [key for key in account.service.written() if "/_verdicts/" in key]
    both = call(account, "POST", f"{MEMORY}/split", 200, memory_id=first)
    assert (both["memory"]["memory_id"], both["split_off"]["content"]) == (first, "1: At nine the ferry leaves.")
    call(account, "POST", f"{MEMORY}/split", 200, memory_id=first)
    call(account, "POST", f"{MEMORY}/split", 409, memory_id=first)
    # Known by now, also to who comes cold.
    store(account, "2: Something else.")


def so_many_memories_that_they_have_a_snapshot(account: Account) -> None:
    remembering(account)
    for number in range(7):
        store(account, f"{100 + number}: {number}")
    assert searched(account, f"{SPACE}/search", q="100", scope="memories")["items"]
    assert searched(account, f"{SPACE}/context", q="100: x", room="general")["markdown"]
    with pytest.MonkeyPatch.context() as patch:
        # Who comes first with a new model embeds all anew, and keeps that.
        patch.setenv("EMBEDDINGS_MODEL", "another")
        assert searched(account, f"{SPACE}/context", q="100: x", room="general")["markdown"]
    account.clock.move(2 * DAY)
    assert account.sweep(everything=True)["memory_snapshots_removed"]
    call(account, "GET", MEMORIES, 200, query={"q": "100"})


def a_memory_that_is_erased(account: Account) -> None:
    # The test's store takes what was written and removed in one moment for removed.
    account.clock.move(60)
    remembering(account)
    one = store(account, "1: Her number is 555 0199.")
    account.clock.move(60)
    erased = account.call("backup", "POST", f"{SPACE}/erasures", 200, body={"ids": [one]})
    assert erased["status"] == "done"
    call(account, "POST", f"{MEMORY}/restore", 409, memory_id=one)


def post(account: Account, content: str, status: int = 201, **more: Any) -> Any:
    who = {"token": more.pop("token")} if "token" in more else {}
    body = {"author": "Ines", "content": content, **more}
    return account.call("rooms", "POST", ROOM, status, room="general", body=body, **who)


def queued(account: Account) -> list[tuple[str, Any]]:
    return account.service.lambda_api.invoked


def digested(account: Account) -> list[str]:
    """What became of the digests that are queued."""
    done = []
    while queued(account):
        done += [one["result"] for one in account.service.work()["results"]]
    return done


def what_is_said_in_a_room_becomes_memories(account: Account) -> None:
    remembering(account)
    ann = token(account, "read", "write")
    store(account, "9: I listen.")
    post(account, "1: The ferry leaves at nine.", message_id="m-1", token=ann)
    post(account, "1: The ferry leaves at nine.", 200, message_id="m-1")
    several = {"items": [{"author": "Tom", "content": "5: Tom is away."}, {"author": "Tom", "content": "ok"}]}
    account.call("rooms", "POST", ROOM, 200, room="general", body=several)
    queued(account).clear()
    assert account.call("rooms", "GET", f"{SPACE}/rooms", 200)["items"][0]["has_messages"]
    assert len(account.call("rooms", "GET", ROOM, 200, room="general")["items"]) == 3
    assert searched(account, f"{SPACE}/search", q="1: ferry", room="general")
    assert account.service.invoke("indexer", {"space_id": "demo"})["status"] == "done"
    assert searched(account, f"{SPACE}/search", q="ferry", scope="all")["items"]
    assert searched(account, f"{SPACE}/context", q="1: ferry", room="general")["markdown"]
    job = account.call("rooms", "POST", DIGESTS, 202)["job"]
    account.job(job)
    assert digested(account) == ["done"]
    assert account.job(job)["messages"] == 3
    listed = account.jobs("digest")
    assert [one["status"] for one in listed if one["job"] == job] == ["done"], listed
    assert account.call("rooms", "GET", ROOM, 200, room="general")["items"] == []
    assert len(call(account, "GET", MEMORIES, 200)["items"]) == 4
    # Late: it was digested.
    assert post(account, "1: The ferry leaves at nine.", 200, message_id="m-1")["digested"]
    account.clock.move(HOUR)
    assert account.service.invoke("digest", sample("digest-schedule"))["queued"] == {}
    assert account.call("rooms", "POST", DIGESTS, 202, body={"slot": job.rpartition(".")[2]})["messages"] == 0
    digested(account)
    account.call("reads", "GET", "/v1/health", 200)
    account.clock.move(100 * DAY)
    account.sweep(everything=True)
    account.delete()


def a_digest_that_is_due(account: Account) -> None:
    remembering(account, verdict="same")
    store(account, "1: The ferry leaves at nine.")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LLM_DAILY_TOKEN_BUDGET", "1000000")
        for content in ("12: The ferry to Kiel leaves at nine in the morning.", "1: At nine the ferry leaves."):
            post(account, content)
            queued(account).clear()
            account.call("rooms", "POST", DIGESTS, 202)
            assert digested(account) == ["done"]
            account.clock.move(60)
    post(account, "6: Tom is back.")
    queued(account).clear()
    account.clock.move(5 * HOUR)
    assert account.service.invoke("digest", sample("digest-schedule"))["queued"].keys() == {"demo"}
    assert digested(account) == ["done"]
    # Missed, and found by who posts next.
    account.clock.move(5 * HOUR)
    post(account, "5: Tom is away.")
    assert queued(account)


def rooms_that_are_empty(account: Account) -> None:
    remembering(account)
    post(account, "6: Tom is back.")
    queued(account).clear()
    # Somebody has removed what was entered.
    for key in entered(account, "room"):
        account.service.s3.delete_object(Bucket=BUCKET, Key=key)
    account.clock.move(HOUR)
    account.sweep(everything=True)
    assert entered(account, "room")
    account.call("rooms", "POST", DIGESTS, 202)
    assert digested(account) == ["done"]
    account.clock.move(2 * DAY)
    account.service.invoke("digest", sample("digest-schedule"))
    assert not entered(account, "room")


def a_digest_that_is_given_up_and_retried(account: Account) -> None:
    remembering(account)
    post(account, "1: The ferry leaves at nine.")
    queued(account).clear()
    account.llm.script.clear()
    account.llm.script.extend([answer(completion("no JSON"))] * 50)
    job = account.call("rooms", "POST", DIGESTS, 202)["job"]
    for _ in range(4):
        digested(account)
        account.clock.move(HOUR)
        account.call("rooms", "POST", DIGESTS, 202)
        digested(account)
    (given_up,) = account.job(job)["given_up"]
    assert given_up["messages"] == 1
    account.clock.move(HOUR)
    assert account.call("rooms", "POST", DIGESTS, 202, body={"slot": job.rpartition(".")[2]})["messages"] == 1
    assert len(account.call("rooms", "GET", ROOM, 200, room="general")["items"]) == 1


def an_llm_that_does_not_digest(account: Account) -> None:
    remembering(account)
    post(account, "1: The ferry leaves at nine.")
    queued(account).clear()
    account.llm.script.clear()
    account.llm.script.extend([answer({}, 500)] * 50)
    job = account.call("rooms", "POST", DIGESTS, 202)["job"]
    assert digested(account) == ["waiting"]
    assert account.job(job)["error"]
    account.call("reads", "GET", "/v1/health", 200)
    serving(account)
    account.clock.move(2 * HOUR)
    account.service.invoke("digest", sample("digest-schedule"))
    assert digested(account) == ["done"]


def ask(account: Account, status: int = 200, **more: Any) -> Any:
    headers = {"idempotency-key": more.pop("key")} if "key" in more else {}
    who = {"token": more.pop("token")} if "token" in more else {}
    body = {"message": "1: When does the ferry leave?", **more}
    answer = account.call("ask", "POST", ASK, status, body=body, headers=headers, **who)
    return {**answer.get("result", {}), **answer}


ALL_TOOLS: list[list[tuple[str, Any]]] = [
    [
        ("search_memories", {"query": "1: ferry"}),
        ("get_recent_memories", {"limit": 5}),
        ("search_self", {"query": "3: me"}),
        ("search_goals", {"query": "4: goal"}),
        ("search_notes", {"query": "ferry"}),
        ("search_conversations", {"query": "ferry"}),
        ("read", {"id": "rules"}),
    ],
    [
        ("store_memory", {"content": "12: The ferry leaves at nine sharp.", "subjects": ["ferry"], "ttl": "1d"}),
        ("store_self", {"content": "3: I know ferries.", "category": "capability"}),
    ],
]

RESPOND: list[tuple[str, Any]] = [("respond", {"expression": "neutral", "message": "x", "sources": []})]


def questions_and_their_session(account: Account) -> None:
    remembering(account, verdict="same", agent=[*ALL_TOOLS, RESPOND, *ALL_TOOLS])
    ann = token(account, "read", "write")
    something_to_find(account)
    answered = ask(account, key="k", room="general", token=ann)
    assert answered["status"] == "done", answered
    assert len(answered["tool_calls"]) == 10, answered
    assert ask(account, key="k", room="general", token=ann)["job"] == answered["job"]
    assert account.job(answered["job"])["message"] == "x"
    assert [one["job"] for one in account.jobs("question")] == [answered["job"]]
    # The session goes on, and what was said in it is found.
    account.clock.move(60)
    again = ask(account, token=ann)
    assert again["session"] == answered["session"], again
    account.clock.move(HOUR)
    assert ask(account, token=ann)["session"] != again["session"]
    account.clock.move(100 * DAY)
    account.sweep(everything=True)
    account.delete()


def something_to_find(account: Account) -> None:
    """What is in the index, and what came after it, so that it is read."""
    for content in ("7: Ines knows.", "8: Tom is away.", "1: The ferry leaves at nine."):
        store(account, content)
    post(account, "1: The ferry leaves at nine.")
    queued(account).clear()
    for part in ("first", "second"):
        account.note(content=f"the ferry leaves at nine, {part}")
        account.call("admin", "PUT", f"{SPACE}/bank/{{path+}}", 201, path=f"{part}.md", body={"content": "# Ferry\n"})
        conversation_with_summaries(account)
        account.service.lambda_api.indexing.clear()
        if part == "first":
            assert account.service.invoke("indexer", {"space_id": "demo"})["status"] == "done"


def conversation_with_summaries(account: Account) -> None:
    begun = account.call("conversations", "POST", f"{SPACE}/conversations", 201)["conversation_id"]
    said = {"user_message": "ferry", "assistant_message": "it leaves at nine", "message_id": "m"}
    route = f"{SPACE}/conversations/{{conversation_id}}/turns"
    account.call("conversations", "POST", route, 201, conversation_id=begun, body=said)
    update = f"{SPACE}/conversations/{{conversation_id}}/summaries/update"
    account.call(
        "conversations", "POST", f"{SPACE}/conversations/{{conversation_id}}/close", 201, conversation_id=begun
    )
    account.call("conversations", "POST", update, 200, conversation_id=begun, body={})


def a_question_that_goes_on(account: Account) -> None:
    look = ALL_TOOLS[0]
    remembering(account, verdict="same", agent=[*ALL_TOOLS, look, [("search_memories", {"query": "1: ferry"})]])
    something_to_find(account)
    account.service.lambda_api.invoked.clear()
    quick = account.llm.script[0]
    # Seconds that the agent's model takes: longer than a request has, and all that an invocation has.
    takes = [868, 0, 0, 868]

    def late(handler: BaseHTTPRequestHandler) -> None:
        if "tools" in account.llm.asked[-1].body and takes:
            account.clock.move(takes.pop(0))
        quick(handler)

    account.llm.script.clear()
    account.llm.script.extend([late] * 200)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LLM_DAILY_TOKEN_BUDGET", "1000000")
        asked = ask(account, 202)
        assert account.service.work() == {"result": "unfinished"}
        while queued(account):
            account.service.work()
    assert account.job(asked["job"])["status"] == "done"


def a_question_whose_worker_died(account: Account) -> None:
    remembering(account)
    with account.dying("s3:PutObject", "demo/conversations/"):
        ask(account)
    assert account.sweep()["questions_started"] == {"demo": 1}
    assert account.service.work() == {"result": "done"}
    # One that died before it knew what the model is told at first begins anew, with the room.
    post(account, "1: The ferry leaves at nine.")
    with account.dying("s3:GetObject", "demo/rooms/"):
        ask(account, room="general")
    assert account.sweep()["questions_started"] == {"demo": 1}
    results = []
    while queued(account):
        results.append(account.service.work())
    assert {"result": "done"} in results, results


OF_ALL_KINDS = (
    *("memories/facts/log/00000001.json", "memories/facts/snapshot/00000002.json", "memories/facts/snapshot/2.m.vec"),
    *("rooms/general/x.json", "_room_ids/general/x.json", f"_verdicts/{'0' * 64}.json", "_digests/open.json"),
    "_digests/20260220T140000/claim.json",
    *("_digests/20260220T140000/done.json", "_digests/20260220T140000/dead/0001.json"),
    "_asks/01ARZ3NDEKTSV4RRFFQ69G5FAV.json",
    *(f"sessions/{'0' * 32}.json", f"sessions/{'0' * 32}/claim.json"),
    f"_signals/{'0' * 32}.json",
    "_quarantine/01ARZ3NDEKTSV4RRFFQ69G5FAV.json",
    *("_promotions/01ARZ3NDEKTSV4RRFFQ69G5FAV.json", "_promoted/01ARZ3NDEKTSV4RRFFQ69G5FAV/team"),
)


def a_space_that_is_deleted_with_something_of_everything(account: Account) -> None:
    account.create()
    for name in OF_ALL_KINDS:
        account.put(f"demo/{name}")
    account.delete()


def such_a_deletion_that_is_interrupted(account: Account) -> None:
    account.create()
    for name in OF_ALL_KINDS:
        account.put(f"demo/{name}")
    with account.dying("s3:DeleteObject", "demo/"):
        account.delete()
    account.sweep()
    assert not [key for key in account.service.written() if key.startswith("demo/memories/")]


def memories_of_notes_live_and_folded(account: Account) -> None:
    remembering(account)
    folded = account.note()
    account.start()
    account.work()
    serving(account)
    for number, note_id in enumerate((folded, account.note())):
        store(account, f"{number}: We keep S3.", note_id=note_id)


STORIES: list[Story] = [
    memories_of_notes_live_and_folded,
    a_space_that_is_deleted_with_something_of_everything,
    such_a_deletion_that_is_interrupted,
    a_memory_from_its_storing_to_its_end,
    memories_that_are_nearly_the_same,
    a_memory_that_is_erased,
    what_is_said_in_a_room_becomes_memories,
    a_digest_that_is_due,
    a_digest_that_is_given_up_and_retried,
    an_llm_that_does_not_digest,
    questions_and_their_session,
    a_question_that_goes_on,
    a_question_whose_worker_died,
    # They ask for nothing that no other story asks for.
    *of_proof(
        so_many_memories_that_they_have_a_snapshot,
        rooms_that_are_empty,
    ),
]
