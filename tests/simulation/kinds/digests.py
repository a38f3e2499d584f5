"""Rooms and digests: people who post and post again, digests by the clock, by hand and by force, several workers at
once, messages of which the model makes nothing. The bucket is read here by a reader of its own; the model makes one
memory of each message, and notices what it is asked again.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, cast

from greenlet import getcurrent

from livemem.llm.client import Messages, Reply
from livemem.process import Process
from livemem.rooms import digest_input, digest_work, posting
from livemem.rooms.digest_work import DigestOrder
from livemem.rooms.message import MessageDraft
from livemem.store import due_keys
from livemem.store.bucket import CURRENT_DIGEST, IN_DIGEST
from livemem.store.keys import MEMORY_KINDS
from tests.simulation.choices import chance
from tests.simulation.histories import History, Step
from tests.simulation.kinds.bank import sweep_all
from tests.simulation.kinds.memory_law import Log, op_id
from tests.simulation.model import Model
from tests.simulation.pairs import CROSSED, Pair, crossed
from tests.simulation.scene import SPACE, SWEEP_SECONDS, WORK_SECONDS, Action, Before, Kind, Sampled, Scene
from tests.support.bucket import FakeS3
from tests.support.chatter import answer, memory, shown
from tests.support.world import INVOCATION, World, verdicts

ROOMS = ("hall", "lab")
POISON = "poison"
BEGINNINGS = (
    datetime(2026, 2, 20, 14, tzinfo=UTC),
    # Before clocks are put forward, and back.
    datetime(2026, 3, 28, 20, tzinfo=UTC),
    datetime(2026, 10, 24, 20, tzinfo=UTC),
)
DAYS = 3 * 86_400


class Watched(FakeS3):
    """A bucket that knows when what was written, and when who has looked at a digest."""

    def __init__(self, clock: Any) -> None:
        super().__init__(clock)
        self.now = 0
        self.written: dict[str, int] = {}
        self.listed: dict[tuple[Any, str], int] = {}
        self.wrong: list[str] = []

    def copy_to(self, other: FakeS3) -> None:
        super().copy_to(other)
        assert isinstance(other, Watched)
        other.wrong, other.now, other.written = list(self.wrong), self.now, dict(self.written)

    def list_objects_v2(self, **arguments: Any) -> dict[str, Any]:
        self.now += 1
        self.listed[getcurrent(), arguments.get("Prefix", "")] = self.now
        return super().list_objects_v2(**arguments)

    def put_object(self, **arguments: Any) -> dict[str, Any]:
        self.now += 1
        done = super().put_object(**arguments)
        self.written[arguments["Key"]] = self.now
        if IN_DIGEST.parse(arguments["Key"]) and not {"IfNoneMatch", "IfMatch"} & arguments.keys():
            # Two seldom write different things there; that nothing stands in the way is wrong each time.
            self.wrong.append(f"would have been written over: {arguments['Key']}")
        return done

    def json(self, key: str) -> Any:
        return json.loads(self.objects[key].body)

    def check_call(self, told: list[dict[str, Any]]) -> None:
        """What is asked now must not have been answered when its worker looked."""
        first = told[0]["content"] if told else ""
        mine = {prefix: when for (who, prefix), when in self.listed.items() if who is getcurrent()}
        # What it looked at last is the digest that it works on: an earlier one may have had what came back since.
        prefix = max((one for one in mine if IN_DIGEST.parse(f"{one}x")), key=mine.__getitem__)
        for number, chunk in enumerate(self.json(f"{prefix}input.json")["chunks"]):
            extract = f"{prefix}extract/{number:04d}.json"
            if extract not in self.objects or self.written[extract] >= mine[prefix]:
                continue
            there = [self.objects.get(f"{SPACE}/{name}") for name in chunk["messages"]]
            if any(one and json.loads(one.body)["content"] == first for one in there):
                self.wrong.append(f"asked again for {extract}")


def _said(messages: Messages) -> str:
    """One memory of each message; two memories are never the same."""
    if "# Messages of the room" not in messages[1]["content"]:
        return verdicts(messages, lambda new, there: "different")
    return answer(*(memory(f"fact: {one['content']}", one["number"]) for one in shown(messages)))


@dataclass
class Listener(Model):
    """`poison`: it makes nothing of what is poisonous."""

    poison: bool = True

    def reply(self, messages: Messages) -> Reply:
        if self.poison and POISON in messages[1]["content"]:
            return Reply("I'd rather not.", {"prompt_tokens": 10, "completion_tokens": 5})
        return super().reply(messages)

    @property
    def calls(self) -> int:
        """For what was said in rooms."""
        return sum("# Messages of the room" in messages[1]["content"] for messages in self.prompts)


class RoomWorld(World):
    """A world whose bucket notices what is asked of the model."""

    bucket: ClassVar[type[FakeS3]] = Watched

    def __init__(self, inner: Any = None, **more: Any) -> None:
        super().__init__(inner, **more)
        self.llm = Listener(_said)  # type: ignore[assignment]

    def _ask(self, messages: Messages, *asked: Any) -> Any:
        if "# Messages of the room" in messages[1]["content"]:
            cast("Watched", self.inner).check_call(shown(messages))
        return super()._ask(messages, *asked)


class RoomScene(Scene):
    """Rooms, and what their users were told: `told` has the contents of acknowledged messages."""

    world_type: ClassVar[type[World]] = RoomWorld

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.told: list[str] = []
        self.wanted: list[MessageDraft] = []
        world.create_space(SPACE)

    @property
    def bucket(self) -> Watched:
        return cast("Watched", self.world.inner)

    @property
    def model(self) -> Listener:
        return cast("Listener", self.world.llm)

    def state(self) -> Any:
        return super().state(), tuple(self.bucket.wrong), self.model.poison, self.model.fails

    def draft(self, *, named: bool = True, poisonous: bool = False) -> MessageDraft:
        """A message that nobody has written yet."""
        own = self.world.ids()
        # Words of their own, so that no two memories are like each other.
        words = " ".join(hashlib.sha256(f"{own}/{place}".encode()).hexdigest()[:9] for place in range(3))
        content = f"{POISON} {words}" if poisonous else words
        return MessageDraft("Zoe", content, message_id=f"m{own}" if named else None)

    def post(self, process: Process, where: str, drafts: list[MessageDraft]) -> None:
        for one in posting.post_all(process, SPACE, where, drafts):
            assert isinstance(one, posting.Posted), one
            self.told.append(one.message.content)
        digest_work.catch_up(process, SPACE)

    def say(self, *named: bool, where: str = ROOMS[0], poisonous: bool = False) -> None:
        drafts = [self.draft(named=one, poisonous=poisonous) for one in named]
        self.post(self.world.new_process(), where, drafts)

    def digest(self, process: Process, until: datetime) -> Any:
        return self.world.work(DigestOrder(forced=True).payload(SPACE), process, until)

    def hand_over(self, process: Process) -> None:
        """A digest for which there is no time: all of it is left to another invocation."""
        self.digest(process, process.clock() + timedelta(seconds=20))

    def retry(self, process: Process) -> None:
        """Somebody tries anew what was given up."""
        slots = {found[1] for key in self.bucket.objects if (found := IN_DIGEST.parse(key)) and "/dead/" in key}
        for slot in sorted(slots):
            digest_work.retry(process, SPACE, slot)

    # The oracle

    def rest(self) -> list[str]:
        self.look_for_hours()
        wrong = self.check()
        if not wrong and Digests.read(self.bucket).dead:
            # What was given up is digested once the model can.
            self.model.poison = False
            self.world.pass_time(3_600)
            self.retry(self.world.new_process())
            self.look_for_hours()
            wrong = self.check(all_digested=True)
        if not wrong:
            self.world.pass_time(DAYS)
            self.world.new_process()
            self.world.sweep_all()
            stay = [key for key in self.bucket.objects if "/_room_ids/" in key or key.startswith(due_keys.DUE)]
            wrong = [f"stays behind: {key}" for key in stay]
        return wrong

    def look_for_hours(self) -> None:
        """Let the looks of the next hours come by, and what they start; nobody else does anything."""
        self.model.fails = 0
        for _ in range(10):
            self.world.new_process()
            self.world.settle()
            self.world.pass_time(3_600)
            digest_work.start_due(self.world.new_process(), self.world.clock() + INVOCATION)
        self.world.settle()

    def check(self, *, all_digested: bool = False) -> list[str]:
        """What is wrong when all has come to rest; `all_digested`: nothing was given up for good."""
        found = Digests.read(self.bucket)
        causes = Counter(one["op_id"] for kind in MEMORY_KINDS for one in Log.read(self.bucket, kind).operations)
        wanted = {op_id(f"digest/{slot}/{chunk}/{place}") for slot, chunk, place in found.places}
        opened = self.bucket.objects.get(CURRENT_DIGEST.key(SPACE))
        return [
            *self.bucket.wrong,
            *(f"waits in its room: {key}" for key in found.waiting),
            *(f"a digest never ended: {slot}" for slot in found.inputs if slot not in found.ended),
            *(f"in the memories more than once: {one}" for one, count in found.digested.items() if count > 1),
            # What was given up may come back by a late write of it: then the next digest has it.
            *(f"digested, and given up: {one}" for one in found.found_in & found.given_up_in),
            *(f"lost: {one}" for one in self.told if one not in found.digested and one not in found.dead),
            *(f"never digested: {one}" for one in self.told if all_digested and one not in found.digested),
            # Each memory that was found is stored by one operation, and none by another.
            *(f"stored {causes[one]} times: {one}" for one in wanted if causes[one] != 1),
            *(f"stored for nothing: {one}" for one in causes if one not in wanted),
            *(["a digest is open"] if opened and json.loads(opened.body)["status"] != "done" else []),
        ]


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
    def read(cls, bucket: Watched) -> "Digests":
        prefix = f"{SPACE}/_digests/"
        found = cls({}, set(), Counter(), set(), [], [], set(), set())
        for key in bucket.objects:
            slot, _, name = key.removeprefix(prefix).partition("/")
            if key.startswith(f"{SPACE}/rooms/"):
                found.waiting.append(key)
            elif not key.startswith(prefix):
                continue
            elif name == "input.json":
                found.inputs[slot] = bucket.json(key)
            elif name == "done.json":
                found.ended.add(slot)
            elif name.startswith("dead/"):
                contents = [one["message"]["content"] for one in bucket.json(key)["messages"]]
                found.dead.update(contents)
                found.given_up_in.update((slot, content) for content in contents)
            elif name.startswith("extract/"):
                for place, fact in enumerate(bucket.json(key)["facts"]):
                    content = fact["content"].removeprefix("fact: ")
                    found.digested[content] += 1
                    found.found_in.add((slot, content))
                    found.places.append((slot, int(name[8:12]), place))
        return found


# What is done


def _said_in_both(scene: RoomScene, *, poisonous: bool = False) -> None:
    if not scene.told:
        scene.say(True, False, True, True)
        scene.say(True, poisonous=poisonous, where=ROOMS[1])


def _said_poison(scene: RoomScene) -> None:
    _said_in_both(scene, poisonous=True)


def _wants(scene: RoomScene) -> None:
    _said_in_both(scene)
    # One without an id would be another message when it is posted again.
    scene.wanted = [scene.draft() for _ in range(3)]


def _given_up(scene: RoomScene) -> None:
    _said_poison(scene)
    scene.digest(scene.world.new_process(), scene.world.clock() + INVOCATION)
    scene.world.pass_time(3_600)


def _due(scene: RoomScene) -> None:
    _said_in_both(scene)
    scene.world.queued.clear()
    scene.world.pass_time(86_400)


def _say_more(scene: RoomScene) -> None:
    scene.say(True, False)


def _action(name: str, do: Callable[..., Any], before: Before = _said_in_both, seconds: float = 29) -> Action:
    return Action(name, do, before, seconds=seconds)


POST = _action("post", lambda scene, process, until: scene.post(process, ROOMS[0], scene.wanted), _wants)
DIGEST = _action("digest", lambda scene, process, until: scene.digest(process, until), seconds=WORK_SECONDS)
HAND_OVER = _action("digest that is handed over", lambda scene, process, until: scene.hand_over(process))
RETRY = _action("retry of what was given up", lambda scene, process, until: scene.retry(process), _given_up)
HOURLY = _action(
    "hourly look", lambda scene, process, until: digest_work.start_due(process, until), _due, SWEEP_SECONDS
)
START = _action("start by hand", lambda scene, process, until: digest_work.start(process, SPACE))
ACTIONS = (
    POST,
    DIGEST,
    Action("digest of what no model can", DIGEST.work, _said_poison),
    HAND_OVER,
    RETRY,
    HOURLY,
    START,
    Action("daily look", sweep_all, _due),
)
PAIRS = (
    Pair(DIGEST, DIGEST, (crossed,), between=_say_more, gap=400, name="digests by two, one of which stands still"),
    Pair(DIGEST, DIGEST, CROSSED),
    Pair(POST, DIGEST, CROSSED),
    Pair(DIGEST, POST, CROSSED),
    Pair(START, DIGEST, CROSSED),
    Pair(START, HAND_OVER, CROSSED),
)


class RoomHistory(History):
    """Everything that is done in rooms. In calm histories the LLM is asked once for each chunk."""

    begins = len(BEGINNINGS)
    most_actors = 4
    skews = (0, 0, 60, 240, -60, -240)
    times = (1, 30, 100, 400, 1_500, 3_700, 15_000)

    @classmethod
    def begin(cls, scene: RoomScene, place: int) -> None:
        scene.world.clock.moment = BEGINNINGS[place]

    def first(self) -> None:
        self.posted: list[tuple[str, MessageDraft]] = []
        self.post()

    def steps(self) -> list[Step]:
        steps: list[Step] = [
            (self.post, 10), (self.post_again, 3), (self.force, 2), (self.start, 2), (self.clock_strikes, 3),
            (self.deliver, 8), (self.hand_over, 1), (self.retry, 1), (self.look, 1),
        ]  # fmt: skip
        return steps if self.calm else [*steps, (self.stall, 2)]

    def post(self) -> None:
        """A few messages of a room, some with ids of their own."""
        where = self.choices.pick(ROOMS)
        drafts = [
            self.scene.draft(named=not chance(self.choices, 30), poisonous=not self.calm and chance(self.choices, 5))
            for _ in range(self.choices.number(1, 4))
        ]
        self.posted += [(where, draft) for draft in drafts if draft.message_id]
        self.spawn("post", lambda process, until: self.scene.post(process, where, drafts))

    def post_again(self) -> None:
        """What was posted before, by who does not know what came of it."""
        if self.posted:
            where, draft = self.choices.pick(self.posted)
            self.spawn("repeat", lambda process, until: self.scene.post(process, where, [draft]))

    def start(self) -> None:
        self.spawn("start", lambda process, until: digest_work.start(process, SPACE))

    def retry(self) -> None:
        self.spawn("retry", lambda process, until: self.scene.retry(process))

    def hand_over(self) -> None:
        self.spawn("handed over", lambda process, until: self.scene.hand_over(process), WORK_SECONDS)

    def force(self) -> None:
        """A room is full."""
        self.world.enqueue("digest", DigestOrder(forced=True).payload(SPACE))

    def clock_strikes(self) -> None:
        self.spawn("hourly", digest_work.start_due, SWEEP_SECONDS)

    def look(self) -> None:
        self.spawn("daily look", lambda process, until: sweep_all(self.scene, process, until), SWEEP_SECONDS)

    def stall(self) -> None:
        """A worker stands still for longer than its claim lives, while more is said and another one goes on."""
        first = self.spawn("stalled", self.scene.digest, WORK_SECONDS, go=False)
        first.step(self.choices.number(1, 45))
        self.post()
        self.world.pass_time(self.choices.pick((130, 400)), beating=False)
        self.spawn("second", self.scene.digest, WORK_SECONDS)
        if not chance(self.choices, 30):
            first.finish()
        self._bury()

    def end(self) -> list[str]:
        self.scene.look_for_hours()
        wrong: list[str] = self.scene.check()
        if not wrong and self.calm:
            chunks = sum(len(one["chunks"]) for one in Digests.read(self.scene.bucket).inputs.values())
            calls = self.scene.model.calls
            wrong = [f"{calls} calls of the LLM for {chunks} chunks"] if calls != chunks else []
        return wrong or self.scene.rest()


DIGESTS = Kind(
    "digests",
    RoomScene,
    ACTIONS,
    PAIRS,
    (RoomHistory,),
    # Digests and chunks of a few messages, so that short histories have several of both.
    small=((digest_input, "MOST", 7), (digest_input, "CHUNK_MESSAGES", 3)),
    sampled=Sampled(kills=193, turns=71),
)
