"""The work of an operator on the page: a space made of an archive, its settings, its runs."""

from pathlib import Path

from playwright.sync_api import expect

from tests.e2e.client import Service
from tests.e2e.spaces import fresh_space, post_notes, removed
from tests.support.archives import targz
from tests.support.browser import Visit

IMPORT = "#/operate/import"


def test_a_space_is_made_of_an_archive_that_is_chosen_on_the_page(signed_in, service: Service, tmp_path: Path):
    archive = tmp_path / "bank.tar.gz"
    archive.write_bytes(targz([("bank/progress.md", b"# Progress\n\nThe ferry leaves at nine.\n")]))
    found: Visit = signed_in(IMPORT)

    found.page.get_by_label("Archive", exact=True).set_input_files(archive)
    found.page.get_by_label("Name", exact=True).fill("page-imported")
    found.page.reload()
    expect(found.page.get_by_label("Name", exact=True), "what is typed is kept").to_have_value("page-imported")
    found.page.get_by_label("Archive", exact=True).set_input_files(archive)
    found.page.get_by_role("button", name="Make the space").click()
    found.page.locator("main h1", has_text="page-imported").wait_for()

    with removed(service, "page-imported"):
        told = service.send("GET", "/spaces/page-imported/bank/progress.md").body
        assert "The ferry leaves at nine." in told["content"]
        # The same again: the id is taken, and what was typed stays.
        found.allowed.add(409)
        found.open(IMPORT)
        found.page.get_by_label("Archive", exact=True).set_input_files(archive)
        found.page.get_by_label("Name", exact=True).fill("page-imported")
        found.page.get_by_role("button", name="Make the space").click()
        found.page.get_by_role("alert").first.wait_for()
        expect(found.page.get_by_label("Name", exact=True)).to_have_value("page-imported")


def test_an_archive_that_is_too_large_for_the_page_is_told_with_the_command_that_takes_it(signed_in, tmp_path: Path):
    archive = tmp_path / "large.tar.gz"
    archive.write_bytes(bytes(750_001))
    found: Visit = signed_in(IMPORT)

    found.page.get_by_label("Archive", exact=True).set_input_files(archive)

    found.page.get_by_text("livemem import large.tar.gz -s demo-imported").wait_for()
    expect(found.page.get_by_role("button", name="Make the space")).to_be_disabled()
    assert not [one for one in found.requests if one.startswith("POST")]


def test_a_file_that_is_no_archive_is_refused_with_a_reason(signed_in, tmp_path: Path):
    archive = tmp_path / "photo.tar.gz"
    archive.write_bytes(b"no archive")
    found: Visit = signed_in(IMPORT)
    found.allowed |= {422}

    found.page.get_by_label("Archive", exact=True).set_input_files(archive)
    found.page.get_by_label("Name", exact=True).fill("page-never")
    found.page.get_by_role("button", name="Make the space").click()

    found.page.get_by_role("alert").first.wait_for()
    assert "invalid_archive" in found.page.get_by_role("alert").first.inner_text()


def test_settings_are_changed_and_taken_away_again(signed_in, service: Service):
    with fresh_space(service, 0) as space:
        service.spaces.patch(space, description="Harbour", language="fr", timezone="Europe/Paris")
        found: Visit = signed_in(f"#/spaces/{space}/settings")
        for field in ("Description", "Language of the bank", "Time zone"):
            found.page.get_by_label(field).first.fill("")
        found.page.get_by_role("button", name="Save the settings").click()
        found.page.get_by_text("The settings are saved.").wait_for()

        told = service.send("GET", f"/spaces/{space}").body
        assert (told["description"], told["consolidation_threshold"]) == ("", 0)
        assert not {"language", "timezone"} & told.keys()


def test_a_run_that_has_ended_is_not_asked_for_again(signed_in, service: Service):
    with fresh_space(service, 0) as space:
        post_notes(service, space, 1)
        job = service.consolidations.start(space).job
        run = job.rpartition(".")[2]
        assert service.ended(job).status == "done"
        found: Visit = signed_in(fresh=True)
        found.page.clock.install()
        found.open(f"#/spaces/{space}/runs/{run}")
        found.page.get_by_role("heading", name="Run").wait_for()
        found.settle()
        path = f"GET /v1/jobs/{job} "
        before = sum(one.startswith(path) for one in found.requests)
        found.page.clock.fast_forward(60_000)
        found.settle()
        assert sum(one.startswith(path) for one in found.requests) == before
