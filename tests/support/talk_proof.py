"""A small world with one conversation in which much goes wrong, and what must be true of its bucket all the same.

The bucket itself notices what is written twice, the model what it is asked again. Used by talk_crash.py,
talk_histories.py and benchmarks/conversations_proof.py.
"""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from greenlet import getcurrent

from livemem.conversations import (
    answer,
    boundaries,
    levels,
    log,
    maintenance,
    names,
    orders,
    removal,
    summaries,
    summaries_job,
    summary_versions,
    update,
)
from livemem.conversations import conversation as conversations
from livemem.conversations.boundaries import BlockBoundary, Child, Place, Size
from livemem.conversations.conversation import Conversation, NewConversation
from livemem.conversations.parameters import Parameters
from livemem.conversations.summaries import Layers
from livemem.conversations.summaries_job import SummariesJob
from livemem.conversations.summary_versions import At
from livemem.conversations.turn import Draft, Turn, erased_name
from livemem.erasure import erasure
from livemem.errors import LiveMemoryError
from livemem.jobs import maintainable
from livemem.jobs.worker import Worked
from livemem.llm.client import LlmError, Messages, Reply
from livemem.spaces import head as heads
from livemem.store import conversation_keys as keys
from tests.support.actors import Actor
from tests.support.bucket import FakeS3
from tests.support.counting import CountingClient
from tests.support.talk import extract
from tests.support.world import EVERYONE, INVOCATION, World

SPACE = "demo"
SMALL: dict[str, Any] = {
    "window_chars": 500,
    "min_flush_chars": 100,
    "group_chars": 1_000,
    "group_raw_chars": 500,
    "ratio": 0.5,
    "batch_delay_ms": 0,
}
"""So small that a few short messages make several blocks, and some of them groups on all levels."""
ONCE = ("/turns/", "/ids/", "/tools/", "/boundaries/", "/summaries/")
"""Parts of the keys of what is written once."""


class Watched(FakeS3):
    """A bucket that notices what must not be written. `wrong` has a sentence for each time."""

    def __init__(self, clock: Any) -> None:
        super().__init__(clock)
        self.wrong: list[str] = []
        self.now = 0
        """Counts requests, so that there is a before and after."""
        self.written: dict[str, int] = {}
        self.listed: dict[tuple[Any, str], int] = {}
        """When each process has last listed a prefix."""
        self.asked: set[Any] = set()
        """Processes that have asked the LLM, and stored nothing since."""
        self.raced = 0
        """Calls of the LLM for what somebody else stored after the process had looked."""

    def list_objects_v2(self, **arguments: Any) -> dict[str, Any]:
        self.now += 1
        if "/g" in arguments.get("Prefix", ""):
            self.listed[getcurrent(), arguments["Prefix"]] = self.now
        return super().list_objects_v2(**arguments)

    def put_object(self, **arguments: Any) -> dict[str, Any]:
        key, before = arguments["Key"], self.objects.get(arguments["Key"])
        self.now += 1
        summary = keys.parse_summary(key)
        if summary:
            self._check_call(summary)
        done = super().put_object(**arguments)
        self.written[key] = self.now
        # But for a turn that is erased, and its conversation, which is told of it.
        erased = b'"erased_on": "' in arguments["Body"] or b'"erased_turns": [\n' in arguments["Body"]
        once = any(part in key for part in ONCE) and not erased
        if once and "IfNoneMatch" not in arguments:
            # Two seldom write different things there; that nothing stands in the way is wrong each time.
            self.wrong.append(f"would have been written over: {key}")
        if before and before.body != arguments["Body"]:
            if once or (
                key.endswith("/conversation.json") and not erased and b'"deleted_at": "' not in arguments["Body"]
            ):
                self.wrong.append(f"written over: {key}")
            if key.endswith("/versions.json"):
                self._check_switch(key, json.loads(before.body), json.loads(arguments["Body"]))
        elif key.endswith("/versions.json"):
            self._check_switch(key, {"version": 1}, json.loads(arguments["Body"]))
        return done

    def _check_call(self, summary: keys.SummaryKey) -> None:
        """What was asked of the LLM just now must not have been there when the process looked."""
        me = getcurrent()
        if me not in self.asked:
            return
        self.asked.discard(me)
        folder = keys.folder(summary.space_id, summary.conversation_id)
        current = self.objects.get(f"{folder}versions.json")
        counts = json.loads(current.body)["version"] if current else 1
        for version in {summary.version, counts}:
            prefix = keys.version_prefix(summary.space_id, summary.conversation_id, version)
            looked = self.listed.get((me, prefix), 0)
            for key in self.objects:
                if not key.startswith(f"{prefix}summaries/l{summary.level}/"):
                    continue
                other = keys.parse_summary(key)
                # In its own version each number has its own: the blocks of one turn that was erased say the same.
                if other and version == summary.version and other.number != summary.number:
                    continue
                if other and _as_good(other.name, summary.name):
                    if self.written.get(key, 0) < looked:
                        self.wrong.append(f"asked again for {key}")
                    else:
                        self.raced += 1

    def _check_switch(self, key: str, before: dict[str, Any], after: dict[str, Any]) -> None:
        """A version that counts from now on has a summary of every boundary that its worker saw."""
        if before["version"] == after["version"]:
            return
        prefix = key.replace("versions.json", f"v{after['version']}/")
        looked = self.listed.get((getcurrent(), prefix), 0)
        for there in list(self.objects):
            boundary = keys.parse_boundary(there) if there.startswith(prefix) else None
            if boundary and self.written.get(there, 0) < looked:
                of_boundary = f"{prefix}summaries/l{boundary.level}/{boundary.number:06d}/"
                if not any(one.startswith(of_boundary) for one in self.objects):
                    self.wrong.append(f"switched to a version without {of_boundary}")


def _as_good(name: str, other: str) -> bool:
    """Whether a summary under this name makes one under the other needless."""
    same = names.source_of(name) == names.source_of(other) and names.maker_of(name) == names.maker_of(other)
    return same and names.redo_of(name) >= names.redo_of(other)


@dataclass
class Model:
    """Summarises by fixed rules, or fails as often as it is told to. Each call takes a turn of who asks."""

    bucket: Watched
    actors: dict[Any, Actor] = field(default_factory=dict)
    fails: int = 0
    poison: str | None = None
    """Text of which it makes nothing that can be used."""
    calls: int = 0
    default: None = None
    queue: tuple[()] = ()

    def __call__(
        self, messages: Messages, max_tokens: int | None, timeout: float, schema: dict[str, Any] | None = None
    ) -> Reply:
        self.calls += 1
        actor = self.actors.get(getcurrent())
        if actor:
            actor.pause()
        if self.fails:
            self.fails -= 1
            raise LlmError("llm_unavailable", "The LLM does not answer.")
        if self.poison and self.poison in messages[1]["content"]:
            return Reply("I'd rather not.", {"prompt_tokens": 10, "completion_tokens": 5})
        self.bucket.asked.add(getcurrent())
        return Reply(long_extract(messages), {"prompt_tokens": 100, "completion_tokens": 20})


def long_extract(messages: Messages) -> str:
    """Honest, and long enough that a few of them fill a group: `ratio` is a half here."""
    whole: dict[str, Any] = json.loads(extract(messages))
    shown = messages[1]["content"].strip().rsplit("\n", 1)[-1]
    parts = [part.get("summary") or part["user"] + part["assistant"] for part in json.loads(shown)]
    told = " ".join(parts)
    whole["summary"] = told[: max(1, min(len(told) // 2, 400))]
    return json.dumps(whole)


@dataclass
class Scene:
    """A world with one conversation, and what its users were told.

    `told` has each acknowledged message; `late` says that a process may have seen the end of the log too early, or by a
    clock that is off, so that the time rule may have ended a block where the whole log would not.
    """

    world: World
    conversation: Conversation
    told: dict[str, Draft] = field(default_factory=dict)
    late: bool = False
    doomed: bool = False
    """Whether somebody has begun to delete it."""
    deleted: bool = False
    """Whether somebody was told that it is."""
    begun: int = 0
    erasing: set[str] = field(default_factory=set)
    """Messages whose turns somebody has begun to erase."""
    erased: set[str] = field(default_factory=set)
    """Those of whose turns somebody was told that they are erased."""
    wanted: list[Draft] = field(default_factory=list)
    """What is to be appended by an operation of talk_crash.py."""
    promised: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    """Jobs that make a summary anew: version, level and number."""
    kept: bool = False
    """Whether nobody died and nothing was lost, so that each job must have ended."""

    @property
    def bucket(self) -> Watched:
        assert isinstance(self.world.inner, Watched)
        return self.world.inner

    @property
    def model(self) -> Model:
        assert isinstance(self.world.llm, Model)
        return self.world.llm

    @property
    def id(self) -> str:
        return self.conversation.conversation_id

    @classmethod
    def new(cls, profile: Any = "windows", **parameters: Any) -> "Scene":
        world = _watched(World())
        world.create_space(SPACE)
        wanted = NewConversation(
            cwd="/work", host="ada", profile=profile, parameters=Parameters(**{**SMALL, **parameters})
        )
        return cls(world, conversations.create(world.process, SPACE, "ann", wanted))

    def fork(self) -> "Scene":
        """One that goes on from here on its own."""
        twin = _watched(self.world.fork())
        bucket = twin.inner
        bucket.written, bucket.now, bucket.raced = dict(self.bucket.written), self.bucket.now, self.bucket.raced
        bucket.wrong = list(self.bucket.wrong)
        return replace(
            self,
            world=twin,
            told=dict(self.told),
            wanted=list(self.wanted),
            promised=dict(self.promised),
            erasing=set(self.erasing),
            erased=set(self.erased),
        )

    # What users and workers do: each is given the process that does it.

    def draft(self, size: int = 200, *, named: bool = True, **more: Any) -> Draft:
        """A turn that nobody has written yet."""
        self.begun += 1
        text = f"{self.begun:05d} " * (size // 6 + 1)
        half = len(text) // 2
        message_id = f"m{self.begun}" if named else None
        return Draft(
            **{"user_message": text[:half], "assistant_message": text[half:], "message_id": message_id, **more}
        )

    def append(self, process: Any, draft: Draft) -> log.Appended:
        gone = self.deleted
        appended = log.append(process, SPACE, self.id, "ann", draft)
        assert not gone, "a turn was taken in although the conversation was gone"
        self.told[appended.turn.message_id] = draft
        return appended

    def say(self, *sizes: int) -> None:
        """Turns of so many characters, a second apart."""
        for size in sizes:
            self.world.pass_time(1)
            self.append(self.world.process, self.draft(size))

    def redo(self, process: Any, level: int, number: int) -> None:
        job = orders.redo(process, SPACE, self.id, level, number)
        self.promised[job.job_id] = (job.generation, level, number)

    def erase(self, process: Any, until: Any, index: int) -> None:
        """Erase a turn, if there is one of this number."""
        found = self.bucket.objects.get(keys.turn(SPACE, self.id, index))
        if not found:
            return
        turn = Turn.from_bytes(found.body)
        named = {message_id for message_id in self.told if turn.is_of(message_id)}
        self.erasing |= named
        if erasure.erase_turn(process, EVERYONE, SPACE, self.id, index, until).status == "done":
            self.erased |= named

    def work(self, process: Any, until: Any) -> Worked[SummariesJob]:
        return update.look(process, SPACE, self.id, until)

    def up(self) -> Worked[SummariesJob]:
        """Bring it up with a fresh process, at once."""
        return self.work(self.world.new_process(), self.world.clock() + INVOCATION)

    # How it comes to rest

    def rest(self) -> None:
        """Let the sweeps of the next hours come by, and what they start; nobody else does anything."""
        world = self.world
        world.new_process()
        self.model.fails = 0
        for _ in range(12):
            world.settle()
            world.pass_time(20 * 60)
            world.new_process()
            if self.erasing:
                world.sweep()
            else:
                maintenance.start_due(world.process, world.clock() + INVOCATION)
            if not world.queued and not world.keys(keys.DUE) and not heads.load(world.process, SPACE).meta.erasing:
                break
        world.settle()
        if self.deleted:
            # Not only a day later, as a tombstone and what no marker tells of.
            folder = keys.folder(SPACE, self.id)
            below = {key.removeprefix(folder) for key in self.bucket.objects if key.startswith(folder)}
            self.bucket.wrong += [f"the sweep left behind: {name}" for name in below - {"conversation.json", "deleted"}]
        self.look_after()

    def look_after(self) -> None:
        """The daily look, when all that was late has come."""
        world = self.world
        world.pass_time(25 * 3600)
        space = maintainable.find(world.new_process(), SPACE, daily=True)
        assert space
        maintenance.maintain(world.process, space)

    def check(self) -> list[str]:
        """What is wrong, when all has come to rest."""
        self.world.new_process()
        wrong = list(self.bucket.wrong)
        conversation = conversations.find(self.world.process, SPACE, self.id)
        if self.deleted or (self.doomed and not conversation):
            return [*wrong, *(f"left behind: {key}" for key in self.bucket.objects if self.id in key)]
        if not conversation:
            return [*wrong, "the conversation is gone"]
        wrong += _wrong_turns(self)
        built = summary_versions.read(self.world.process, SPACE, conversation).current()
        at = At(SPACE, conversation, built)
        if self.model.poison is None and levels.is_due(self.world.process, at):
            wrong.append("there is work left")
        layers = summaries.read(self.world.process, at)
        wrong += _wrong_jobs(self, layers)
        for check in (_wrong_blocks, _wrong_groups, _wrong_summaries):
            wrong += check(self, layers)
        folder = keys.folder(SPACE, self.id)
        here = (folder + "versions.json", keys.version_prefix(SPACE, self.id, at.version))
        stray = [key for key in self.bucket.objects if key.startswith(f"{folder}g") and not key.startswith(here)]
        return [*wrong, *(f"an old version stays: {key}" for key in stray[:1]), *self._wrong_no_op()]

    def _wrong_no_op(self) -> Iterator[str]:
        if self.model.poison is not None:
            return
        calls, world = self.model.calls, self.world
        self.up()
        if self.model.calls != calls:
            yield "an update of nothing asks the LLM"
        if any(verb not in {"GET", "LIST"} for verb, _ in world.client.requests):
            yield f"an update of nothing writes: {world.client.requests}"

    def redo_costs(self, number: int) -> tuple[int, int]:
        """How many calls it takes to make a summary of level 1 anew, and how many it should take."""
        world = self.world
        at = At(SPACE, self.conversation, summary_versions.read(world.process, SPACE, self.conversation).current())
        layers = summaries.read(world.process, at)
        ancestors, child = 1, number
        for level in (2, 3):
            parent = [
                one
                for one in range(1, layers.boundaries[level] + 1)
                for first, last in [summaries.group_boundaries(world.process, layers, level, [one])[0].children]
                if first <= child <= last
            ]
            if not parent:
                break
            ancestors, child = ancestors + 1, parent[0]
        calls = self.model.calls
        orders.redo(world.new_process(), SPACE, self.id, 1, number)
        world.settle()
        return self.model.calls - calls, ancestors


def _watched(world: World) -> World:
    """The world with a bucket that notices."""
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


def sizes_of(scene: Scene) -> list[Size]:
    """The turns of the log as the planner sees them."""
    last = log.last_index(scene.world.process, SPACE, scene.id)
    return [turn.size() for turn in log.read(scene.world.process, SPACE, scene.id, range(1, last + 1))]


def _wrong_turns(scene: Scene) -> Iterator[str]:
    last = log.last_index(scene.world.process, SPACE, scene.id)
    turns = log.read(scene.world.process, SPACE, scene.id, range(1, last + 1))
    if [turn.turn_index for turn in turns] != list(range(1, last + 1)):
        yield f"the numbers are not dense: {[turn.turn_index for turn in turns]}"
    times = Counter(turn.message_id for turn in turns)
    twice = [one for one, count in times.items() if count > 1]
    if twice:
        yield f"in the log twice: {twice}"
    there = {turn.message_id: turn for turn in turns}
    for message_id, draft in scene.told.items():
        turn = there.get(message_id) or there.get(erased_name(message_id))
        if not turn:
            yield f"lost: {message_id}"
        elif message_id in scene.erased or (turn.erased_on and message_id in scene.erasing):
            yield from _wrong_erasure(scene, turn, draft)
        elif (turn.user_message, turn.assistant_message, turn.close) != (
            draft.user_message,
            draft.assistant_message,
            draft.close,
        ):
            yield f"another content: {message_id}"
        else:
            for place, call in enumerate(draft.tool_calls):
                apart = scene.bucket.objects.get(keys.tool_result(SPACE, scene.id, turn.turn_index, place))
                shown = turn.tool_calls[place]
                result = json.loads(apart.body) if apart and shown.result_size else shown.result
                if result != call.result:
                    yield f"another result of a tool: {message_id}"


def _wrong_erasure(scene: Scene, turn: Turn, draft: Draft) -> Iterator[str]:
    if not turn.erased_on:
        yield f"not erased: turn {turn.turn_index}"
    # Each draft repeats a number of its own.
    words = draft.user_message[:11].encode()
    if len(words) == 11:
        yield from (f"words are left in {key}" for key, one in scene.bucket.objects.items() if words in one.body)
    results = keys.tool_results_prefix(SPACE, scene.id, turn.turn_index)
    yield from (f"a result is left: {key}" for key in scene.bucket.objects if key.startswith(results))


def _wrong_blocks(scene: Scene, layers: Layers) -> Iterator[str]:
    """Blocks follow each other, and each is what the planner gives for the log."""
    at, turns = layers.at, sizes_of(scene)
    start = Place(1, 0)
    for boundary in summaries.block_boundaries(scene.world.process, layers, range(1, layers.boundaries[1] + 1)):
        if (boundary.start, boundary.start_offset) != (start.index, start.offset):
            yield f"a gap or an overlap of blocks at {start}: {boundary}"
            return
        if not _planned(scene, at, turns, start, boundary):
            yield f"a block that the planner does not give: {boundary}"
        start = boundary.following


def _planned(scene: Scene, at: At, turns: list[Size], start: Place, boundary: BlockBoundary) -> bool:
    left = [turn for turn in turns if turn.index >= start.index]
    wanted = (boundary.end, boundary.end_offset, tuple(boundary.next), boundary.chars)

    def gives(some: list[Size], *, over: bool) -> bool:
        now = scene.world.clock() if over else None
        block = boundaries.next_block(at.built.profile, at.parameters, some, start, now)
        return bool(block) and wanted == (
            block.end,
            block.end_offset,
            (block.next.index, block.next.offset),
            block.chars,
        )

    if gives(left, over=True):
        return True
    # Who saw the log end there, and waited for long enough by its own clock.
    return (
        scene.late
        and boundary.reason == "time"
        and gives([turn for turn in left if turn.index <= boundary.end], over=True)
    )


def _wrong_groups(scene: Scene, layers: Layers) -> Iterator[str]:
    """Groups follow each other, and each is what the planner gives for the summaries below."""
    for level in (2, 3):
        process, at = scene.world.process, layers.at
        there = summaries.current(process, layers, level - 1)
        below = summaries.load(process, layers, level - 1, dict(sorted(there.items())))
        raw: Any = (
            summaries.block_boundaries(process, layers, sorted(there))
            if level == 2
            else summaries.group_boundaries(process, layers, 2, sorted(there))
        )
        waiting = [
            Child(one.number, one.chars, boundary.chars if level == 2 else boundary.raw_chars)
            for one, boundary in zip(below, raw, strict=True)
        ]
        covers = {one.number: one.covers.turns for one in below}
        for boundary in summaries.group_boundaries(process, layers, level, range(1, layers.boundaries[level] + 1)):
            group = boundaries.next_group(at.built.profile, at.parameters, level, waiting)
            first, last = boundary.children
            # Of a turn that was erased other summaries are made, which have other lengths; boundaries stay.
            stays = scene.erasing and waiting and waiting[0].number == first
            if not stays and (not group or (group[0].number, group[-1].number) != (first, last)):
                yield f"a group of level {level} that the planner does not give: {boundary.children}, not {group}"
                return
            if (covers[first][0], covers[last][1]) != tuple(boundary.covers):
                yield f"a group of level {level} covers {boundary.covers}"
            waiting = [one for one in waiting if one.number > last]


def _wrong_jobs(scene: Scene, layers: Layers) -> Iterator[str]:
    """No job says that it is done which is not."""
    for job_id, (version, level, number) in scene.promised.items():
        job = summaries_job.find(scene.world.process, SPACE, scene.id, job_id)
        if scene.kept and not (job and job.ended()):
            yield f"a job never ended: {job}"
        there = layers.names[level].get(number, [])
        # What was made anew is made once more where a turn is erased.
        anew = job and job.status == "done" and not scene.erasing
        if anew and version == layers.at.version and not any(map(names.redo_of, there)):
            yield f"a job says that it made {level}/{number} anew"


def _wrong_summaries(scene: Scene, layers: Layers) -> Iterator[str]:
    """Each summary that counts says what it covers, and is of what is there."""
    for level in keys.LEVELS:
        there = summaries.current(scene.world.process, layers, level)
        for summary in summaries.load(scene.world.process, layers, level, there):
            boundary: Any = (
                summaries.block_boundaries(scene.world.process, layers, [summary.number])[0]
                if level == 1
                else summaries.group_boundaries(scene.world.process, layers, level, [summary.number])[0]
            )
            if tuple(summary.covers.turns) != tuple(boundary.covers) or summary.level != level:
                yield f"a summary of level {level} covers {summary.covers}, its boundary {boundary.covers}"
            if len(summary.key_findings) > answer.ITEMS:
                yield "a summary with too many findings"


def delete(scene: Scene, process: Any) -> None:
    """Delete the conversation; from its acknowledgement on nothing may be taken in."""
    scene.doomed = True
    removal.delete(process, SPACE, scene.id)
    scene.deleted = True


def check_error(actor: Actor) -> None:
    """Raise what no caller expects."""
    if actor.error and not isinstance(actor.error, LiveMemoryError):
        raise actor.error
