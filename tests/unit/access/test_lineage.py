"""What a token made is known, ends with it at the latest, and is revoked with it, whatever became of those between."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livemem.access import lineage, management, rotation, secret, tokens
from livemem.access.management import TokenUpdate
from livemem.access.principal import Principal
from livemem.access.registry import Maker, Registry, Token
from livemem.access.tokens import TokenRequest
from livemem.errors import Forbidden, NotFound, StoreUnavailable, Unauthenticated
from livemem.store.bucket import TOKENS
from livemem.store.stored_documents import StoredDocument
from tests.support.world import BOOTSTRAP_KEY, EVERYONE, World
from tests.unit.access.test_access import enter

RIGHTS = ["read", "write", "admin"]
SOON, LATER = "2026-02-21T14:00:00Z", "2026-03-22T14:00:00Z"

forget = partial(management.revoke, successors=False, descendants=False, forget=True)
"""Ends this token alone, and removes its entry."""


def of(name: str) -> str:
    return secret.digest(f"lm_{name}".encode())


def stored(world: World) -> dict[str, Token]:
    """The entries by hash."""
    return {entry.hash: entry for entry in Registry.from_bytes(world.text(TOKENS).encode()).tokens}


def make(world: World, name: str, by: str | None = None, **changes: Any) -> Token:
    """The token `lm_{name}`, made with the token `lm_{by}`, or with the bootstrap key."""
    caller = enter(world, f"Bearer {f'lm_{by}' if by else BOOTSTRAP_KEY}")
    wanted: dict[str, Any] = {"name": name, "permissions": RIGHTS}
    return tokens.create(world.process, caller, f"lm_{name}", TokenRequest(**(wanted | changes))).token


def living(world: World) -> set[str]:
    return {entry.name for entry in stored(world).values() if not entry.revoked}


@pytest.fixture
def world() -> World:
    """`boss` has a day; it made `ann`, which made `bob`. `other` has no end and made nothing."""
    made = World()
    make(made, "boss", expires_at=SOON)
    make(made, "other")
    make(made, "ann", by="boss")
    make(made, "bob", by="ann")
    made.client.reset()
    return made


def test_who_made_a_token_is_in_its_entry(world: World):
    makers = {entry.name: entry.made_by for entry in stored(world).values()}

    assert makers == {
        "boss": Maker(hash=None, name="admin"),
        "other": Maker(hash=None, name="admin"),
        "ann": Maker(hash=of("boss")[:23], name="boss"),
        "bob": Maker(hash=of("ann")[:23], name="ann"),
    }


def test_what_a_token_makes_ends_with_it_unless_an_earlier_end_is_asked_for(world: World):
    assert stored(world)[of("bob")].expires_at == SOON
    assert make(world, "eve", by="boss", expires_at="2026-02-20T15:00:00Z").expires_at == "2026-02-20T15:00:00Z"
    assert make(world, "dan", by="other").expires_at is None
    for wanted in ({"expires_at": "2026-02-21T14:00:01Z"}, {"expires_in_days": 2}):
        with pytest.raises(Forbidden, match=SOON):
            make(world, "long", by="boss", **wanted)


@pytest.mark.parametrize("whose", ["boss", "ann", "other"])
@pytest.mark.parametrize("change", [{"expires_in_days": 30}, {"expires_at": None}])
def test_a_token_that_ends_prolongs_neither_itself_nor_another(world: World, whose: str, change: dict[str, Any]):
    if whose == "other":
        management.update(world.process, EVERYONE, of("other"), TokenUpdate(expires_at="2026-02-20T18:00:00Z"))
    before = stored(world)

    with pytest.raises(Forbidden, match=SOON):
        management.update(world.process, enter(world, "Bearer lm_boss"), of(whose), TokenUpdate(**change))

    assert stored(world) == before


@pytest.mark.parametrize(
    "change", [{"permissions": RIGHTS}, {"space_ids": ["demo", "more"]}, {"space_ids": [], "all_spaces": True}]
)
def test_a_token_that_ends_gives_nothing_to_one_that_outlasts_it(world: World, change: dict[str, Any]):
    make(world, "helper", permissions=["read"], space_ids=["demo"])
    boss = enter(world, "Bearer lm_boss")

    with pytest.raises(Forbidden, match=SOON):
        management.update(world.process, boss, of("helper"), TokenUpdate(**change))
    # With an end it may have it; and to take away, to shorten and to revoke no end is asked for.
    management.update(world.process, boss, of("helper"), TokenUpdate(**change, expires_at=SOON))
    management.update(world.process, boss, of("other"), TokenUpdate(permissions=["read"], email="a@example.org"))
    management.revoke(world.process, boss, of("other"))


def test_the_end_that_counts_is_that_of_the_newest_registry(world: World):
    boss = enter(world, "Bearer lm_boss")
    management.update(world.with_parts(), EVERYONE, of("boss"), TokenUpdate(expires_at="2026-02-20T15:00:00Z"))

    made = tokens.create(world.process, boss, "lm_new", TokenRequest("new", RIGHTS))

    assert made.token.expires_at == stored(world)[of("new")].expires_at == "2026-02-20T15:00:00Z"


def test_revoking_a_token_ends_all_that_came_from_it_and_tells_what(world: World):
    revoked = management.revoke(world.process, EVERYONE, of("boss"))

    assert (revoked.token.name, list(revoked.others)) == ("boss", sorted([of("ann"), of("bob")]))
    assert dict(world.client.counts) == {"GET": 1, "PUT": 1}
    assert living(world) == {"other"}
    for name in ("boss", "ann", "bob"):
        with pytest.raises(Unauthenticated):
            enter(world, f"Bearer lm_{name}")


def test_what_a_token_made_is_kept_where_that_is_wanted(world: World):
    assert management.revoke(world.process, EVERYONE, of("boss"), descendants=False).others == []
    assert living(world) == {"ann", "bob", "other"}
    # Who changes his mind finds them still.
    management.revoke(world.process, EVERYONE, of("boss"))
    assert living(world) == {"other"}


def test_a_revocation_whose_answer_was_lost_tells_the_same_when_it_is_repeated(world: World):
    world.client.break_at(1, "InternalError", 500, done=True)
    with pytest.raises(StoreUnavailable):
        management.revoke(world.process, EVERYONE, of("boss"))
    world.new_process()
    world.client.reset()

    assert set(management.revoke(world.process, EVERYONE, of("boss")).others) == {of("ann"), of("bob")}
    assert world.client.counts["PUT"] == 0


def test_an_admin_of_some_spaces_ends_nothing_that_it_does_not_manage():
    world = World()
    make(world, "boss", space_ids=["demo"])
    make(world, "ann", by="boss", space_ids=["demo"])
    make(world, "bob", by="ann", space_ids=["demo"])
    management.update(world.process, EVERYONE, of("ann"), TokenUpdate(all_spaces=True))
    team = Principal("team", frozenset(RIGHTS), frozenset({"demo"}))

    assert management.revoke(world.process, team, of("boss")).others == []
    assert living(world) == {"ann", "bob"}


# Who reads half-way through that another was faster looks again, at what is there now.


def test_a_token_that_is_being_made_while_its_maker_is_revoked_is_not_made(world: World):
    boss = enter(world, "Bearer lm_boss")
    at_put(world, lambda: management.revoke(world.with_parts(), EVERYONE, of("boss")))

    with pytest.raises(Unauthenticated):
        tokens.create(world.process, boss, "lm_new", TokenRequest("new", RIGHTS))

    assert living(world) == {"other"}


def test_a_token_that_is_made_while_its_maker_is_being_revoked_ends_with_it(world: World):
    boss = enter(world, "Bearer lm_boss")
    at_put(world, lambda: tokens.create(world.with_parts(), boss, "lm_new", TokenRequest("new", RIGHTS)))

    management.revoke(world.process, EVERYONE, of("boss"))

    assert of("new") in stored(world)
    assert living(world) == {"other"}


def at_put(world: World, act: Callable[[], object]) -> None:
    def other(index: int, verb: str) -> None:
        if verb == "PUT":
            world.client.before = lambda index, verb: None
            act()

    world.client.before = other


@pytest.mark.parametrize("is_known", [True, False])
def test_a_rotated_token_manages_nothing_in_its_grace_time(world: World, is_known: bool):
    old = enter(world, "Bearer lm_other")
    rotation.rotate(world.with_parts(), old, "lm_newer")
    before = stored(world)
    if is_known:
        world.clock.move(30)
        old = enter(world, "Bearer lm_other")
        with pytest.raises(Forbidden, match="rotated"):
            management.page(world.process, old, limit=10)

    for act in (
        lambda: tokens.create(world.process, old, "lm_new", TokenRequest("new", ["read"])),
        lambda: management.update(world.process, old, of("ann"), TokenUpdate(permissions=["read"])),
        lambda: management.revoke(world.process, old, of("newer")),
        lambda: forget(world.process, old, of("ann")),
    ):
        with pytest.raises(Forbidden, match="rotated"):
            act()

    assert stored(world) == before
    # For all else it works on.
    assert enter(world, "Bearer lm_other", needs="admin", space_id="demo").name == "other"


def test_what_a_token_made_is_that_of_the_token_in_its_place_however_often_the_rotation_is_repeated(world: World):
    boss = enter(world, "Bearer lm_boss")
    rotation.rotate(world.process, boss, "lm_lost", key="k")
    rotation.rotate(world.process, boss, "lm_boss2", key="k")
    make(world, "eve", by="boss2")
    world.clock.move(3_600)
    management.ended(world.process, EVERYONE, dry_run=False)
    assert {entry.name for entry in stored(world).values()} == {"boss", "ann", "bob", "eve", "other"}

    management.revoke(world.process, EVERYONE, of("boss2"))

    assert living(world) == {"other"}


@pytest.mark.parametrize("how", ["delete", "purge"])
def test_what_a_token_made_that_was_removed_is_its_makers(world: World, how: str):
    if how == "delete":
        forget(world.process, EVERYONE, of("ann"))
    else:
        management.revoke(world.process, EVERYONE, of("ann"), descendants=False)
        management.ended(world.process, EVERYONE, dry_run=False)
    assert stored(world)[of("bob")].made_by == Maker(hash=of("boss")[:23], name="boss")

    management.revoke(world.process, EVERYONE, of("boss"))

    assert living(world) == {"other"}


def test_where_no_maker_is_left_the_last_one_is_still_named(world: World):
    for name in ("ann", "boss"):
        forget(world.process, EVERYONE, of(name))

    assert stored(world)[of("bob")].made_by == Maker(hash=of("boss")[:23], name="boss")


@given(st.data())
def test_whatever_happens_in_between_the_end_of_a_token_is_the_end_of_all_that_came_from_it(data: st.DataObject):
    world = World()
    make(world, "0")
    holders, parents = {"0": "0"}, dict[str, str]()
    for number in range(1, data.draw(st.integers(1, 12))):
        there = sorted(name for name in holders if of(holders[name]) in stored(world))
        who, act = data.draw(st.sampled_from(there)), data.draw(st.sampled_from(["make", "make", "rotate", "remove"]))
        text = holders[who]
        if act == "make":
            make(world, str(number), by=text)
            holders[str(number)], parents[str(number)] = str(number), who
        elif act == "rotate":
            rotation.rotate(world.process, enter(world, f"Bearer lm_{text}"), f"lm_{number}", grace=0)
            holders[who] = str(number)
            if data.draw(st.booleans()):
                management.ended(world.process, EVERYONE, dry_run=False)
        elif who != "0":
            forget(world.process, EVERYONE, of(text))

    management.revoke(world.process, EVERYONE, of(holders["0"]))

    for name, text in holders.items():
        entry = stored(world).get(of(text))
        assert entry is None or entry.revoked, (name, parents)


def test_a_registry_of_an_older_version_names_no_makers_and_is_managed_as_ever():
    world = World()
    old = {"hash": of("boss"), "name": "boss", "permissions": RIGHTS, "space_ids": [], "made_by": None}
    older = Registry.model_validate({"tokens": [old, old | {"hash": of("ann"), "name": "ann"}]})
    body = StoredDocument.to_bytes(older)
    for field in (b'"made_by": null', b'"rotated_at": null'):
        assert field in body
        body = body.replace(b",\n      " + field, b"")
    world.inner.put_object(Bucket="b", Key=TOKENS, Body=body)

    make(world, "new", by="boss")
    revoked = management.revoke(world.process, EVERYONE, of("boss"))

    assert revoked.others == [of("new")]
    assert living(world) == {"ann"}


def test_circles_that_somebody_wrote_into_the_bucket_end():
    def entry(name: str, maker: str) -> Token:
        made_by = Maker(hash=of(maker)[:23], name=maker)
        return Token(hash=of(name), name=name, permissions=["read"], space_ids=[], made_by=made_by)

    world = World()
    circle = Registry(tokens=[entry("ann", "bob"), entry("bob", "cat"), entry("cat", "ann"), entry("dan", "dan")])
    world.inner.put_object(Bucket="b", Key=TOKENS, Body=circle.to_bytes())

    assert set(management.revoke(world.process, EVERYONE, of("ann")).others) == {of("bob"), of("cat")}
    management.ended(world.process, EVERYONE, dry_run=False)
    forget(world.process, EVERYONE, of("dan"))
    assert stored(world) == {}


def test_of_2_000_tokens_each_made_by_the_one_before_all_end_with_the_first():
    chain = [
        Token(
            hash=of(str(number)),
            name="ann",
            permissions=RIGHTS,
            space_ids=[],
            made_by=Maker(hash=of(str(number - 1))[:23], name="ann"),
        )
        for number in range(2_000)
    ]
    registry = Registry(tokens=chain)

    found = lineage.family(registry, chain[0], successors=True, descendants=True, within=lambda _: True)
    left = lineage.without(registry, {entry.hash for entry in chain[1:-1]}).tokens

    assert len(found) == 2_000
    assert [entry.made_by and entry.made_by.hash for entry in left] == [of("-1")[:23], of("0")[:23]]


def test_a_maker_that_is_gone_is_no_token_to_revoke(world: World):
    forget(world.process, EVERYONE, of("boss"))

    with pytest.raises(NotFound):
        management.revoke(world.process, EVERYONE, of("boss"))
