"""The six questions for which the page is there: each is answered from the start page by links that a person sees."""

from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import expect

from tests.e2e.client import Service
from tests.e2e.page.own import Own
from tests.e2e.page.reader import Reader
from tests.e2e.stack import KIND
from tests.support.browser import Visit

MOST = 4
"""Clicks to an answer."""
SPACE = "harbour"
AGENTS = ("agent-one", "agent-two")
DECIDED = "The import retries three times and then stops."

pytestmark = [
    pytest.mark.slow,
    pytest.mark.process,
    pytest.mark.skipif(KIND != "local", reason="the LLM of a service that is started here refuses a call"),
]


@pytest.fixture
def story(own: Own, api: Service) -> str:
    """The bank file with the decision, in a space of two agents with a consolidation, a correction and a failed run."""
    api.send("POST", "/spaces", {"space_id": SPACE, "consolidation_threshold": 0})
    bodies = [("agent-one", "observation", "The port of Kiel answers 503."), ("agent-two", "decision", DECIDED)]
    for name, category, content in bodies:
        wanted = {"name": name, "permissions": ["read", "write"], "space_ids": [SPACE]}
        agent = Service(own.url, api.send("POST", "/tokens", wanted).body["token"])
        body = {"category": category, "content": content}
        assert agent.send("POST", f"/spaces/{SPACE}/notes", body).status == 201
    queued = api.send("POST", f"/spaces/{SPACE}/consolidations", {}).body
    assert api.ended(queued["job"]).status == "done"
    change = api.send("GET", f"/spaces/{SPACE}/consolidations/1").body
    path = next(one["path"] for one in change["changes"] if DECIDED in one["diff"])
    body = {"content": "# Tides\n\nHigh water is at noon.\n"}
    assert api.send("PUT", f"/spaces/{SPACE}/bank/tides.md", body).status == 201
    api.send("POST", f"/spaces/{SPACE}/notes", {"category": "todo", "content": "Ask for the new timetable."})
    own.model.refuses = True
    own.end_pause(SPACE)
    queued = api.send("POST", f"/spaces/{SPACE}/consolidations", {}).body
    assert api.ended(queued["job"]).status == "failed"
    own.model.refuses = False
    return str(path)


def test_each_of_the_six_questions_is_answered_within_four_clicks_from_the_start(at, story: str, api: Service):
    found: Visit = at("#/", fresh=True)
    reader = Reader(found)

    def answers(words: str) -> None:
        reader.sees(words)
        assert reader.clicks <= MOST, f"{reader.clicks} clicks to {words!r}"

    # What did agent-two decide yesterday?
    found.page.clock.set_fixed_time(datetime.now(UTC) + timedelta(days=1))
    reader.begin()
    reader.link(SPACE)
    reader.choose("Agent", "agent-two")
    reader.click(found.page.get_by_role("button", name="Yesterday"))
    reader.click(found.page.get_by_role("button", name="Look among the consolidated notes"))
    answers(DECIDED)
    expect(found.page.locator(".paged article.note")).to_have_count(1)
    found.page.clock.set_fixed_time(datetime.now(UTC))

    # Where does this sentence come from?
    reader.begin()
    reader.link(SPACE)
    reader.link(story)
    reader.click(found.page.get_by_role("button", name="rests on"))
    found.page.locator("main article.note").first.wait_for()
    answers("agent-")

    # What would my agent be told now?
    reader.begin()
    reader.link(SPACE)
    reader.link("What an agent is told")
    answers("of 9,500")

    # Why did the last run fail?
    reader.begin()
    reader.link(SPACE)
    answers("llm_refused_request")

    # What did this week cost?
    reader.begin()
    reader.link("Operate the service", "nav")
    reader.link("Usage and cost")
    answers("tokens")
    expect(found.page.get_by_role("button", name="7 days", pressed=True)).to_have_count(1)

    # Take back the last change.
    reader.begin()
    reader.link("change 2")
    reader.click(found.page.get_by_role("button", name="Take back"))
    reader.click(found.page.get_by_role("button", name="Take it back"))
    found.page.locator("main h1", has_text="undo").wait_for()
    assert reader.clicks <= MOST
    assert api.send("GET", f"/spaces/{SPACE}/bank/tides.md").status == 404
