"""Corrections on the page: they keep what they do not mean, and never replace what nobody has seen."""

import pytest
from playwright.sync_api import expect

from tests.e2e.client import Service
from tests.e2e.spaces import fresh_space
from tests.support.browser import Visit

NONE = "- There is no tide.\n"
TIDES = "# Tides\n\nHigh water is at noon.\n\n<!-- from the harbour office -->\n\n## Kiel\n\n- There is no tide.\n"


def section_edit(found: Visit, heading: str):
    section = found.page.locator(".bank-section", has=found.page.get_by_role("heading", name=heading))
    section.get_by_role("button", name="Edit").click()
    return section.locator("form.section-edit")


def test_a_section_is_corrected_with_those_in_it_and_the_comments_stay(signed_in, service: Service):
    with fresh_space(service, 0) as space:
        service.send("PUT", f"/spaces/{space}/bank/tides.md", {"content": TIDES})
        found: Visit = signed_in(f"#/spaces/{space}/bank/tides.md")
        form = section_edit(found, "Tides")
        text = form.get_by_label("Text")
        text.fill(text.input_value().replace("noon", "midnight"))
        form.get_by_label("Reason").fill("The clock was wrong")
        form.get_by_role("button", name="Save the correction").click()
        found.page.get_by_text("The section is corrected.").wait_for()

        content = service.send("GET", f"/spaces/{space}/bank/tides.md").body["content"]
        assert content == TIDES.replace("noon", "midnight")
        found.page.get_by_role("button", name="Undo").click()
        found.page.get_by_text("Taken back").wait_for()
        assert service.send("GET", f"/spaces/{space}/bank/tides.md").body["content"] == TIDES


@pytest.mark.parametrize("before", [NONE, ""])
def test_a_text_that_came_since_is_shown_before_a_draft_replaces_it(signed_in, service: Service, before: str):
    with fresh_space(service, 0) as space:
        service.send("PUT", f"/spaces/{space}/bank/tides.md", {"content": TIDES.replace(NONE, before)})
        found: Visit = signed_in(f"#/spaces/{space}/bank/tides.md")
        found.allowed |= {409}
        form = section_edit(found, "Kiel")
        form.get_by_label("Text").fill("- There is hardly a tide.")
        form.get_by_label("Reason").fill("More exact")

        newer = TIDES.replace(NONE, "- The tide is 20 cm.\n")
        assert service.send("PUT", f"/spaces/{space}/bank/tides.md", {"content": newer}).status == 200
        save = form.get_by_role("button", name="Save the correction")
        save.click()
        form.get_by_text("The section has changed since you began").wait_for()
        expect(form.get_by_text("The tide is 20 cm.").first).to_be_visible()
        expect(save).to_be_disabled()
        assert service.send("GET", f"/spaces/{space}/bank/tides.md").body["content"] == newer

        form.get_by_role("button", name="Replace it with mine").click()
        save.click()
        found.page.get_by_text("The section is corrected.").wait_for()
        content = service.send("GET", f"/spaces/{space}/bank/tides.md").body["content"]
        assert content == TIDES.replace(NONE, "- There is hardly a tide.\n")


def test_what_another_change_adds_to_a_line_is_neither_corrected_nor_forgotten_unseen(signed_in, service: Service):
    with fresh_space(service, 0) as space:
        file = f"/spaces/{space}/bank/tides.md"
        service.send("PUT", file, {"content": TIDES})
        found: Visit = signed_in(f"#/spaces/{space}/search?q=tide")
        found.allowed |= {409}
        line = found.page.locator(".hit .fixable", has_text="There is no tide.")

        line.get_by_role("button", name="Correct").click()
        found.page.get_by_label("The right words").fill("There is hardly a tide.")
        more = TIDES.replace(NONE, "- There is no tide. In winter it is 20 cm.\n")
        assert service.send("PUT", file, {"content": more}).status == 200
        found.page.get_by_role("button", name="Save the correction").click()
        line.get_by_role("alert").wait_for()
        assert service.send("GET", file).body["content"] == more

        line.get_by_role("button", name="Forget").click()
        still_more = more.replace("20 cm.", "20 cm. In spring it is 30 cm.")
        assert service.send("PUT", file, {"content": still_more}).status == 200
        found.page.locator("dialog button[type=submit]").click()
        found.page.locator("dialog").get_by_role("alert").wait_for()
        assert service.send("GET", file).body["content"] == still_more


def test_several_are_forgotten_though_a_request_fails_between_them_and_come_back(signed_in, service: Service):
    with fresh_space(service, 0) as space:
        for name in ("Ann", "Ole", "Ida", "Kim"):
            body = {"content": f"{name} looks after crane {len(name)}{name[0]}."}
            assert service.send("POST", f"/spaces/{space}/memories", body).status == 201
        found: Visit = signed_in(f"#/spaces/{space}/memories")
        page = found.page
        page.get_by_role("button", name="Choose several").click()
        for name in ("Ann", "Ole", "Ida"):
            page.get_by_role("checkbox", name=f"{name} looks after").check()
        page.get_by_text("3 chosen").wait_for()
        page.get_by_role("button", name="Forget", exact=True).click()
        page.get_by_label("Reason").fill("They left")

        # The second request is carried out, and its answer is lost.
        sent = []

        def second(route):
            sent.append(route.request.url)
            if route.request.method == "DELETE" and len(sent) == 2:
                route.fetch()
                route.abort()
            else:
                route.continue_()

        page.route("**/v1/spaces/*/memories/*?*", second)
        found.allowed |= {404}
        confirm = page.locator("dialog button[type=submit]")
        confirm.click()
        page.locator("dialog").get_by_role("alert").wait_for()
        confirm.click()
        page.get_by_text("3 memories are forgotten.").wait_for()
        found.troubles[:] = [one for one in found.troubles if not one.startswith("failed: DELETE")]
        (left,) = service.send("GET", f"/spaces/{space}/memories").body["items"]
        assert left["content"].startswith("Kim")

        page.get_by_role("button", name="Undo").click()
        page.get_by_text("Taken back").wait_for()
        assert len(service.send("GET", f"/spaces/{space}/memories").body["items"]) == 4
