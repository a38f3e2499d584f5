"""A backup holds the space as it stood at one moment, whole, and says so only then."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livemem.bank import corrections
from livemem.copies import catalog, taking
from livemem.copies import manifest as manifests
from livemem.copies.taking import BackupRequest
from livemem.errors import InvalidRequest, NotFound, TooLarge
from livemem.spaces import head as heads
from livemem.store import keys
from livemem.store.bucket import BACKUP_MANIFEST, BACKUP_OBJECT
from tests.support import backups
from tests.support.backing_up import names, on_copy, own_etags, put, take, used
from tests.support.bucket import FakeS3, error
from tests.support.counting import Killed, Request
from tests.support.world import World

SPACE = "demo"


@pytest.mark.parametrize("threads", [1, 16])
def test_500_objects_are_backed_up_with_2_list_500_copies_and_3_put(threads: int):
    world = World(threads=threads)
    world.create_space(SPACE)
    for number in range(500 - len(world.keys("demo/"))):
        put(world, f"live/20260220T140000_ann_todo_{number:08x}.md")
    world.new_process()

    made = world.back_up()

    assert {verb: world.client.counts[verb] for verb in ("LIST", "COPY", "PUT")} == {"LIST": 2, "COPY": 500, "PUT": 3}
    assert set(world.client.counts) == {"LIST", "COPY", "PUT", "GET", "DELETE"}
    assert (world.client.counts["GET"], world.client.counts["DELETE"]) == (5, 1)
    assert (made.objects_count, made.complete) == (500, True)
    assert backups.broken(world.inner.objects) == []


def test_a_manifest_tells_what_is_in_the_backup_and_the_objects_are_those_of_the_space():
    world = used()
    before = {name: stored for name, stored in world.inner.objects.items() if name.startswith("demo/")}

    made = world.back_up(description="before the move")

    folder = BACKUP_OBJECT.prefix(SPACE, made.job_id)
    saved = manifests.load(world.process, SPACE, made.job_id)
    assert made == saved.value
    assert made.counts == {"bank_files": 1, "notes": 2, "other": 6, "records": 1}
    assert made.bytes == sum(len(stored.body) for stored in before.values())
    assert (made.description, made.trigger, made.transient, made.changes) == ("before the move", "api", False, 1)
    copies = {key.removeprefix(folder): stored for key, stored in world.inner.objects.items() if key.startswith(folder)}
    del copies[keys.MANIFEST]
    assert {f"demo/{name}": (stored.body, stored.metadata) for name, stored in copies.items()} == {
        key: (stored.body, stored.metadata) for key, stored in before.items()
    }


def test_what_can_be_made_again_and_who_is_at_work_is_not_in_a_backup_and_all_else_is():
    world = used()
    derived = [
        "_search/words.bin",
        "_vectors/1.bin",
        "conversations/01KHXNKFM80000000000000005/claims/summaries.json",
        "_runs/by_hand.json",
        "_runs/01HZZZZZZZ0000000000000001.plan.json",
        "_manifest.json",
    ]
    kept = [
        "conversations/c1/000001.turn.json",
        "memories/2026.json",
        "rooms/r/1.json",
        "_erasures/01HZZZZZZZ0000000000000001.json",
        "_idempotency/0.json",
        "_runs/01HZZZZZZZ0000000000000001.displaced/log.md",
        "photo.png",
        "live/notes.txt",
    ]
    for name in (*derived, *kept):
        put(world, name)

    made = world.back_up()

    assert not names(world, made.job_id) & {*derived, "_lease.json"}
    assert names(world, made.job_id) >= {
        *kept,
        "_meta.json",
        "_rules.md",
        "_synthesis.md",
        "live/.keep",
        "bank/.keep",
    }
    # What lies in the place of the manifest has not become it.
    assert backups.complete(world.inner.objects) == [made.job_id]


def test_two_backups_of_one_second_have_two_ids():
    world = used()

    ids = [world.back_up(description=f"{number}").job_id for number in range(3)]

    assert ids == [keys.backup_id(world.clock() + timedelta(seconds=number)) for number in range(3)]


def test_of_two_that_claim_an_id_at_once_one_takes_the_next():
    world = used()
    other = world.with_parts()
    now = world.clock()
    head = heads.load(world.process, SPACE)

    ids = [taking._claim(process, head, BackupRequest("api"), now).value.job_id for process in (world.process, other)]

    assert len(set(ids)) == 2


@pytest.mark.parametrize("put", [0, 1])
def test_a_manifest_whose_answer_was_lost_is_taken_for_written(put: int):
    world = used()
    answered: list[str] = []

    def carry(request: Request) -> Any:
        answer = request.send(world.inner)
        if request.verb == "PUT" and request.key.endswith(keys.MANIFEST):
            answered.append(request.key)
            if len(answered) == put + 1:
                raise error("PreconditionFailed", 412, "PutObject")
        return answer

    world.client.carry = carry
    made = world.back_up()

    assert made.complete
    assert catalog.ids(world.process, SPACE) == [made.job_id]
    assert len(answered) == 2


def test_a_pending_commit_is_finished_first():
    world = used()
    world.note("three")
    run = world.order()

    def die(index: int, verb: str) -> None:
        if world.client.requests[index] == ("PUT", "demo/_meta.json"):
            raise Killed

    world.new_process()
    world.client.after = die
    with pytest.raises(Killed):
        world.work()
    world.new_process()
    world.clock.move(100)
    assert heads.load(world.process, SPACE).meta.committed_run == run.job_id

    made = world.back_up()

    assert (made.changes, made.counts["records"]) == (2, 2)
    assert backups.broken(world.inner.objects) == []


def test_on_a_store_that_gives_each_copy_an_etag_of_its_own_both_are_noted_and_one_head_more_is_asked_for_each():
    world = own_etags()

    made = world.back_up()

    counts = world.client.counts
    assert counts["HEAD"] == counts["COPY"] == made.objects_count == 13
    assert backups.broken(world.inner.objects) == []
    saved = manifests.load(world.process, SPACE, made.job_id)
    assert all(item.copy_etag and item.copy_etag != item.etag for item in saved.value.items or ())
    assert take(world).result == "unchanged"


def test_on_a_store_that_ignores_the_condition_of_a_copy_an_object_that_was_changed_is_copied_again():
    world = own_etags()
    world.inner.ignores = True
    on_copy(world, "_meta.json", lambda: heads.patch(world.with_parts(), SPACE, description="new"))

    made = world.back_up()

    meta = json.loads(world.text(BACKUP_OBJECT.key(SPACE, made.job_id, "_meta.json")))
    (item,) = (i for i in manifests.load(world.process, SPACE, made.job_id).value.items or () if i.name == "_meta.json")
    assert (meta["description"], item.etag) == ("new", world.inner.objects["demo/_meta.json"].etag)
    assert backups.broken(world.inner.objects) == []


class Sha256(FakeS3):
    def copy_object(self, *, ChecksumAlgorithm: str = "", **arguments: Any) -> dict[str, Any]:
        answer = super().copy_object(**arguments)
        assert ChecksumAlgorithm == "SHA256"
        # base64 of 32 bytes.
        answer["CopyObjectResult"]["ChecksumSHA256"] = "A" * 43 + "="
        return answer


def test_where_the_store_gives_the_sha_256_it_is_in_the_manifest():
    world = World(Sha256())
    world.inner._clock = world.clock
    world.create_space(SPACE)
    store = replace(world.store, gives_sha256=True)

    made = take(world, world.with_parts(store=store)).manifest

    saved = manifests.load(world.process, SPACE, made.job_id)
    assert {item.sha256 for item in saved.value.items or ()} == {"00" * 32}


@pytest.mark.parametrize("wrong", ["x" * 501, "\ud800"])
def test_a_description_that_is_too_long_or_no_text_is_refused_before_anything_is_asked(wrong: str):
    world = used()

    with pytest.raises((TooLarge, InvalidRequest)):
        take(world, description=wrong)

    assert world.client.requests == []


@given(st.lists(st.sampled_from(["note", "run", "edit", "patch", "back up", "export", "remove"]), max_size=8))
def test_whatever_happens_to_a_space_its_complete_backups_are_whole(acts: list[str]):
    world = World()
    world.create_space(SPACE)
    for act in acts:
        world.clock.move(61)
        if act == "note":
            world.note(f"note {world.ids.count}")
        elif act == "run":
            world.consolidate()
        elif act == "edit":
            corrections.write_file(world.process, "admin", SPACE, "log.md", f"# {world.ids.count}\n", None)
        elif act == "patch":
            heads.patch(world.process, SPACE, description=str(world.ids.count))
        elif act == "remove":
            for backup_id in catalog.ids(world.process, SPACE)[:1]:
                with_nothing_left(world, backup_id)
        else:
            world.back_up(trigger="export" if act == "export" else "api")
        assert backups.broken(world.inner.objects) == []


def with_nothing_left(world: World, backup_id: str) -> None:
    try:
        catalog.remove(world.process, SPACE, backup_id)
    except NotFound:
        return
    folder = BACKUP_OBJECT.prefix(SPACE, backup_id)
    assert world.keys(folder) == [BACKUP_MANIFEST.key(SPACE, backup_id)]
