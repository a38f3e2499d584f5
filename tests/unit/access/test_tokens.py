"""Tokens are made at random, known by their hash alone, and let in who was named where it was named."""

from typing import Any

import pytest

from livemem.access import registry as registries
from livemem.access import secret, tokens
from livemem.access.principal import Principal
from livemem.access.registry import Registry
from livemem.access.tokens import TokenRequest
from livemem.errors import (
    Conflict,
    Forbidden,
    InvalidRequest,
    LiveMemoryError,
    RegistryUnreadable,
    TooLarge,
    Unauthenticated,
)
from livemem.store.bucket import TOKENS
from tests.support.cases import each
from tests.support.world import EVERYONE, World
from tests.unit.access.test_access import enter


def make(world: World, text: str = "lm_secret", *, by: Principal = EVERYONE, **changes: Any) -> tokens.CreatedToken:
    wanted: dict[str, Any] = {"name": "ann", "permissions": ["write", "read"], "space_ids": ["demo"]}
    return tokens.create(world.process, by, text, TokenRequest(**(wanted | changes)))


def test_a_token_has_256_random_bits_and_never_comes_twice():
    made = {secret.new() for _ in range(1_000)}

    assert len(made) == 1_000
    assert all(len(text) == 46 and text.startswith("lm_") and text.isascii() for text in made)


def test_the_first_token_makes_the_registry_and_lets_its_agent_in():
    world = World()

    make(world)

    found = enter(world, "Bearer lm_secret", space_id="demo")
    assert (found.name, found.permissions, found.space_ids) == ("ann", {"read", "write"}, {"demo"})
    with pytest.raises(Forbidden):
        enter(world, "Bearer lm_secret", space_id="other")
    stored = world.text(TOKENS)
    assert "lm_secret" not in stored
    assert Registry.from_bytes(stored.encode()).tokens[0].permissions == ["read", "write"]


def test_two_who_make_a_token_at_once_leave_two():
    world = World()

    def somebody_else(index: int, verb: str) -> None:
        if verb == "PUT":
            world.client.before = lambda index, verb: None
            tokens.create(world.with_parts(), EVERYONE, "lm_bob", TokenRequest("bob", ["read"], ["demo"]))

    world.client.before = somebody_else
    make(world)

    assert [token.name for token in Registry.from_bytes(world.text(TOKENS).encode()).tokens] == ["bob", "ann"]


@each(
    ("changes", "field"),
    [
        ({"name": "a_b"}, "name"),
        ({"name": ""}, "name"),
        ({"name": "x" * 65}, "name"),
        ({"space_ids": ["demo", "../x"]}, "space_ids.1"),
        ({"space_ids": ["_system"]}, "space_ids.0"),
        ({"permissions": []}, "permissions"),
        ({"permissions": ["root"]}, "permissions"),
        ({"permissions": ["read", "READ"]}, "permissions"),
        ({"expires_in_days": 0}, "expires_in_days"),
        ({"expires_in_days": -1}, "expires_in_days"),
        ({"expires_in_days": 3_651}, "expires_in_days"),
        ({"expires_in_days": 10**30}, "expires_in_days"),
        ({"expires_at": "2026-02-20T14:00:00Z"}, "expires_at"),
        ({"expires_at": "2020-01-01"}, "expires_at"),
        ({"expires_at": "9999-12-31T23:59:59Z"}, "expires_at"),
        ({"expires_at": "soon"}, "expires_at"),
        ({"expires_at": ""}, "expires_at"),
        ({"expires_at": "0001-01-01T00:00:00+14:00"}, "expires_at"),
        ({"expires_at": "2026-05-01T00:00:00Z", "expires_in_days": 3}, "expires_at"),
        ({"email": "nobody"}, "email"),
        ({"email": "a b@example.org"}, "email"),
        ({"email": "a" * 251 + "@b.c"}, "email"),
    ],
)
def test_a_token_that_can_not_be_one_is_refused_with_the_field(changes: dict[str, Any], field: str):
    world = World()

    with pytest.raises(InvalidRequest) as refused:
        make(world, **changes)

    assert [item.field for item in refused.value.fields] == [field]
    assert TOKENS not in world.keys("_system/")


def test_a_list_of_more_spaces_than_allowed_is_too_large():
    with pytest.raises(TooLarge, match="space_ids"):
        make(World(), space_ids=[f"s{number}" for number in range(1_001)])


def test_what_was_asked_for_is_in_the_registry():
    world = World()

    made = make(world, space_ids=["b", "a", "b"], expires_in_days=30, email="ann@example.org")

    assert (made.text, made.token.hash) == ("lm_secret", secret.digest(b"lm_secret"))
    (entry,) = Registry.from_bytes(world.text(TOKENS).encode()).tokens
    assert entry == made.token
    assert (entry.space_ids, entry.permissions, entry.email) == (["b", "a"], ["read", "write"], "ann@example.org")
    assert (entry.created_at, entry.expires_at) == ("2026-02-20T14:00:00Z", "2026-03-22T14:00:00Z")


def limited(*permissions: str, spaces: tuple[str, ...] = ()) -> Principal:
    return Principal("boss", frozenset(permissions), frozenset(spaces))


@each(
    ("by", "changes"),
    [
        (limited("admin", "read"), {"permissions": ["write"]}),
        (limited("admin"), {"permissions": ["read"]}),
        (limited("admin", "read", "write", spaces=("demo",)), {"space_ids": []}),
        (limited("admin", "read", "write", spaces=("demo",)), {"space_ids": ["other"]}),
        (limited("admin", "read", "write", spaces=("demo",)), {"space_ids": ["demo", "other"]}),
    ],
)
def test_nobody_gives_what_it_has_not_itself(by: Principal, changes: dict[str, Any]):
    world = World()

    with pytest.raises(Forbidden):
        make(world, by=by, **changes)

    assert TOKENS not in world.keys("_system/")
    assert make(world, by=limited("admin", "read", "write", spaces=("demo", "x"))).token.space_ids == ["demo"]


def test_an_admin_who_was_revoked_a_moment_ago_makes_no_new_token():
    world = World()
    make(world, "lm_boss", name="boss", permissions=["read", "write", "admin"])
    boss = enter(world, "Bearer lm_boss", needs="admin")
    registry = Registry.from_bytes(world.text(TOKENS).encode())
    for change, error in (
        ({"revoked": True}, Unauthenticated),
        ({"permissions": ["read", "write"]}, Forbidden),
        ({"space_ids": ["other"]}, Forbidden),
        ({"expires_at": "2026-02-20T13:59:59Z"}, Unauthenticated),
        ({"hash": secret.digest(b"another")}, Unauthenticated),
    ):
        changed = registry.model_copy(update={"tokens": [registry.tokens[0].model_copy(update=change)]})
        world.inner.put_object(Bucket="b", Key=TOKENS, Body=changed.to_bytes())

        with pytest.raises(error):
            make(world, "lm_new", by=boss)

        assert len(Registry.from_bytes(world.text(TOKENS).encode()).tokens) == 1


@pytest.mark.parametrize("answer", ["lost, the store's client asks again", "lost for good"])
def test_a_token_whose_answer_the_store_lost_is_entered_once(answer: str):
    world = World()
    make(world, "lm_other", name="bob")
    if answer == "lost for good":
        world.client.reset()
        world.client.break_at(1, "InternalError", 500, done=True)
        with pytest.raises(LiveMemoryError):
            make(world)
    else:
        # Its second try meets what the first one has done.
        world.client.reset()
        world.client.break_at(1, "PreconditionFailed", 412, done=True)
        make(world)

    stored = Registry.from_bytes(world.text(TOKENS).encode())
    assert [entry.name for entry in stored.tokens] == ["bob", "ann"]


def test_a_new_token_costs_1_get_and_1_put_and_lets_in_at_once():
    world = World()
    make(world, "lm_other")
    world.client.reset()

    make(world)

    assert dict(world.client.counts) == {"GET": 1, "PUT": 1}
    assert enter(world, "Bearer lm_secret").name == "ann"


def test_there_is_an_end_to_the_number_of_tokens(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(registries, "MOST_TOKENS", 2)
    world = World()
    make(world, "lm_1")
    make(world, "lm_2")

    with pytest.raises(Conflict, match="Remove revoked"):
        make(world, "lm_3")


def test_a_damaged_registry_is_not_written_over():
    world = World()
    world.inner.put_object(Bucket="b", Key=TOKENS, Body=b"{")

    with pytest.raises(RegistryUnreadable):
        make(world)

    assert world.text(TOKENS) == "{"


def test_tokens_of_one_name_do_not_share_what_one_of_them_creates():
    world = World()
    make(world, "lm_one")
    make(world, "lm_two")

    from livemem.spaces import lifecycle

    lifecycle.create(world.process, enter(world, "Bearer lm_one"), lifecycle.SpaceRequest("new"))

    assert enter(world, "Bearer lm_one", space_id="new").name == "ann"
    with pytest.raises(Forbidden):
        enter(world, "Bearer lm_two", space_id="new")


def test_an_entry_that_names_no_spaces_lets_nobody_in():
    world = World()
    entry = {"hash": secret.digest(b"lm_x"), "name": "ann", "permissions": ["read"]}
    body = Registry.model_validate({"tokens": [entry]}).to_bytes().replace(b'"space_ids": null,', b"")
    world.inner.put_object(Bucket="b", Key=TOKENS, Body=body)

    with pytest.raises(RegistryUnreadable):
        enter(world, "Bearer lm_x", space_id="demo")
