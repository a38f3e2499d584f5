"""What can happen where an object of a space cannot be read, told as in stories.py."""

from contextlib import suppress
from typing import Any

from livemem.errors import LiveMemoryError
from tests.support.functions import sample
from tests.support.mcp_stories import use
from tests.support.memory_stories import ASK, OF_ALL_KINDS, conversation_with_summaries, remembering
from tests.support.policy import BUCKET
from tests.support.stories import HOUR, SPACE, Account, Story, entered
from tests.support.talk_stories import something_of_everything


def unreadable(account: Account) -> list[str]:
    """The objects that are entered in the due index, by their names; they are gone from it then."""
    found = entered(account, "unreadable")
    for key in found:
        account.service.s3.delete_object(Bucket=BUCKET, Key=key)
    return [entry.name.removeprefix("demo/") for entry in found.values()]


def whoever_meets_it_says_so(account: Account) -> None:
    remembering(account)
    first = account.note()
    conversation_with_summaries(account)
    account.service.lambda_api.invoked.clear()
    conversation = account.call("conversations", "GET", f"{SPACE}/conversations", 200)["items"][0]["conversation_id"]
    body = account.service.s3.get_object(Bucket=BUCKET, Key="demo/_meta.json")["Body"].read()
    account.put("demo/_meta.json", "{")
    calls: list[tuple[str, str, str, Any]] = [
        ("ingest", "POST", f"{SPACE}/notes", {"category": "todo", "content": "x"}),
        ("reads", "GET", SPACE, None),
        ("conversations", "GET", f"{SPACE}/conversations", None),
        ("memories", "GET", f"{SPACE}/memories", None),
        ("rooms", "GET", f"{SPACE}/rooms", None),
        ("ask", "POST", ASK, {"message": "Who?"}),
        ("admin", "PATCH", SPACE, {"description": "x"}),
        ("consolidate", "POST", f"{SPACE}/consolidations", {}),
    ]
    for function, method, route, sent in calls:
        told = account.call(function, method, route, 503, body=sent)
        assert (told["code"], told["key"]) == ("space_broken", "demo/_meta.json")
        assert unreadable(account) == ["_meta.json"], function
    account.call("search", "GET", f"{SPACE}/search", 503, query={"q": "x"})
    assert "_meta.json" in use(account, "note", failing=True, category="todo", content="x")
    assert unreadable(account) == ["_meta.json"]
    run = "01KHXNKFM80000000000000005"
    account.put(f"demo/_asks/{run}.json", "{")
    account.put(f"demo/conversations/{conversation}/conversation.json", "{")
    event = sample("counter-put")
    event["Records"][0]["s3"]["object"]["key"] = f"demo/live/{first}.md"
    work: list[tuple[str, dict[str, Any]]] = [
        ("counter", event),
        ("consolidate", {"kind": "consolidation", "space_id": "demo", "job_id": run}),
        ("summarize", {"space_id": "demo", "conversation_id": conversation}),
        ("digest", {"space_id": "demo", "slot": None, "forced": True}),
        ("ask", {"kind": "question", "space_id": "demo", "job_id": run}),
        ("indexer", {"space_id": "demo"}),
        ("backup", {"kind": "erasure", "space_id": "demo", "job_id": run}),
    ]
    for function, payload in work:
        with suppress(LiveMemoryError):
            account.service.invoke(function, payload)
        assert unreadable(account), function
    account.sweep(failed=["demo"], everything=True)
    account.put("demo/_meta.json", body.decode())
    account.clock.move(HOUR)
    # What is mended is named no more.
    told = account.service.invoke("sweep", sample("sweep-schedule"))["unreadable"].get("demo", [])
    assert "demo/_meta.json" not in told
    assert "_meta.json" not in unreadable(account)


def the_daily_look_reads_documents_of_all_kinds(account: Account) -> None:
    one = something_of_everything(account)
    account.put(f"demo/conversations/{one}/ids/{'0' * 64}.json", "{}")
    names = (*OF_ALL_KINDS, f"_room_ids/general/{'0' * 16}.json", "_erasures/01ARZ3NDEKTSV4RRFFQ69G5FAV.json")
    for name in names:
        account.put(f"demo/{name}", "{}")
    account.sweep(everything=True)
    assert f"_room_ids/general/{'0' * 16}.json" in unreadable(account)


STORIES: list[Story] = [
    whoever_meets_it_says_so,
    the_daily_look_reads_documents_of_all_kinds,
]
