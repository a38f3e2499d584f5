"""The time zone of a space: set at its creation or later, and checked."""

import pytest

from livemem.consolidation import space_change
from livemem.consolidation.space_change import SpaceUpdate
from livemem.errors import InvalidRequest
from livemem.spaces import head as heads
from livemem.spaces import lifecycle
from livemem_http.views.spaces import NewSpace, SpaceView
from livemem_http.views.spaces import SpaceChange as Change
from tests.support.world import EVERYONE, World

UNKNOWN = (
    "Mars/Base",
    "",
    "europe",
    "../../etc/passwd",
    "/etc/localtime",
    "Europe",
    "Europe/Paris\0",
    "Europe/" * 50,
    "é",
)


@pytest.fixture
def world() -> World:
    return World()


def test_a_space_may_name_its_zone_when_it_is_created(world):
    wanted = NewSpace(space_id="demo", timezone="Asia/Kolkata").wanted()
    meta = lifecycle.create(world.process, EVERYONE, wanted)

    assert meta.timezone == "Asia/Kolkata"
    assert SpaceView.of(heads.load(world.process, "demo").meta).timezone == "Asia/Kolkata"


def test_a_space_that_names_none_has_that_of_the_service(world):
    assert world.create_space().timezone is None


def test_a_zone_can_be_changed_left_alone_and_taken_back(world):
    world.create_space()

    def change(**wanted) -> str | None:
        body = Change(**wanted).wanted()
        return space_change.change(world.process, EVERYONE, "demo", body).meta.timezone

    assert change(timezone="Europe/Paris") == "Europe/Paris"
    assert change(language="fr") == "Europe/Paris"
    assert change(timezone=None) is None


@pytest.mark.parametrize("name", UNKNOWN)
def test_an_unknown_zone_is_refused_and_nothing_is_written(world, name):
    before = world.keys()
    with pytest.raises(InvalidRequest) as refused:
        lifecycle.create(world.process, EVERYONE, lifecycle.SpaceRequest("demo", timezone=name))
    assert refused.value.fields[0].field == "timezone"
    assert world.keys() == before
    world.create_space()
    with pytest.raises(InvalidRequest):
        space_change.change(world.process, EVERYONE, "demo", SpaceUpdate(timezone=name))


@pytest.mark.parametrize(
    "name", ["Europe/Paris", "America/Argentina/Buenos_Aires", "UTC", "Etc/GMT+5", "Australia/Lord_Howe"]
)
def test_names_of_the_database_are_taken(world, name):
    assert lifecycle.create(world.process, EVERYONE, lifecycle.SpaceRequest("demo", timezone=name)).timezone == name
