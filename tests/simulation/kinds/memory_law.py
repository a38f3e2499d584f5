"""What must be true of the memories in a bucket, told by a reader of its own, which shares nothing with the one that is
proved; and the texts that are stored in the simulation.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Protocol

from livemem.store.keys import MEMORY_FOLDERS, MemoryKind
from tests.simulation.scene import SPACE
from tests.support.bucket import FakeS3

SERVICE = "live-memory"
HISTORY = 20
TOPICS: tuple[tuple[tuple[str, ...], ...], ...] = (
    (("The port is 8080.", "The port is 9090.", "The port is 9090 since Monday.", "the PORT is 8080"),),
    (("Notes are kept.", "Notes are kept in S3.", "Notes are kept in S3, in the bucket eu-data."),),
    (("We deploy on Tuesdays.", "We don't deploy on Tuesdays.", "We deploy on Tuesdays at 9."),),
    # Near by their vectors, and of two things by their texts: they must stand apart.
    tuple(
        (f"Since May {name} drinks tea.", f"Since May {name} drinks tea at noon.", f"since MAY {name} drinks tea")
        for name in ("Ann", "Bob", "Eva", "Max", "Tom", "Zoe")
    ),
    *(
        (
            (
                f"The {thing} is blue.",
                f"The {thing} is blue and new.",
                f"The {thing} is blue, new and large.",
                f"the {thing.upper()} is blue",
            ),
        )
        for thing in ("lamp", "door", "desk", "roof", "wall", "boat", "fork", "coat", "cart", "bell")
    ),
)
"""Topics, the things that each speaks of, and the words for them. Those of one thing are one memory."""
MIXED = 4
"""Topics of random histories; the rest are simple ones, for many who write at once."""


def text(topic: int, thing: int, wording: int) -> str:
    """What somebody stores: its topic is what the embedding model sees of it."""
    return f"{topic}: {TOPICS[topic][thing][wording]}"


@cache
def thing_of(content: str) -> tuple[int, int] | None:
    """What a text is about; two that have a topic in common and not the thing are near, and stand apart."""
    number, _, words = content.partition(": ")
    return next(
        ((int(number), place) for place, things in enumerate(TOPICS[int(number)]) if words in things),
        None,
    )


def plain(content: str) -> str:
    """The same for two that differ in case and full stops alone."""
    return content.casefold().rstrip(".")


def said_of(content: str) -> tuple[str, str]:
    """When a text was said, and by whom: whoever stores it says so."""
    number = int(hashlib.sha256(content.encode()).hexdigest()[:4], 16)
    return f"2025-{1 + number % 12:02}-01T09:30:00Z", f"speaker {number}"


def judged(new: str, there: str) -> str:
    """What a model says that is always right."""
    return "same" if thing_of(new) == thing_of(there) else "different"


def op_id(cause: str) -> str:
    """What names the operation that a cause has."""
    return hashlib.sha256(cause.encode()).hexdigest()[:24]


@dataclass(frozen=True)
class Told:
    """What a caller was told: the number of an operation of a kind's log, its cause and what it stored."""

    kind: MemoryKind
    number: int
    cause: str | None
    content: str
    memory_id: str


class Users(Protocol):
    """What users did and were told.

    `shortens` has operations that may make a memory temporary; `by_hand` those that put a memory beside another one
    that says the same: corrections and what is brought back. `deletions` are those of users. `skew`: by how many
    seconds clocks are off. `judged`: somebody says which memories are one.
    """

    told: list[Told]
    shortens: set[str]
    by_hand: set[str]
    deletions: set[str]
    skew: float

    @property
    def judged(self) -> bool: ...

    @property
    def now(self) -> datetime: ...


@dataclass(frozen=True)
class Log:
    """A kind's log as it is in the bucket, read here alone."""

    operations: list[dict[str, Any]]
    names: list[str]
    snapshots: dict[int, dict[str, Any]]

    @classmethod
    def read(cls, bucket: FakeS3, kind: MemoryKind) -> "Log":
        folder = f"{SPACE}/memories/{MEMORY_FOLDERS[kind]}/"
        below = sorted(key for key in bucket.objects if key.startswith(folder))
        names = [key for key in below if key.startswith(f"{folder}log/")]
        snapshots = {
            int(key[-13:-5]): _json(bucket.objects[key].body)
            for key in below
            if key.startswith(f"{folder}snapshot/") and key.endswith(".json")
        }
        return cls([_json(bucket.objects[key].body) for key in names], names, snapshots)

    def standing(self, number: int | None = None) -> dict[str, dict[str, Any]]:
        """The memories after so many operations, by their ids."""
        there: dict[str, dict[str, Any]] = {}
        for operation in self.operations[:number]:
            for part in [*operation["also"], operation]:
                memory = part["memory"]
                there.pop(memory["memory_id"], None)
                if part["op"] == "put":
                    there[memory["memory_id"]] = memory
        return there

    def alive(self, now: datetime) -> list[dict[str, Any]]:
        """Those that have not expired."""
        return [memory for memory in self.standing().values() if alive(memory, now)]


@cache
def _json(body: bytes) -> Any:
    # The same objects are read after many histories; nobody changes what is found.
    return json.loads(body)


@cache
def _moment(told: str) -> datetime:
    return datetime.fromisoformat(told)


def alive(memory: Mapping[str, Any], now: datetime) -> bool:
    """Whether it has not expired."""
    return memory["expires_at"] is None or _moment(memory["expires_at"]) > now


def says(memory: Mapping[str, Any], content: str) -> bool:
    """Whether the memory says it, or said it before."""
    wanted = plain(content)
    return wanted == plain(memory["content"]) or any(wanted == plain(one["content"]) for one in memory["history"])


def wrong_log(users: Users, kind: MemoryKind, found: Log) -> Iterator[str]:
    """What is wrong with the log of a kind."""
    numbers = [operation["number"] for operation in found.operations]
    keys = [f"{SPACE}/memories/{MEMORY_FOLDERS[kind]}/log/{number:08d}.json" for number in range(1, len(numbers) + 1)]
    if numbers != list(range(1, len(numbers) + 1)) or found.names != keys:
        yield f"{kind}: the numbers are not dense: {found.names}"
        return
    causes = [operation["op_id"] for operation in found.operations]
    if len(set(causes)) < len(causes):
        yield f"{kind}: a cause has two operations"
    for check in (_wrong_speakers, _wrong_steps, _wrong_told, _wrong_pairs, _wrong_snapshots):
        for one in check(users, kind, found):
            yield f"{kind}: {one}"


def _wrong_steps(users: Users, kind: MemoryKind, found: Log) -> Iterator[str]:
    """Each operation follows from the state before: nothing is lost, nothing is shortened that nobody asked for."""
    there: dict[str, dict[str, Any]] = {}
    for operation in found.operations:
        new, number = operation["memory"], operation["number"]
        before = dict(there)
        yield from (f"{number}: {one}" for one in _wrong_also(operation, there))
        old = there.pop(new["memory_id"], None)
        if new["kind"] != kind:
            yield f"{number} is of the kind {new['kind']}"
        if operation["op"] == "delete":
            yield from (f"{number}: {one}" for one in _wrong_deletion(users, operation, old))
            continue
        there[new["memory_id"]] = new
        if not old:
            if new["revision"] != 1 and operation["op_id"] not in users.by_hand:
                yield f"{number} changes what is not there"
            continue
        yield from (f"{number}: {one}" for one in _wrong_change(users, operation, old, before))


def _wrong_speakers(users: Users, kind: MemoryKind, found: Log) -> Iterator[str]:
    """No words stand with the time or the speaker of others. Those that a correction brought have none."""
    by_correction: set[str] = set()
    for operation in found.operations:
        if "content" in operation["corrected"]:
            by_correction.add(operation["memory"]["content"])
        for memory in (operation["memory"], *(part["memory"] for part in operation["also"])):
            content, told = memory["content"], (memory["said_at"], memory["author"])
            if told != said_of(content) and (told != (None, None) or content not in by_correction):
                yield f"{operation['number']}: {content} was said {told}"


def _wrong_change(
    users: Users, operation: Mapping[str, Any], old: Mapping[str, Any], before: Mapping[str, dict[str, Any]]
) -> Iterator[str]:
    new = operation["memory"]
    if operation["apart"]:
        # Who takes links away changes nothing else.
        if {**new, "similar_to": []} != {**old, "similar_to": []}:
            yield "changes more than links"
        return
    if new["revision"] != old["revision"] + 1:
        yield f"revision {new['revision']} after {old['revision']}"
    if (lost := _lost(operation, before)) and len(new["history"]) < HISTORY:
        yield f"loses {lost}"
    if old["expires_at"] is None and new["expires_at"] and operation["op_id"] not in users.shortens:
        yield "makes temporary what holds for ever"
    if operation["merged"]:
        yield from _wrong_merge(operation, old)


def _lost(operation: Mapping[str, Any], before: Mapping[str, dict[str, Any]]) -> list[str]:
    """What the memories of an operation said before it, and none of them says or said after it."""
    new, also = operation["memory"], operation["also"]
    held = [new, *(part["memory"] for part in also if part["op"] == "put")]
    gone = [new["memory_id"], *(part["memory"]["memory_id"] for part in also if part["op"] == "delete")]
    was = [one["content"] for memory_id in gone for one in [before[memory_id], *before[memory_id]["history"]]]
    return [content for content in was if not any(says(memory, content) for memory in held)]


def _wrong_also(operation: Mapping[str, Any], there: dict[str, dict[str, Any]]) -> Iterator[str]:
    """What an operation does to another memory: takes it away whole, or brings one that is not there."""
    for part in operation["also"]:
        memory = part["memory"]
        old = there.pop(memory["memory_id"], None)
        if part["op"] == "put":
            there[memory["memory_id"]] = memory
            if old or operation["split"] is None:
                yield f"brings {memory['content']}, which is there"
        elif memory != old:
            yield "what was merged is not what stood there"


def _wrong_deletion(users: Users, operation: Mapping[str, Any], old: Mapping[str, Any] | None) -> Iterator[str]:
    if operation["memory"] != old:
        yield "what was deleted is not what stood there"
    if operation["author"] == SERVICE:
        if alive(operation["memory"], _moment(operation["at"])):
            yield "deleted for its time, which had not come"
    elif operation["op_id"] not in users.deletions:
        yield "deleted by nobody"


def _wrong_merge(operation: Mapping[str, Any], old: Mapping[str, Any]) -> Iterator[str]:
    merged, new = operation["merged"], operation["memory"]
    if merged["former"] != old["content"]:
        yield f"was merged into {old['content']}, and tells {merged['former']}"
    if not alive(old, _moment(operation["at"])):
        yield "was merged into what had expired"
    if merged["by"] == "text":
        # It says what the memory says; which words stand there now tells nothing of the other ones.
        return
    other = new["history"][0]["content"] if merged["kept"] == "former" else new["content"]
    if thing_of(other) != thing_of(old["content"]):
        yield f"{other} was merged into {old['content']}"


def _wrong_told(users: Users, kind: MemoryKind, found: Log) -> Iterator[str]:
    """What was acknowledged is in the operation of which its caller was told, or (a repeat) in an earlier one."""
    for told in users.told:
        if told.kind != kind:
            continue
        if told.number > len(found.operations):
            yield f"lost: {told}"
            continue
        operation = found.operations[told.number - 1]
        if told.cause and operation["op_id"] != op_id(told.cause):
            yield f"{told} is of another cause"
        if operation["memory"]["memory_id"] != told.memory_id or not says(operation["memory"], told.content):
            yield f"not in its operation: {told}"


def _wrong_pairs(users: Users, kind: MemoryKind, found: Log) -> Iterator[str]:
    """No two say the same, but what holds for a time beside what holds for ever, and what was put there by hand."""
    by_hand = {
        part["memory"]["memory_id"]
        for one in found.operations
        if one["op_id"] in users.by_hand
        for part in [*one["also"], one]
    }
    shortened = {one["memory"]["memory_id"] for one in found.operations if one["op_id"] in users.shortens}
    revived = set(_revived(found, timedelta(seconds=users.skew)))
    there: dict[Any, str] = {}
    for memory in found.alive(users.now):
        memory_id = memory["memory_id"]
        temporary = memory["expires_at"] is not None
        if memory_id in by_hand | revived or (temporary and memory_id in shortened):
            continue
        # Of what nobody has judged it is known that it may be the same: but not of the same words.
        words = plain(memory["content"]) if not users.judged or memory["similar_to"] else ""
        for place in {(thing_of(memory["content"]), temporary, words), (None, temporary, plain(memory["content"]))}:
            if place in there:
                yield f"twice: {there[place]} and {memory['content']}"
            there[place] = memory["content"]


def _revived(found: Log, skew: timedelta) -> Iterator[str]:
    """Memories that somebody refreshed by a clock that is behind, when they may have expired by another one."""
    there: dict[str, dict[str, Any]] = {}
    for operation in found.operations if skew else []:
        memory = operation["memory"]
        old = there.get(memory["memory_id"])
        if old and not alive(old, _moment(operation["at"]) + skew):
            yield memory["memory_id"]
        there[memory["memory_id"]] = memory


def _wrong_snapshots(users: Users, kind: MemoryKind, found: Log) -> Iterator[str]:
    """A snapshot of this log says what the log says."""
    for number, snapshot in found.snapshots.items():
        if number > len(found.operations) or snapshot["op_id"] != found.operations[number - 1]["op_id"]:
            # Of a log that there was before the space was restored.
            continue
        if snapshot["memories"] != list(found.standing(number).values()):
            yield f"snapshot {number} is not what the log says"
        done = {one["op_id"]: one["number"] for one in found.operations[:number]}
        if {name: one["number"] for name, one in snapshot["done"].items()} != done:
            yield f"snapshot {number} knows other operations"
        gone = {
            part["memory"]["memory_id"]: (one["number"], part["op"])
            for one in found.operations[:number]
            for part in [*one["also"], one]
        }
        deleted = {name: at for name, (at, op) in gone.items() if op == "delete"}
        if snapshot["deleted"] != deleted:
            yield f"snapshot {number} knows other deletions"
