"""Numbers and dates without sense, in any document of a space or in its names: what they cost falls on that space."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import pytest

from livemem import clock
from livemem.copies import nightly
from livemem.jobs.package import Package
from livemem.notes.appending import NoteDraft, append
from livemem.rooms import digest_work
from livemem.spaces import due_index
from livemem.store import keys
from livemem.upkeep import health, packages
from livemem.upkeep.sweep import SweepReport
from tests.support.cases import each
from tests.support.every_kind import changed, files
from tests.support.memories import store
from tests.support.part import part
from tests.support.world import EVERYONE, INVOCATION, World

DATES = ("1970-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z")
NUMBERS = (-1, 0, 2**53 - 1, 10**30, b"1" * 400, 999_999_999)
IN_NAMES = ("19700101T000000", "99991231T235959")
_TIME = re.compile(r"2026[0-9]{4}T[0-9]{6}")
_DAY = 86_400.0

Path = tuple[str | int, ...]


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """The values in a document that hold no other ones; of a list those of its first item."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from leaves(inner, (*path, name))
    elif isinstance(value, list):
        for inner in value[:1]:
            yield from leaves(inner, (*path, 0))
    else:
        yield path, value


def hostile_documents() -> list[dict[str, bytes]]:
    """Documents by name below the space, each with another value for one of its numbers and times. Each number and time
    of each kind of document is in one of these lists. The head is alone in its lists, since all else depends on it.
    """
    found: dict[tuple[bool, int], dict[str, bytes]] = {}
    seen: Counter[str] = Counter()
    for name, body in files().items():
        if not name.endswith(".json") or name == keys.MANIFEST:
            continue
        places = 0
        for path, value in leaves(json.loads(body)):
            kind = re.sub(r"[0-9A-Z]{6,}|[0-9]+", "#", f"{name}: {path}")
            is_time = isinstance(value, str) and re.match(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T", value)
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if seen[kind] or not (is_time or is_number):
                continue
            seen[kind] += 1
            values: tuple[Any, ...] = DATES if is_time else NUMBERS
            # Each place gets one of them, so that all occur.
            wild = values[len(seen) % len(values)]
            found.setdefault((name == keys.META, places), {})[name] = changed(body, path, wild)
            places += 1
    assert len(seen) > 200
    return list(found.values())


def hostile_names(moment: str) -> dict[str, bytes]:
    """Objects by name below the space: all that have a time in their names, with another time."""
    return {_TIME.sub(moment, name): body for name, body in files().items() if _TIME.search(name)}


@cache
def _beside() -> World:
    """A space with a document of every kind, beside one of somebody else in which a run is due."""
    world = World()
    world.clock.move(3 * _DAY)
    for name, body in files().items():
        if name != keys.MANIFEST:
            world.inner.put_object(Bucket="bucket", Key=f"demo/{name}", Body=body)
    world.create_space("other", threshold=1)
    world.note("waits", space_id="other")
    world.clock.move(7_200)
    return world


def _upkeep(world: World) -> SweepReport:
    """All that a schedule does."""
    swept = world.sweep_all()
    until = world.clock() + INVOCATION
    digest_work.start_due(world.process, until)
    digest_work.longest_wait(world.process, until)
    health.deep(world.process, EVERYONE)
    nightly.fan_out(world.process, deadline=until)
    world.clock.move(_DAY)
    world.sweep()
    return swept


def _serves_others(swept: SweepReport) -> None:
    assert "other" in swept.did("started")
    assert "other" not in swept.failed


@pytest.mark.slow
@each("wild", part([*hostile_documents(), *map(hostile_names, IN_NAMES)], 2))
def test_values_and_names_without_sense_stop_no_upkeep_of_others(wild: dict[str, bytes]):
    world = _beside().fork()
    for name, body in wild.items():
        world.inner.put_object(Bucket="bucket", Key=f"demo/{name}", Body=body)

    _serves_others(_upkeep(world))


@each("year", [1, 1970, 9999])
def test_a_tenant_whose_clock_is_wrong_gets_its_bank_and_costs_others_nothing(year: int):
    world = World()
    world.create_space("other", threshold=1)
    world.create_space("demo", threshold=2)
    said = clock.iso(datetime(year, 12, 31, 23, 59, 59, tzinfo=UTC))
    for text in ("first", "second"):
        append(world.process, "demo", "ann", NoteDraft("progress", text, said_at=said))
    store(world.process, "The port is 8080.", said_at=said)
    world.note("waits", space_id="other")
    for space_id in ("demo", "other"):
        world.count(space_id)
    world.settle()

    _upkeep(world)

    assert [list(world.bank(space_id)) for space_id in ("demo", "other")] == [["log.md"]] * 2
    assert world.live_ids("demo") == []


def test_a_package_whose_look_at_due_work_fails_stops_neither_the_others_nor_the_sweep(monkeypatch: pytest.MonkeyPatch):
    def fails(*_: Any) -> due_index.Done:
        return {"x": {"demo": timedelta(days=1) / timedelta(0)}}

    broken = Package(due={"question": fails})
    monkeypatch.setattr(packages, "PACKAGES", (broken, *packages.PACKAGES))
    world = _beside().fork()
    due_index.leave_at(world.process, "demo", "question", world.ids(), world.clock())
    world.clock.move(_DAY)

    _serves_others(world.sweep_all())
