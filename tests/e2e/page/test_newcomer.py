"""Ten tasks of somebody who sees the page for the first time, with the clicks that docs/page.md has for each."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from playwright.sync_api import expect

from tests.e2e.client import Service
from tests.e2e.page.reader import Reader
from tests.e2e.spaces import fresh_space
from tests.support.browser import PATIENCE_MS, Visit

PAGE = Path(__file__).resolve().parents[3] / "docs" / "page.md"
ROW = re.compile(r"^\| ([a-z ]+) \| (\d+) \|$", re.MULTILINE)
DECIDED = "The import retries three times."
KIEL = "- The clock of Kiel is late."
BANK = f"# Port\n\n## Decisions\n\n- {DECIDED}\n\n## Known issues\n\n{KIEL}\n\n## Next steps\n\n- Call Rostock.\n"
TODO = "Ask for the new timetable."


def test_each_task_of_a_newcomer_takes_the_clicks_that_the_documentation_tells(
    signed_in: Callable[..., Visit], service: Service
):
    told = {task: int(clicks) for task, clicks in ROW.findall(PAGE.read_text("utf-8"))}
    with fresh_space(service, 0) as space:
        assert service.send("PUT", f"/spaces/{space}/bank/port.md", {"content": BANK}).status == 201
        service.notes.append(space, category="todo", content=TODO)
        reader = Reader(signed_in(fresh=True))

        took = {**repairs(reader, service, space), **looks(reader, service, space), **operates(reader, service, space)}

    assert took == told
    assert len(took) == 10


def repairs(reader: Reader, service: Service, space: str) -> dict[str, int]:
    """The clicks to a decision, to its correction, and until a line is forgotten."""
    page, took, file = reader.visit.page, {}, f"/spaces/{space}/bank/port.md"
    reader.begin()
    reader.link(space)
    reader.sees(DECIDED)
    took["find a decision"] = reader.clicks

    reader.begin()
    reader.link(space)
    reader.press(f"Correct: - {DECIDED}")
    reader.choose("The right words", "The import retries five times.")
    reader.press("Save the correction")
    reader.sees("The import retries five times.")
    took["correct it"] = reader.clicks
    content = service.send("GET", file).body["content"]
    assert content == BANK.replace("three", "five"), "the line alone, with its mark"

    reader.begin()
    reader.link(space)
    reader.press(f"Forget: {KIEL}")
    reader.press("Forget it", "dialog")
    page.get_by_text("The line is forgotten.").wait_for()
    expect(page.locator(".lines").get_by_text("The clock of Kiel")).to_have_count(0)
    took["forget a line"] = reader.clicks
    reader.visit.settle()
    assert KIEL not in service.send("GET", file).body["content"]
    return took


def looks(reader: Reader, service: Service, space: str) -> dict[str, int]:
    """The clicks to what changed, what is open, what an agent is told, and a hit."""
    page, took = reader.visit.page, {}
    # An hour later: one line has come since, and one has gone.
    page.clock.set_fixed_time(datetime.now(UTC) + timedelta(hours=1))
    newer = BANK.replace("three", "six").replace(f"{KIEL}\n", "")
    assert service.send("PUT", f"/spaces/{space}/bank/port.md", {"content": newer}).status == 200
    reader.begin()
    reader.link(space)
    changed = page.locator("section", has=page.get_by_role("heading", name="Changed since you were here"))
    expect(changed.locator("li")).to_have_text([re.compile("new.*six times"), re.compile("gone.*five times")])
    took["see what changed"] = reader.clicks
    page.clock.set_fixed_time(datetime.now(UTC))

    reader.begin()
    reader.link(space)
    opened = page.locator("section", has=page.get_by_role("heading", name="Open", exact=True))
    opened.get_by_text(TODO).wait_for()
    opened.get_by_text("Call Rostock.").wait_for()
    took["see open todos"] = reader.clicks

    reader.begin()
    reader.link(space)
    reader.link("What an agent is told")
    reader.sees("An agent that starts now gets")
    reader.sees("The import retries six times.")
    expect(page.get_by_role("button", name="Forget: - The import retries")).to_be_visible()
    took["see what an agent is told"] = reader.clicks

    reader.begin()
    reader.link(space)
    reader.link("Search", "nav")
    reader.choose("Search", "retries")
    page.locator(".hit").get_by_role("button", name="Correct:").first.wait_for()
    took["search"] = reader.clicks
    return took


def operates(reader: Reader, service: Service, space: str) -> dict[str, int]:
    """The clicks until the notes are folded, a token is made, and the health is seen."""
    took = {}
    reader.begin()
    reader.link(space)
    reader.press("Consolidate now")
    reader.visit.page.get_by_text("done", exact=True).wait_for()
    took["fold the new notes now"] = reader.clicks
    assert service.spaces.get(space).live.notes_count == 0

    reader.begin()
    reader.link("Operate the service", "nav")
    reader.link("Tokens")
    reader.press("New token")
    reader.choose("Name", f"newcomer-of-{space}")
    reader.press("Make the token")
    reader.sees("livemem login")
    took["make a token"] = reader.clicks

    reader.begin()
    reader.link("Health")
    reader.sees("Object store")
    took["see the health"] = reader.clicks
    return took


def test_a_line_is_corrected_and_forgotten_where_a_search_found_it_and_what_changed_meanwhile_is_not_replaced(
    signed_in: Callable[..., Visit], service: Service
):
    with fresh_space(service, 0) as space:
        file = f"/spaces/{space}/bank/port.md"
        assert service.send("PUT", file, {"content": BANK}).status == 201
        note = service.notes.append(space, category="issue", content="The ferry of Rostock retries as well.").note_id
        found = signed_in(f"#/spaces/{space}/search?q=retries")
        page = found.page
        line = page.locator(".hit .fixable", has_text=DECIDED)

        line.get_by_role("button", name="Correct").click()
        page.get_by_label("The right words").fill("The import retries twice.")
        # Somebody else was faster: the page says so, and keeps what was typed.
        assert service.send("PUT", file, {"content": BANK.replace("three", "nine")}).status == 200
        found.allowed |= {409, 422}
        page.get_by_role("button", name="Save the correction").click()
        page.locator(".fixable").get_by_role("alert").wait_for()
        expect(page.get_by_label("The right words")).to_have_value("The import retries twice.")
        assert "nine times" in service.send("GET", file).body["content"]

        # Nor is a line forgotten that is no more.
        line.get_by_role("button", name="Forget").click()
        page.locator(".toast.bad", has_text="no single line").wait_for()
        assert page.locator("dialog").count() == 0

        # A note is never changed: what is right is another one.
        hit = page.locator(".hit", has_text="The ferry of Rostock")
        hit.get_by_role("link", name="Correct").click()
        # The field of the line has the same label until the view of the note is there.
        expect(page.get_by_label("The right words")).to_have_value(
            "The ferry of Rostock retries as well.", timeout=PATIENCE_MS
        )
        page.get_by_label("The right words").fill("The ferry of Kiel retries as well.")
        page.get_by_role("button", name="Save the correction").click()
        page.get_by_text("The note is written.").wait_for()
        contents = {one.content: one.category for one in service.notes.list(space).items}
        assert contents == {
            "The ferry of Rostock retries as well.": "issue",
            "The ferry of Kiel retries as well.": "issue",
        }
        page.get_by_role("button", name="Forget").first.click()
        page.locator("dialog", has_text="Erase this for ever?").wait_for()
        assert note in page.url
