"""`/docs`: each operation and schema of the document is there, is found, opens, and is linked."""

import json

from tests.e2e.stack import ROOT
from tests.support.browser import Visit

DOCUMENT = json.loads((ROOT / "docs" / "openapi.json").read_text())
OPERATIONS = [told["operationId"] for methods in DOCUMENT["paths"].values() for told in methods.values()]
SCHEMAS = list(DOCUMENT["components"]["schemas"])


def at_docs(visit, link: str = "", **options) -> Visit:
    found: Visit = visit(**options)
    found.open(f"docs{link}")
    found.page.locator("details").first.wait_for()
    return found


def test_every_operation_and_schema_is_shown_and_opens_without_a_complaint(visit):
    found = at_docs(visit)
    ids = found.page.locator("details").evaluate_all("all => all.map((one) => one.id)")

    assert sorted(ids) == sorted([*OPERATIONS, *(f"schema-{name}" for name in SCHEMAS)])
    found.page.locator("details").evaluate_all("all => all.forEach((one) => { one.open = true })")
    found.page.wait_for_function("[...document.querySelectorAll('details')].every((one) => one.childElementCount > 1)")
    text = found.page.locator("main").inner_text()
    assert "undefined" not in text
    assert "[object Object]" not in text
    links = found.page.locator("main a[href^='#']").evaluate_all("all => all.map((one) => one.hash.slice(1))")
    assert {*links} <= {*ids}


def test_a_search_leaves_what_has_all_the_words(visit):
    found = at_docs(visit)
    found.page.get_by_label("Search operations and schemas").fill("append notes")

    shown = found.page.locator("details:visible").evaluate_all("all => all.map((one) => one.id)")
    assert "append_note" in shown
    assert len(shown) < 10
    assert found.page.get_by_role("status").inner_text() == f"{len(shown)} found"


def test_a_link_opens_its_operation_and_a_reader_who_uses_the_keyboard_gets_on(visit):
    found = at_docs(visit, "#append_note")
    operation = found.page.locator("#append_note")
    operation.get_by_text("Idempotency-Key").first.wait_for()
    assert f"{found.url}/v1/spaces/demo/notes" in operation.locator("pre").last.inner_text()

    operation.locator("summary").focus()
    found.page.keyboard.press("Enter")
    assert operation.evaluate("one => one.open") is False


def test_it_is_readable_on_a_phone_in_the_dark_and_by_a_screen_reader(visit):
    found = at_docs(visit, "#create_space", viewport={"width": 390, "height": 800}, color_scheme="dark")
    found.page.locator("#create_space pre").first.wait_for()

    assert found.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    found.shot("docs-phone-dark")
    assert found.findings() == []
