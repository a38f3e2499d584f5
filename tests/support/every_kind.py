"""An archive of a space that holds a document of every kind, and archives with one of them changed."""

import json
from dataclasses import replace
from functools import cache
from hashlib import sha256
from typing import Any

from livemem.conversations import orders
from livemem.conversations.capture import BlockCapture, CapturedNote
from livemem.conversations.turn import ToolCall
from livemem.erasure import erasure
from livemem.memories import log, storing
from livemem.notes import appending, idempotency
from livemem.notes.appending import NoteDraft
from livemem.notes.note import CopiedFrom
from livemem.store import keys
from livemem.store.bucket import CAPTURE
from tests.support.archives import Content, exported, targz, unpack
from tests.support.chatter import Chatter, fails_on
from tests.support.memories import store
from tests.support.talk import Talk
from tests.support.world import EVERYONE, INVOCATION, World

NOTE_ID = "20260220T140000_ann_todo_00000000"


@cache
def files() -> dict[str, bytes]:
    """The files of the archive by name below the space; not to be changed."""
    world = World()
    world.create_space()
    world.note("first")
    gone = world.note("to be erased")
    world.consolidate()
    world.undo(1)
    idempotency.append_once(world.process, "demo", "bob", NoteDraft("todo", "once"), "key-1")
    erasure.erase(world.process, EVERYONE, "demo", [gone.note_id], world.clock() + INVOCATION)
    source = CopiedFrom("other", gone.note_id)
    appending.append(world.process, "demo", "ann", NoteDraft("todo", "passed on", source=source))
    _remember(world)
    _listen(world)
    _talk(world)
    return {path.removeprefix("demo/"): body for path, body in unpack(exported(world)).items()}


def _remember(world: World) -> None:
    for content in ("The port is 8080.", "Ann likes tea."):
        store(world.process, content, op_id=content)
    state = log.load(world.process, "demo", "fact")
    storing.keep_snapshot(world.process, "demo", "fact", replace(state, snapshot=-log.SNAPSHOT_EVERY), None)


def _listen(world: World) -> None:
    chatter = Chatter(world)
    chatter.llm.default = fails_on("poison")
    chatter.say("fact one", message_id="m1")
    chatter.say("poison", room="cellar")
    for _ in range(4):
        chatter.digest()
        world.clock.move(3_600)
    chatter.say("fact two", message_id="m2")


def _talk(world: World) -> None:
    talk = Talk(world=world, cwd="/home/ann")
    call = ToolCall(name="read", arguments={"path": "a.md"}, result="x" * 40_000, duration_ms=1.5)
    talk.say("u" * 700, "a" * 700, message_id="with a tool", tool_calls=[call])
    talk.said(*[700] * 9)
    talk.update()
    note = CapturedNote(note_id=NOTE_ID, content="The port is 8080.", turns=(1, 2))
    capture = BlockCapture(turns=(1, 2), notes=[note])
    world.store.put(CAPTURE.key("demo", talk.id, 1, 1), capture.to_bytes())
    orders.rebuild(talk.process, "demo", talk.id, None, {"concurrency": 5})
    world.settle()


def packed(changed: dict[str, bytes], folder: str = "demo", *, more: list[tuple[str, Content]] | None = None) -> bytes:
    """An archive of a space whose manifest fits these files."""
    head = json.loads(changed[keys.MANIFEST])
    known = {item["name"]: item for item in head.pop("objects")}
    rest = {name: body for name, body in changed.items() if name != keys.MANIFEST}
    listed = [
        {**known.get(name, {}), "name": name, "size": len(body), "sha256": sha256(body).hexdigest()}
        for name, body in rest.items()
    ]
    text = json.dumps(head, indent=2).removesuffix("\n}") + ',\n  "objects": [\n'
    text += ",\n".join(f"    {json.dumps(item)}" for item in listed) + "\n  ]\n}\n"
    members: list[tuple[str, Content]] = [(f"{folder}/{name}", body) for name, body in rest.items()]
    return targz([*members, (f"{folder}/{keys.MANIFEST}", text.encode()), *(more or [])])


def changed(body: bytes, path: tuple[str | int, ...], value: Any) -> bytes:
    """The document with another value at this place; a value of type bytes stands there as it is."""
    document = json.loads(body)
    place = document
    for part in path[:-1]:
        place = place[part]
    place[path[-1]] = "@@@" if isinstance(value, bytes) else value
    text = json.dumps(document).encode()
    return text.replace(b'"@@@"', value) if isinstance(value, bytes) else text
