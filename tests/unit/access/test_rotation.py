"""A token replaces itself: the new one is as good, the old one ends, and a lost answer locks nobody out."""

import contextlib
from functools import partial
from typing import Any

import pytest

from livemem.access import decision, management, rotation, secret
from livemem.access.principal import Principal
from livemem.access.registry import Registry, Token
from livemem.access.rotation import Rotated
from livemem.errors import Conflict, InvalidRequest, LiveMemoryError, StoreUnavailable, Unauthenticated
from livemem.store.bucket import TOKENS
from tests.support.cases import each
from tests.support.world import BOOTSTRAP_KEY, EVERYONE, World
from tests.unit.access.test_access import enter
from tests.unit.access.test_tokens import make

OLD, NEW = "lm_old", "lm_new"

forget = partial(management.revoke, successors=False, descendants=False, forget=True)
"""Ends this token alone, and removes its entry."""


def stored(world: World) -> dict[str, Token]:
    return {entry.hash: entry for entry in Registry.from_bytes(world.text(TOKENS).encode()).tokens}


def of(text: str) -> str:
    return secret.digest(text.encode())


def world_with_token(**changes: Any) -> tuple[World, Principal]:
    world = World()
    make(world, OLD, **changes)
    return world, enter(world, f"Bearer {OLD}")


def rotate(world: World, principal: Principal, text: str = NEW, **how: Any) -> Rotated:
    return rotation.rotate(world.process, principal, text, **how)


def test_the_new_token_is_what_the_old_one_was_and_both_work_until_the_grace_is_over():
    world, old = world_with_token(expires_in_days=30, email="ann@example.org")

    rotated = rotate(world, old)

    new = enter(world, f"Bearer {NEW}", space_id="demo")
    assert (new.name, new.permissions, new.space_ids) == (old.name, old.permissions, old.space_ids)
    assert (new.expires_at, rotated.made.token.email) == ("2026-03-22T14:00:00Z", "ann@example.org")
    assert rotated.old_expires_at == "2026-02-20T15:00:00Z"
    world.clock.move(3_599)
    assert enter(world, f"Bearer {OLD}").name == "ann"
    world.clock.move(1)
    with pytest.raises(Unauthenticated, match="expired"):
        enter(world, f"Bearer {OLD}")
    assert enter(world, f"Bearer {NEW}").name == "ann"


def test_without_a_grace_the_old_token_ends_at_once():
    world, old = world_with_token()

    rotate(world, old, grace=0)

    with pytest.raises(Unauthenticated):
        enter(world, f"Bearer {OLD}")


def test_a_grace_does_not_prolong_the_life_of_a_token():
    world, old = world_with_token(expires_at="2026-02-20T14:10:00Z")

    rotated = rotate(world, old)

    assert rotated.old_expires_at == rotated.made.token.expires_at == "2026-02-20T14:10:00Z"


@pytest.mark.parametrize("grace", [-1, 604_801, 10**30])
def test_a_grace_out_of_bounds_is_refused(grace: int):
    world, old = world_with_token()

    with pytest.raises(InvalidRequest, match="grace_seconds"):
        rotate(world, old, grace=grace)


def test_the_bootstrap_key_is_not_rotated():
    world = World()

    with pytest.raises(Conflict, match="deployment"):
        rotate(world, enter(world, f"Bearer {BOOTSTRAP_KEY}"))


@each(("first", "second"), [(None, None), (None, "k"), ("k", None), ("k", "other")])
def test_a_token_is_rotated_once(first: str | None, second: str | None):
    world, old = world_with_token()
    rotate(world, old, key=first)
    before = stored(world)

    with pytest.raises(Conflict, match="rotated already"):
        rotate(world, old, "lm_third", key=second)

    assert stored(world) == before


def test_a_repeat_with_its_key_gives_another_token_and_ends_the_lost_one():
    world, old = world_with_token(expires_in_days=30)
    rotate(world, old, key="k")
    world.clock.move(60)

    again = rotate(world, old, "lm_third", key="k")

    assert (again.made.token.expires_at, again.old_expires_at) == ("2026-03-22T14:00:00Z", "2026-02-20T15:00:00Z")
    assert enter(world, "Bearer lm_third").name == "ann"
    with pytest.raises(Unauthenticated, match="revoked"):
        enter(world, f"Bearer {NEW}")
    assert stored(world)[of(OLD)].replaced_by == of("lm_third")


def test_a_repeat_does_not_bring_back_what_an_admin_has_ended_or_its_holder_has_rotated():
    world, old = world_with_token()
    rotate(world, old, key="k")
    rotate(world, enter(world, f"Bearer {NEW}"), "lm_newer")

    with pytest.raises(Conflict):
        rotate(world, old, "lm_third", key="k")

    world, old = world_with_token()
    rotate(world, old, key="k")
    management.revoke(world.process, EVERYONE, of(NEW))

    with pytest.raises(Conflict):
        rotate(world, old, "lm_third", key="k")


def test_a_repeat_follows_what_an_admin_has_changed_of_the_lost_token():
    world, old = world_with_token()
    rotate(world, old, key="k")
    management.update(world.process, EVERYONE, of(NEW), management.TokenUpdate(permissions=["read"]))

    rotate(world, old, "lm_third", key="k")

    assert enter(world, "Bearer lm_third").permissions == {"read"}


def test_a_token_that_was_revoked_a_moment_ago_is_not_rotated():
    world, old = world_with_token()
    management.revoke(world.process, EVERYONE, of(OLD))

    with pytest.raises(Unauthenticated):
        rotate(world, old)
    forget(world.process, EVERYONE, of(OLD))
    with pytest.raises(Unauthenticated):
        rotate(world, old)


@pytest.mark.parametrize("grace", [0, 60])
def test_a_rotation_whose_answer_the_store_loses_is_made_once(grace: int):
    world, old = world_with_token()
    world.client.reset()
    world.client.break_at(1, "PreconditionFailed", 412, done=True)

    rotate(world, old, grace=grace)

    assert enter(world, f"Bearer {NEW}").name == "ann"
    assert len(stored(world)) == 2


def test_a_rotation_that_is_told_to_have_failed_is_repeated_with_its_key():
    world, old = world_with_token()
    world.client.reset()
    world.client.break_at(1, "InternalError", 500, done=True)
    with pytest.raises(StoreUnavailable):
        rotate(world, old, key="k")
    world.new_process()

    rotate(world, old, "lm_third", key="k")

    alive = [entry.hash for entry in stored(world).values() if not entry.revoked]
    assert alive == [of(OLD), of("lm_third")]


def test_of_two_who_rotate_one_token_at_once_one_is_told_that_the_other_was_faster():
    world, old = world_with_token()

    def other(index: int, verb: str) -> None:
        if verb == "PUT":
            world.client.before = lambda index, verb: None
            rotation.rotate(world.with_parts(), old, "lm_faster")

    world.client.before = other
    with pytest.raises(LiveMemoryError, match="rotated already"):
        rotate(world, old)

    assert enter(world, "Bearer lm_faster").name == "ann"


def late(world: World, verb: str, seconds: float, *texts: str) -> None:
    """Before its first request of this kind, a rotation stands still for so long. At the end repeats of it are made."""

    def stop(_: int, sent: str) -> None:
        if sent == verb:
            world.client.before = lambda index, verb: None
            world.clock.move(seconds)
            for text in texts:
                rotate_as_sent(world, "k", text)
                world.clock.move(1)

    world.client.before = stop


@each("verb", ["GET", "PUT"])
@each("texts", [("lm_second",), ("lm_second", "lm_third"), ("lm_second", "lm_third", "lm_fourth")])
def test_a_try_that_is_slower_than_its_own_repeats_ends_none_of_their_tokens(verb: str, texts: tuple[str, ...]):
    world, old = world_with_token()
    late(world, verb, 25, *texts)

    with pytest.raises(Conflict, match="repeat of this rotation was faster"):
        rotate(world, old, key="k")

    world.new_process()
    assert enter(world, f"Bearer {texts[-1]}").name == "ann"
    assert [entry.hash for entry in stored(world).values() if not entry.revoked] == [of(OLD), of(texts[-1])]


def test_the_order_of_tries_within_a_second_is_that_in_which_they_came():
    world, old = world_with_token()
    late(world, "GET", 0.02, "lm_second")

    with pytest.raises(Conflict):
        rotate(world, old, key="k")

    assert enter(world, "Bearer lm_second").name == "ann"


def test_a_try_that_loses_to_a_repeat_of_the_same_millisecond_replaces_nothing():
    world, old = world_with_token()
    late(world, "PUT", 0, "lm_second")

    with pytest.raises(Conflict):
        rotate(world, old, key="k")

    assert enter(world, "Bearer lm_second").name == "ann"


def test_a_repeat_wins_against_a_first_try_that_is_written_while_it_is_at_work():
    world, old = world_with_token()
    came = world.clock()
    world.clock.move(25)

    def first(_: int, verb: str) -> None:
        if verb == "PUT":
            world.client.before = lambda index, verb: None
            rotate(world, old, "lm_first", key="k", began=came)

    world.client.before = first
    rotate(world, old, "lm_second", key="k")

    world.new_process()
    assert enter(world, "Bearer lm_second").name == "ann"
    with pytest.raises(Unauthenticated, match="revoked"):
        enter(world, "Bearer lm_first")


def test_a_request_counts_from_when_it_came_and_not_from_when_it_was_let_in():
    world, old = world_with_token()
    came = world.clock()
    world.clock.move(25)
    rotate(world, old, "lm_second", key="k")
    world.clock.move(1)

    with pytest.raises(Conflict):
        rotate(world, old, "lm_third", key="k", began=came)

    assert enter(world, "Bearer lm_second").name == "ann"


def test_after_a_late_try_the_key_still_gives_a_token():
    world, old = world_with_token()
    late(world, "PUT", 25, "lm_second")
    with pytest.raises(Conflict):
        rotate(world, old, key="k")

    rotate(world, old, "lm_fifth", key="k")

    assert enter(world, "Bearer lm_fifth").name == "ann"


def rotate_as_sent(world: World, key: str | None, text: str) -> Rotated:
    """What the route does: the token is let in for its key, then rotated."""
    principal = decision.authorise(
        world.process,
        f"Bearer {OLD}",
        needs=None,
        space_id=None,
        rotation=secret.rotation_digest(key) if key else None,
    )
    return rotate(world, principal, text, grace=0, key=key)


@pytest.mark.parametrize("grace", [0, 60])
def test_after_a_lost_answer_the_key_of_the_rotation_gives_a_working_token_for_ten_minutes(grace: int):
    world, old = world_with_token(expires_in_days=30)
    rotate(world, old, grace=grace, key="k")
    world.clock.move(decision.REPEAT_SECONDS - 1)
    world.new_process()

    again = rotate_as_sent(world, "k", "lm_third")

    assert enter(world, "Bearer lm_third", space_id="demo").name == "ann"
    assert again.made.token.expires_at == "2026-03-22T14:00:00Z"
    assert [entry.hash for entry in stored(world).values() if not entry.revoked] == [of(OLD), of("lm_third")]
    # The ten minutes are those of the first try.
    world.clock.move(1)
    with pytest.raises(Unauthenticated, match="expired"):
        rotate_as_sent(world, "k", "lm_fourth")


@each("key", [None, "", "other", "k ", "K", "\udcff"])
def test_no_other_key_opens_the_rotation_of_a_token_that_has_ended(key: str | None):
    world, old = world_with_token()
    rotate(world, old, grace=0, key="k")
    before = stored(world)

    with pytest.raises(Unauthenticated, match="expired"):
        rotate_as_sent(world, key, "lm_third")

    assert stored(world) == before


@pytest.mark.parametrize("key", ["k", None])
def test_a_token_that_was_not_rotated_or_without_a_key_is_not_let_in_after_its_end(key: str | None):
    world, old = world_with_token(expires_at="2026-02-20T14:00:01Z")
    if key is None:
        rotate(world, old, grace=0)
    world.clock.move(1)

    with pytest.raises(Unauthenticated, match="expired"):
        rotate_as_sent(world, "k", "lm_third")


def test_a_token_that_was_revoked_after_its_rotation_is_let_in_by_no_key():
    world, old = world_with_token()
    rotate(world, old, grace=0, key="k")
    management.revoke(world.process, EVERYONE, of(OLD), successors=False)

    with pytest.raises(Unauthenticated, match="revoked"):
        rotate_as_sent(world, "k", "lm_third")


def test_a_repeat_makes_no_token_that_has_ended_already():
    world, old = world_with_token(expires_at="2026-02-20T14:05:00Z")
    rotate(world, old, grace=0, key="k")
    world.clock.move(300)
    before = stored(world)

    with pytest.raises(Unauthenticated, match="expired"):
        rotate_as_sent(world, "k", "lm_third")

    assert stored(world) == before


@each("point", [0, 1])
@each("done", [False, True])
@each("code", [("InternalError", 500), ("PreconditionFailed", 412)])
def test_whatever_becomes_of_a_rotation_without_grace_its_repeat_leaves_one_token_that_works(
    point: int, done: bool, code: tuple[str, int]
):
    world, _ = world_with_token()
    world.client.reset()
    world.client.break_at(point, *code, done=done)
    with contextlib.suppress(LiveMemoryError):
        rotate_as_sent(world, "k", NEW)
    world.new_process()

    rotate_as_sent(world, "k", "lm_third")

    assert enter(world, "Bearer lm_third").name == "ann"
    world.clock.move(decision.REPEAT_SECONDS)
    for text in (OLD, NEW):
        with pytest.raises(Unauthenticated):
            enter(world, f"Bearer {text}")
