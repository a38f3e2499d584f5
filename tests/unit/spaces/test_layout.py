"""A space in a layout that a newer version of the service wrote is refused, and left as it is."""

import json

import pytest

from livemem.errors import InvalidRequest, SpaceTooNew
from livemem.recall import overview
from livemem.spaces import head as heads
from livemem.spaces.head import LAYOUT
from tests.support.world import World


def rewritten(world: World, **changes: object) -> None:
    meta = json.loads(world.text("demo/_meta.json")) | changes
    world.inner.put_object(Bucket="b", Key="demo/_meta.json", Body=json.dumps(meta).encode())


@pytest.mark.parametrize("changes", [{}, {"rev": "in another way"}], ids=["as known", "in another shape"])
def test_a_newer_space_is_refused_with_what_to_do_and_nothing_of_it_is_changed(changes):
    world = World()
    world.create_space()
    world.note("x")
    rewritten(world, version=LAYOUT + 1, **changes)
    before = dict(world.inner.objects)
    acts = {
        "read": lambda: overview.info(world.process, "demo"),
        "append": lambda: heads.refresh(world.process, "demo"),
        "change": lambda: heads.patch(world.process, "demo", description="x"),
        "run": lambda: heads.update(world.process, "demo", lambda meta: {"changes": 1}),
    }
    for act in acts.values():
        with pytest.raises(SpaceTooNew, match="Update the service"):
            act()

    assert {key: stored for key, stored in world.inner.objects.items() if key.startswith("demo/")} == {
        key: stored for key, stored in before.items() if key.startswith("demo/")
    }


def test_a_space_says_its_layout():
    world = World()
    world.create_space()

    assert json.loads(world.text("demo/_meta.json"))["version"] == LAYOUT


def test_a_newer_head_from_a_backup_or_an_archive_is_refused():
    world = World()
    world.create_space()
    meta = heads.load(world.process, "demo").meta.model_copy(update={"version": LAYOUT + 1})

    for check in (heads.check_settings, heads.without_bad_settings):
        with pytest.raises(InvalidRequest) as refused:
            check(meta)
        assert refused.value.fields[0].field == "version"
