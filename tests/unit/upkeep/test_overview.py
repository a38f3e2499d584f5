"""What a caller is told about itself and the service, and who may order whose consolidation."""

import pytest

from livemem import __version__, limits
from livemem.access.principal import Principal
from livemem.errors import Forbidden, InvalidName, NotFound
from livemem.jobs import queue
from livemem.jobs.queue import RunOrder
from livemem.spaces import rules
from livemem.store import keys
from livemem.upkeep import about
from livemem_http.views import WhoAmI
from tests.support.cases import each
from tests.support.world import World


def principal(*permissions: str, name: str = "ann", space_ids: tuple[str, ...] = ()) -> Principal:
    return Principal(name, frozenset(permissions), frozenset(space_ids), expires_at="2027-01-01T00:00:00Z")


def test_who_am_i_tells_permissions_from_the_least_to_the_most_and_spaces_in_order():
    found = WhoAmI.of(principal("write", "admin", "read", space_ids=("b", "a")))

    assert found.model_dump() == {
        "name": "ann",
        "permissions": ["read", "write", "admin"],
        "space_ids": ["a", "b"],
        "expires_at": "2027-01-01T00:00:00Z",
    }


def test_about_tells_version_limits_categories_and_templates():
    world = World(consolidation_max_notes=7, consolidation_threshold=3)

    found = about.about(world.process)

    assert (found.version, found.categories) == (__version__, list(keys.CATEGORIES))
    assert found.rules_templates[:2] == ["standard", "journal"]
    assert "standard-fr" in found.rules_templates
    assert found.limits == {
        "note_bytes": limits.NOTE_BYTES,
        "rules_bytes": 50_000,
        "description_bytes": 500,
        "batch_notes": 100,
        "body_bytes": 1_048_576,
        "bank_file_bytes": 500_000,
        "reason_bytes": 500,
        "correction_edits": 100,
        "tags": 20,
        "tag_characters": 50,
        "page_items": 500,
        "consolidation_max_notes": 7,
        "consolidation_threshold": 3,
    }


def start(world: World, who: Principal, agent: str | None, space_id: str = "demo") -> str:
    return queue.order(world.process, who, space_id, RunOrder(trigger="api", agent=agent, requested_by=who.name)).job_id


@each(
    ("permissions", "agent", "allowed"),
    [
        (("read", "write"), None, True),
        (("read", "write"), "ann", True),
        (("read", "write"), "bob", False),
        (("read", "write"), "Ann", False),
        (("read", "write", "admin"), "bob", True),
    ],
)
def test_another_agents_notes_alone_are_an_admins_to_consolidate(
    permissions: tuple[str, ...], agent: str | None, allowed: bool
):
    world = World()
    world.create_space()

    if allowed:
        run = world.view(start(world, principal(*permissions), agent))
        assert (run.state, run.agent, run.requested_by, run.trigger) == ("queued", agent, "ann", "api")
        assert len(world.queued) == 1
    else:
        with pytest.raises(Forbidden):
            start(world, principal(*permissions), agent)
        assert world.keys("demo/_runs/") == []
        assert not world.queued


def test_an_agent_that_can_not_be_one_is_refused_and_nothing_is_queued():
    world = World()
    world.create_space()

    with pytest.raises(InvalidName):
        start(world, principal("admin"), "a_b")
    assert world.keys("demo/_runs/") == []


def test_a_consolidation_of_an_unknown_space_is_not_queued():
    world = World()

    with pytest.raises(NotFound):
        start(world, principal("write"), None, "nowhere")
    assert world.keys("nowhere/") == []


def test_the_rules_are_told_as_they_were_given():
    world = World()
    world.create_space(rules="# Règles\r\n\r\nUn journal.\n")

    assert rules.read(world.process, "demo") == "# Règles\r\n\r\nUn journal.\n"
