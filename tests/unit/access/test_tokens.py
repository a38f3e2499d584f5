"""Tokens are made at random, known by their hash alone, and let in who was named where it was named."""

from typing import Any

import pytest

from livemem.access import tokens
from livemem.access.registry import Registry
from livemem.errors import Forbidden, InvalidName, InvalidRequest, LiveMemoryError, RegistryUnreadable
from livemem.store import keys
from tests.support.world import World
from tests.unit.access.test_access import enter


def make(world: World, secret: str = "lm_secret", **changes: Any) -> None:
    wanted: dict[str, Any] = {"name": "ann", "permissions": ["write", "read"], "space_ids": ["demo"]}
    tokens.create(world.process, secret, **(wanted | changes))


def test_a_token_has_256_random_bits_and_never_comes_twice():
    made = {tokens.new_secret() for _ in range(1_000)}

    assert len(made) == 1_000
    assert all(len(secret) == 46 and secret.startswith("lm_") and secret.isascii() for secret in made)


def test_the_first_token_makes_the_registry_and_lets_its_agent_in():
    world = World()

    make(world)

    found = enter(world, "Bearer lm_secret", space_id="demo")
    assert (found.name, found.permissions, found.space_ids) == ("ann", {"read", "write"}, {"demo"})
    with pytest.raises(Forbidden):
        enter(world, "Bearer lm_secret", space_id="other")
    stored = world.text(keys.TOKENS)
    assert "lm_secret" not in stored
    assert Registry.from_bytes(stored.encode()).tokens[0].permissions == ["read", "write"]


def test_two_who_make_a_token_at_once_leave_two():
    world = World()

    def somebody_else(index: int, verb: str) -> None:
        if verb == "PUT":
            world.client.before = lambda index, verb: None
            tokens.create(world.with_parts(), "lm_bob", name="bob", permissions=["read"], space_ids=["demo"])

    world.client.before = somebody_else
    make(world)

    assert [token.name for token in Registry.from_bytes(world.text(keys.TOKENS).encode()).tokens] == ["bob", "ann"]


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"name": "a_b"}, InvalidName),
        ({"name": ""}, InvalidName),
        ({"space_ids": ["../x"]}, InvalidName),
        ({"permissions": []}, InvalidRequest),
        ({"permissions": ["root"]}, InvalidRequest),
    ],
)
def test_a_token_that_can_not_be_one_is_refused(changes: dict[str, Any], error: type[LiveMemoryError]):
    world = World()

    with pytest.raises(error):
        make(world, **changes)

    assert keys.TOKENS not in world.keys("_system/")


def test_a_damaged_registry_is_not_written_over():
    world = World()
    world.inner.put_object(Bucket="b", Key=keys.TOKENS, Body=b"{")

    with pytest.raises(RegistryUnreadable):
        make(world)

    assert world.text(keys.TOKENS) == "{"


def test_tokens_of_one_name_do_not_share_what_one_of_them_creates():
    world = World()
    make(world, "lm_one")
    make(world, "lm_two")

    from livemem.spaces import life

    life.create(world.process, enter(world, "Bearer lm_one"), life.NewSpace("new"))

    assert enter(world, "Bearer lm_one", space_id="new").name == "ann"
    with pytest.raises(Forbidden):
        enter(world, "Bearer lm_two", space_id="new")


def test_an_entry_that_names_no_spaces_lets_nobody_in():
    world = World()
    entry = {"hash": tokens.digest(b"lm_x"), "name": "ann", "permissions": ["read"]}
    body = Registry.model_validate({"tokens": [entry]}).to_bytes().replace(b'"space_ids": null,', b"")
    world.inner.put_object(Bucket="b", Key=keys.TOKENS, Body=body)

    with pytest.raises(RegistryUnreadable):
        enter(world, "Bearer lm_x", space_id="demo")
