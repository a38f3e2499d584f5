"""What a space is the memory of: set once, whoever comes at the same time."""

import pytest

from livemem.access.principal import Principal
from livemem.consolidation import space_change
from livemem.consolidation.space_change import SpaceUpdate
from livemem.errors import Conflict, Forbidden, InvalidRequest, TooLarge
from livemem.spaces import head as heads
from livemem.spaces import lifecycle
from livemem.spaces.lifecycle import SpaceRequest
from tests.support.world import EVERYONE, World

WRITER = Principal("bot", frozenset(("read", "write")), frozenset())
OURS, OTHER = "github.com/acme/api", "github.com/globex/api"


def made(repository: str | None = None) -> World:
    world = World(redact_secrets=True)
    lifecycle.create(world.process, EVERYONE, SpaceRequest("api", repository=repository))
    return world


def change(world: World, repository: str | None, principal: Principal = WRITER) -> str | None:
    return space_change.change(world.process, principal, "api", SpaceUpdate(repository=repository)).meta.repository


def test_the_first_name_stays_and_another_one_is_refused_also_for_an_admin():
    for world in (made(OURS), made()):
        assert change(world, OURS) == OURS
        before = world.client.counts["PUT"]
        for principal in (WRITER, EVERYONE):
            with pytest.raises(Conflict, match="the memory of"):
                change(world, OTHER, principal)
        assert heads.load(world.process, "api").meta.repository == OURS
        assert world.client.counts["PUT"] == before


def test_of_two_at_the_same_moment_one_wins_and_the_other_is_refused():
    world = made()
    moments = [lambda: change(world, OTHER)]

    def before(_: int, verb: str) -> None:
        if verb == "PUT" and moments:
            moments.pop()()

    world.client.before = before
    with pytest.raises(Conflict, match="globex"):
        change(world, OURS)
    assert heads.load(world.process, "api").meta.repository == OTHER


def test_an_admin_alone_takes_the_name_away_for_a_repository_that_moved():
    world = made(OURS)
    with pytest.raises(Forbidden, match="admin"):
        change(world, None)
    assert change(world, None, EVERYONE) is None
    assert change(world, OTHER) == OTHER


def test_a_name_is_bounded_and_holds_no_secret_and_the_same_secret_name_stays_the_same():
    secret = "https://ann:hunter2-Tulip@example.org/acme/api"
    world = made(secret)
    stored = heads.load(world.process, "api").meta.repository
    assert "Tulip" not in (stored or "")
    assert change(world, secret) == stored == change(world, stored)
    with pytest.raises(TooLarge):
        change(made(), "x" * 301)
    with pytest.raises(InvalidRequest):
        change(made(), " ")


def test_a_deleted_space_names_no_repository_any_more():
    world = made(OURS)
    lifecycle.delete(world.process, "api", "api")
    assert "acme" not in world.text("api/_meta.json")
