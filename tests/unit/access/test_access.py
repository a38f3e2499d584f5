"""One function decides who may do what; what it can't read or doesn't know lets nobody in."""

import hashlib
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from livemem.access import decision
from livemem.access.principal import Principal
from livemem.access.registry import Registry, Token
from livemem.errors import Forbidden, NotConfigured, RegistryUnreadable, StoreUnavailable, Unauthenticated
from livemem.settings import Settings
from livemem.store.bucket import TOKENS
from tests.support.cases import each
from tests.support.world import BOOTSTRAP_KEY, START, World

SECRET = "lm_" + "x" * 43


def token(secret: str = SECRET, **changes: Any) -> Token:
    entry = {
        "hash": "sha256:" + hashlib.sha256(secret.encode()).hexdigest(),
        "name": "ann",
        "permissions": ["read"],
        "space_ids": [],
    }
    return Token.model_validate(entry | changes)


def world_with(*tokens: Token) -> World:
    world = World()
    world.inner.put_object(Bucket="b", Key=TOKENS, Body=Registry(tokens=list(tokens)).to_bytes())
    return world


def enter(
    world: World, header: str | None = f"Bearer {SECRET}", *, needs: Any = None, space_id: str | None = None
) -> Principal:
    return decision.authorise(world.process, header, needs=needs, space_id=space_id)


def test_a_known_token_is_its_name_permissions_and_spaces():
    world = world_with(token(permissions=["read", "write"], space_ids=["demo"], expires_at="2027-01-01T00:00:00Z"))

    assert enter(world) == Principal(
        "ann",
        frozenset(("read", "write")),
        frozenset(("demo",)),
        expires_at="2027-01-01T00:00:00Z",
        token_hash=token().hash,
    )


def test_the_bootstrap_key_is_an_admin_of_all_spaces_without_a_look_at_the_registry():
    world = World()

    principal = enter(world, f"Bearer {BOOTSTRAP_KEY}", needs="admin", space_id="demo")

    assert principal == Principal("admin", frozenset(("read", "write", "admin")), frozenset(), bootstrap=True)
    assert world.client.counts == {}


GRANTED = {
    (): set(),
    ("read",): {"read"},
    ("read", "write"): {"read", "write"},
    ("read", "write", "admin"): {"read", "write", "admin"},
    ("root", "*", "READ"): set(),
}


@each("needs", ["read", "write", "admin"])
@each("granted", GRANTED, ids="-".join)
def test_each_permission_must_be_granted_by_its_name(granted: tuple[str, ...], needs: str):
    world = world_with(token(permissions=list(granted)))

    if needs in GRANTED[granted]:
        assert enter(world, needs=needs).name == "ann"
    else:
        with pytest.raises(Forbidden, match=needs):
            enter(world, needs=needs)
    # A route for any token asks for none.
    assert enter(world, needs=None).name == "ann"


@each(
    ("space_ids", "space_id", "allowed"),
    [
        ([], "demo", True),
        (["demo"], "demo", True),
        (["other", "demo"], "demo", True),
        (["demo"], "demo2", False),
        (["demo"], "dem", False),
        (["demo"], "Demo", False),
        (["demo"], None, True),
        (["*"], "demo", False),
        ([""], "demo", False),
    ],
)
def test_a_list_of_spaces_admits_these_and_no_other(space_ids: list[str], space_id: str | None, allowed: bool):
    world = world_with(token(space_ids=space_ids))

    if allowed:
        assert enter(world, needs="read", space_id=space_id).name == "ann"
    else:
        # The same answer whether the space exists or not: nothing but the registry was asked.
        with pytest.raises(Forbidden):
            enter(world, needs="read", space_id=space_id)
        assert {key for _, key in world.client.requests} == {TOKENS}


def test_a_missing_permission_is_told_before_anything_about_the_space():
    world = world_with(token(permissions=["read"], space_ids=["demo"]))

    with pytest.raises(Forbidden, match="permission 'write'"):
        enter(world, needs="write", space_id="other")


@pytest.mark.parametrize(("seconds", "valid"), [(1, True), (0, False), (-1, False)])
def test_a_token_expires_at_its_moment(seconds: int, valid: bool):
    moment = (START + timedelta(seconds=seconds)).isoformat()
    world = world_with(token(expires_at=moment))

    if valid:
        assert enter(world).name == "ann"
    else:
        with pytest.raises(Unauthenticated, match="expired"):
            enter(world)


def test_a_revoked_token_is_not_let_in():
    world = world_with(token(revoked=True))

    with pytest.raises(Unauthenticated, match="revoked"):
        enter(world)


@each(
    "change",
    [
        {"expires_at": "soon"},
        {"expires_at": ""},
        {"expires_at": "0001-01-01T00:00:00+14:00"},
        {"name": "a_b"},
        {"name": ""},
    ],
)
def test_an_entry_that_can_not_be_read_lets_nobody_in(change: dict[str, str]):
    world = world_with(token(**change))

    with pytest.raises(RegistryUnreadable):
        enter(world)


HEADERS = st.none() | st.text() | st.text().map("Bearer {}".format) | st.text().map((SECRET + "{}").format)


@given(HEADERS)
@example("Bearer")
@example("Bearer ")
@example(f"Basic {SECRET}")
@example(f"bearer {SECRET}")
@example(f"Bearer \xa0{SECRET}")
@example(f"BEARER {SECRET}")
@example(f"bEaReR {SECRET}")
@example(f"Bearer {SECRET},Bearer {SECRET}")
@example(SECRET)
@example(f"Bearer {SECRET} ")
@example(f"Bearer x{SECRET}")
@example(f"Bearer {SECRET.upper()}")
@example("Bearer " + "é" * 46)
@example("Bearer \ud800" + "x" * 42)
@example("Bearer lm_\x00")
@example("Bearer " + "x" * 10**6)
@example(f"Bearer {BOOTSTRAP_KEY[:-1]}")
@example(f"Bearer {BOOTSTRAP_KEY}x")
def test_no_other_header_lets_in_or_makes_the_service_fail(header: str | None):
    world = world_with(token(), token("lm_other", hash="é not a hash"), token("lm_third", hash=""))
    trimmed = (header or "").partition(" ")[2].strip(" \t")

    if trimmed == SECRET and (header or "").startswith("Bearer "):
        assert enter(world, header).name == "ann"
    else:
        with pytest.raises(Unauthenticated):
            enter(world, header)


def test_a_very_long_token_is_refused_before_the_registry_is_read():
    world = world_with(token())

    with pytest.raises(Unauthenticated):
        enter(world, "Bearer " + "x" * 513)

    assert world.client.counts == {}


def test_a_refusal_never_repeats_the_token():
    world = world_with()

    with pytest.raises(Unauthenticated) as refused:
        enter(world)

    assert SECRET not in refused.value.detail
    assert SECRET not in str(refused.value)


@each("key", ["", "x" * 64, "changeme" * 8, BOOTSTRAP_KEY[:31]])
def test_with_a_weak_bootstrap_key_nobody_is_let_in_not_even_a_valid_token(key: str):
    world = world_with(token())
    weak = world.with_parts(settings=Settings(admin_bootstrap_key=key))

    for header in (f"Bearer {SECRET}", f"Bearer {key}", None):
        with pytest.raises(NotConfigured):
            decision.authorise(weak, header, needs=None, space_id=None)
    assert world.client.counts == {}


@each("body", [b"", b"{", b"[]", b'{"tokens": [{}]}', b'{"tokens": 1}', b"\xff", b'{"tokens": [{"hash": 1}]}'])
def test_an_unreadable_registry_lets_no_token_in_but_the_bootstrap_key(body: bytes):
    world = World()
    world.inner.put_object(Bucket="b", Key=TOKENS, Body=body)

    with pytest.raises(RegistryUnreadable):
        enter(world)
    assert enter(world, f"Bearer {BOOTSTRAP_KEY}").bootstrap


def test_a_store_that_does_not_answer_lets_nobody_in():
    world = world_with(token())
    world.client.break_at(0, "InternalError", 500, done=False)

    with pytest.raises(StoreUnavailable):
        enter(world)


def test_without_a_registry_no_token_is_known():
    world = World()

    with pytest.raises(Unauthenticated):
        enter(world)
