"""A small world of rooms and digests in which much goes wrong, and what must be true of its bucket all the same.

The bucket is read here by a reader of its own. The model makes one memory of each message, and notices what it is asked
again. Used by digest_histories.py and benchmarks/memories_proof.py.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from greenlet import getcurrent

from livemem.digests import due, intake, maintenance, retrying, work
from livemem.digests.work import Order
from livemem.errors import LiveMemoryError
from livemem.jobs import maintainable
from livemem.llm.client import LlmError, Messages, Reply
from livemem.process import Process
from livemem.rooms import maintenance as room_maintenance
from livemem.rooms import posting
from livemem.rooms.message import Draft
from livemem.store import room_keys as keys
from livemem.store.memory_keys import KINDS
from tests.support.actors import Actor
from tests.support.bucket import FakeS3
from tests.support.chatter import answer, memory, shown
from tests.support.counting import CountingClient
from tests.support.memory_proof import Log, op_id
from tests.support.world import INVOCATION, World, verdicts

SPACE = "demo"
ROOMS = ("hall", "lab")
POISON = "poison"
MOST, CHUNK = 7, 3
"""Messages of a digest and of a chunk: so few that short histories have several of both."""
BEGINNINGS = (
    datetime(2026, 2, 20, 14, tzinfo=UTC),
    # Before clocks are put forward, and back.
    datetime(2026, 3, 28, 20, tzinfo=UTC),
    datetime(2026, 10, 24, 20, tzinfo=UTC),
)


@contextmanager
def small_digests() -> Iterator[None]:
    """Digests and chunks of a few messages."""
    usual = intake.MOST, intake.CHUNK_MESSAGES
    intake.MOST, intake.CHUNK_MESSAGES = MOST, CHUNK
    try:
        yield
    finally:
        intake.MOST, intake.CHUNK_MESSAGES = usual


class Watched(FakeS3):
    """A bucket that knows when what was written, and when who has looked at a digest."""

    def __init__(self, clock: Any) -> None:
        super().__init__(clock)
        self.now = 0
        self.written: dict[str, int] = {}
        self.listed: dict[tuple[Any, str], int] = {}
        self.wrong: list[str] = []

    def list_objects_v2(self, **arguments: Any) -> dict[str, Any]:
        self.now += 1
        self.listed[getcurrent(), arguments.get("Prefix", "")] = self.now
        return super().list_objects_v2(**arguments)

    def put_object(self, **arguments: Any) -> dict[str, Any]:
        self.now += 1
        done = super().put_object(**arguments)
        self.written[arguments["Key"]] = self.now
        if keys.parse_digest(arguments["Key"]) and not {"IfNoneMatch", "IfMatch"} & arguments.keys():
            # Two seldom write different things there; that nothing stands in the way is wrong each time.
            self.wrong.append(f"would have been written over: {arguments['Key']}")
        return done


@dataclass
class Model:
    """Makes one memory of each message, or fails as often as it is told to. Each call takes a turn of who asks."""

    bucket: Watched
    actors: dict[Any, Actor] = field(default_factory=dict)
    fails: int = 0
    poison: bool = True
    """Whether it makes nothing of what is poisonous."""
    calls: int = 0
    wrong: list[str] = field(default_factory=list)
    default: None = None
    queue: tuple[()] = ()

    def __call__(
        self, messages: Messages, max_tokens: int | None, timeout: float, schema: dict[str, Any] | None = None
    ) -> Reply:
        if "# Messages of the room" not in messages[1]["content"]:
            return Reply(verdicts(messages, lambda new, there: "different"), {})
        self.calls += 1
        told = shown(messages)
        self._check_call(told)
        actor = self.actors.get(getcurrent())
        if actor:
            actor.pause()
        if self.fails:
            self.fails -= 1
            raise LlmError("llm_unavailable", "The LLM does not answer.")
        if self.poison and any(POISON in one["content"] for one in told):
            return Reply("I'd rather not.", {"prompt_tokens": 10, "completion_tokens": 5})
        text = answer(*(memory(f"fact: {one['content']}", one["number"]) for one in told))
        return Reply(text, {"prompt_tokens": 100, "completion_tokens": 20})

    def _check_call(self, told: list[dict[str, Any]]) -> None:
        """What is asked now must not have been answered when its worker looked."""
        first = told[0]["content"] if told else ""
        mine = {prefix: when for (who, prefix), when in self.bucket.listed.items() if who is getcurrent()}
        # What it looked at last is the digest that it works on: an earlier one may have had what came back since.
        prefix = max((one for one in mine if keys.parse_digest(f"{one}x")), key=mine.__getitem__)
        for number, chunk in enumerate(_json(self.bucket, f"{prefix}input.json")["chunks"]):
            extract = f"{prefix}extract/{number:04d}.json"
            if extract not in self.bucket.objects or self.bucket.written[extract] >= mine[prefix]:
                continue
            there = [self.bucket.objects.get(f"{SPACE}/{name}") for name in chunk["messages"]]
            if any(one and json.loads(one.body)["content"] == first for one in there):
                self.wrong.append(f"asked again for {extract}")


def _json(bucket: FakeS3, key: str) -> Any:
    return json.loads(bucket.objects[key].body)


@dataclass
class Scene:
    """A world with rooms, and what its users were told. `told` has each acknowledged message by its key."""

    world: World
    told: dict[str, str] = field(default_factory=dict)
    ids: dict[tuple[str, str], str] = field(default_factory=dict)
    """Contents by room and message id."""
    begun: int = 0

    @property
    def bucket(self) -> Watched:
        return cast("Watched", self.world.inner)

    @property
    def model(self) -> Model:
        return cast("Model", self.world.llm)

    @classmethod
    def new(cls) -> "Scene":
        world = World()
        world.create_space(SPACE)
        return cls(_watched(world))

    def fork(self, beginning: datetime) -> "Scene":
        """One that goes on from here on its own, at another time."""
        twin = self.world.fork()
        twin.clock.moment = beginning
        return Scene(_watched(twin))

    # What users, events and schedules do: each is given the process that does it.

    def draft(self, *, named: bool, poisonous: bool = False) -> Draft:
        """A message that nobody has written yet."""
        self.begun += 1
        # Words of their own, so that no two memories are like each other.
        words = " ".join(hashlib.sha256(f"{self.begun}/{place}".encode()).hexdigest()[:9] for place in range(3))
        content = f"{POISON} {words}" if poisonous else words
        return Draft("Zoe", content, message_id=f"m{self.begun}" if named else None)

    def post(self, process: Process, where: str, drafts: list[Draft]) -> None:
        for draft in drafts:
            if draft.message_id:
                self.ids[where, draft.message_id] = draft.content
        for one in posting.post_all(process, SPACE, where, drafts):
            assert isinstance(one, posting.Posted), one
            moment = datetime.fromisoformat(one.message.timestamp)
            self.told[keys.message(SPACE, where, moment, one.message.message_id)] = one.message.content
        due.catch_up(process, SPACE)

    def digest(self, process: Process, order: Order, until: datetime) -> Any:
        return work.carry_out(process, SPACE, order, until)

    def retry(self, process: Process) -> None:
        """Somebody tries anew what was given up."""
        slots = {found[0] for key in self.bucket.objects if (found := keys.parse_digest(key)) and "/dead/" in key}
        for slot in sorted(slots):
            retrying.retry(process, SPACE, slot)

    def maintain(self, process: Process) -> None:
        space = maintainable.find(process, SPACE, daily=True)
        assert space
        room_maintenance.maintain(process, space)
        maintenance.maintain(process, space)

    # How it comes to rest

    def rest(self) -> None:
        """Let the looks of the next hours come by, and what they start; nobody else does anything."""
        world = self.world
        self.model.fails = 0
        for _ in range(10):
            world.new_process()
            world.settle()
            world.pass_time(3_600)
            due.start_due(world.new_process(), world.clock() + INVOCATION)
        world.settle()

    def check(self, *, all_digested: bool = False) -> list[str]:
        """What is wrong when all has come to rest; `all_digested`: nothing was given up for good."""
        wrong = [*self.model.wrong, *self.bucket.wrong]
        found = Digests.read(self.bucket)
        wrong += [f"waits in its room: {key}" for key in found.waiting]
        wrong += [f"a digest never ended: {slot}" for slot in found.inputs if slot not in found.ended]
        wrong += [f"in the memories more than once: {one}" for one, count in found.digested.items() if count > 1]
        # What was given up may come back by a late write of it: then the next digest has it.
        wrong += [f"digested, and given up: {one}" for one in found.found_in if one in found.given_up_in]
        for key, content in self.told.items():
            if content not in found.digested and content not in found.dead:
                wrong.append(f"lost: {key} {content}")
            if all_digested and content not in found.digested:
                wrong.append(f"never digested: {content}")
        wrong += self._wrong_facts(found)
        opened = self.bucket.objects.get(keys.open_slot(SPACE))
        if opened and json.loads(opened.body)["slot"]:
            wrong.append("a digest is open")
        return wrong

    def _wrong_facts(self, found: "Digests") -> Iterator[str]:
        """Each memory that was found is stored by one operation, and none by another."""
        causes = Counter(one["op_id"] for kind in KINDS for one in Log.read(self.bucket, kind).operations)
        wanted = {op_id(f"digest/{slot}/{chunk}/{place}") for slot, chunk, place in found.places}
        yield from (f"stored {causes[one]} times: {one}" for one in wanted if causes[one] != 1)
        yield from (f"stored for nothing: {one}" for one in causes if one not in wanted)


@dataclass(frozen=True)
class Digests:
    """What the bucket holds of rooms and digests, read here alone."""

    inputs: dict[str, Any]
    ended: set[str]
    digested: Counter[str]
    """Contents of messages, and in how many found memories they are."""
    dead: set[str]
    waiting: list[str]
    places: list[tuple[str, int, int]]
    """Slot, chunk and place of each memory that was found."""
    found_in: set[tuple[str, str]]
    given_up_in: set[tuple[str, str]]
    """Slots and the contents of which they found a memory, or that they gave up."""

    @classmethod
    def read(cls, bucket: FakeS3) -> "Digests":
        prefix = f"{SPACE}/_digests/"
        found = cls({}, set(), Counter(), set(), [], [], set(), set())
        for key in bucket.objects:
            slot, _, name = key.removeprefix(prefix).partition("/")
            if key.startswith(f"{SPACE}/rooms/"):
                found.waiting.append(key)
            elif not key.startswith(prefix):
                continue
            elif name == "input.json":
                found.inputs[slot] = _json(bucket, key)
            elif name == "done.json":
                found.ended.add(slot)
            elif name.startswith("dead/"):
                contents = [one["message"]["content"] for one in _json(bucket, key)["messages"]]
                found.dead.update(contents)
                found.given_up_in.update((slot, content) for content in contents)
            elif name.startswith("extract/"):
                for place, fact in enumerate(_json(bucket, key)["facts"]):
                    content = fact["content"].removeprefix("fact: ")
                    found.digested[content] += 1
                    found.found_in.add((slot, content))
                    found.places.append((slot, int(name[8:12]), place))
        return found


def _watched(world: World) -> World:
    bucket = Watched(world.clock)
    world.inner.copy_to(bucket)
    world.inner, world.client = bucket, CountingClient(bucket)
    world.client.carry = lambda request: _carried(world, request)
    world.llm = Model(bucket)  # type: ignore[assignment]
    world.new_process()
    return world


def _carried(world: World, request: Any) -> Any:
    world.note_sent(request)
    return request.send(world.inner)


def check_error(actor: Actor) -> None:
    """Raise what no caller expects."""
    if actor.error and not isinstance(actor.error, LiveMemoryError):
        raise actor.error


def days(count: float) -> float:
    """Seconds."""
    return timedelta(days=count).total_seconds()
