"""What must be true of a conversation in a bucket: the bucket itself notices what is written twice or asked for again,
and blocks, groups and summaries are those of the planner.
"""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from greenlet import getcurrent

from livemem.conversations import answer, boundaries, log, names, summaries, summaries_job
from livemem.conversations import conversation as conversations
from livemem.conversations.boundaries import BlockBoundary, Child, Place, Size
from livemem.conversations.capture import BlockCapture
from livemem.conversations.summaries import Layers
from livemem.conversations.summary_versions import At
from livemem.conversations.turn import Draft, Turn, erased_name
from livemem.store import keys
from livemem.store.bucket import BOUNDARY, IN_CONVERSATION, IN_VERSION, SUMMARY, TOOL_RESULT, BoundaryKey, SummaryKey
from tests.simulation.scene import SPACE
from tests.support.audit import records_of
from tests.support.bucket import FakeS3

ONCE = ("/turns/", "/ids/", "/tools/", "/boundaries/", "/summaries/", "/captures/")
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

    def copy_to(self, other: FakeS3) -> None:
        super().copy_to(other)
        assert isinstance(other, Watched)
        other.wrong, other.now, other.written = list(self.wrong), self.now, dict(self.written)

    def list_objects_v2(self, **arguments: Any) -> dict[str, Any]:
        self.now += 1
        if "/v" in arguments.get("Prefix", ""):
            self.listed[getcurrent(), arguments["Prefix"]] = self.now
        return super().list_objects_v2(**arguments)

    def put_object(self, **arguments: Any) -> dict[str, Any]:
        key, before = arguments["Key"], self.objects.get(arguments["Key"])
        self.now += 1
        summary = SUMMARY.parse_as(SummaryKey, key)
        if summary:
            self._check_call(summary)
        done = super().put_object(**arguments)
        self.written[key] = self.now
        # But for a turn that is erased, and its conversation, which is told of it, and of its closings.
        told = (b'"notes": []', b'"erased_on": "', b'"erased_turns": [\n', b'"closings": [\n')
        erased = any(one in arguments["Body"] for one in told)
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

    def _check_call(self, summary: SummaryKey) -> None:
        """What was asked of the LLM just now must not have been there when the process looked."""
        me = getcurrent()
        if me not in self.asked:
            return
        self.asked.discard(me)
        folder = IN_CONVERSATION.prefix(summary.space_id, summary.conversation_id)
        current = self.objects.get(f"{folder}versions.json")
        counts = json.loads(current.body)["version"] if current else 1
        for version in {summary.version, counts}:
            prefix = IN_VERSION.prefix(summary.space_id, summary.conversation_id, version)
            looked = self.listed.get((me, prefix), 0)
            for key in self.objects:
                if not key.startswith(f"{prefix}summaries/l{summary.level}/"):
                    continue
                other = SUMMARY.parse_as(SummaryKey, key)
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
            boundary = BOUNDARY.parse_as(BoundaryKey, there) if there.startswith(prefix) else None
            if boundary and self.written.get(there, 0) < looked:
                of_boundary = f"{prefix}summaries/l{boundary.level}/{boundary.number:06d}/"
                if not any(one.startswith(of_boundary) for one in self.objects):
                    self.wrong.append(f"switched to a version without {of_boundary}")


def _as_good(name: str, other: str) -> bool:
    """Whether a summary under this name makes one under the other needless."""
    same = names.source_of(name) == names.source_of(other) and names.maker_of(name) == names.maker_of(other)
    return same and names.redo_of(name) >= names.redo_of(other)


def sizes_of(scene: Any) -> list[Size]:
    """The turns of the log as the planner sees them."""
    last = log.last_index(scene.world.process, SPACE, scene.id)
    there = conversations.find(scene.world.process, SPACE, scene.id)
    closings = there.closings if there else []
    return [turn.size(closings) for turn in log.read(scene.world.process, SPACE, scene.id, range(1, last + 1))]


def wrong_turns(scene: Any) -> Iterator[str]:
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
        elif (turn.user_message, turn.assistant_message) != (draft.user_message, draft.assistant_message):
            yield f"another content: {message_id}"
        else:
            for place, call in enumerate(draft.tool_calls):
                apart = scene.bucket.objects.get(TOOL_RESULT.key(SPACE, scene.id, turn.turn_index, place))
                shown = turn.tool_calls[place]
                result = json.loads(apart.body) if apart and shown.result_size else shown.result
                if result != call.result:
                    yield f"another result of a tool: {message_id}"


def _wrong_erasure(scene: Any, turn: Turn, draft: Draft) -> Iterator[str]:
    if not turn.erased_on:
        yield f"not erased: turn {turn.turn_index}"
    # Each draft repeats a number of its own.
    words = draft.user_message[:11].encode()
    if len(words) == 11:
        yield from (f"words are left in {key}" for key, one in scene.bucket.objects.items() if words in one.body)
    results = TOOL_RESULT.prefix(SPACE, scene.id, turn.turn_index)
    yield from (f"a result is left: {key}" for key in scene.bucket.objects if key.startswith(results))


def wrong_blocks(scene: Any, layers: Layers) -> Iterator[str]:
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


def _planned(scene: Any, at: At, turns: list[Size], start: Place, boundary: BlockBoundary) -> bool:
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
    # Who fixed it before the conversation was closed within it.
    within = any(turn.close and turn.index < boundary.end for turn in left)
    if within and gives(
        [replace(turn, close=False) if turn.index < boundary.end else turn for turn in left], over=True
    ):
        return True
    # Who saw the log end there, and waited for long enough by its own clock.
    return (
        scene.late
        and boundary.reason == "time"
        and gives([turn for turn in left if turn.index <= boundary.end], over=True)
    )


def wrong_groups(scene: Any, layers: Layers) -> Iterator[str]:
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


def wrong_jobs(scene: Any, layers: Layers) -> Iterator[str]:
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


def wrong_notes(scene: Any, layers: Layers) -> Iterator[str]:
    """What a block names is a note exactly once: live, or in one record; and no other note was captured."""
    world, prefix = scene.world, f"{IN_VERSION.prefix(SPACE, scene.id, layers.at.version)}captures/"
    decided = [BlockCapture.from_bytes(one.body) for key, one in scene.bucket.objects.items() if key.startswith(prefix)]
    named = [one.note_id for block in decided for one in block.notes]
    times = Counter(
        [
            *world.live_ids(SPACE),
            *(source.note_id for record in records_of(scene.bucket.objects, SPACE) for source in record.notes),
        ]
    )
    if scene.erasing:
        # What was erased is a stub in its record, and its block names nothing.
        yield from (f"named, but no note: {one}" for one in named if one not in times)
        return
    yield from (f"a note that no block names: {one}" for one in times if one not in named)
    yield from (f"{times[one]} notes instead of one: {one}" for one in named if times[one] != 1)
    there = summaries.current(world.process, layers, 1)
    told = {one for summary in summaries.load(world.process, layers, 1, there) for one in summary.notes}
    if layers.at.conversation.capture == "notes" and told != set(named):
        yield f"summaries tell of {told}, blocks of {named}"


def wrong_summaries(scene: Any, layers: Layers) -> Iterator[str]:
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
