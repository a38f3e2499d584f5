"""Corrections by an admin: under the lease, recorded like a consolidation, refused where they would lose something."""

from typing import Any

import pytest

from livemem.bank import corrections, history
from livemem.bank.files import File
from livemem.errors import Busy, Conflict, InvalidName, InvalidRequest, LiveMemoryError, NotFound, TooLarge
from livemem.jobs import lease, places
from livemem.spaces import head as heads
from livemem.store.bucket import BANK_FILE, LEASE, SYNTHESIS_FILE
from tests.support.cases import each
from tests.support.world import World, append_everything

TEXT = "# Log\n\n## Log\n\nRewritten.\n"


def space_with_a_bank() -> World:
    world = World()
    world.create_space()
    world.note("one")
    world.consolidate()
    return world


def write(world: World, path: str, content: str, reason: str | None = None, author: str = "admin") -> tuple[File, bool]:
    return corrections.write_file(world.process, author, "demo", path, content, reason)


def test_a_written_file_is_in_the_bank_and_in_the_history_with_its_author():
    world = space_with_a_bank()

    file, new = write(world, "log.md", TEXT, "it was wrong", author="bob")

    assert (new, file.content, file.consolidation, file.size) == (False, TEXT, 2, len(TEXT))
    assert world.bank() == {"log.md": TEXT}
    found = history.read(world.process, "demo", 2)
    assert (found.summary.kind, found.summary.author, found.summary.trigger) == ("manual", "bob", "api")
    assert found.changes[0]["reason"] == "it was wrong"
    assert "-- one\n+Rewritten.\n" in found.changes[0]["diff"]
    assert (found.sources, found.synthesis, found.summary.model) == ([], {"before": None, "after": None}, None)
    head = heads.load(world.process, "demo").meta
    assert (head.changes, head.consolidation_count, head.total_notes_processed, head.committed_run) == (2, 1, 1, None)
    assert lease.look(world.process, places.of_space("demo")) is None


@pytest.mark.parametrize(("reason", "error"), [("\ud800", InvalidRequest), ("é" * 251, TooLarge)])
def test_a_reason_that_cannot_be_recorded_is_refused_before_anything_is_asked_of_the_store(reason, error):
    world = space_with_a_bank()
    world.client.reset()

    with pytest.raises(error) as refused:
        write(world, "log.md", TEXT, reason)
    assert refused.value.fields[0].field == "reason"
    with pytest.raises(error):
        corrections.delete_file(world.process, "admin", "demo", "log.md", reason)

    assert dict(world.client.counts) == {}


def test_a_reason_may_have_500_bytes_or_none():
    world = space_with_a_bank()

    write(world, "log.md", TEXT, "é" * 250)
    corrections.delete_file(world.process, "admin", "demo", "log.md", "")

    assert world.bank() == {}


def test_a_new_file_may_be_written_by_hand():
    world = space_with_a_bank()

    file, new = write(world, "sub/new.md", "# New\n")

    assert (new, file.path, file.consolidation) == (True, "sub/new.md", 2)
    assert history.read(world.process, "demo", 2).changes[0]["action"] == "created"
    assert world.bank()["sub/new.md"] == "# New\n"


def test_a_deleted_file_is_gone_and_stays_readable_in_the_history():
    world = space_with_a_bank()
    before = world.bank()["log.md"]

    record = corrections.delete_file(world.process, "admin", "demo", "log.md", "of no use")

    assert world.bank() == {}
    assert record.files[0].before is not None
    assert (record.files[0].action, record.files[0].before.content, record.files[0].after) == ("deleted", before, None)


def test_the_synthesis_and_live_notes_are_left_alone():
    world = space_with_a_bank()
    world.note("live")
    synthesis = world.text(SYNTHESIS_FILE.key("demo"))

    write(world, "log.md", TEXT)

    assert world.text(SYNTHESIS_FILE.key("demo")) == synthesis
    assert len(world.live_ids()) == 1


BAD_CONTENT = [
    ("", InvalidRequest),
    (" \n", InvalidRequest),
    ("a\0b", InvalidRequest),
    ("half \ud83d", InvalidRequest),
    ("---\nx: 1\n---\n", InvalidRequest),
    ("x" * 500_001, TooLarge),
]


@each(("content", "error"), BAD_CONTENT, ids=range(len(BAD_CONTENT)))
def test_bad_content_is_refused_and_named_before_anything_is_asked(content: str, error: type[LiveMemoryError]):
    world = space_with_a_bank()
    world.new_process()

    with pytest.raises(error) as refused:
        write(world, "log.md", content)

    assert [field.field for field in refused.value.fields] == ["content"]
    assert world.client.counts == {}


@each("path", ["", "../x.md", "_x.md", "x.txt", "/x.md", "bank/../x.md"])
def test_a_bad_path_is_refused_before_anything_is_asked(path: str):
    world = space_with_a_bank()
    world.new_process()

    for act in (
        lambda: write(world, path, TEXT),
        lambda: corrections.delete_file(world.process, "admin", "demo", path, None),
    ):
        with pytest.raises(InvalidName) as refused:
            act()
        assert refused.value.field == "path"
    assert world.client.counts == {}


def refused_without_a_trace(world: World, error: type[LiveMemoryError], act: Any) -> None:
    before = {key: stored.body for key, stored in world.inner.objects.items()}
    with pytest.raises(error):
        act()
    assert {key: stored.body for key, stored in world.inner.objects.items()} == before


def test_a_file_that_has_this_content_already_is_not_written_again():
    world = space_with_a_bank()

    refused_without_a_trace(world, Conflict, lambda: write(world, "log.md", world.bank()["log.md"]))


def test_a_missing_file_can_not_be_deleted():
    world = space_with_a_bank()

    refused_without_a_trace(
        world, NotFound, lambda: corrections.delete_file(world.process, "admin", "demo", "missing.md", None)
    )


def test_a_space_that_is_not_there_can_not_be_corrected():
    world = World()

    for act in (
        lambda: corrections.write_file(world.process, "admin", "nowhere", "a.md", TEXT, None),
        lambda: corrections.delete_file(world.process, "admin", "nowhere", "a.md", None),
        lambda: world.undo(1, "nowhere"),
    ):
        refused_without_a_trace(world, NotFound, act)


def test_a_correction_waits_for_a_consolidation_that_is_under_way():
    world = space_with_a_bank()
    world.note("two")
    refused: list[str] = []

    def correct_meanwhile(prompt: dict[str, Any]) -> str:
        for act in (
            lambda: write(world, "log.md", TEXT),
            lambda: corrections.delete_file(world.process, "admin", "demo", "log.md", None),
            lambda: world.undo(1),
        ):
            with pytest.raises(Busy) as busy:
                act()
            refused.append(busy.value.code)
        return append_everything(prompt)

    world.llm.queue.append(correct_meanwhile)

    assert world.consolidate().state == "done"
    assert refused == ["busy"] * 3
    assert world.bank() == {"log.md": "# Log\n\n## Log\n\n- one\n- two\n"}


def test_a_failed_consolidation_does_not_keep_an_admin_from_correcting():
    world = space_with_a_bank()
    world.note("two")
    world.llm.queue.extend(["prose", "prose"])
    assert world.consolidate().state == "failed"

    write(world, "log.md", TEXT)

    assert world.bank() == {"log.md": TEXT}


def test_a_correction_counts_again_so_that_no_event_is_lost():
    world = World()
    world.create_space(threshold=2)
    world.note("one")

    def two_more(index: int, verb: str) -> None:
        if world.client.requests[index] == ("PUT", LEASE.key("demo")):
            world.client.after = lambda index, verb: None
            world.note("two")
            assert world.count().result == "busy"

    world.client.after = two_more
    write(world, "log.md", TEXT)

    assert len(world.queued) == 1


def test_the_next_consolidation_builds_on_the_correction():
    world = space_with_a_bank()
    write(world, "log.md", TEXT)
    world.note("two")

    world.consolidate()

    assert world.bank() == {"log.md": "# Log\n\n## Log\n\nRewritten.\n\n- two\n"}


def test_a_write_from_outside_between_plan_and_application_is_kept_aside():
    world = space_with_a_bank()
    key = BANK_FILE.key("demo", "log.md")

    def from_outside(index: int, verb: str) -> None:
        if world.client.requests[index][1].endswith(".plan.json") and verb == "PUT":
            world.client.after = lambda index, verb: None
            world.inner.put_object(Bucket="b", Key=key, Body=b"# From outside\n")

    world.client.after = from_outside
    write(world, "log.md", TEXT)

    assert world.bank() == {"log.md": TEXT}
    (aside,) = [name for name in world.keys("demo/_runs/") if ".displaced/" in name]
    assert world.text(aside) == "# From outside\n"
