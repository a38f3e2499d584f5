"""What each core tool does: what it writes, what it tells, and what it tells where it fails."""

import json

import pytest

from livemem import limits
from livemem.llm.client import LlmError
from livemem.memories import reading
from livemem.notes import appending
from livemem.recall import short_ids
from tests.support.agent import calls, responds
from tests.support.bucket import error
from tests.support.mcp import MODERN, Agents, started, token

ANN = "lm_ann"


@pytest.fixture
def agents(monkeypatch) -> Agents:
    """With a token of one space, which so is the one of every call."""
    found = started(monkeypatch)
    found.world.create_space(rules="Keep a log.")
    found.let_in(token(ANN, "read", "write"))
    return found.as_one(ANN)


def test_start_session_gives_what_the_route_does(agents):
    agents.world.note("The store is the queue.")
    agents.world.consolidate()
    agents.world.note("The sweep finds what events lost.")

    told = agents.text("start_session", max_chars=2_000, q="What finds lost events?")
    data = agents.call("start_session", max_chars=2_000, q="What finds lost events?")

    assert "The store is the queue." in told
    assert "The sweep finds what events lost." in told
    assert (data["markdown"], data["chars"]) == (told, len(told))
    assert [part["why"] for part in data["parts"]] == ["guide", "question", "other", "synthesis"]
    assert "max_chars" in agents.refused("start_session", max_chars=1_999)


def test_note_writes_a_live_note_in_the_name_of_the_token(agents):
    told = agents.result("note", {"category": "decision", "content": "We keep S3.", "tags": ["store"]})

    written = told["structuredContent"]
    (note_id,) = agents.world.live_ids()
    assert (written["note_id"], written["agent"], written["tags"]) == (note_id, "ann", ["store"])
    assert told["content"][0]["text"] == f"Noted: {note_id}\n"
    assert "We keep S3." in agents.world.text(f"demo/live/{note_id}.md")


def test_what_is_written_bears_the_version_of_the_code_that_the_request_names(agents):
    code = {"repository": "github.com/acme/api", "branch": "feature/x", "commit": "0123456789ab"}
    headers = {"livemem-code": json.dumps({**code, "commit": "0123456789ab" * 3, "more": 1})}
    note = {"category": "decision", "content": "We keep S3."}

    for tool, arguments in (("note", note), ("notes", {"notes": [note]})):
        written = agents.result(tool, arguments, headers=headers)["structuredContent"]
        (one,) = written.get("items", [written])
        assert {name: one.get(name) for name in code} == code
    assert not agents.call("note", **note).keys() & code.keys()


def test_notes_writes_all_or_none(agents):
    good = {"category": "todo", "content": "Measure it."}

    written = agents.call("notes", notes=[good, {**good, "tags": ["x"]}])
    told = agents.refused("notes", notes=[good, {"category": "todo", "content": " "}])

    assert [note["note_id"] for note in written["items"]] == sorted(agents.world.live_ids())
    assert "must not be empty" in told
    assert len(agents.world.live_ids()) == 2


def test_what_a_note_may_not_be_is_told_in_the_words_of_http(agents):
    assert agents.refused("note", category="todo", content=" ").endswith("must not be empty [invalid_request]")
    assert "[too_large]" in agents.refused("note", category="todo", content="x" * 100_001)
    assert "tags" in agents.refused("note", category="todo", content="x", tags=["a\nb"])
    assert agents.world.live_ids() == []


def test_search_finds_notes_by_their_words_and_says_so_in_both_forms(agents):
    agents.world.note("The zebra crosses at noon.")

    found = agents.result("search", {"q": "zebra", "scope": "live", "limit": 1})

    (hit,) = found["structuredContent"]["items"]
    assert "zebra" in found["content"][0]["text"]
    # A model needs the id in its short form, and has no use for the route.
    assert found["content"][0]["text"].startswith(f"- [{short_ids.short_id('notes/' + hit['id'])} ")
    assert "zebra" in json.dumps(hit)
    assert "scope" in agents.refused("search", q="zebra", scope="moon")


def test_remember_keeps_a_fact_and_tells_if_it_was_known(agents):
    first = agents.result("remember", {"content": "Ann looks after the store.", "subjects": ["Ann"]})
    again = agents.result("remember", {"content": "Ann looks after the store."})

    memory_id = first["structuredContent"]["memory_id"]
    assert first["content"][0]["text"] == f"Remembered: {memory_id}\n"
    assert again["content"][0]["text"].startswith(f"Known already, as {memory_id}")
    assert again["structuredContent"]["merged_into"] == memory_id
    assert "[" in agents.refused("remember", content="x", ttl="soon")


def test_context_gives_what_is_known_about_a_message_and_says_if_it_is_nothing(agents):
    agents.call("remember", content="Ann looks after the store.")

    found = agents.text("context", q="Who looks after the store?")
    nothing = agents.text("context", q="zzz")

    assert "Ann looks after the store." in found
    assert nothing.strip()


def test_context_of_a_conversation_is_that_of_its_route(agents):
    refused = agents.refused("context", q="x", conversation_id="01ARZ3NDEKTSV4RRFFQ69G5FAV")

    assert refused.endswith("[conversation_not_found]")


def test_ask_answers_with_its_sources(agents):
    memory_id = agents.call("remember", content="Ann looks after the store.")["memory_id"]
    agents.world.agent.queue.extend(
        [calls(("search", {"query": "store"})), responds("Ann does.", sources=[f"memory:{memory_id}"])]
    )

    answer = agents.result("ask", {"message": "Who looks after the store?"})

    assert answer["structuredContent"]["result"]["message"] == "Ann does."
    assert answer["content"][0]["text"].startswith("Ann does.")
    assert answer["isError"] is False


@pytest.mark.parametrize(("toolset", "stored"), [("core", 1), ("read", 0)])
def test_a_question_stores_nothing_in_the_toolset_that_reads_whatever_the_token_may(agents, toolset, stored):
    agents.world.agent.queue.extend([calls(("store_memory", {"content": "Ann has left."})), responds("She has left.")])

    answer = agents.result("ask", {"message": "Where is Ann?"}, query={"toolset": toolset})

    assert answer["structuredContent"]["result"]["message"] == "She has left."
    assert len(reading.recent(agents.world.process, "demo", limit=5)) == stored


def test_a_question_of_a_token_that_only_reads_is_in_no_conversation_and_there_for_no_other_agent(agents):
    agents.let_in(token("lm_ann", "read"), token("lm_bob", "read", "write", name="bob"))
    ann, bob = agents.as_one("lm_ann"), agents.as_one("lm_bob")
    agents.world.agent.queue.append(responds("She has left."))

    asked = ann.call("ask", message="Where is Ann?")
    handle = asked["job"]

    assert "session" not in asked["result"]
    assert not agents.world.keys("demo/conversations/") + agents.world.keys("demo/sessions/")
    assert ann.call("poll", handle=handle)["result"]["message"] == "She has left."
    assert bob.refused("poll", handle=handle).endswith("[question_not_found]")


def test_a_question_that_came_to_nothing_is_an_error_that_says_why(agents):
    agents.world.agent.queue.append(LlmError("llm_refused", "It refused."))

    answer = agents.result("ask", {"message": "Who?"})

    assert answer["isError"] is True
    assert answer["content"][0]["text"].startswith("No answer (llm_refused): ")


def test_consolidate_waits_for_its_run_and_tells_what_it_did(agents):
    agents.world.note("One.")
    agents.meanwhile = lambda: agents.world.queued and agents.world.work()

    done = agents.result("consolidate")

    assert done["structuredContent"]["status"] == "done"
    assert done["content"][0]["text"].startswith("Consolidation 1 is done: notes processed 1")
    assert agents.world.live_ids() == []


def test_a_run_that_fails_is_an_error_and_says_that_the_notes_are_still_there(agents):
    agents.world.note("One.")
    agents.world.llm.default = "no JSON"
    agents.meanwhile = lambda: agents.world.queued and agents.world.work()

    failed = agents.result("consolidate")

    assert failed["isError"] is True
    assert failed["structuredContent"]["status"] == "failed"
    assert failed["content"][0]["text"].startswith("The run failed (")
    assert failed["content"][0]["text"].endswith("All notes are still there.\n")
    assert len(agents.world.live_ids()) == 1


@pytest.mark.parametrize("protocol", ["2025-11-25", MODERN])
def test_every_core_tool_has_words_a_closed_schema_and_annotations(agents, protocol):
    agents.protocol = protocol

    for name, tool in agents.tools().items():
        assert tool["title"], name
        assert 20 < len(tool["description"]) < 300, name
        assert tool["inputSchema"]["additionalProperties"] is False, name
        reads = tool["annotations"].get("readOnlyHint", False)
        assert tool["annotations"]["openWorldHint"] is False, name
        assert reads == (name in {"start_session", "read", "search", "context", "poll"}), name
        assert ("destructiveHint" in tool["annotations"]) is not reads, name


def test_a_store_that_does_not_answer_is_told_in_our_own_words(agents):
    agents.call("start_session")

    def fail(_index: int, verb: str) -> None:
        raise error("InternalError", 500, verb)

    agents.world.client.before = fail

    told = agents.refused("note", category="todo", content="x")

    assert told.endswith("Request JKJaXmPLvHcESHA=. [store_unavailable]")
    assert "InternalError" not in told


def test_a_defect_is_told_with_the_id_of_the_request_and_without_its_text(agents, monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("secret detail")

    monkeypatch.setattr(appending, "append", fail)

    told = agents.refused("note", category="todo", content="x")

    assert told.startswith("The service failed unexpectedly")
    assert "JKJaXmPLvHcESHA=" in told
    assert "secret" not in told


@pytest.mark.parametrize(
    ("tool", "arguments", "answer_is"),
    [
        ("start_session", {}, "The answer is"),
        ("note", {"category": "todo", "content": "x" * 5_000}, "The call was carried out, but its answer is"),
    ],
)
def test_an_answer_that_cannot_leave_the_function_is_told_as_a_result(agents, monkeypatch, tool, arguments, answer_is):
    agents.world.note("x" * 5_000)
    monkeypatch.setattr(limits, "ANSWER_BYTES", 4_000)

    told = agents.refused(tool, **arguments)

    assert told == f"{answer_is} larger than 4000 bytes: ask for its parts one by one. [answer_too_large]"


def test_an_agent_has_headings_in_the_language_of_the_call_else_of_the_request(agents: Agents):
    french = {"accept-language": "fr"}
    for tool, arguments, begin in (("start_session", {}, "# Mémoire"), ("context", {"q": "oven"}, "Nothing")):
        found = agents.result(tool, {"space_id": "demo", **arguments}, headers=french)
        assert found["content"][0]["text"].startswith(begin)
    assert agents.text("start_session", space_id="demo", lang="en").startswith("# Memory")
    assert agents.text("start_session", space_id="demo").startswith("# Memory")
