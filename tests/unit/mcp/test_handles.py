"""Work that takes longer than a call may: the call gives a handle, and whoever polls it gets the result."""

import pytest

from livemem.store.timing import REQUEST
from livemem_mcp import catalog
from tests.support.agent import calls, responds
from tests.support.cases import each
from tests.support.mcp import Agents, started, token

ANN, EVE = "lm_ann", "lm_eve"
LONGEST = REQUEST.total_seconds()


@pytest.fixture
def agents(monkeypatch) -> Agents:
    found = started(monkeypatch)
    for space_id in ("demo", "other"):
        found.world.create_space(space_id)
    found.let_in(token(ANN, "read", "write"), token(EVE, "read", "write", spaces=("other",), name="eve"))
    found.world.note("One.")
    return found.as_one(ANN)


def test_a_run_that_goes_on_gives_a_handle_before_the_call_may_take_no_longer(agents):
    going = agents.result("consolidate")

    run = going["structuredContent"]
    assert (going["isError"], run["status"]) == (False, "queued")
    assert run["handle"] == run["job"]
    assert (
        going["content"][0]["text"] == f"The run is queued. It continues; call `poll` with handle `{run['handle']}`.\n"
    )
    assert LONGEST - 2 < sum(agents.paused) < LONGEST


def test_who_does_not_want_to_wait_gets_the_handle_at_once(agents):
    assert agents.call("consolidate", wait=False)["handle"]
    assert agents.paused == []


def test_a_poll_waits_for_the_run_and_tells_its_result(agents):
    handle = agents.call("consolidate", wait=False)["handle"]
    agents.meanwhile = lambda: len(agents.paused) == 3 and agents.world.work()

    done = agents.result("poll", {"handle": handle})

    assert done["structuredContent"]["status"] == "done"
    assert "handle" not in done["structuredContent"]
    assert agents.paused == [1.0] * 3
    assert agents.text("poll", handle=handle) == done["content"][0]["text"]


def test_a_poll_of_what_still_goes_on_gives_the_handle_again(agents):
    handle = agents.call("consolidate", wait=False)["handle"]

    assert agents.call("poll", handle=handle)["handle"] == handle
    assert sum(agents.paused) < LONGEST


def test_a_question_that_takes_longer_gives_a_handle_and_poll_its_answer(agents):
    def slowly(thread):
        agents.world.clock.move(LONGEST)
        return calls(("search", {"query": "x"}))

    agents.world.agent.queue.extend([slowly, responds("Here it is.")])
    handle = agents.call("ask", message="Who?")["handle"]
    agents.meanwhile = lambda: agents.world.queued and agents.world.work()

    answer = agents.result("poll", {"handle": handle})

    assert handle.startswith("demo.question.")
    assert (answer["isError"], answer["structuredContent"]["result"]["message"]) == (False, "Here it is.")


@pytest.mark.parametrize("kind", ["consolidation", "question"])
def test_what_another_space_has_under_way_is_not_told(agents, kind):
    handle = agents.call("consolidate", wait=False)["handle"].replace("consolidation", kind)

    told = agents.as_one(EVE).refused("poll", handle=handle)

    assert told == f"The token 'eve' may not use this space. {catalog.words()['errors']['forbidden']} [forbidden]"


@each(
    "handle",
    [
        "",
        "demo",
        "demo.consolidation",
        "demo.consolidation.",
        ".consolidation.x",
        "demo.x.y",
        "demo.backup.2026-02-20T02-00-00",
        "demo.consolidation.../x",
        "../demo.consolidation.x",
        "demo.consolidation.01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "demo.question.01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "demo.question.x",
        "demo.consolidation.x.y",
        "demo.consolidation.\x00",
        "demo.consolidation." + "x" * 100_000,
    ],
)
def test_what_is_no_handle_is_refused_before_anything_is_asked_outside_of_the_space(agents, handle):
    agents.call("start_session")
    agents.world.client.reset()

    told = agents.refused("poll", handle=handle)

    assert told.rpartition(" ")[2] in ("[invalid_request]", "[run_not_found]", "[question_not_found]", "[forbidden]")
    assert len(told) < 1_000
    assert {
        key for _, key in agents.world.client.requests if not key.startswith(("demo/", "_system/", "_runs/"))
    } == set()
