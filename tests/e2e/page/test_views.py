"""Every view in a real browser: it opens without a complaint, in both languages, light and dark, wide and narrow."""

import json
import os
import time
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.e2e.client import Service
from tests.e2e.page.looks import looked_at
from tests.e2e.spaces import fresh_space
from tests.support.browser import PATIENCE_MS, Visit

STORY = Path(__file__).resolve().parents[3] / "examples" / "story"
TABLE = "|a|b|c|d|\n|-|-|-|-|\n"
HOSTILE = [
    "<script>window.ran = 1</script> <img src=x onerror='window.ran = 1'> [x](javascript:window.ran=1)",
    "![x](https://elsewhere.example/x.png) <svg onload='window.ran=1'> [data](data:text/html,<b>x)",
    "Turned \u202eexe.gpj\u202c and hidden \U000e0041\U000e0042 and empty\u200b.",
    TABLE + "|1|2|3|4|\n" * 25,
    "> " * 200 + "deep " + "*" * 500,
]
COSTS = {
    "start": (3, 4),
    "space": (8, 32),
    "bank": (6, 32),
    "file": (5, 24),
    "note": (4, 36),
    "history": (3, 16),
    "runs": (3, 16),
    "change": (4, 24),
    "then": (7, 32),
    "run": (3, 14),
    "review": (4, 20),
    "rules": (3, 12),
    "told": (4, 36),
    "settings": (4, 20),
}
"""The most that a view takes until all of it is shown: calls of the API, with those of the frame (who is signed in, and
the list of spaces), and requests to the store for what is of this space. A process that has not seen the space yet
reads some objects more, so these are about twice what docs/page.md has.
"""
OF_ALL_SPACES = ("GET /v1/spaces", "GET /v1/health")
"""What they cost grows with the other tests' spaces."""
WORKER = os.environ.get("PYTEST_XDIST_WORKER", "alone")
"""Several workers of a test run share one service: each has spaces of its own."""
REVIEWED = f"page-review-{WORKER}"


@pytest.fixture(scope="session")
def story(service: Service) -> str:
    """A space with a story in it, twice consolidated, a plan of another space, and hostile notes."""
    space = f"page-story-{WORKER}"
    rules = (STORY / "rules.md").read_text("utf-8")
    for name, mode in ((space, "auto"), (REVIEWED, "review")):
        service.send("POST", "/spaces", {"space_id": name, "rules": rules, "consolidation_mode": mode})
    notes = [json.loads(line) for line in (STORY / "notes.jsonl").read_text("utf-8").splitlines()]
    for name, part in ((space, notes[:4]), (space, notes[4:]), (REVIEWED, notes[:4])):
        for note in part:
            body = {"category": note["category"], "content": note["content"], "tags": ["payments"]}
            assert service.send("POST", f"/spaces/{name}/notes", body).status == 201
        # Between two runs of a space there is a short pause.
        start = partial(service.send, "POST", f"/spaces/{name}/consolidations", {})
        queued = service.wait_until(start, lambda got: got.status == 202)
        assert service.ended(queued.body["job"]).status in {"done", "waiting"}
    for content in HOSTILE:
        body = {"category": "observation", "content": content, "tags": ["hostile"]}
        assert service.send("POST", f"/spaces/{space}/notes", body).status == 201
    return space


def links(service: Service, space: str) -> dict[str, str]:
    """Each view by its name."""
    root = f"#/spaces/{space}"
    (job,) = service.send("GET", f"/jobs?space_id={space}&kind=consolidation&limit=1").body["items"]
    run = job["job"].rpartition(".")[2]
    plan = service.send("GET", f"/spaces/{REVIEWED}").body["pending_plan"]["job"].rpartition(".")[2]
    note = service.send("GET", f"/spaces/{space}/consolidations/2").body["sources"][0]["note_id"]
    operate = ["health", "jobs", "usage", "costs", "tokens", "connections", "backups", "import", "garbage"]
    return {
        "start": "#/",
        "space": root,
        "bank": f"{root}/bank",
        "file": f"{root}/bank/webhook.md",
        "note": f"{root}/notes/{note}",
        "history": f"{root}/history",
        "runs": f"{root}/history?show=runs",
        "change": f"{root}/history/2",
        "then": f"{root}/then?at=1",
        "run": f"{root}/runs/{run}",
        "review": f"#/spaces/{REVIEWED}/review/{plan}",
        "rules": f"{root}/rules",
        "told": f"{root}/told",
        "settings": f"{root}/settings",
        **{f"operate-{part}": f"#/operate/{part}" for part in operate},
    }


def opened(found: Visit, link: str) -> list[str]:
    """Load a view as somebody does who follows its link from elsewhere; its requests until all of it is shown."""
    found.page.goto("about:blank")
    before = len(found.requests)
    found.open(link)
    found.page.locator("main h1").wait_for()
    expect(found.page.locator("main .loading")).to_have_count(0, timeout=PATIENCE_MS)
    return found.requests[before:]


def test_a_view_costs_no_more_than_is_written_here_and_opens_without_a_complaint(signed_in, service, story):
    found: Visit = signed_in(fresh=True)
    places, too_dear = links(service, story), {}

    for view, (calls, most) in COSTS.items():
        found.page.goto("about:blank")
        found.store.clear()
        opened(found, places[view])
        found.settle()
        requests = sum(cost.total() for call, cost in found.store.items() if call not in OF_ALL_SPACES)
        if len(found.store) > calls or requests > most:
            too_dear[view] = dict(found.store)

    assert too_dear == {}


@pytest.mark.slow
def test_every_view_fits_the_window_and_has_no_finding(signed_in, service, story):
    found: Visit = signed_in("#/", fresh=True)
    found.allowed = {404}

    assert looked_at(found, links(service, story)) == []


def test_the_line_of_a_note_leads_to_the_section_that_it_became(signed_in, service, story):
    found: Visit = signed_in()

    opened(found, links(service, story)["note"])

    expect(found.page.locator(".event.written")).to_have_count(1)
    folded = found.page.locator(".event.folded")
    assert "Change 2" in folded.inner_text()
    assert folded.locator("a[href*='/bank/']").count() >= 1
    expect(found.page.locator(".event.now.consolidated")).to_have_count(1)


def test_hostile_notes_are_shown_and_do_nothing(signed_in, service, story):
    service.notes.append(story, category="observation", content=TABLE + "|1|2|3|4|\n" * 2_500, tags=["hostile"])
    found: Visit = signed_in()
    found.open(f"#/spaces/{story}?tag=hostile")
    found.page.get_by_text("<script>window.ran").wait_for()

    found.page.get_by_text("U+202E").first.wait_for()
    assert found.page.evaluate("window.ran") is None
    assert found.page.locator("main img, main script, main a[href^='javascript'], main a[href^='data']").count() == 0
    assert [one for one in found.requests if "elsewhere" in one] == []


def test_a_token_that_is_refused_asks_to_sign_in_again_and_comes_back_to_the_same_view(visit, service, story):
    made = service.send("POST", "/tokens", {"name": "page-guest", "permissions": ["read"], "space_ids": [story]})
    found: Visit = visit()
    found.allowed |= {401}
    found.open(f"#/spaces/{story}/history")
    found.page.locator("input[type=password]").fill("no-such-token")
    found.page.keyboard.press("Enter")
    found.page.get_by_text("The token was not accepted").wait_for()
    found.sign_in(made.body["token"])

    found.page.locator("main h1", has_text="History").wait_for()
    assert found.page.evaluate("location.href").endswith(f"#/spaces/{story}/history")
    assert made.body["token"] not in found.page.evaluate(
        "location.href + document.cookie + JSON.stringify(localStorage)"
    )


def test_from_an_empty_service_to_an_undo_by_the_keyboard_alone(signed_in, service):
    """Make a space, write notes, consolidate, look at the change, take it back: without the mouse."""
    found: Visit = signed_in()
    page = found.page
    found.open("#/")

    def press(name: str) -> None:
        target = page.get_by_role("button", name=name, exact=False).first
        target.wait_for()
        target.focus()
        page.keyboard.press("Enter")

    press("New space")
    page.get_by_label("Name").focus()
    page.keyboard.type("page-keyboard")
    page.keyboard.press("Enter")
    page.locator("main h1", has_text="page-keyboard").wait_for()
    for words in ("We keep S3 as the only store.", "The parser drops tabs."):
        page.get_by_label("Leave a note").focus()
        page.keyboard.type(words)
        press("Write the note")
        page.locator("article.note").filter(has_text=words).wait_for()
    press("Consolidate now")
    page.get_by_text("done", exact=True).wait_for()
    found.open("#/spaces/page-keyboard/history/1")
    press("Take back")
    page.locator("dialog").wait_for()
    page.keyboard.press("Escape")
    page.locator("dialog").wait_for(state="detached")
    press("Take back")
    press("Take it back")
    page.locator("main h1", has_text="undo").wait_for()

    assert service.send("GET", "/spaces/page-keyboard").body["live"]["notes_count"] == 2


def test_an_answer_that_breaks_off_is_a_lost_connection_and_recovers(signed_in, story):
    found: Visit = signed_in(f"#/spaces/{story}/history")
    found.page.get_by_text("2 · consolidation").wait_for()
    broken = {"content_type": "application/json", "body": '{"items": [{"change": 2'}
    found.page.route("**/v1/**", lambda route: route.fulfill(**broken))
    found.wake()
    found.page.get_by_text("The service cannot be reached").wait_for()

    expect(found.page.get_by_text("2 · consolidation")).to_be_visible()
    found.page.unroute("**/v1/**")
    found.wake()
    expect(found.page.get_by_text("The service cannot be reached")).to_have_count(0, timeout=PATIENCE_MS)


def test_a_token_that_may_only_read_is_offered_nothing_that_would_be_refused(visit, service, story):
    body = {"name": "page-reader", "permissions": ["read"], "space_ids": [story]}
    token = service.send("POST", "/tokens", body).body["token"]
    found: Visit = visit()
    found.open(f"#/spaces/{story}")
    found.sign_in(token)
    places = links(service, story)

    shown = ("space", "file", "note", "history", "change", "rules", "told", "settings")
    for view in (*shown, "operate-health", "operate-usage"):
        found.open(places[view])
        found.settle()
        expect(found.page.locator("main .loading")).to_have_count(0, timeout=PATIENCE_MS)
        offered = found.page.locator("main button").all_inner_texts()
        assert not {"Write the note", "Consolidate now", "Take back …", "Erase …", "Correct", "Forget", "Change"} & {
            *offered
        }, view
    found.allowed.add(403)
    found.open("#/spaces/somebody-elses")
    found.page.get_by_text("Your token may not do this").first.wait_for()


def test_a_plan_is_read_as_a_diff_and_approved_and_the_change_says_by_whom(signed_in, service):
    space = "page-approve"
    service.send("POST", "/spaces", {"space_id": space, "consolidation_mode": "review"})
    service.send("POST", f"/spaces/{space}/notes", {"category": "decision", "content": "S3 is the only store."})
    queued = service.send("POST", f"/spaces/{space}/consolidations", {})
    assert service.ended(queued.body["job"]).status == "waiting"
    found: Visit = signed_in()
    found.open("#/")

    found.page.locator(".space-row", has_text=space).get_by_text("a plan waits for you").click()
    found.page.locator("figure.diff", has_text="S3 is the only store").first.wait_for()
    found.page.get_by_role("button", name="Approve the plan").click()
    found.page.locator("main h1", has_text="Change 1").wait_for()

    found.page.get_by_text("Approved by").wait_for()


def test_a_long_list_keeps_few_rows_and_its_place_when_a_note_comes(signed_in, service):
    with fresh_space(service, 0) as space:
        for first in range(0, 400, 100):
            some = [{"category": "progress", "content": f"Step {first + one} is done."} for one in range(100)]
            service.notes.append(space, items=some)
        found: Visit = signed_in(fresh=True)
        page = found.page
        page.clock.install()
        found.open(f"#/spaces/{space}")

        def poll() -> None:
            page.clock.fast_forward(5_000)
            found.settle()

        rows = page.locator(".thread-list ul.page > li")
        page.get_by_text("Step 399 is done.").wait_for()
        # On a busy machine each of its pages takes a while.
        end = time.monotonic() + PATIENCE_MS / 1_000
        while not page.get_by_text("Step 0 is done.").count() and time.monotonic() < end:
            page.evaluate("scrollTo(0, document.body.scrollHeight)")
            page.wait_for_timeout(50)
        page.get_by_text("Step 0 is done.").wait_for()
        found.settle()
        # A short list keeps all its rows: those of the beginning, and those near the window.
        assert rows.count() < 300

        middle = page.get_by_text("Step 30 is done.")
        middle.scroll_into_view_if_needed()
        before = middle.bounding_box()
        service.notes.append(space, category="decision", content="This one came now.")
        found.settle()
        poll()
        after = middle.bounding_box()
        assert before is not None
        assert after is not None
        assert abs(after["y"] - before["y"]) < 2

        # One that is erased is gone, also below.
        (gone,) = [one for one in service.notes.list(space).items if one.content == "Step 395 is done."]
        page.evaluate("scrollTo(0, 0)")
        page.get_by_text(gone.content).wait_for()
        erasing = service.send("POST", f"/spaces/{space}/erasures", {"ids": [gone.note_id]})
        assert erasing.body["status"] in ("queued", "running", "done")
        expect(page.get_by_text(gone.content)).to_have_count(0, timeout=PATIENCE_MS)

        # More than a page of new ones, in several polls: those that the first page has no room for any more stay.
        for first in range(0, 90, 45):
            some = [{"category": "progress", "content": f"Late step {first + one}."} for one in range(45)]
            service.notes.append(space, items=some)
            poll()
        page.evaluate("scrollTo(0, 0)")
        page.get_by_text("Late step 89.").wait_for()
        for sought in ("Late step 50.", "Late step 5.", "This one came now.", "Step 380 is done."):
            for _ in range(40):
                assert page.get_by_text(gone.content).count() == 0
                if page.get_by_text(sought).count():
                    break
                page.evaluate("scrollBy(0, 700)")
                page.wait_for_timeout(20)
            page.get_by_text(sought).wait_for()
