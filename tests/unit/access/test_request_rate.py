"""One token, and one space, get so many answers a second, however many processes answer. Others lose nothing."""

from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType

import pytest

from livemem.access import decision, request_rate
from livemem.access.principal import Principal
from livemem.access.registry import Registry
from livemem.errors import CapReached, Forbidden, StoreUnavailable
from livemem.process import Process
from livemem.store.bucket import REQUEST_COUNT, TOKENS
from livemem.upkeep import sweep
from tests.support.cases import each
from tests.support.mcp import token
from tests.support.world import BOOTSTRAP_KEY, INVOCATION, World

SPACE, TOKEN = {"requests_per_space_per_second": 5}, {"requests_per_token_per_second": 5}
MOST = 5 * request_rate.SECONDS
"""Requests that are answered within a window."""


def world_of(settings: Mapping[str, int] = MappingProxyType({}), secrets: Iterable[str] = ("lm_a",)) -> World:
    world = World(**settings)
    entries = [token(secret, "read", spaces=()) for secret in secrets]
    world.inner.put_object(Bucket="bucket", Key=TOKENS, Body=Registry(tokens=entries).to_bytes())
    world.clock.moment = world.clock.moment.replace(second=0, microsecond=0)
    world.new_process()
    return world


def ask(world: World, process: Process, secret: str = "lm_a", space_id: str | None = "demo") -> CapReached | None:
    """The refusal of a request, whose work beside the answer is done."""
    try:
        decision.authorise(process, f"Bearer {secret}", needs="read", space_id=space_id)
    except CapReached as refused:
        return refused
    finally:
        while world.background:
            world.background.pop()()
    return None


def flood(world: World, processes: list[Process], windows: int, a_second: int, secret: str = "lm_a") -> list[int]:
    """How many of so many requests a second are answered in each window, if each process gets one after the other."""
    answered = []
    for _ in range(windows):
        count = 0
        for number in range(a_second * request_rate.SECONDS):
            count += ask(world, processes[number % len(processes)], secret) is None
            world.clock.move(1 / a_second)
        answered.append(count)
    return answered


def test_few_requests_of_many_tokens_and_spaces_cost_no_request_to_the_store():
    names = [f"lm_{number}" for number in range(10)]
    world = world_of(SPACE | TOKEN, names)
    for name in names:
        ask(world, world.process, name)
    world.client.reset()

    refused = [ask(world, world.process, name, f"s{name[3:]}") for name in names for _ in range(9)]

    assert refused == [None] * 90
    assert world.client.counts == {}


@each("processes", [1, 30])
def test_a_flood_has_the_rate_of_its_space_or_less_than_twice_that_however_many_processes_it_reaches(processes: int):
    world = world_of(SPACE)

    first, *later = flood(world, [world.with_parts() for _ in range(processes)], 4, 120)

    assert first <= request_rate.UNCOUNTED * processes + 2 * MOST
    assert all(MOST / 2 <= count <= 2 * MOST + processes for count in later), later


def test_a_flood_of_many_tokens_has_the_rate_of_one_space():
    names = [f"lm_{number}" for number in range(120)]
    world = world_of(SPACE | TOKEN, names)
    answered = []

    for _ in range(3):
        refusals = [ask(world, world.process, name) for _ in range(10) for name in names]
        answered.append(refusals.count(None))
        world.clock.move(request_rate.SECONDS)

    assert all(count <= 2 * MOST for count in answered), answered


def test_a_token_that_asks_about_ever_other_spaces_has_the_rate_of_one_token():
    world = world_of(TOKEN)

    answered = Counter(ask(world, world.process, "lm_a", f"s{number}") is None for number in range(2_000))

    assert answered[True] <= 2 * MOST


@each("items", [1, 7, 100, 1_000])
def test_a_batch_counts_as_much_as_it_holds_and_a_large_one_gets_through_too(items: int):
    world = world_of(SPACE | TOKEN)
    principal = decision.authorise(world.process, "Bearer lm_a", needs="read", space_id="demo")
    written = []

    for _ in range(4):
        done = 0
        for _ in range(2_000 // items):
            with suppress(CapReached):
                request_rate.check(world.process, principal, "demo", items)
                done += items
            while world.background:
                world.background.pop()()
        written.append(done)
        world.clock.move(request_rate.SECONDS)

    # One batch may cross the line.
    assert all(0 < count <= 2 * MOST + items for count in written[1:]), written


def test_a_token_that_reads_leaves_its_space_to_others_and_takes_nothing_from_what_writes():
    world = world_of(TOKEN | {"requests_per_space_per_second": 20}, ("lm_a", "lm_b"))
    writer = decision.authorise(world.process, "Bearer lm_b", needs="read", space_id="demo")
    writer = replace(writer, permissions=frozenset(("read", "write")))
    others: list[bool] = []
    written: list[bool] = []

    for number in range(4_000):
        ask(world, world.process, "lm_a")
        if number % 40 == 0:
            others.append(ask(world, world.process, "lm_b") is None)
            with suppress(CapReached):
                request_rate.check(world.process, writer, "demo", 1, "write")
                written.append(True)
        world.clock.move(0.01)

    assert all(others)
    assert len(written) == len(others)


def test_a_space_full_of_readers_takes_every_note_and_a_reader_that_tries_to_write_is_one_of_them():
    names = [f"lm_{number}" for number in range(30)]
    world = world_of(SPACE, names)
    writer = Principal("w", frozenset(("write",)), frozenset(), token_hash=f"sha256:{'0b' * 32}")
    refused = 0

    for number in range(3_000):
        with suppress(CapReached, Forbidden):
            # A token without `write`.
            decision.authorise(world.process, f"Bearer {names[number % 30]}", needs="write", space_id="demo")
        while world.background:
            world.background.pop()()
        if number % 50 == 0:
            request_rate.check(world.process, writer, "demo", 1, "write")
        refused += ask(world, world.process, names[number % 30]) is not None
        world.clock.move(0.01)

    assert refused > 1_500


def test_what_writes_has_the_rate_of_its_space_too():
    world = world_of(SPACE)
    writer = Principal("w", frozenset(("write",)), frozenset(), token_hash=f"sha256:{'0b' * 32}")
    written = []

    for _ in range(3):
        done = 0
        for _ in range(2_000):
            with suppress(CapReached):
                request_rate.check(world.process, writer, "demo", 1, "write")
                done += 1
            while world.background:
                world.background.pop()()
        written.append(done)
        world.clock.move(request_rate.SECONDS)

    assert all(0 < count <= 2 * MOST for count in written), written


@pytest.mark.parametrize("settings", [SPACE, TOKEN, SPACE | TOKEN])
def test_others_lose_nothing(settings: dict[str, int]):
    world = world_of(settings, ("lm_a", "lm_b"))
    flood(world, [world.process], 1, 120)

    refused = [ask(world, world.process, "lm_b", "other") for _ in range(request_rate.UNCOUNTED)]

    assert refused == [None] * request_rate.UNCOUNTED


def test_as_many_requests_as_the_rate_allows_are_never_refused():
    world = world_of(SPACE | TOKEN)

    assert flood(world, [world.process, world.with_parts()], 6, 5) == [MOST] * 6


def test_after_a_flood_all_is_answered_again_within_two_windows():
    world = world_of(SPACE)
    flood(world, [world.process], 2, 200)

    calm = flood(world, [world.process], 4, 4)

    assert calm[2:] == [40, 40]


@each(("setting", "settings"), [(name, one) for one in (SPACE, TOKEN) for name in one])
def test_a_refusal_says_the_setting_and_when_the_window_ends_and_asks_the_store_nothing(setting: str, settings: dict):
    world = world_of(settings)
    flood(world, [world.process], 1, 200)
    world.clock.move(3)
    ask(world, world.process)
    world.client.reset()

    refused = next(found for _ in range(30) if (found := ask(world, world.process)))

    assert (refused.status, refused.code) == (429, setting)
    assert refused.retry_after == 7
    assert setting.upper() in refused.detail
    assert "(5)" in refused.detail
    ask(world, world.process)
    assert sum(world.client.counts.values()) <= 3


def test_a_token_for_all_spaces_with_admin_gets_through_and_0_is_any_number():
    world = world_of(SPACE | TOKEN)
    flood(world, [world.process], 1, 200)
    unlimited = world_of()

    assert all(ask(world, world.process, BOOTSTRAP_KEY) is None for _ in range(300))
    assert flood(unlimited, [unlimited.process], 1, 200) == [2_000]
    assert not unlimited.keys(REQUEST_COUNT.prefix())


def test_a_store_that_does_not_answer_refuses_nobody(monkeypatch: pytest.MonkeyPatch):
    world = world_of(SPACE)

    def fail(*_: object, **__: object) -> None:
        raise StoreUnavailable("It does not answer.")

    ask(world, world.process)
    monkeypatch.setattr(type(world.store), "put", fail)

    assert flood(world, [world.process], 1, 30) == [300]


def test_what_others_put_among_the_counts_counts_nothing():
    world = world_of(SPACE)
    number = int(world.clock().timestamp()) // request_rate.SECONDS
    for name in ("x", "01ARZ3NDEKTSV4RRFFQ69G5FAV-9999999x", "01ARZ3NDEKTSV4RRFFQ69G5FAV"):
        world.inner.put_object(Bucket="bucket", Key=REQUEST_COUNT.prefix(number, "space-demo") + name, Body=b"")

    assert flood(world, [world.process], 1, 5) == [MOST]


def test_the_daily_sweep_removes_counts_that_nobody_needs():
    world = world_of(SPACE)
    flood(world, [world.process], 3, 40)
    old = world.keys(REQUEST_COUNT.prefix())
    world.clock.move(request_rate.KEPT + 1)
    flood(world, [world.process], 1, 40)

    sweep.sweep(world.process, deadline=world.clock() + INVOCATION, everything=True)

    left = world.keys(REQUEST_COUNT.prefix())
    assert old
    assert left
    assert not set(old) & set(left)
