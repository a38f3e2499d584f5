"""What can happen to backups, archives and spaces that come from them, told as in stories.py."""

import base64
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from tests.support.part import of_proof
from tests.support.policy import BUCKET
from tests.support.stories import HOUR, SPACE, Account, Story

BACKUPS = f"{SPACE}/backups"
BACKUP = f"{BACKUPS}/{{backup_id}}"
DAY = 24 * HOUR


def call(account: Account, method: str, route: str, status: int, **rest: Any) -> Any:
    return account.call("backup", method, route, status, **rest)


def full(account: Account) -> str:
    """A space with something of everything; the id of a live note."""
    account.create()
    account.note(key="k")
    account.start()
    account.work()
    account.put("demo/photo.png")
    return account.note(content="The door code is 4711 at night.")


def back_up(account: Account, **wanted: Any) -> str:
    return str(call(account, "POST", BACKUPS, 201, body=wanted)["backup_id"])


def copy(account: Account, space_id: str, source: dict[str, Any], status: int = 202) -> Any:
    """A new space that comes from something."""
    return call(account, "POST", "/v1/spaces", status, body={"space_id": space_id, "from": source})


def a_backup_from_its_making_to_its_end(account: Account) -> None:
    full(account)
    one = back_up(account)
    assert call(account, "POST", BACKUPS, 200)["backup_id"] == one
    two = back_up(account, description="by hand")
    assert len(call(account, "GET", "/v1/backups", 200, query={"space_id": "demo"})["items"]) == 2
    assert len(call(account, "GET", "/v1/backups", 200)["items"]) == 2
    assert call(account, "GET", BACKUP, 200, backup_id=two)["complete"]
    call(account, "DELETE", BACKUP, 204, backup_id=one)
    call(account, "GET", BACKUP, 404, backup_id=one)
    account.clock.move(60 * DAY)
    account.put("demo/photo.png", "y")
    back_up(account)
    wanted = {"dry_run": False, "keep_last": 1, "backup_days": 1, "max_age_days": 90}
    (report,) = call(account, "POST", "/v1/admin/gc", 200, body=wanted)["spaces"]
    assert [gone["backup_id"] for gone in report["backups"]] == [two]


def a_night(account: Account) -> None:
    full(account)
    account.put("demo/_erasures/01HZZZZZZZ0000000000000001.json")
    account.delete()
    account.clock.move(HOUR)
    account.create()
    account.service.invoke("backup", {"do": "nightly"})
    while account.service.lambda_api.invoked:
        account.service.work()
    assert [key for key in account.service.written() if key.endswith("/_manifest.json")]
    account.sweep(everything=True)


def a_space_that_is_restored(account: Account) -> None:
    full(account)
    backup_id = back_up(account)
    made = copy(account, "other", {"backup": backup_id, "space": "demo"})
    assert made["status"] == "done"
    account.delete()
    copy(account, "demo", {"backup": backup_id}, status=409)
    account.clock.move(HOUR)
    made = copy(account, "demo", {"backup": backup_id})
    assert call(account, "GET", "/v1/jobs/{job}", 200, job=made["job"])["status"] == "done"


def a_space_that_is_forked(account: Account) -> None:
    full(account)
    copy(account, "now", {"space": "demo"})
    copy(account, "then", {"space": "demo", "at": 1})


def a_restore_that_is_interrupted(account: Account) -> None:
    full(account)
    backup_id = back_up(account)
    with account.dying("s3:PutObject", "other/_rules.md"):
        copy(account, "other", {"backup": backup_id, "space": "demo"})
    account.sweep()
    account.service.work()
    assert "other/_rules.md" in account.service.written()


def a_backup_that_is_interrupted(account: Account) -> None:
    full(account)
    with account.dying("s3:PutObject", "_backups/demo/", time=3):
        back_up(account)
    # The first time a tombstone is left, for copies that come late.
    for _ in range(2):
        account.clock.move(DAY)
        account.sweep(everything=True)
    assert [key for key in account.service.written() if key.startswith("_backups/")] == []


def a_space_that_is_exported_and_imported(account: Account) -> None:
    full(account)
    found = call(account, "POST", f"{SPACE}/exports", 202)["result"]
    assert found["archives"][0]["url"]
    call(account, "POST", f"{SPACE}/exports", 202, body={"backup_id": found["backup_id"]})
    key = f"_exports/demo/{found['backup_id']}.tar.gz"
    archive = account.service.s3.get_object(Bucket=BUCKET, Key=key)["Body"].read()
    upload = call(account, "POST", "/v1/uploads", 201, body={"size": len(archive)})
    account.service.s3.put_object(Bucket=BUCKET, Key=f"_uploads/{upload['upload_id']}", Body=archive)
    copy(account, "other", {"archive": upload["upload_id"]})
    small = {"size": len(archive), "content": base64.b64encode(archive).decode()}
    given = call(account, "POST", "/v1/uploads", 201, body=small)
    copy(account, "third", {"archive": given["upload_id"]})
    account.put("_uploads/01HZZZZZZZ0000000000000001")
    account.clock.move(2 * DAY)
    account.sweep(everything=True)
    assert [key for key in account.service.written() if key.startswith(("_exports/", "_uploads/"))] == []


def notes_that_are_erased(account: Account) -> None:
    note_id = full(account)
    account.clock.move(1)
    back_up(account)
    call(account, "POST", f"{SPACE}/exports", 202)
    assert call(account, "GET", f"{SPACE}/invariants", 200)["holds"]
    call(account, "POST", f"{SPACE}/erasures", 422, body={})
    another = {"ids": [account.note(content="The gate code is 4712 at noon.")]}
    found = call(account, "POST", f"{SPACE}/erasures", 200, body={**another, "preview": True})
    assert (found["status"], found["preview"]["states"]) == ("preview", {another["ids"][0]: "in_space"})
    assert "job" not in found
    assert call(account, "POST", f"{SPACE}/erasures", 200, body=another)["status"] == "done"
    told = call(account, "POST", f"{SPACE}/erasures", 200, body={"ids": [note_id]})
    assert (told["status"], told["ids"]) == ("done", [note_id])
    told = call(account, "POST", f"{SPACE}/erasures", 200, body={"agent": "admin"})
    erasures = call(account, "GET", "/v1/jobs", 200, query={"space_id": "demo", "kind": "erasure"})["items"]
    assert erasures[0]["result"] == {**told, "ids": [], "quoted_in": []}
    assert erasures[0]["progress"]["total"] == len(told["ids"])
    assert len(erasures) == 3
    for job in call(account, "GET", "/v1/jobs", 200, query={"space_id": "demo"})["items"]:
        found = call(account, "GET", "/v1/jobs/{job}", 200, job=job["job"])
        assert {**found, "result": None} == {**job, "result": None}
    account.clock.move(HOUR)
    account.sweep()


def old_runs_that_the_sweep_removes(account: Account) -> None:
    full(account)
    for hours in (3, 3, 120 * 24):
        account.clock.move(hours * HOUR)
        account.sweep(everything=True)
    assert [key for key in account.service.written() if "/_runs/0" in key] == []


def garbage_that_is_collected(account: Account, *, delete_only: bool) -> None:
    full(account)
    for _ in range(2):
        account.clock.move(3 * HOUR)
        account.sweep()
    account.clock.move(120 * DAY)
    wanted = {"dry_run": False, "delete_only": delete_only}
    told = call(account, "POST", "/v1/admin/gc", 200, body=wanted)
    assert told["old_notes"] == 1
    assert told["runs_removed"] == 1


def a_night_that_finds_notes_enough_for_a_consolidation(account: Account) -> None:
    account.create(threshold=1)
    account.note()
    account.service.invoke("backup", {"do": "nightly"})
    account.service.work()
    assert account.service.lambda_api.invoked[0][0] == "live-memory-consolidate"


def a_backup_that_takes_longer_than_a_request(account: Account) -> None:
    full(account)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("livemem.copies.taking.BATCH", 3)
        patch.setattr("livemem.store.timing.REQUEST", timedelta())
        backup_id = call(account, "POST", BACKUPS, 202)["backup_id"]
    account.service.work()
    assert call(account, "GET", BACKUP, 200, backup_id=backup_id)["complete"]


def notes_that_are_erased_where_versions_are_kept(account: Account) -> None:
    account.service.s3.versioned = True
    notes_that_are_erased(account)


def an_erasure_that_is_interrupted_where_versions_are_kept(account: Account) -> None:
    account.service.s3.versioned = True
    note_id = full(account)
    back_up(account)
    with account.dying("s3:DeleteObject", f"demo/live/{note_id}"):
        call(account, "POST", f"{SPACE}/erasures", 200, body={"ids": [note_id]})
    account.sweep()
    while account.service.lambda_api.invoked:
        account.service.work()
    assert [key for key in account.service.written() if note_id in key] == []


STORIES: list[Story] = [
    a_night_that_finds_notes_enough_for_a_consolidation,
    a_backup_that_takes_longer_than_a_request,
    a_backup_from_its_making_to_its_end,
    a_night,
    a_restore_that_is_interrupted,
    a_backup_that_is_interrupted,
    a_space_that_is_exported_and_imported,
    *(partial(garbage_that_is_collected, delete_only=delete_only) for delete_only in (False, True)),
    notes_that_are_erased_where_versions_are_kept,
    an_erasure_that_is_interrupted_where_versions_are_kept,
    # They ask for nothing that no other story asks for.
    *of_proof(
        a_space_that_is_restored,
        a_space_that_is_forked,
        old_runs_that_the_sweep_removes,
    ),
]
