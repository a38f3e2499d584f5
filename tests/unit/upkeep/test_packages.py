"""Every key that the service writes into a space belongs to exactly one package, so that a deletion finds them all."""

import pytest

from livemem.bank import corrections
from livemem.memories import storing
from livemem.memories.memory import MemoryDraft as Memory
from livemem.notes.appending import NoteDraft
from livemem.notes.idempotency import append_once
from livemem.rooms import posting
from livemem.rooms.message import MessageDraft as Said
from livemem.store import bucket
from livemem.store.bucket import DISPLACED, PLAN
from tests.support.cases import each
from tests.support.world import World


def test_every_object_of_a_space_in_use_is_of_a_kind():
    world = World()
    world.create_space(threshold=2)
    append_once(world.process, "demo", "ann", NoteDraft("todo", "x"), "k")
    world.note("one")
    world.consolidate()
    corrections.write_file(world.process, "admin", "demo", "sub/new.md", "# New\n", None)
    world.note("live")
    world.order()
    world.count()
    storing.store(world.process, "demo", "ann", Memory("The port is 8080."))
    posting.post(world.process, "demo", "kitchen", Said("bob", "The port is 8080.", message_id="m1"))
    names = [key.removeprefix("demo/") for key in world.keys("demo/")]

    assert len(names) > 10
    assert [name for name in names if not bucket.kind_of(name)] == []


@pytest.mark.parametrize("name", ["_promotions/01ARZ3NDEKTSV4RRFFQ69G5FAV.json", "_promoted/x/team"])
def test_what_promotions_left_in_a_bucket_is_owned(name: str):
    assert bucket.is_own(name)


@each("name", ["photo.png", "live/notes.txt", "bank/a.txt", "_other/x.json", "live/zzz.md", ""])
def test_what_the_service_does_not_write_belongs_to_no_package(name: str):
    assert not bucket.is_own(name)


@pytest.mark.parametrize("key", [PLAN.key("demo", "0" * 26), DISPLACED.key("demo", "0" * 26, "a/b.md")])
def test_what_a_run_leaves_behind_is_owned_too(key: str):
    assert bucket.is_own(key.removeprefix("demo/"))
