"""What goes wrong while a person is on the page: each says what happened and what to do, and nothing typed is lost.

The service is one of its own, since it is ended and started again, and its LLM refuses calls.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.e2e.client import Service
from tests.e2e.page.own import Own
from tests.e2e.stack import KIND
from tests.support.archives import targz
from tests.support.browser import PATIENCE_MS, Visit

TYPED = "The ferry of half past nine was full."
NOTE = {"category": "observation", "content": "The pump of berth three leaks."}
AWAY = "The service cannot be reached"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.process,
    pytest.mark.skipif(KIND != "local", reason="only a service of this machine is ended and started again here"),
]


@pytest.fixture
def refusing(own: Own) -> Iterator[None]:
    """The LLM refuses every call."""
    own.model.refuses = True
    yield
    own.model.refuses = False


def told(found: Visit, what: str, do: str) -> None:
    """The page says both."""
    alert = found.page.get_by_role("alert").filter(has_text=what).first
    alert.wait_for()
    assert do in alert.inner_text()


def test_a_service_that_restarts_is_told_and_what_was_typed_is_sent_when_it_is_back(own: Own, api: Service, at):
    api.send("POST", "/spaces", {"space_id": "restarting"})
    api.send("POST", "/spaces/restarting/notes", NOTE)
    found: Visit = at("#/spaces/restarting")
    found.allowed.add(503)
    page = found.page
    page.get_by_text(NOTE["content"]).first.wait_for()
    page.get_by_label("Leave a note").fill(TYPED)

    own.stop()
    found.wake()
    page.get_by_text(AWAY).first.wait_for()
    page.get_by_role("button", name="Write the note").click()
    told(found, "The service did not answer.", "The page tries again by itself.")
    expect(page.get_by_text(NOTE["content"]).first, "the last answer stays").to_be_visible()
    own.start()
    found.wake()

    expect(page.get_by_text(AWAY)).to_have_count(0, timeout=PATIENCE_MS)
    page.reload()
    expect(page.get_by_label("Leave a note")).to_have_value(TYPED)
    page.get_by_role("button", name="Write the note").click()
    page.locator("article.note").filter(has_text=TYPED).wait_for()
    # The list may show the note before the answer of its writing is there.
    expect(page.get_by_label("Leave a note")).to_have_value("")
    assert [one.content for one in api.notes.list("restarting").items].count(TYPED) == 1
    found.troubles[:] = [one for one in found.troubles if not one.startswith("failed: ")]


@pytest.mark.usefixtures("refusing")
def test_a_second_run_by_hand_is_told_to_wait_and_for_how_long(api: Service, at):
    api.send("POST", "/spaces", {"space_id": "hasty"})
    api.send("POST", "/spaces/hasty/notes", NOTE)
    queued = api.send("POST", "/spaces/hasty/consolidations", {}).body
    assert api.ended(queued["job"]).status == "failed"
    found: Visit = at("#/spaces/hasty")
    found.allowed.add(429)

    found.page.get_by_role("button", name="Consolidate now").click()

    told(found, "Somebody has just started a run of this space by hand.", "Wait ")


def test_a_cap_is_told_with_its_setting_and_what_was_typed_stays(api: Service, at, tmp_path: Path):
    archive = tmp_path / "bank.tar.gz"
    archive.write_bytes(targz([("bank/progress.md", b"# Progress\n")]))
    assert api.send("POST", "/uploads", {"size": 1}).status == 201
    found: Visit = at("#/operate/import")
    found.allowed.add(429)

    found.page.get_by_label("Archive", exact=True).set_input_files(archive)
    found.page.get_by_label("Name", exact=True).fill("capped")
    found.page.get_by_role("button", name="Make the space").click()

    told(found, "A limit of this service is reached.", "uploads_per_token_per_day")
    found.page.reload()
    expect(found.page.get_by_label("Name", exact=True)).to_have_value("capped")


def test_a_note_that_is_too_large_is_still_there_after_a_reload(api: Service, at):
    api.send("POST", "/spaces", {"space_id": "large"})
    words = "far too long " * 20_000
    found: Visit = at("#/spaces/large")
    found.allowed.add(413)

    found.page.get_by_label("Leave a note").fill(words)
    found.page.get_by_role("button", name="Write the note").click()

    told(found, "This text is too large.", "What you typed is still here.")
    found.page.reload()
    expect(found.page.get_by_label("Leave a note")).to_have_value(words)


def test_a_token_that_is_revoked_meanwhile_asks_for_another_and_loses_neither_view_nor_words(api: Service, at):
    api.send("POST", "/spaces", {"space_id": "revoked"})
    body = {"name": "guest", "permissions": ["read", "write"], "space_ids": ["revoked"]}
    made = api.send("POST", "/tokens", body).body
    found: Visit = at("#/spaces/revoked", made["token"])
    found.allowed.add(401)
    found.page.get_by_label("Leave a note").fill(TYPED)

    api.send("DELETE", f"/tokens/{made['hash']}")

    found.page.locator("input[type=password]").wait_for()
    assert "revoked" in found.page.locator("main").inner_text(), "it says why"
    found.sign_in(str(api.token))
    found.page.get_by_label("Leave a note").wait_for()
    expect(found.page.get_by_label("Leave a note")).to_have_value(TYPED)
    assert found.page.evaluate("location.hash") == "#/spaces/revoked"


def test_a_view_without_the_permission_names_the_token_and_whom_to_ask(api: Service, at):
    api.send("POST", "/spaces", {"space_id": "closed"})
    api.send("POST", "/spaces", {"space_id": "open"})
    body = {"name": "visitor", "permissions": ["read"], "space_ids": ["open"]}
    found: Visit = at("#/spaces/closed", api.send("POST", "/tokens", body).body["token"])
    found.allowed.add(403)

    told(found, "Your token may not do this.", "You are signed in as “visitor”. Ask an admin")


def test_a_space_that_is_deleted_while_it_is_looked_at_is_told(api: Service, at):
    api.send("POST", "/spaces", {"space_id": "leaving"})
    found: Visit = at("#/spaces/leaving")
    found.allowed.add(404)
    found.page.get_by_label("Leave a note").wait_for()

    assert api.send("DELETE", "/spaces/leaving?confirm=leaving").status == 204

    told(found, "There is no such space.", "Backups of a deleted space are under “Operate”.")


@pytest.mark.usefixtures("refusing")
def test_all_spaces_show_which_one_waits_after_a_failure_and_it_is_tried_again_there(api: Service, at):
    for name in ("failing", "resting"):
        api.send("POST", "/spaces", {"space_id": name, "consolidation_threshold": 1})
    api.send("POST", "/spaces/failing/notes", NOTE)
    api.wait_until(lambda: api.spaces.get("failing").waiting.next_run.why, lambda why: why == "after_failure")
    before = len(api.jobs.list(space_id="failing", kind="consolidation").items)
    found: Visit = at("#/operate/jobs")

    row = found.page.locator("li.row").filter(has_text="failing")
    row.get_by_text("waits after a failure").wait_for()
    assert found.page.locator("li.row").filter(has_text="resting").count() == 0
    found.shot("jobs-of-all-spaces")
    row.get_by_role("button", name="Try again").click()

    api.wait_until(
        lambda: len(api.jobs.list(space_id="failing", kind="consolidation").items), lambda count: count > before
    )
