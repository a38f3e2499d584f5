"""How steps grow with what years leave behind in one space: records, notes, turns, messages, spaces of one token.

What is there before the step is written straight into the bucket, in the form in which the service writes it.
"""

import json
from collections.abc import Callable
from dataclasses import replace

from benchmarks.memories import Embedding, fill
from benchmarks.scale.growth import Case, LargeWorld, Step
from livemem.access.principal import Principal
from livemem.bank import history
from livemem.conversations import conversation as conversations
from livemem.conversations import log, removal
from livemem.conversations import reading as turns_reading
from livemem.conversations.conversation import NewConversation
from livemem.conversations.turn import Draft
from livemem.memories import reading, storing
from livemem.memories.memory import MemoryDraft
from livemem.process import Process
from livemem.recall import start
from livemem.recall.start import StartRequest
from livemem.rooms import digest_input, posting
from livemem.rooms.digest_work import DigestOrder, carry_out
from livemem.rooms.message import MessageDraft
from livemem.spaces import directory, lifecycle
from livemem.store.bucket import HEAD, RECORD, ROOM_MESSAGE, TURN
from livemem.upkeep import sweep
from tests.support.chatter import Listener
from tests.support.world import INVOCATION, World

SPACE = "demo"


def _put(world: World, key: str, body: bytes) -> None:
    world.inner.put_object(Bucket="bucket", Key=key, Body=body)


def _recorded(count: int) -> World:
    """A space with so many consolidations."""
    world = LargeWorld()
    world.create_space(SPACE)
    world.note("the first one")
    world.consolidate()
    (first,) = world.keys(RECORD.prefix(SPACE))
    record = json.loads(world.inner.objects[first].body)
    for number in range(2, count + 1):
        name = first.rpartition("/")[2].replace("000001_", f"{number:06d}_")
        _put(world, f"{RECORD.prefix(SPACE)}{name}", json.dumps({**record, "number": number}).encode())
    head = json.loads(world.inner.objects[HEAD.key(SPACE)].body)
    _put(world, HEAD.key(SPACE), json.dumps({**head, "changes": count}).encode())
    world.new_process()
    return world


def _history(count: int) -> tuple[World, Step]:
    return _recorded(count), lambda process: history.page(process, SPACE, limit=20, before=None)


def _start(count: int) -> tuple[World, Step]:
    return _recorded(count), lambda process: start.start(process, SPACE, StartRequest())


def _daily(count: int) -> tuple[World, Step]:
    world = _recorded(count)
    # What was written lately is read to see whether it can be read.
    world.clock.move(30 * 86_400)
    return world, lambda process: sweep.sweep(process, deadline=world.clock() + INVOCATION, everything=True)


def _mine(count: int) -> tuple[World, Step]:
    world, names = LargeWorld(), [f"s{number:05}" for number in range(count)]
    for name in names:
        world.create_space(name)
    who = Principal("ann", frozenset({"read"}), frozenset(names))
    return world, lambda process: directory.page(process, who, limit=20, after=None)


def _objects(count: int) -> World:
    world = LargeWorld()
    world.create_space(SPACE)
    world.note("the first one")
    (first,) = [key for key in world.keys(f"{SPACE}/live/") if key.endswith(".md")]
    body = world.inner.objects[first].body
    for number in range(1, count):
        _put(world, f"{first[: -len('00000000.md')]}{number:08x}.md", body)
    return world


def _deletion(count: int) -> tuple[World, Step]:
    return _objects(count), lambda process: lifecycle.delete(process, SPACE, SPACE)


def _talk(count: int) -> tuple[World, str]:
    """A conversation with so many turns."""
    world = LargeWorld()
    world.create_space(SPACE)
    talk = conversations.create(world.process, SPACE, "ann", NewConversation())
    log.append(world.process, SPACE, talk.conversation_id, "ann", Draft("Hello.", "Hello yourself."))
    first = world.inner.objects[TURN.key(SPACE, talk.conversation_id, 1)].body
    for number in range(2, count + 1):
        body = json.dumps({**json.loads(first), "index": number}).encode()
        _put(world, TURN.key(SPACE, talk.conversation_id, number), body)
    return world, talk.conversation_id


def _of_talk(step: Callable[[Process, str], object]) -> Callable[[int], tuple[World, Step]]:
    def make(count: int) -> tuple[World, Step]:
        world, conversation_id = _talk(count)
        return world, lambda process: step(process, conversation_id)

    return make


def _append(process: Process, conversation_id: str) -> None:
    log.append(process, SPACE, conversation_id, "ann", Draft("One more.", "Yes."))


def _removal(process: Process, conversation_id: str) -> None:
    removal.delete(process, SPACE, conversation_id)


def _turns(process: Process, conversation_id: str) -> None:
    turns_reading.turns(process, SPACE, conversation_id, limit=20)


def _room(count: int) -> tuple[World, Step]:
    """A room that gets so many messages on a day. Its digests begin when it holds as many as one of them takes."""
    world = LargeWorld()
    world.llm = Listener()  # type: ignore[assignment]
    world.create_space(SPACE)

    def step(process: Process) -> None:
        for first in range(0, count, digest_input.MOST):
            writer = world.new_process()
            for batch in range(first, min(first + digest_input.MOST, count), posting.BATCH):
                drafts = [MessageDraft("Ann", f"Message {batch + one} of the day.") for one in range(posting.BATCH)]
                posting.post_all(writer, SPACE, "general", drafts)
                world.clock.move(1)
            carry_out(process, SPACE, DigestOrder(forced=True), world.clock() + INVOCATION)
        assert not world.keys(ROOM_MESSAGE.prefix(SPACE))

    return world, step


def _memories(step: Callable[[Process], object]) -> Callable[[int], tuple[World, Step]]:
    """A space that holds so many memories."""

    def make(count: int) -> tuple[World, Step]:
        world, model = LargeWorld(embeddings_api_url="http://embeddings.invalid", embeddings_model="m"), Embedding(384)
        world.create_space(SPACE)
        world.process = world.with_parts(embed=model)
        fill(world.process, SPACE, count, model)
        return world, lambda process: step(replace(process, embed=model))

    return make


def _store_memory(process: Process) -> None:
    storing.store(process, SPACE, "ann", MemoryDraft("The mill stands at the river."))


def _search_memories(process: Process) -> None:
    assert reading.answers(process, SPACE, "Where is the mill?", kind="fact").by == "vector"


CASES = (
    Case("a page of 20 changes", "former consolidations", 10, _history),
    Case("a start of an agent", "former consolidations", 10, _start),
    Case("the daily look at one space", "former consolidations", 10, _daily),
    Case("a page of 20 spaces, by a token that lists its spaces", "spaces of the token", 20, _mine),
    Case("a space is deleted", "objects", 10_000, _deletion),
    Case("a turn is appended", "turns of the conversation", 500, _of_talk(_append)),
    Case("a page of 20 turns", "turns of the conversation", 500, _of_talk(_turns)),
    Case("a conversation is deleted", "turns of the conversation", 500, _of_talk(_removal)),
    Case("all digests of a day of a room", "messages of the day", 1_000, _room),
    Case("a memory is stored by a new process", "memories", 199, _memories(_store_memory)),
    Case("a search of memories by a new process", "memories", 199, _memories(_search_memories)),
)
