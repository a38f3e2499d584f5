"""A code gives its token once, within a minute, and the bucket holds neither of them."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from botocore.exceptions import ClientError

from livemem.access import page_codes
from livemem.access.registry import Registry, Token
from livemem.errors import StoreUnavailable, Unauthenticated
from livemem.store.bucket import PAGE_CODE, TOKENS
from tests.support.cases import each
from tests.support.counting import Killed
from tests.support.mcp import token
from tests.support.world import BOOTSTRAP_KEY, World

SECRET = "lm_" + "x" * 43


@pytest.fixture
def world() -> World:
    return with_token(World())


def with_token(world: World) -> World:
    keep(world, token(SECRET, "read"))
    return world


def keep(world: World, *tokens: Token) -> None:
    world.inner.put_object(Bucket="bucket", Key=TOKENS, Body=Registry(tokens=list(tokens)).to_bytes())
    world.new_process()
    world.client.reset()


def redeemed(world: World, code: str) -> str | None:
    try:
        return page_codes.redeem(world.process, code)[0]
    except Unauthenticated:
        return None


def held(world: World) -> str:
    """All of the bucket that codes are about, as text."""
    return "".join(
        f"{key} {stored.body!r}" for key, stored in world.inner.objects.items() if key.startswith(PAGE_CODE.prefix())
    )


def test_a_code_gives_its_token_once_for_a_get_and_a_put(world):
    code = page_codes.make(world.process, SECRET)
    assert [verb for verb, key in world.client.requests if key.startswith(PAGE_CODE.prefix())] == ["PUT"]
    world.client.reset()

    found, principal = page_codes.redeem(world.process, code)

    assert (found, principal.name) == (SECRET, token(SECRET, "read").name)
    assert [verb for verb, key in world.client.requests if key.startswith(PAGE_CODE.prefix())] == ["GET", "PUT"]
    assert redeemed(world, code) is None


def test_the_bucket_holds_neither_the_token_nor_the_code_before_and_after(world):
    code = page_codes.make(world.process, SECRET)
    before = held(world)
    page_codes.redeem(world.process, code)
    after = held(world)

    for text in (before, after):
        assert PAGE_CODE.prefix() in text
        assert SECRET not in text
        assert SECRET[3:] not in text
        assert code not in text
    assert '"hidden":null' in after.replace(" ", "")


def test_two_codes_of_one_token_hide_it_differently(world):
    first, other = (page_codes.make(world.process, SECRET) for _ in range(2))

    bodies = {stored.body for key, stored in world.inner.objects.items() if key.startswith(PAGE_CODE.prefix())}
    assert len(bodies) == 2
    assert redeemed(world, other) == redeemed(world, first) == SECRET


def test_a_code_ends_after_a_minute_by_the_clock_of_the_store(world):
    young, old = page_codes.make(world.process, SECRET), page_codes.make(world.process, SECRET)
    world.pass_time(60)
    assert redeemed(world, young) == SECRET
    world.pass_time(1)
    assert redeemed(world, old) is None


@each("code", ["", "x", "x" * 201, "\ud800", "../tokens", "\x00", "0" * 64])
def test_a_text_that_is_no_code_gives_nothing(code):
    world = with_token(World())
    page_codes.make(world.process, SECRET)

    assert redeemed(world, code) is None


def test_of_many_who_redeem_a_code_at_once_one_gets_the_token(world):
    for _ in range(5):
        code = page_codes.make(world.process, SECRET)
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda code: redeemed(world, code), [code] * 8))
        assert sorted(filter(None, found)) == [SECRET]


@pytest.mark.parametrize("done", [False, True])
def test_wherever_the_process_ends_a_code_gives_the_token_at_most_once(done):
    for point in range(4):
        world = with_token(World())
        code = page_codes.make(world.process, SECRET)
        world.client.reset()
        world.client.kill_at(point, done=done)
        try:
            first = redeemed(world, code)
        except Killed:
            first = None
        world.client.kill_at(10_000, done=False)
        world.client.kill_at(10_000, done=True)
        world.new_process()
        later = [redeemed(world, code) for _ in range(2)]
        assert [first, *later].count(SECRET) <= 1


def test_a_redemption_whose_answer_was_lost_still_gives_the_token():
    for point in range(2):
        world = with_token(World())
        code = page_codes.make(world.process, SECRET)
        world.client.reset()
        world.client.break_at(point, "PreconditionFailed", 412, done=True)
        found = [redeemed_or_unavailable(world, code) for _ in range(2)]
        assert found.count(SECRET) <= 1
        if point == 1:
            assert found == [SECRET, None], "the write finds its own bytes"


def redeemed_or_unavailable(world: World, code: str) -> str | None:
    try:
        return redeemed(world, code)
    except StoreUnavailable:
        return None


def test_a_code_that_a_late_request_would_make_again_stays_redeemed(world):
    code = page_codes.make(world.process, SECRET)
    ((key, first),) = (one for one in world.inner.objects.items() if one[0].startswith(PAGE_CODE.prefix()))
    page_codes.redeem(world.process, code)

    with pytest.raises(ClientError, match="PreconditionFailed"):
        world.inner.put_object(Bucket="bucket", Key=key, Body=first.body, IfNoneMatch="*")
    assert redeemed(world, code) is None


def test_a_code_of_a_token_that_was_revoked_meanwhile_gives_nothing(world):
    code = page_codes.make(world.process, SECRET)
    keep(world)

    assert redeemed(world, code) is None


def test_the_bootstrap_key_may_open_the_page_too():
    world = World()
    code = page_codes.make(world.process, BOOTSTRAP_KEY)

    assert redeemed(world, code) == BOOTSTRAP_KEY


def test_the_sweep_removes_codes_after_a_day_and_not_before(world):
    page_codes.make(world.process, SECRET)
    world.pass_time(86_400)
    page_codes.remove_old(world.process)
    assert held(world)
    world.pass_time(1)
    page_codes.remove_old(world.process)
    assert not held(world)
