"""The spaces of the simulated day: thousands at rest, hundreds that are busy, a few that are very busy.

They are copies of one space that was made by the real code, under other names of the same length.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import sha256

from benchmarks.scale.growth import LargeWorld
from livemem.access import secret
from livemem.access.registry import Registry, Token
from livemem.copies import nightly
from livemem.recall import indexing
from livemem.spaces import due_index
from livemem.store import keys
from livemem.store.bucket import TOKENS
from tests.support.bucket import Stored
from tests.support.world import INVOCATION, World

PATTERN = "s00000"
BACKUPS = 3
"""Nights that each space has seen."""
REST, BUSY, VERY_BUSY, LOOP = "r", "b", "v", "l"
"""Sorts of spaces. The last is that of a tenant in a loop."""
THRESHOLD = 30
SPACE = re.compile(f"[{REST}{BUSY}{VERY_BUSY}{LOOP}][0-9]{{5}}")


@dataclass(frozen=True)
class Mix:
    """How many spaces there are of each sort."""

    at_rest: int = 9_490
    busy: int = 490
    very_busy: int = 10

    def part(self, share: int) -> "Mix":
        """All spaces at rest, and one of `share` of the others."""
        return replace(self, busy=self.busy // share, very_busy=self.very_busy // share)


def names(sort: str, count: int) -> list[str]:
    """The ids of the spaces of one sort."""
    return [f"{sort}{number:05}" for number in range(count)]


def owner(key: str) -> str:
    """The sort of the space that a key belongs to: an object, a backup, an entry of the due index. Empty: none."""
    parts = key.split("/", 3)
    place = {"_backups": 1, "_due": 2}.get(parts[0], 0)
    name = parts[place] if len(parts) > place else ""
    name = name[3:] if parts[0] == "_due" else name
    return name[0] if SPACE.fullmatch(name) else ""


def token_of(space_id: str) -> str:
    """The secret of the agents of a space."""
    return f"lm_{space_id}{'x' * 37}"


def made(mix: Mix, begin: datetime, further: Sequence[str] = ()) -> World:
    """A world with these spaces, and `further` ones, on the morning `begin`, some nights after they were made."""
    pattern = _pattern(waiting=2)
    whole = pattern.inner.objects
    world = LargeWorld()
    # What was written on the day before is read to see whether it can be read.
    world.clock.moment = begin - timedelta(days=3)
    for name in names(REST, mix.at_rest):
        _copy(world, whole, name)
        due_index.leave_waiting(world.process, name, pattern.clock() - timedelta(days=1))
    fresh = _pattern(waiting=0).inner.objects
    lively = [*names(BUSY, mix.busy), *names(VERY_BUSY, mix.very_busy), *further]
    for name in lively:
        _copy(world, fresh, name)
    _register(world, lively)
    world.clock.moment = begin
    return world


def _pattern(waiting: int) -> World:
    world = World()
    world.create_space(PATTERN, threshold=THRESHOLD)
    for number in range(THRESHOLD):
        world.note(f"A first note, number {number}, of some length, as agents write them.", space_id=PATTERN)
        world.clock.move(1)
    world.consolidate(PATTERN)
    for number in range(waiting):
        world.note(f"A later note, number {number}.", space_id=PATTERN)
    indexing.index(world.process, PATTERN, world.clock() + INVOCATION)
    world.clock.move(7_200)
    world.sweep()
    for _ in range(BACKUPS):
        world.clock.move(86_400)
        nightly.fan_out(world.process, deadline=world.clock() + INVOCATION)
        world.settle()
    return world


def _copy(world: World, objects: Mapping[str, Stored], name: str) -> None:
    """The objects of the pattern under the name of another space."""
    etags: list[tuple[bytes, bytes]] = []
    for key, stored in sorted(objects.items(), key=lambda item: item[0].endswith(keys.MANIFEST)):
        if key.startswith(("_due/", "_system/")):
            continue
        body, metadata = stored.body.replace(PATTERN.encode(), name.encode()), dict(stored.metadata)
        if "sha256" in metadata:
            metadata["sha256"] = sha256(body).hexdigest()
        if key.endswith(keys.MANIFEST):
            # A backup names its objects by their ETags.
            for before, after in etags:
                body = body.replace(before, after)
        put = world.inner.put_object(Bucket="bucket", Key=key.replace(PATTERN, name), Body=body, Metadata=metadata)
        etags.append((stored.etag.strip('"').encode(), put["ETag"].strip('"').encode()))


def _register(world: World, spaces: list[str]) -> None:
    entries = [
        Token(
            hash=secret.digest(token_of(name).encode()),
            name="agent",
            permissions=["read", "write"],
            space_ids=[name],
            created_at="2026-02-20T14:00:00Z",
        )
        for name in spaces
    ]
    world.inner.put_object(Bucket="bucket", Key=TOKENS, Body=Registry(tokens=entries).to_bytes())
