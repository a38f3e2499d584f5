"""A person on the page: signs in by a code, is asked, erases a note, loses the service."""

from playwright.sync_api import expect

from tests.e2e.client import Service
from tests.e2e.spaces import fresh_space
from tests.support.browser import Visit

WORDS = "The password of the harbour office is on the wall."


def test_a_code_in_the_address_signs_in_once_and_leaves_the_address(visit, service: Service):
    path = service.send("POST", "/page-codes").body["path"]
    found: Visit = visit()
    found.open(path.removeprefix("/"))
    found.page.locator("#view h1").wait_for()

    assert found.page.evaluate("location.hash") == "#/"
    assert "code=" not in found.page.evaluate("JSON.stringify([location.href, document.referrer])")
    assert found.page.evaluate("history.length") <= 2

    again: Visit = visit()
    again.allowed |= {401}
    again.open(path.removeprefix("/"))
    again.page.locator("input[type=password]").wait_for()
    again.page.get_by_role("alert").first.wait_for()
    again.sign_in(str(service.token))
    again.page.locator("#view h1").wait_for()


def test_a_code_in_an_open_tab_signs_in_there_and_one_that_is_used_up_changes_nothing(visit, service: Service):
    made = service.tokens.create(name="ines", permissions=["read"])
    code = service.send("POST", "/page-codes", Authorization=f"Bearer {made.token}").body["path"].removeprefix("/")
    found: Visit = visit()
    page = found.page

    # Given a tab that is signed in, at another view
    found.open("#/operate")
    found.sign_in(str(service.token))
    page.locator(".who", has_text="admin").wait_for()

    # When the code comes into its address
    page.evaluate("code => { location.hash = code; }", code)

    # Then the page is that of its token, and no address of the tab holds the code
    page.locator(".who", has_text="ines").wait_for()
    assert page.evaluate("location.hash") == "#/"
    page.go_back()
    page.locator("main h1").wait_for()
    assert "code=" not in page.url

    # And a code that was used leaves who is signed in where they are, and is told
    found.allowed |= {401}
    page.evaluate("code => { location.hash = code; }", code)
    page.locator(".toast.bad").wait_for()
    assert page.evaluate("location.hash") == "#/"
    page.locator(".who", has_text="ines").wait_for()


def test_a_question_is_closed_when_its_view_is_left_and_nothing_is_done(signed_in, service: Service):
    with fresh_space(service, 0) as space:
        note = service.notes.append(space, category="observation", content="The crane is green.").note_id
        memory = service.send("POST", f"/spaces/{space}/memories", {"content": "Ole looks after crane 3."}).body
        questions = [
            (f"#/spaces/{space}/memories/{memory['memory_id']}", "Forget"),
            (f"#/spaces/{space}/notes/{note}", "Forget"),
            (f"#/spaces/{space}/settings", "Delete the space"),
        ]
        found: Visit = signed_in(f"#/spaces/{space}")
        page, dialog = found.page, found.page.locator("dialog")
        page.locator("main h1").wait_for()
        for link, button in questions:
            found.open(link)
            page.get_by_role("button", name=button).first.click()
            dialog.wait_for()
            page.go_back()
            dialog.wait_for(state="detached")
            # The next one is a new question, which an address typed by hand closes too.
            page.go_forward()
            page.get_by_role("button", name=button).first.click()
            dialog.wait_for()
            page.evaluate("location.hash = '#/operate'")
            dialog.wait_for(state="detached")
            found.open(f"#/spaces/{space}")
            page.locator("main h1", has_text=space).wait_for()

        # One that is being carried out says its answer behind the view.
        found.open(questions[0][0])
        held = []

        def hold(route):
            held.append(route)

        page.route("**/v1/spaces/*/memories/*?*", hold)
        page.get_by_role("button", name="Forget").first.click()
        page.get_by_label("Reason").fill("He left")
        page.get_by_role("button", name="Forget it").click()
        page.locator("dialog button[type=submit]:disabled").wait_for()
        page.go_back()
        dialog.wait_for(state="detached")
        for route in held:
            route.continue_()
        page.unroute("**/v1/spaces/*/memories/*?*")
        page.get_by_role("button", name="Undo").wait_for()

        assert service.spaces.get(space).live.notes_count == 1


def test_a_note_that_is_erased_on_the_page_is_gone_everywhere(signed_in, service: Service):
    with fresh_space(service, 0) as space:
        note = service.notes.append(space, category="observation", content=WORDS).note_id
        queued = service.consolidations.start(space)
        assert service.ended(queued.job).status == "done"
        backup = service.send("POST", f"/spaces/{space}/backups", {}).body["backup_id"]
        service.wait_until(lambda: service.send("GET", f"/spaces/{space}/backups/{backup}").body["complete"], bool)
        found: Visit = signed_in(f"#/spaces/{space}/notes/{note}")
        found.page.get_by_text(WORDS).first.wait_for()

        found.page.get_by_role("button", name="Forget").click()
        confirm = found.page.get_by_role("button", name="Erase for ever")
        expect(confirm, "the name of the space has to be typed first").to_be_disabled()
        found.page.locator("dialog input").fill(space)
        confirm.click()
        found.page.get_by_role("heading", name="Receipt of an erasure").wait_for()

        (job,) = service.send("GET", f"/jobs?space_id={space}&kind=erasure").body["items"]
        done = service.wait_until(
            lambda: service.send("GET", f"/jobs/{job['job']}").body,
            lambda shown: shown["status"] == "done",
        )
        assert done["result"]["counts"]["records"] == 1
        assert done["result"]["counts"]["backups"] >= 1
        asked = WORDS.replace(" ", "+")
        for path in ("notes?status=consolidated", "consolidations/1", "summary", f"search?q={asked}&scope=archive"):
            answer = service.send("GET", f"/spaces/{space}/{path}")
            assert answer.status == 200, path
            assert WORDS not in str(answer.body), path

        found.allowed.add(404)
        found.open(f"#/spaces/{space}/notes/{note}")
        found.page.reload()
        found.page.locator("#view h1").wait_for()
        found.settle()
        assert WORDS not in found.page.locator("body").inner_text()


def test_a_service_that_is_away_is_told_and_the_page_goes_on_when_it_is_back(signed_in, service: Service):
    with fresh_space(service, 0) as space:
        service.notes.append(space, category="todo", content="Before the interruption.")
        found: Visit = signed_in(f"#/spaces/{space}")
        found.page.get_by_text("Before the interruption.").first.wait_for()

        found.page.context.set_offline(True)
        found.wake()
        found.page.get_by_text("cannot be reached").first.wait_for()
        expect(found.page.get_by_text("Before the interruption.").first, "the last answer stays").to_be_visible()
        service.notes.append(space, category="todo", content="Written meanwhile.")
        found.page.context.set_offline(False)
        found.page.get_by_text("Written meanwhile.").first.wait_for(timeout=60_000)

        away = [one for one in found.troubles if "ERR_INTERNET_DISCONNECTED" in one]
        assert away
        found.troubles[:] = [one for one in found.troubles if one not in away]
