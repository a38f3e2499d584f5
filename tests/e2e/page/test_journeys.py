"""A person on the page: signs in by a code, approves a plan, erases a note, loses the service, may only read."""

from tests.e2e.client import Service
from tests.e2e.spaces import fresh_space, post_notes
from tests.support.browser import Visit

WORDS = "The password of the harbour office is on the wall."


def test_a_code_in_the_address_signs_in_once_and_leaves_the_address(visit, service: Service):
    path = service.send("POST", "/page-codes").body["path"]
    found: Visit = visit()
    found.open(path.removeprefix("/"))
    found.page.locator("#view h1").wait_for()

    assert found.page.evaluate("location.hash") == "#/"
    assert "code=" not in found.page.evaluate("JSON.stringify([history.length, location.href, document.referrer])")

    again: Visit = visit()
    again.allowed |= {401}
    again.open(path.removeprefix("/"))
    again.page.locator("input[type=password]").wait_for()
    again.page.get_by_role("alert").first.wait_for()
    again.sign_in(str(service.token))
    again.page.locator("#view h1").wait_for()


def test_a_plan_is_read_approved_and_committed_as_it_was_read(signed_in, service: Service):
    with fresh_space(service, 3) as space:
        service.spaces.patch(space, consolidation_mode="review")
        post_notes(service, space, 3)
        waits = service.wait_until(lambda: service.spaces.get(space).pending_plan, bool)
        plan = service.runs.get_plan(space, waits.run_id)
        found: Visit = signed_in(f"#/spaces/{space}/review/{waits.run_id}")

        found.page.get_by_role("heading", name="A plan waits for you").wait_for()
        found.page.get_by_role("button", name="Approve the plan").click()
        found.page.get_by_text("The plan is committed as change 1").wait_for()

        change = service.consolidations.get(space, "1")
        assert [one.diff for one in change.changes] == [one.diff for one in plan.changes]
        assert service.spaces.get(space).pending_plan is None


def test_a_note_that_is_erased_on_the_page_is_gone_everywhere(signed_in, service: Service):
    with fresh_space(service, 0) as space:
        note = service.notes.append(space, category="observation", content=WORDS).note_id
        queued = service.runs.start(space)
        assert service.ended(space, queued.run_id).status == "ok"
        backup = service.send("POST", f"/spaces/{space}/backups", {}).body["backup_id"]
        service.wait_until(lambda: service.send("GET", f"/spaces/{space}/backups/{backup}").body["complete"], bool)
        found: Visit = signed_in(f"#/spaces/{space}/notes/{note}")
        found.page.get_by_text(WORDS).first.wait_for()

        found.page.get_by_role("button", name="Erase").click()
        confirm = found.page.get_by_role("button", name="Erase for ever")
        assert confirm.is_disabled(), "the name of the space has to be typed first"
        found.page.locator("dialog input").fill(space)
        confirm.click()
        found.page.get_by_role("heading", name="Receipt of an erasure").wait_for()

        (receipt,) = service.send("GET", f"/spaces/{space}/erasures").body["items"]
        done = service.wait_until(
            lambda: service.send("GET", f"/spaces/{space}/erasures/{receipt['erasure_id']}").body,
            lambda shown: shown["status"] == "done",
        )
        assert done["counts"]["records"] == 1
        assert done["counts"]["backups"] >= 1
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
        found.page.get_by_text("cannot be reached").first.wait_for()
        assert found.page.get_by_text("Before the interruption.").first.is_visible(), "the last answer stays"
        service.notes.append(space, category="todo", content="Written meanwhile.")
        found.page.context.set_offline(False)
        found.page.get_by_text("Written meanwhile.").first.wait_for(timeout=60_000)

        away = [one for one in found.troubles if "ERR_INTERNET_DISCONNECTED" in one]
        assert away
        found.troubles[:] = [one for one in found.troubles if one not in away]


def test_a_token_that_may_only_read_sees_nothing_that_it_may_not_do(visit, service: Service):
    with fresh_space(service, 0) as space:
        note = service.notes.append(space, category="todo", content="Only to be read.").note_id
        made = service.send("POST", "/tokens", {"name": "reader", "permissions": ["read"], "space_ids": [space]}).body
        found: Visit = visit()
        found.allowed.add(403)
        found.open(f"#/spaces/{space}/notes/{note}")
        found.sign_in(made["token"])
        found.page.get_by_text("Only to be read.").first.wait_for()

        assert found.page.get_by_role("button", name="Erase").count() == 0
        found.open(f"#/spaces/{space}")
        found.page.get_by_text("Only to be read.").first.wait_for()
        assert found.page.get_by_role("button", name="Write the note").count() == 0
        assert found.page.get_by_role("button", name="Consolidate now").count() == 0
        found.open("#/spaces/another-space")
        found.page.get_by_role("alert").first.wait_for()
