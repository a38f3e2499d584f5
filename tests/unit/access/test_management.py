"""Tokens that are there: listed, changed, revoked, removed, by who may reach all that they may."""

from functools import partial
from typing import Any

import pytest

from livemem.access import last_use, management, secret
from livemem.access.management import TokenUpdate
from livemem.access.principal import Principal
from livemem.access.registry import Registry, Token
from livemem.errors import Conflict, Forbidden, InvalidRequest, LiveMemoryError, NotFound, Unauthenticated
from livemem.store.bucket import LAST_USED, TOKENS
from tests.support.cases import each
from tests.support.world import EVERYONE, World
from tests.unit.access.test_access import enter
from tests.unit.access.test_tokens import make

ANN = secret.digest(b"lm_ann")
RIGHTS = ("read", "write", "admin")
DEMO_BOSS = Principal("boss", frozenset(RIGHTS), frozenset({"demo"}))

forget = partial(management.revoke, successors=False, descendants=False, forget=True)
"""Ends this token alone, and removes its entry."""


def stored(world: World) -> dict[str, Token]:
    return {entry.name: entry for entry in Registry.from_bytes(world.text(TOKENS).encode()).tokens}


@pytest.fixture
def world() -> World:
    """Tokens for demo, for demo and other, for other, and for all spaces."""
    made = World()
    for name, spaces in (("ann", ["demo"]), ("bob", ["demo", "other"]), ("cat", ["other"]), ("dan", [])):
        make(made, f"lm_{name}", name=name, space_ids=spaces)
    made.client.reset()
    return made


def test_the_list_shows_every_token_once_over_pages_of_any_size(world: World):
    for limit in (1, 2, 3, 4, 500):
        seen: list[str] = []
        after = None
        while True:
            page, after = management.page(world.process, EVERYONE, limit=limit, after=after)
            assert len(page) <= limit
            seen += [shown.token.name for shown in page]
            if after is None:
                break
        assert sorted(seen) == ["ann", "bob", "cat", "dan"]


def test_who_may_use_some_spaces_sees_and_changes_the_tokens_that_reach_no_other(world: World):
    page, _ = management.page(world.process, DEMO_BOSS, limit=50)
    assert [shown.token.name for shown in page] == ["ann"]

    for name in ("bob", "cat", "dan", "nobody"):
        of = secret.digest(f"lm_{name}".encode())
        for act in (
            lambda of=of: management.update(world.process, DEMO_BOSS, of, TokenUpdate(email="x@example.org")),
            lambda of=of: management.revoke(world.process, DEMO_BOSS, of),
            lambda of=of: forget(world.process, DEMO_BOSS, of),
        ):
            with pytest.raises(NotFound):
                act()
    assert not any(entry.revoked or entry.email for entry in stored(world).values())


def test_when_a_token_was_last_used_is_shown_and_was_noted_beside_the_request(world: World):
    enter(world, "Bearer lm_ann")
    world.client.reset()
    enter(world, "Bearer lm_ann")
    assert world.client.requests == []
    (_,) = world.background
    world.clock.move(5)
    world.do_background()
    assert world.client.requests == [("PUT", LAST_USED.key(ANN))]

    page, _ = management.page(world.process, EVERYONE, limit=50)

    assert {shown.token.name: shown.last_used_at for shown in page} == {
        "ann": "2026-02-20T14:00:05Z",
        "bob": None,
        "cat": None,
        "dan": None,
    }


def test_the_use_of_a_token_is_noted_once_in_ten_minutes(world: World):
    for _ in range(3):
        enter(world, "Bearer lm_ann")
        enter(world, "Bearer lm_bob")
        world.clock.move(last_use.NOTED_SECONDS / 3 - 1)
    assert len(world.background) == 2

    world.clock.move(3)
    enter(world, "Bearer lm_ann")
    assert len(world.background) == 3


def test_a_store_that_does_not_take_the_note_of_a_use_harms_nobody(world: World):
    enter(world, "Bearer lm_ann")
    world.client.reset()
    world.client.break_at(0, "InternalError", 500, done=False)

    world.do_background()

    assert enter(world, "Bearer lm_ann").name == "ann"


def test_who_is_not_let_in_leaves_no_note(world: World):
    management.revoke(world.process, EVERYONE, ANN)

    for header in ("Bearer lm_ann", "Bearer lm_nobody"):
        with pytest.raises(Unauthenticated):
            enter(world, header)

    assert world.background == []


def test_a_change_of_one_token_leaves_all_others_and_what_it_does_not_name(world: World):
    before = stored(world)

    management.update(world.process, EVERYONE, ANN, TokenUpdate(permissions=["read"], expires_in_days=1))

    after = stored(world)
    assert after["ann"] == before["ann"].model_copy(
        update={"permissions": ["read"], "expires_at": "2026-02-21T14:00:00Z"}
    )
    assert {name: after[name] for name in ("bob", "cat", "dan")} == {
        name: before[name] for name in after if name != "ann"
    }


def test_an_expiry_and_an_address_are_taken_away_by_null(world: World):
    management.update(world.process, EVERYONE, ANN, TokenUpdate(expires_in_days=1, email="a@example.org"))

    management.update(world.process, EVERYONE, ANN, TokenUpdate(expires_in_days=None, email=None))

    assert (stored(world)["ann"].expires_at, stored(world)["ann"].email) == (None, None)


def test_all_spaces_are_never_reached_by_accident(world: World):
    with pytest.raises(InvalidRequest, match="all_spaces"):
        management.update(world.process, EVERYONE, ANN, TokenUpdate(space_ids=[]))
    with pytest.raises(InvalidRequest, match="all_spaces"):
        management.update(world.process, EVERYONE, ANN, TokenUpdate(space_ids=["demo"], all_spaces=True))
    assert stored(world)["ann"].space_ids == ["demo"]

    management.update(world.process, EVERYONE, ANN, TokenUpdate(space_ids=[], all_spaces=True))

    assert stored(world)["ann"].space_ids == []


@pytest.mark.parametrize(
    "change",
    [
        {"space_ids": ["other"]},
        {"space_ids": ["demo", "other"]},
        {"all_spaces": True},
        {"space_ids": [], "all_spaces": True},
    ],
)
def test_who_may_use_some_spaces_opens_no_other_one(world: World, change: dict[str, Any]):
    with pytest.raises(Forbidden):
        management.update(world.process, DEMO_BOSS, ANN, TokenUpdate(**change))

    assert stored(world)["ann"].space_ids == ["demo"]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"permissions": []}, "permissions"),
        ({"permissions": ["root"]}, "permissions"),
        ({"space_ids": ["a/b"]}, "space_ids.0"),
        ({"expires_in_days": -1}, "expires_in_days"),
        ({"expires_at": "2020-01-01"}, "expires_at"),
        ({"email": "x"}, "email"),
    ],
)
def test_a_change_to_what_no_token_can_be_is_refused_with_the_field(world: World, change: dict[str, Any], field: str):
    with pytest.raises(InvalidRequest) as refused:
        management.update(world.process, EVERYONE, ANN, TokenUpdate(**change))

    assert [item.field for item in refused.value.fields] == [field]
    assert world.client.counts == {}


@pytest.mark.parametrize("text", [ANN, ANN[7:], ANN[7:23], ANN[:23]])
def test_a_token_is_named_by_its_hash_or_its_first_16_digits(world: World, text: str):
    assert management.revoke(world.process, EVERYONE, text).token.name == "ann"
    with pytest.raises(Unauthenticated):
        enter(world, "Bearer lm_ann")


@each("text", ["", ANN[7:22], ANN[7:] + "0", "sha256:", ANN.upper(), "..", "%2e%2e", "g" * 16, "ann", "é" * 20])
def test_what_is_no_hash_is_refused(world: World, text: str):
    for act in (management.revoke, forget):
        with pytest.raises(InvalidRequest) as refused:
            act(world.process, EVERYONE, text)
        assert refused.value.fields[0].field == "hash"


def test_the_beginning_of_two_hashes_names_none_of_them(world: World):
    twins = [
        Token(hash=f"sha256:{'a' * 16}{digit * 48}", name="x", permissions=["read"], space_ids=[]) for digit in "01"
    ]
    world.inner.put_object(Bucket="b", Key=TOKENS, Body=Registry(tokens=twins).to_bytes())

    with pytest.raises(Conflict, match="2 tokens"):
        forget(world.process, EVERYONE, "a" * 16)

    forget(world.process, EVERYONE, f"{'a' * 16}0")
    assert [entry.hash for entry in stored(world).values()] == [twins[1].hash]


def test_revoking_ends_what_the_token_was_rotated_to_as_well_unless_that_is_not_wanted(world: World):
    entries = {
        name: stored(world)[name].model_copy(update={"replaced_by": after and secret.digest(after)})
        for name, after in (("ann", b"lm_bob"), ("bob", b"lm_cat"), ("cat", b"lm_ann"), ("dan", None))
    }
    world.inner.put_object(Bucket="b", Key=TOKENS, Body=Registry(tokens=list(entries.values())).to_bytes())

    management.revoke(world.process, EVERYONE, ANN, successors=False)
    assert [name for name, entry in stored(world).items() if entry.revoked] == ["ann"]

    management.revoke(world.process, EVERYONE, ANN)
    assert [name for name, entry in stored(world).items() if entry.revoked] == ["ann", "bob", "cat"]


def test_purging_removes_what_is_revoked_or_has_expired_and_nothing_else(world: World):
    management.revoke(world.process, EVERYONE, ANN)
    management.update(world.process, EVERYONE, secret.digest(b"lm_bob"), TokenUpdate(expires_in_days=1))
    world.clock.move(86_400)

    purged = management.ended(world.process, EVERYONE, dry_run=False)

    assert purged == sorted([ANN, secret.digest(b"lm_bob")])
    assert sorted(stored(world)) == ["cat", "dan"]
    world.client.reset()
    assert management.ended(world.process, EVERYONE, dry_run=False) == []
    assert world.client.counts["PUT"] == 0


def test_a_dry_run_names_ended_tokens_and_removes_none(world: World):
    management.revoke(world.process, EVERYONE, ANN)
    before = stored(world)
    world.client.reset()

    assert management.ended(world.process, EVERYONE, dry_run=True) == [ANN]
    assert (stored(world), world.client.counts["PUT"]) == (before, 0)


def test_purging_spares_what_the_caller_does_not_manage(world: World):
    for name in ("ann", "bob", "dan"):
        management.revoke(world.process, EVERYONE, secret.digest(f"lm_{name}".encode()))

    assert management.ended(world.process, DEMO_BOSS, dry_run=False) == [ANN]


@pytest.mark.parametrize("forget", [False, True])
def test_a_token_may_end_itself_even_if_the_store_loses_the_answer(*, forget: bool):
    world = World()
    make(world, "lm_boss", name="boss", permissions=list(RIGHTS), space_ids=[])
    boss = enter(world, "Bearer lm_boss")
    world.client.reset()
    world.client.break_at(1, "PreconditionFailed", 412, done=True)

    management.revoke(world.process, boss, secret.digest(b"lm_boss"), forget=forget)

    with pytest.raises(Unauthenticated):
        enter(world, "Bearer lm_boss")


@pytest.mark.parametrize("point", [0, 1])
@pytest.mark.parametrize("done", [False, True])
@pytest.mark.parametrize("code", [("InternalError", 500), ("PreconditionFailed", 412)])
def test_a_change_that_the_store_disturbs_is_made_once_or_can_be_repeated(
    world: World, point: int, done: bool, code: tuple[str, int]
):
    world.client.break_at(point, *code, done=done)
    try:
        forget(world.process, EVERYONE, ANN)
    except LiveMemoryError:
        world.new_process()
        if "ann" in stored(world):
            forget(world.process, EVERYONE, ANN)

    assert sorted(stored(world)) == ["bob", "cat", "dan"]
