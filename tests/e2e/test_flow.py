"""The main job from outside: notes in, a memory bank out, its history, and the way back."""

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.client import Service
from tests.e2e.spaces import fresh_space

THRESHOLD = 5


@pytest.fixture
def space(service: Service) -> Iterator[str]:
    with fresh_space(service, THRESHOLD) as space_id:
        yield space_id


def post(service: Service, space: str, count: int, category: str = "decision") -> list[str]:
    ids = []
    for index in range(count):
        content = f"Decision {index} of {uuid.uuid4().hex[:6]}: the parser reads section {index} first."
        answer = service.send("POST", f"/spaces/{space}/notes", {"category": category, "content": content})
        assert answer.status == 201, answer
        ids.append(answer.body["note_id"])
    return ids


def history(service: Service, space: str) -> list[dict[str, Any]]:
    return service.call("list_consolidations", {"space_id": space})["items"]


def test_notes_up_to_the_threshold_become_a_bank_by_themselves(service, space):
    ids = post(service, space, THRESHOLD)
    (record,) = service.wait_until(lambda: history(service, space), lambda items: len(items) == 1)
    assert record["trigger"] == "threshold"
    # An event may overtake the last notes; those wait for the next consolidation.
    service.wait_until(lambda: service.spaces.get(space).committed_run, lambda run: run is None)
    status = [service.notes.get(space, note_id).status for note_id in ids]
    assert status.count("consolidated") == record["notes_count"] == THRESHOLD
    bank = service.call("list_bank", {"space_id": space, "content": True})["items"]
    assert bank
    if record["model"] == "offline-rules":
        # It takes words over as they are, a language model need not.
        assert len(bank) == 6
        text = "\n".join(file["content"] for file in bank)
        for index in range(THRESHOLD):
            assert f"the parser reads section {index} first" in text
    summary = service.call("get_summary", {"space_id": space})
    assert summary["rules"].strip()
    assert summary["synthesis"]["consolidation_number"] == 1
    assert {file["path"] for file in summary["bank"]} == {file["path"] for file in bank}


@pytest.mark.parametrize(
    ("method", "path"), [("GET", ""), ("GET", "/nothing"), ("PUT", "/spaces"), ("PATCH", "/health")]
)
def test_what_is_no_route_is_answered_with_a_problem_document(service, method, path):
    answer = service.send(method, path)

    assert (answer.status, answer.headers["content-type"]) == (404, "application/problem+json")
    assert answer.body["code"] == "route_not_found"


def test_below_the_threshold_nothing_happens_until_a_run_is_started_by_hand(service, space):
    ids = post(service, space, 2)
    assert history(service, space) == []
    started = service.send("POST", f"/spaces/{space}/consolidations", {})
    assert started.status == 202
    assert started.headers["location"] == f"/v1/jobs/{started.body['job']}"
    run = service.ended(started.body["job"])
    assert run.status == "done"
    assert run.metrics["notes_processed"] == 2
    record = service.call("get_consolidation", {"space_id": space, "number": run.consolidation})
    assert [source["note_id"] for source in record["sources"]] == sorted(ids)
    assert any(change["diff"].startswith("--- /dev/null") for change in record["changes"])


def test_a_run_without_notes_says_so(service, space):
    started = service.send("POST", f"/spaces/{space}/consolidations")
    run = service.ended(started.body["job"])
    assert run.code == "nothing_to_do"
    assert run.message == "No new notes to consolidate"


def test_undo_brings_back_bank_and_notes_and_time_travel_shows_each_state(service, space):
    post(service, space, 2)
    first = service.send("POST", f"/spaces/{space}/consolidations").body["job"]
    service.ended(first)
    before = {
        file["path"]: file["content"]
        for file in service.call("list_bank", {"space_id": space, "content": True})["items"]
    }
    second_ids = post(service, space, 2, "issue")
    second = service.send("POST", f"/spaces/{space}/consolidations").body["job"]
    assert service.ended(second).status == "done"

    undone = service.send("POST", f"/spaces/{space}/consolidations/2/undo")

    assert undone.status == 200, undone
    assert undone.body["undoes"] == 2
    after = {
        file["path"]: file["content"]
        for file in service.call("list_bank", {"space_id": space, "content": True})["items"]
    }
    assert after == before
    live = [note["note_id"] for note in service.call("list_notes", {"space_id": space, "order": "asc"})["items"]]
    assert live == sorted(second_ids)
    assert service.spaces.get(space).auto_paused is True
    changes = service.call("get_consolidation", {"space_id": space, "number": "2"})["changes"]
    changed = next(change["path"] for change in changes if change["path"] in before)
    assert service.bank.get_file(space, changed, at="1").content == before[changed]
    assert service.bank.get_file(space, changed, at="2").content != before[changed]
    assert service.send("POST", f"/spaces/{space}/consolidations/2/undo").status == 409


def test_a_manual_edit_is_recorded_and_every_section_names_its_sources(service, space):
    ids = post(service, space, 2)
    job = service.send("POST", f"/spaces/{space}/consolidations").body["job"]
    service.ended(job)
    path = service.call("list_bank", {"space_id": space})["items"][0]["path"]
    edited = service.send("PUT", f"/spaces/{space}/bank/{path}", {"content": "# By hand\n\nText.\n"})
    assert edited.status == 200
    assert [item["kind"] for item in history(service, space)] == ["manual", "consolidation"]
    (section,) = service.call("get_bank_file", {"space_id": space, "path": path, "sources": True})["sections"]
    assert section["corrections"] == [2]
    cited = {
        source["note_id"]
        for file in service.call("list_bank", {"space_id": space})["items"]
        for part in service.call("get_bank_file", {"space_id": space, "path": file["path"], "sources": True})[
            "sections"
        ]
        for source in part["sources"]
    }
    assert cited <= set(ids)
    assert cited


def test_a_dry_run_shows_the_plan_and_writes_nothing(service, space):
    ids = post(service, space, 2)
    job = service.send("POST", f"/spaces/{space}/consolidations", {"dry_run": True}).body["job"]
    run = service.ended(job)
    assert run.status == "done"
    assert run.plan["changes"]
    assert run.plan["sources"] == sorted(ids)
    assert service.call("list_bank", {"space_id": space})["items"] == []
    assert len(service.call("list_notes", {"space_id": space})["items"]) == 2


def test_health_is_open_and_says_more_to_those_with_a_token(service):
    stranger = Service(service.url, None).send("GET", "/health")
    assert stranger.status == 200
    assert "oldest_pending_note_seconds" not in stranger.body["checks"]
    mine = service.call("get_health", {})
    assert mine["checks"]["store"] == "ok"
    assert mine["checks"]["conditional_writes"] == "ok"
    assert "oldest_pending_note_seconds" in mine["checks"]


def test_bad_input_is_refused_with_the_field_and_leaves_nothing(service, space):
    for body, status, field in (
        ({"category": "todo"}, 422, "content"),
        ({"category": "todo", "content": "x", "tag": ["y"]}, 422, "tag"),
        ({"category": "todo", "content": "x" * 100_001}, 413, "content"),
    ):
        answer = service.send("POST", f"/spaces/{space}/notes", body)
        assert (answer.status, answer.headers["content-type"]) == (status, "application/problem+json")
        assert answer.body["errors"][0]["field"] == field
    assert service.call("get_space", {"space_id": space})["live"]["notes_count"] == 0


def test_who_has_an_answer_is_not_sent_it_again_until_it_changes_and_gets_it_compressed(service, space):
    path = f"/spaces/{space}/bank?content=true"
    put = f"/spaces/{space}/bank/long.md"
    assert service.send("PUT", put, {"content": "# Long\n\n" + "- The same line again.\n" * 500}).status == 201
    plain = service.send("GET", path)
    packed = service.send("GET", path, Accept_Encoding="gzip")
    assert packed.headers["content-encoding"] == "gzip"
    assert int(packed.headers["content-length"]) * 5 < int(plain.headers["content-length"])

    etag = plain.headers["etag"]
    assert packed.headers["etag"] == etag
    for encoding in ("identity", "gzip"):
        again = service.send("GET", path, If_None_Match=f'"x", {etag}', Accept_Encoding=encoding)
        assert (again.status, again.body, again.headers["etag"]) == (304, None, etag)
    assert Service(service.url, None).send("GET", path, If_None_Match=etag).status == 401
    assert service.send("PUT", put, {"content": "# Short\n"}).status == 200
    changed = service.send("GET", path, If_None_Match=etag)
    assert (changed.status, changed.body["items"][0]["content"]) == (200, "# Short\n")


def test_a_request_without_a_token_learns_nothing(service, space):
    stranger = Service(service.url, None)
    for method, path in (("GET", f"/spaces/{space}"), ("GET", "/spaces/none"), ("POST", f"/spaces/{space}/notes")):
        assert stranger.send(method, path).status == 401
    assert Service(service.url, "lm_wrong").send("GET", "/spaces").status == 401


def test_rules_and_sections_are_changed_by_hand_recorded_and_undone(service, space):
    post(service, space, 2)
    job = service.send("POST", f"/spaces/{space}/consolidations").body["job"]
    service.ended(job)
    path = service.call("list_bank", {"space_id": space})["items"][0]["path"]
    before, rules = service.bank.get_file(space, path).content, service.call("get_rules", {"space_id": space})

    edit = {"op": "add_section", "heading": "# By hand", "content": "Text."}
    edited = service.send("PATCH", f"/spaces/{space}/bank/{path}", {"edits": [edit], "reason": "it was missing"})
    assert edited.status == 200, edited
    assert edited.body["content"].endswith("# By hand\n\nText.\n")
    changed = service.send("PUT", f"/spaces/{space}/rules", {"rules": "# Rules\n\nKeep `log.md`.\n"})
    assert changed.status == 200, changed
    assert [item["kind"] for item in history(service, space)] == ["rules", "manual", "consolidation"]

    for number in (3, 2):
        assert service.send("POST", f"/spaces/{space}/consolidations/{number}/undo").status == 200
    assert service.call("get_rules", {"space_id": space}) == rules
    assert service.bank.get_file(space, path).content == before
    info = service.call("get_space", {"space_id": space})
    assert (info["changes"], info["consolidation_count"], info["auto_paused"]) == (5, 1, False)
