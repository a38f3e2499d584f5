"""What agents do over MCP, told as in stories.py."""

from json import dumps, loads
from typing import Any

import pytest

from livemem_mcp import catalog
from tests.support.functions import request
from tests.support.mcp import ACCEPT, MODERN, asked
from tests.support.memory_stories import (
    ALL_TOOLS,
    DAY,
    RESPOND,
    conversation_with_summaries,
    post,
    queued,
    remembering,
    serving,
    something_to_find,
    store,
    token,
)
from tests.support.part import of_proof
from tests.support.stories import BOOTSTRAP_KEY, HOUR, SPACE, Account, Story
from tests.support.talk_stories import what_was_heard_of_a_user

HEADERS = {"accept": ACCEPT, "content-type": "application/json"}


def ask(account: Account, method: str, params: dict[str, Any], *, token: str = BOOTSTRAP_KEY, **query: str) -> Any:
    """The result of an MCP request of the newest revision."""
    account.called.add(("ANY", "/mcp"))
    body, headers = asked(method, params, MODERN)
    query = {"space": "demo", **query}
    event = request("POST", "/mcp", token=token, body=body, query=query, headers={**HEADERS, **headers})
    event["routeKey"] = event["requestContext"]["routeKey"] = "ANY /mcp"
    got = account.service.invoke("mcp", event)
    assert got["statusCode"] == 200, got
    return loads(got["body"])["result"]


def use(account: Account, tool: str, /, *, failing: bool = False, **arguments: Any) -> Any:
    """What a tool gives: its structured content, or the text of its error."""
    who = {"token": arguments.pop("by")} if "by" in arguments else {}
    query = {"toolset": arguments.pop("toolset")} if "toolset" in arguments else {}
    result = ask(account, "tools/call", {"name": tool, "arguments": arguments}, **who, **query)
    assert result["isError"] is failing, result
    account.look_for_nulls(tool, result.get("structuredContent"))
    return result["content"][0]["text"] if failing else result["structuredContent"]


def an_agents_day(account: Account) -> None:
    remembering(account)
    ann = token(account, "read", "write")
    use(account, "note", category="decision", content="We keep S3.", by=ann)
    use(account, "notes", notes=[{"category": "todo", "content": "Write it down."}])
    use(account, "start_session", by=ann)
    run = use(account, "consolidate", wait=False)
    account.work()
    assert use(account, "poll", handle=run["handle"])["status"] == "done"
    serving(account)
    use(account, "read", id="rules")
    use(account, "remember", content="1: We keep S3.", ttl="1d")
    use(account, "remember", content="12: We keep S3 alone.")
    resources = ask(account, "resources/list", {})["resources"]
    assert len(resources) == 4
    for one in resources:
        assert ask(account, "resources/read", {"uri": one["uri"]})["contents"][0]["text"]
    assert ask(account, "prompts/get", {"name": "start_session"})["messages"]
    account.clock.move(2 * DAY)
    account.sweep()


def what_an_agent_hears_of_its_user(account: Account) -> None:
    what_was_heard_of_a_user(account)
    found = use(account, "start_session", user="dev")
    assert "user" in [part["why"] for part in found["parts"]]


def what_an_agent_finds(account: Account) -> None:
    remembering(account)
    something_to_find(account)
    post(account, "9: The ferry is late.")
    queued(account).clear()
    assert use(account, "search", q="ferry")["items"]
    assert use(account, "context", q="1: ferry")["items"]
    begun = account.call("conversations", "GET", f"{SPACE}/conversations", 200)["items"][0]["conversation_id"]
    conversation_with_summaries(account)
    assert use(account, "context", q="ferry", conversation_id=begun)["markdown"]
    for part in ({"conversation_id": begun}, {"cwd": "/shop"}, {"levels": "0"}, {"room": "general"}, {"kind": "fact"}):
        use(account, "search", q="ferry", toolset="full", **part)
    assert use(account, "search", q="ferry", spaces="all", toolset="full")["items"]
    use(account, "context", room="general", toolset="full")
    for number in range(7):
        store(account, f"{100 + number}: {number}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EMBEDDINGS_MODEL", "another")
        assert use(account, "context", q="100: x")["items"]


def questions_over_mcp(account: Account) -> None:
    remembering(account, verdict="same", agent=[*ALL_TOOLS, RESPOND, *ALL_TOOLS, RESPOND])
    ann = token(account, "read", "write")
    something_to_find(account)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LLM_DAILY_TOKEN_BUDGET", "1000000")
        first = use(account, "ask", message="1: When?", by=ann)
        assert first["status"] == "done", first
        account.clock.move(60)
        again = use(account, "ask", message="1: When?", by=ann)
    assert again["result"]["session"] == first["result"]["session"]
    assert use(account, "poll", handle=first["job"])["result"]["message"] == "x"


def a_question_over_mcp_that_goes_on(account: Account) -> None:
    remembering(account, verdict="same", agent=[*ALL_TOOLS, [("search_memories", {"query": "1: ferry"})]])
    post(account, "1: The ferry leaves at nine.")
    queued(account).clear()
    quick = account.llm.script[0]

    def late(handler: Any) -> None:
        if "tools" in account.llm.asked[-1].body:
            account.clock.move(30)
        quick(handler)

    account.llm.script.clear()
    account.llm.script.extend([late] * 50)
    asked = use(account, "ask", message="1: When?")
    assert asked["status"] == "running"
    assert asked["handle"]
    assert queued(account)


def tools_that_others_carry_out(account: Account) -> None:
    account.create()
    # It is enough that they are asked: what they then ask for is told in the stories of their routes.
    refused = {"status": 403, "code": "forbidden", "detail": "Not today."}
    account.service.lambda_api.answer = {"statusCode": 403, "body": dumps(refused)}
    for tool, arguments in OF_EACH_FUNCTION.items():
        answer = use(account, tool, failing=True, toolset="full", **arguments)
        assert answer == (f"Not today. {catalog.words()['errors']['forbidden']} [forbidden]"), answer
    assert len({name for name, _ in account.service.lambda_api.waited}) == len(OF_EACH_FUNCTION)


OF_EACH_FUNCTION: dict[str, dict[str, Any]] = {
    "note": {
        "category": "todo",
        "content": "Copy it",
        "source": {"space_id": "demo", "id": "20260220T140000_ann_todo_00000001"},
    },
    "list_notes": {},
    "list_stale": {},
    "list_conversations": {},
    "search_memories": {},
    "list_rooms": {},
    "list_tokens": {},
    "start_consolidation": {},
    "list_backups": {},
}


def agents_with_few_and_many_spaces(account: Account) -> None:
    account.create()
    account.clock.move(HOUR)
    assert ask(account, "tools/list", {}, toolset="full")["tools"]
    event = ask(account, "completion/complete", {"ref": {"type": "ref/prompt", "name": "x"}, "argument": _begun("d")})
    assert event["completion"]["values"] == ["demo"]


def _begun(value: str) -> dict[str, str]:
    return {"name": "space_id", "value": value}


STORIES: list[Story] = [
    an_agents_day,
    what_an_agent_hears_of_its_user,
    questions_over_mcp,
    a_question_over_mcp_that_goes_on,
    tools_that_others_carry_out,
    # They ask for nothing that no other story asks for.
    *of_proof(
        agents_with_few_and_many_spaces,
        what_an_agent_finds,
    ),
]
