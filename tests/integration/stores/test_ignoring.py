"""A real store that answers 200 to conditional writes and ignores the conditions: rclone's `serve s3`.

The service finds out by its capability check, says so, and changes nothing.
"""

from collections.abc import Callable
from typing import Any

import pytest

from livemem.errors import ConditionalWritesUnsupported
from livemem.store import capability_check, due_keys
from livemem.store.bucket import CAPABILITY_CHECK
from livemem.store.objects import Store
from livemem.upkeep import health
from tests.support.bucket import FakeS3, error
from tests.support.world import World
from tests.unit.store.test_store_failures import NEEDING, with_a_run_queued


@pytest.fixture(name="store")
def _store(open_bucket: Callable[..., Store]) -> Store:
    return open_bucket("rclone")


def contents(store: Store) -> dict[str, bytes]:
    # An entry of the due index is a hint, which needs no condition.
    hints = (CAPABILITY_CHECK, due_keys.DUE)
    listed = [entry.key for entry in store.scan("") if not entry.key.startswith(hints)]
    found = store.get_many(listed)
    return {item.key: item.body for item in found if item}


def moved_here(store: Store) -> World:
    """A service whose bucket was copied from a good store to this one, with a run that is queued."""
    world = with_a_run_queued()
    for key, stored in world.inner.objects.items():
        if key != CAPABILITY_CHECK:
            store.put(key, stored.body)
    world.process = world.with_parts(store=store)
    return world


def test_the_store_takes_a_conditional_write_for_a_plain_one(store: Store):
    store.put("a", b"first")

    store.put("a", b"second", if_none_match=True)
    store.put("a", b"third", if_match='"00000000000000000000000000000000"')

    found = store.get("a")
    assert found is not None
    assert found.body == b"third"


def test_the_probe_and_health_say_unsupported(store: Store):
    assert capability_check.has_conditional_writes(store) is False

    seen = health.shallow(World().with_parts(store=store))

    assert seen.status == "degraded"
    assert (seen.checks["store"], seen.checks["conditional_writes"]) == ("ok", "unsupported")


@pytest.mark.parametrize("act", NEEDING.values(), ids=NEEDING)
def test_what_needs_conditional_writes_is_refused_and_changes_nothing(store: Store, act: Callable[[World], Any]):
    world = moved_here(store)
    before = contents(store)
    assert len(before) > 5

    with pytest.raises(ConditionalWritesUnsupported) as refused:
        act(world)

    assert (refused.value.status, refused.value.code) == (503, "conditional_writes_unsupported")
    assert contents(store) == before
    assert len(world.llm.prompts) == 1


def test_reading_goes_on(store: Store):
    world = moved_here(store)

    assert world.bank()["log.md"].startswith("# Log")
    assert len(world.live_ids()) == 2


class RefusingConditions(FakeS3):
    """As Backblaze B2 does it: a header that it doesn't know makes the request fail."""

    def put_object(self, **arguments: Any) -> dict[str, Any]:
        if "IfMatch" in arguments or "IfNoneMatch" in arguments:
            raise error("NotImplemented", 501, "PutObject")
        return super().put_object(**arguments)


def test_a_store_that_refuses_the_headers_is_unsupported_as_well():
    refusing = RefusingConditions()

    assert capability_check.has_conditional_writes(Store("bucket", refusing, refusing)) is False  # type: ignore[arg-type]
