"""A bank that has grown too long, on the page: how long it is, what a tidy run would take away, and its undo."""

from collections.abc import Callable

import pytest

from tests.e2e.client import Service
from tests.e2e.page.own import Own
from tests.e2e.spaces import fresh_space
from tests.e2e.stack import KIND
from tests.support.browser import Visit

pytestmark = pytest.mark.skipif(KIND != "local", reason="the LLM of a service that is started here tidies")

BANK = "# Port\n\n" + "".join(f"- The crane K{number} lifts {number + 40} tons.\n" for number in range(80))
GOES, STAYS = "The crane K2 lifts 42 tons.", "The crane K3 lifts 43 tons."


def press(found: Visit, name: str) -> None:
    found.page.locator("main").get_by_role("button", name=name, exact=True).click()


def test_a_long_bank_is_tidied_after_a_dry_run_and_the_undo_pauses_tidy_runs(
    at: Callable[..., Visit], api: Service, own: Own
):
    with fresh_space(api, 0) as space:
        api.send("PATCH", f"/spaces/{space}", {"bank_chars": 2_000})
        api.send("PUT", f"/spaces/{space}/bank/port.md", {"content": BANK})
        found = at(f"#/spaces/{space}/bank")
        found.allowed |= {404}  # No synthesis yet.
        found.page.get_by_text(f"{len(BANK):,} characters together; at most 2,000 are wanted.").wait_for()

        press(found, "Dry run")
        found.page.get_by_role("heading", name="Dry run of a tidy run").wait_for()
        removed = found.page.locator("section", has_text="lines that no file holds any more")
        removed.get_by_text(GOES).wait_for()
        assert not removed.get_by_text(STAYS).count()
        assert api.send("GET", f"/spaces/{space}/bank/port.md").body["content"] == BANK

        own.end_pause(space)
        found.open(f"#/spaces/{space}/bank")
        press(found, "Tidy")
        found.page.locator("dd a", has_text="2").click()
        found.page.get_by_role("heading", name="Change 2: tidy run").wait_for()
        found.page.get_by_text("40 lines that no file holds any more").wait_for()
        assert found.findings() == []

        found.page.get_by_role("button", name="Take back").click()
        found.page.get_by_role("button", name="Take it back").click()
        found.page.get_by_role("heading", name="Change 3: undo").wait_for()
        assert api.send("GET", f"/spaces/{space}").body["tidy_paused"] is True
        found.open(f"#/spaces/{space}/bank")
        found.page.get_by_text("No tidy run starts by itself").wait_for()
        press(found, "End the pause")
        found.page.get_by_text("No tidy run starts by itself").wait_for(state="detached")
        assert api.send("GET", f"/spaces/{space}").body["tidy_paused"] is False
