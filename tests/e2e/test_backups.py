"""Backups and what rests on them from outside: a space that is the same, an archive, other tools' files, erasure."""

import io
import tarfile
import urllib.request
from typing import Any

import pytest

from tests.e2e.client import Service
from tests.e2e.spaces import fresh_id, fresh_space, removed

WORDS = "The door code of the archive is 4711 at night."


@pytest.fixture
def space(service: Service):
    """A space with a bank, a history and a live note."""
    with fresh_space(service, 0) as space_id:
        write(service, space_id, "We keep S3 as the only store.")
        run = service.send("POST", f"/spaces/{space_id}/consolidations").body["job"]
        assert service.ended(run).status == "done"
        write(service, space_id, WORDS)
        yield space_id


def write(service: Service, space_id: str, content: str) -> str:
    answer = service.send("POST", f"/spaces/{space_id}/notes", {"category": "decision", "content": content})
    assert answer.status == 201, answer
    return str(answer.body["note_id"])


def everything(service: Service, space_id: str) -> Any:
    """What an agent and a reader of the history see of a space, without its name."""
    summary = service.call("get_summary", {"space_id": space_id})
    notes = service.call("list_notes", {"space_id": space_id})["items"]
    history = service.call("list_consolidations", {"space_id": space_id})["items"]
    return (
        summary["rules"],
        summary["synthesis"],
        [(file["path"], file["content"]) for file in summary["bank"]],
        [{**note, "space_id": ""} for note in notes],
        history,
    )


def patiently(service: Service, *request: Any) -> Any:
    """The answer to a request that may find the space busy with its sweep for a moment."""
    return service.wait_until(lambda: service.send(*request), lambda answer: answer.status != 409)


def upload(service: Service, archive: bytes) -> str:
    made = service.send("POST", "/uploads", {"size": len(archive)})
    assert made.status == 201
    request = urllib.request.Request(made.body["url"], data=archive, method="PUT")
    with urllib.request.urlopen(request, timeout=60) as answer:
        assert answer.status == 200
    return str(made.body["upload_id"])


def packed(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, body in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(body)
            tar.addfile(info, io.BytesIO(body))
    return out.getvalue()


def ended(service: Service, job: str) -> dict[str, Any]:
    """The job once it has ended."""
    found: dict[str, Any] = service.wait_until(
        lambda: service.send("GET", f"/jobs/{job}").body, lambda body: body["status"] not in ("queued", "running")
    )
    return found


def copied(service: Service, target: str, source: dict[str, Any]) -> dict[str, Any]:
    """The ended job that made the space from something."""
    made = patiently(service, "POST", "/spaces", {"space_id": target, "from": source})
    assert made.status == 202, made
    return ended(service, made.body["job"])


def test_a_backup_is_restored_as_another_space_that_is_the_same(service: Service, space: str):
    before = everything(service, space)
    backup = patiently(service, "POST", f"/spaces/{space}/backups")
    assert (backup.status, backup.body["complete"]) == (201, True)
    write(service, space, "This came later.")
    target = fresh_id()

    source = {"space": space, "backup": backup.body["backup_id"]}

    made = copied(service, target, source)

    with removed(service, target):
        assert made["status"] == "done", made
        assert everything(service, target) == before
        taken = service.send("POST", "/spaces", {"space_id": target, "from": source})
        assert (taken.status, taken.body["code"]) == (409, "space_exists")


def test_a_fork_stands_as_the_space_stood_after_a_change(service: Service, space: str):
    target = fresh_id()

    made = copied(service, target, {"space": space, "at": 1})

    with removed(service, target):
        assert made["status"] == "done", made
        then = service.call("list_bank", {"space_id": space, "at": "1", "content": True})["items"]
        now = service.call("list_bank", {"space_id": target, "content": True})["items"]
        assert [(f["path"], f["content"]) for f in now] == [(f["path"], f["content"]) for f in then]
        (change,) = service.call("list_consolidations", {"space_id": target})["items"]
        # Times of notes are whole seconds.
        assert all(
            note["timestamp"] <= change["committed_at"]
            for note in service.call("list_notes", {"space_id": target})["items"]
        )


def test_an_export_is_read_with_tar_and_imported_as_the_same_space(service: Service, space: str):
    before = everything(service, space)
    begun = patiently(service, "POST", f"/spaces/{space}/exports")
    assert begun.status == 202, begun
    (found,) = ended(service, begun.body["job"])["result"]["archives"]
    with urllib.request.urlopen(found["url"], timeout=60) as answer:
        archive = answer.read()
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        names = tar.getnames()
    assert names[-1] == f"{space}/_manifest.json"
    assert f"{space}/_rules.md" in names
    assert service.token.encode() not in archive
    target = fresh_id()

    made = copied(service, target, {"archive": upload(service, archive)})

    with removed(service, target):
        assert made["status"] == "done", made
        assert everything(service, target) == before


def test_a_folder_of_markdown_files_becomes_a_bank_with_a_history(service: Service):
    target = fresh_id()
    folder = {
        "memory-bank/projectbrief.md": b"# Brief\n\nA parser.\n",
        "memory-bank/notes/tech.md": b"# Tech\n\n- Python\n",
    }

    made = copied(service, target, {"archive": upload(service, packed(folder))})

    with removed(service, target):
        assert made["status"] == "done", made
        bank = service.call("list_bank", {"space_id": target, "content": True})["items"]
        assert {f["path"]: f["content"] for f in bank} == {
            "projectbrief.md": "# Brief\n\nA parser.\n",
            "notes/tech.md": "# Tech\n\n- Python\n",
        }
        (change,) = service.call("list_consolidations", {"space_id": target})["items"]
        assert (change["number"], change["kind"]) == (1, "manual")


def test_a_hostile_archive_is_refused_and_makes_no_space(service: Service):
    for archive in (b"no archive at all", packed({"../../etc/passwd.md": b"x"})):
        target = fresh_id()

        answer = service.send("POST", "/spaces", {"space_id": target, "from": {"archive": upload(service, archive)}})

        assert (answer.status, answer.body["code"]) == (422, "invalid_archive"), answer
        assert service.send("GET", f"/spaces/{target}").status == 404


def test_an_erased_note_is_in_the_space_and_its_backups_no_more(service: Service, space: str):
    (note,) = service.call("list_notes", {"space_id": space})["items"]
    backup = patiently(service, "POST", f"/spaces/{space}/backups").body["backup_id"]

    receipt = patiently(service, "POST", f"/spaces/{space}/erasures", {"ids": [note["note_id"]]})

    assert (receipt.status, receipt.body["status"]) == (200, "done"), receipt
    assert "4711" not in str(receipt.body)
    assert service.send("GET", f"/spaces/{space}/notes/{note['note_id']}").status == 404
    target = fresh_id()
    made = copied(service, target, {"space": space, "backup": backup})
    with removed(service, target):
        assert made["status"] == "done", made
        assert "4711" not in str(everything(service, target))
