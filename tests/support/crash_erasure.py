"""Kills or breaks an erasure at every single S3 request, lets it recover, and looks for the erased text in all that the
bucket holds or keeps: objects, former versions, backups, archives, parts of uploads.

The same for a live note, for one that was folded, and for a turn of a conversation, as crash.py does it for the changes
of a bank.
"""

import gzip
from collections.abc import Callable, Hashable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache, partial
from itertools import count
from typing import Any

from botocore.exceptions import ClientError

from livemem.backups import manifest as manifests
from livemem.changes.settling import WATCHED_FOR
from livemem.conversations import reading
from livemem.conversations.turn import ToolCall
from livemem.erasure import erasure
from livemem.erasure import receipts as kept_receipts
from livemem.errors import LiveMemoryError, NotFound
from livemem.notes.appending import Draft
from livemem.notes.idempotency import append_once
from livemem.process import Process
from livemem.runs import space_change
from livemem.runs.space_change import SpaceChange
from livemem.spaces import head as heads
from livemem.spaces.receipt import Receipt
from livemem.store import conversation_keys, keys
from tests.support.actors import Actor
from tests.support.audit import audit, records_of
from tests.support.counting import WRITES, Killed, Request
from tests.support.crash import LATER, Fault
from tests.support.talk import Talk, frank
from tests.support.world import EVERYONE, INVOCATION, World

SPACE = "demo"
SECRET = "Alice lives in Paris with her two cats"
"""What the erased note says, and what must be nowhere afterwards."""
CALL = ToolCall(name="read", result=f"{'r' * 40_000} {SECRET}")
WATCHED = WATCHED_FOR.total_seconds() + 60


@dataclass(frozen=True)
class Erasure:
    """Which note or turn is erased, in a world that `prepare` makes and of which it returns its id."""

    name: str
    prepare: Callable[[World], str]
    what: str = "note"


def used(world: World) -> list[str]:
    """A space in a bucket that keeps versions: two folded notes of which one quotes a secret, and a backup of it."""
    world.inner.versioned = True
    world.create_space(SPACE)
    first, _ = append_once(world.process, SPACE, "ann", Draft("progress", f"{SECRET}."), "key")
    world.clock.move(1)
    second = world.note("The build is green again.", agent="bob")
    world.clock.move(1)
    return [first.note_id, second.note_id]


def _folded(world: World) -> str:
    note_id, _ = used(world)
    world.consolidate(SPACE)
    world.back_up(SPACE)
    _leave_archive(world)
    world.clock.move(WATCHED)
    world.sweep_all()
    return note_id


def _live(world: World) -> str:
    note_id, _ = used(world)
    world.back_up(SPACE)
    world.clock.move(WATCHED)
    world.sweep_all()
    return note_id


def _given_back(world: World) -> str:
    """Folded, given back by an undo, and so live and in two records."""
    note_id, _ = used(world)
    world.consolidate(SPACE)
    world.undo(1)
    return note_id


def _planned(world: World) -> str:
    """Live, and in a plan that waits for approval."""
    note_id, _ = used(world)
    space_change.change(world.process, EVERYONE, SPACE, SpaceChange(consolidation_mode="review"))
    world.consolidate(SPACE)
    return note_id


def _said(world: World) -> str:
    """A turn that a summary repeats, with a large result of a tool, and a backup of it."""
    world.inner.versioned = True
    talk = Talk("turns", world=world, ratio=0.5)
    talk.llm.default = frank
    world.note("The build is green again.", agent="bob")
    talk.say("Which port do we use for the build?", "We use port 8080.", message_id="other")
    world.clock.move(1)
    talk.say(f"{SECRET}.", "So be it.", message_id="secret", tool_calls=(CALL,))
    talk.update()
    world.back_up(SPACE)
    _leave_archive(world)
    world.clock.move(WATCHED)
    world.sweep_all()
    world.settle()
    return conversation_keys.turn_id(talk.id, 2)


def _leave_archive(world: World) -> None:
    """An archive to be downloaded, and one that is being made."""
    store, key = world.inner, keys.export(SPACE, "2026-02-20T14-00-02")
    store.put_object(Bucket="", Key=key, Body=gzip.compress(f"{SECRET}.".encode(), mtime=0))
    upload = store.create_multipart_upload(Bucket="", Key=keys.export(SPACE, "2026-02-20T15-00-00"))
    store.upload_part(Bucket="", Key=key, UploadId=upload["UploadId"], PartNumber=1, Body=SECRET.encode())


ERASURES = (
    Erasure("folded", _folded),
    Erasure("live", _live),
    Erasure("given back", _given_back),
    Erasure("planned", _planned),
    Erasure("summarised", _said, "turn"),
)


@cache
def _prepared(erasure: Erasure) -> tuple[World, str]:
    world = World()
    note_id = erasure.prepare(world)
    return world, note_id


def begun(which: Erasure) -> tuple[World, str]:
    """A world just before the erasure, with the note's id."""
    world, note_id = _prepared(which)
    return world.fork(), note_id


def erase(world: World, note_id: str) -> Receipt:
    return _ordered(world.process, note_id, world.clock() + INVOCATION)


def _ordered(process: Process, one: str, until: datetime) -> Receipt:
    turn = conversation_keys.parse_turn_id(one)
    if turn:
        return erasure.erase_turn(process, EVERYONE, SPACE, *turn, until)
    return erasure.erase_note(process, EVERYONE, SPACE, one, until, erase=True)


def requests_of(which: Erasure) -> list[str]:
    """The verbs of the S3 requests that it makes undisturbed."""
    world, note_id = begun(which)
    world.new_process()
    erase(world, note_id)
    return [verb for verb, _ in world.client.requests]


def writes_of(which: Erasure) -> list[int]:
    """Which of them change something."""
    return [point for point, verb in enumerate(requests_of(which)) if verb in WRITES.values()]


def crash(which: Erasure, fault: Fault, point: int, *, repeated: bool) -> list[str]:
    """One crash at request `point`, then the sweep, or the `repeated` request: what is wrong afterwards."""
    world, note_id = begun(which)
    others = [other for other in notes_of(world) if other != note_id]
    world.new_process()
    fault.arm(world, point)
    asked: Receipt | None = None
    with suppress(Killed, LiveMemoryError):
        asked = erase(world, note_id)
    world.new_process()
    again = repeated and not asked
    return _once(
        world,
        (which, again, asked is None),
        lambda: _recover(world, note_id, others, again=again, answered=asked is not None),
    )


def _once(world: World, what: Hashable, check: Callable[[], list[str]]) -> list[str]:
    """What the check says of the world. Many ways lead to one state: what follows is then the same."""
    versions = frozenset((version.version_id, version.key) for version in world.inner.versions)
    state = (what, world.state(), versions, frozenset(world.inner.uploads))
    if state not in _CHECKED:
        _CHECKED[state] = check()
    return _CHECKED[state]


_CHECKED: dict[Hashable, list[str]] = {}


def _recover(world: World, note_id: str, others: list[str], *, again: bool, answered: bool) -> list[str]:
    world.clock.move(LATER)
    if again:
        with suppress(NotFound):
            # It was done, and nothing is left of the note.
            erase(world, note_id)
    found = come_to_end(world, others)
    if not answered and not receipts(world):
        # It died before it began anything: then all is as it was, and the request is sent again.
        erase(world, note_id)
        found += come_to_end(world, others)
    return [*found, *left_of(world, SECRET)]


def come_to_end(world: World, others: list[str]) -> list[str]:
    """Let the sweep do what is left to do, that of marked spaces if a marker could be left; say what is wrong then."""
    for seconds in (60, WATCHED, WATCHED, WATCHED):
        world.clock.move(seconds)
        if keys.marker(SPACE) in world.inner.objects:
            world.sweep()
        else:
            world.sweep_all()
        world.settle()
        if not heads.load(world.process, SPACE).meta.erasing:
            break
    # What the last look removed of a conversation is made anew.
    world.clock.move(LATER)
    world.sweep()
    world.settle()
    return list(wrong_at_end(world, others))


def receipts(world: World) -> list[Receipt]:
    return kept_receipts.page(world.process, SPACE, limit=10)[0]


def wrong_at_end(world: World, others: list[str]) -> Iterator[str]:
    """What is not as it must be in a space in which an erasure has ended."""
    for receipt in receipts(world):
        if receipt.status != "done":
            yield f"the receipt says {receipt.status}"
    head = heads.load(world.process, SPACE)
    if head.meta.erasing:
        yield f"the head says {head.meta.erasing}"
    found = audit(world.inner.objects, SPACE, others)
    if not found.clean():
        yield str(found)
    yield from damaged_backups(world)
    yield from _unfinished_conversations(world)


def _unfinished_conversations(world: World) -> Iterator[str]:
    """Conversations whose turns are not dense, or which lack a summary that was there."""
    folders = {key.split("/")[2] for key in world.inner.objects if key.startswith(conversation_keys.prefix(SPACE))}
    for conversation_id in folders:
        told = reading.detail(world.process, SPACE, conversation_id)
        turns = reading.turns(world.process, SPACE, conversation_id, limit=100).turns
        if [turn.turn_index for turn in turns] != list(range(len(turns), 0, -1)):
            yield "the numbers of turns are not dense"
        yield from (f"summaries of level {one.level} are not made anew" for one in told.levels if one.pending)


def damaged_backups(world: World) -> Iterator[str]:
    """Complete backups over objects that are missing or another than the manifest says."""
    objects = world.inner.objects
    for key in list(objects):
        if not key.endswith(f"/{keys.MANIFEST}"):
            continue
        manifest, items = manifests.from_bytes(objects[key].body)
        prefix = key.removesuffix(keys.MANIFEST)
        for item in items if manifest.complete else ():
            stored = objects.get(prefix + item.name)
            if not stored or (stored.etag, len(stored.body)) != (item.etag, item.size):
                yield f"{prefix}{item.name} is not what the manifest says"


def left_of(world: World, text: str) -> Iterator[str]:
    """Where the text still is, of all that the bucket holds or keeps."""
    wanted = text.encode()
    kept = [(key, stored.body) for key, stored in world.inner.objects.items()]
    kept += [(f"a version of {version.key}", version.stored.body) for version in world.inner.versions]
    kept += [(upload, part) for upload, parts in world.inner.uploads.items() for part in parts.values()]
    for where, body in kept:
        if wanted in (gzip.decompress(body) if body.startswith(b"\x1f\x8b") else body):
            yield f"the text is left in {where}"


def notes_of(world: World) -> list[str]:
    """All notes that the space holds, live or in a record."""
    records = records_of(world.inner.objects, SPACE)
    return sorted({*world.live_ids(SPACE), *(source.note_id for record in records for source in record.notes)})


# Beside others

LONG = 200
"""Seconds for which somebody stands still: longer than a lease lives that is not renewed."""


def stands_still(which: Erasure, work: Callable[[World, Actor], Any]) -> Iterator[tuple[str, list[str]]]:
    """Somebody else's work stands still before each of its requests; the note is erased; then it goes on."""
    for done in count():
        world, note_id = begun(which)
        others = [other for other in notes_of(world) if other != note_id]
        actor = _enter(world, work)
        actor.step(done)
        if actor.done:
            return
        world.pass_time(LONG, beating=False)
        world.new_process()
        erase(world, note_id)
        _finish(actor)
        yield f"stood before request {done}", _end(which, world, others)


def between_invocations(which: Erasure, work: Callable[[World, Actor], Any]) -> Iterator[tuple[str, list[str]]]:
    """An erasure runs out of time; somebody else's work stands still before each of its requests until the erasure has
    ended in its next invocation; then it goes on.
    """
    for done in count():
        world, note_id = begun(which)
        others = [other for other in notes_of(world) if other != note_id]
        soon = world.clock() + timedelta(seconds=1)
        _ordered(world.process, note_id, soon)
        invocation = world.queued.popleft()
        actor = _enter(world, work)
        actor.step(done)
        if actor.done:
            return
        world.pass_time(LONG, beating=False)
        world.new_process()
        world.work(invocation)
        _finish(actor)
        yield f"stood before request {done}", [*_end(work, world, others)]


def overtaken(which: Erasure, work: Callable[[World], Any]) -> Iterator[tuple[str, list[str]]]:
    """The erasure stands still before each of its writes, and somebody else works; then it goes on."""
    for done in writes_of(which):
        world, note_id = begun(which)
        others = [other for other in notes_of(world) if other != note_id]
        actor = _enter(world, partial(_erase_as, note_id))
        actor.step(done)
        world.pass_time(LONG, beating=False)
        world.new_process()
        with suppress(LiveMemoryError):
            work(world)
        _finish(actor)
        world.new_process()
        with suppress(NotFound):
            # Whoever got an error sends it again.
            erase(world, note_id)
        yield f"stood before request {done}", _end(which, world, others)


def _erase_as(note_id: str, _: World, actor: Actor) -> Receipt:
    return _ordered(actor.process, note_id, actor.until)


def _enter(world: World, work: Callable[[World, Actor], Any]) -> Actor:
    actor = Actor("one", world, lambda actor: work(world, actor), world.clock() + INVOCATION)
    actor.step()
    return actor


def _finish(actor: Actor) -> None:
    actor.finish()
    if actor.error and not isinstance(actor.error, LiveMemoryError):
        raise actor.error


def repeats(prepare: Callable[[World], str]) -> Iterator[tuple[str, list[str]]]:
    """Each write of all that happened before the erasure, and of the erasure, reaches the store once more after it."""
    first = World()
    sent: list[Request] = []
    _tap(first, sent)
    note_id = prepare(first)
    first.new_process()
    _tap(first, sent)
    others = [other for other in notes_of(first) if other != note_id]
    erase(first, note_id)
    for request in sent:
        if request.verb == "COPY" and request.key.endswith(f"/{keys.META}"):
            # A head is no text; that a late copy of it disturbs a backup is a matter of backups.
            continue
        world = first.fork()
        world.clock.move(600)
        with suppress(ClientError):
            request.send(world.inner)
        yield str(request), _end(prepare, world, others)


def _end(what: Hashable, world: World, others: list[str]) -> list[str]:
    return _once(world, what, lambda: [*come_to_end(world, others), *left_of(world, SECRET)])


def _tap(world: World, sent: list[Request]) -> None:
    def carry(request: Request) -> Any:
        if request.writes:
            sent.append(request)
        return request.send(world.inner)

    world.client.carry = carry
