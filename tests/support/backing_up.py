"""Spaces to back up, and what may happen while that is done."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from livemem.changes.orphans import QUIET_AFTER
from livemem.copies import manifest as manifests
from livemem.copies import taking
from livemem.copies.taking import BackupOutcome, BackupRequest
from livemem.jobs import lease, places
from livemem.process import Process
from livemem.store.objects import Store
from tests.support.bucket import FakeS3
from tests.support.counting import Request
from tests.support.world import INVOCATION, World

SPACE = "demo"


def put(world: World, name: str, body: bytes = b"x") -> None:
    world.inner.put_object(Bucket="b", Key=f"{SPACE}/{name}", Body=body)


def used(**parts: Any) -> World:
    """A space with a bank, records and live notes, at rest."""
    world = World(**parts)
    world.create_space(SPACE)
    for number in range(3):
        world.note(f"note {number}")
    world.consolidate()
    world.note("live one")
    world.note("live two")
    world.clock.move(QUIET_AFTER.total_seconds() + 3_600)
    world.sweep_all()
    world.sweep_all()
    world.new_process()
    return world


def take(world: World, process: Process | None = None, **more: Any) -> BackupOutcome:
    wanted = BackupRequest(more.pop("trigger", "api"), more.pop("description", ""))
    deadline = world.clock() + more.pop("time", INVOCATION)
    return taking.take(process or world.process, SPACE, wanted, deadline=deadline, **more)


def go_on(world: World, backup_id: str, process: Process | None = None) -> BackupOutcome:
    return taking.go_on(process or world.process, SPACE, backup_id, deadline=world.clock() + INVOCATION)


def on_copy(world: World, name: str, act: Callable[[], Any], *, after: bool = False) -> None:
    """Let something happen once, before an object of the space is copied, or after it was."""
    todo = [act]

    def carry(request: Request) -> Any:
        hit = request.verb == "COPY" and request.arguments["CopySource"]["Key"] == f"{SPACE}/{name}" and todo
        if hit and not after:
            todo.pop()()
        answer = request.send(world.inner)
        if hit and after:
            todo.pop()()
        return answer

    world.client.carry = carry


def names(world: World, backup_id: str) -> set[str]:
    saved = manifests.load(world.process, SPACE, backup_id)
    return {item.name for item in saved.value.items or ()}


def hold(world: World) -> lease.Hold:
    return lease.acquire(world.with_parts(), places.of_space(SPACE), world.ids(), "manual")


def waiting(world: World) -> tuple[Process, list[float]]:
    """A process that lets time pass where it sleeps."""
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        world.pass_time(seconds)

    checked = world.capability_checked
    store = Store("bucket", world.client, world.client, threads=1, sleep=sleep, capability_checked=checked)  # type: ignore[arg-type]
    return world.with_parts(store=store), slept


class OwnEtags(FakeS3):
    """A store that gives each write an ETag of its own, as S3 does with keys of KMS."""

    ignores = False
    """Whether it ignores the condition of a copy, as moto does."""

    def _stamp(self, key: str) -> str:
        self.count += 1
        self.objects[key] = replace(self.objects[key], etag=f'"own-{self.count}"')
        return self.objects[key].etag

    def put_object(self, **arguments: Any) -> dict[str, Any]:
        answer = super().put_object(**arguments)
        return {**answer, "ETag": self._stamp(arguments["Key"])}

    def copy_object(self, **arguments: Any) -> dict[str, Any]:
        if self.ignores:
            arguments.pop("CopySourceIfMatch", None)
        answer = super().copy_object(**arguments)
        return {**answer, "CopyObjectResult": {"ETag": self._stamp(arguments["Key"])}}


def own_etags() -> World:
    world = World(OwnEtags())
    world.inner._clock = world.clock
    world.create_space(SPACE)
    for number in range(9):
        world.note(f"note {number}")
    world.new_process()
    return world
