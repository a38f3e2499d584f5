"""A space with every kind of document, each of which can be damaged; and all that reads it, over HTTP.

What a damaged object does to whoever reads its space is told by `answers`: the status of each route, and which object
the answer names.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from livemem.ask import question_work as asking
from livemem.ask.question import AskRequest
from livemem.bank import corrections
from livemem.conversations import conversation as conversations
from livemem.conversations import log, orders, update
from livemem.conversations.conversation import NewConversation
from livemem.conversations.parameters import Parameters
from livemem.conversations.turn import Draft as TurnDraft
from livemem.conversations.turn import ToolCall
from livemem.erasure import erasure
from livemem.llm.client import Messages, Reply
from livemem.memories import storing
from livemem.memories.memory import MemoryDraft
from livemem.notes import appending, idempotency
from livemem.rooms import digest_work as digesting
from livemem.rooms import posting
from livemem.rooms.message import MessageDraft as Said
from livemem.store import keys
from tests.support import chatter, talk
from tests.support.functions import request
from tests.support.mcp import Agents, started
from tests.support.world import (
    BOOTSTRAP_KEY,
    EVERYONE,
    INVOCATION,
    ScriptedLlm,
    World,
    append_everything,
    read_prompt,
    verdicts,
)

SPACE = "/v1/spaces/{space_id}"
DAMAGES = {
    "empty": b"",
    "half": b'{"number": 1, "notes": [{"note_id',
    "another shape": b'{"other": ["shape"]}',
    "no text": b"\xff\xfe\x00{",
}
NAMED = "fact one: Ann leads the harbour team"


class Model(ScriptedLlm):
    """Answers whatever it is asked: it folds, summarises, digests, and finds no two memories the same."""

    def __call__(
        self, messages: Messages, max_tokens: int | None, timeout: float, schema: dict[str, Any] | None = None
    ) -> Reply:
        fields = (schema or {}).get("properties", {})
        if "verdicts" in fields:
            text = verdicts(messages, lambda new, there: "different")
        elif "# Messages of the room" in messages[1]["content"]:
            text = chatter.notes_facts(messages)
        elif "key_findings" in fields:
            text = talk.extract(messages)
        else:
            text = append_everything(read_prompt(messages))
        return Reply(text, {"prompt_tokens": 100, "completion_tokens": 20})


@dataclass
class Whole:
    """The space, and the ids in it that routes ask for."""

    world: World
    ids: dict[str, str]


def built() -> Whole:
    """The space `demo` with every kind of document that lasts."""
    world = World(embeddings_api_url=None)
    world.llm = Model()
    process = world.process
    world.create_space(threshold=0)
    first = world.note("The harbour opens at dawn.")
    idempotency.append_once(process, "demo", "bob", appending.NoteDraft("todo", "once"), "key-1")
    world.clock.move(2)
    run = world.consolidate()
    world.clock.move(2)
    corrections.write_file(process, "ann", "demo", "hand.md", "# Hand\n\nBy hand.\n", None)
    world.clock.move(2)
    world.note("The crane is repaired.")
    world.consolidate()
    world.clock.move(2)
    for number in range(5):
        storing.store(process, "demo", "ann", MemoryDraft(f"fact {number}: {'abcde'[number] * 9}"), op_id=f"m{number}")
    memory_id = storing.store(process, "demo", "ann", MemoryDraft(NAMED)).memory.memory_id
    conversation_id = _conversation(world)
    _rooms(world)
    asked = asking.ask(
        process,
        "demo",
        "ann",
        AskRequest("Who leads?"),
        may_write=True,
        until=process.clock() + timedelta(seconds=20),
        idempotency_key="q1",
        pause=world.pass_time,
    ).job
    assert asked
    gone = world.note("Erase me, please, all of it.")
    erased = erasure.erase(process, EVERYONE, "demo", [gone.note_id], process.clock() + INVOCATION)
    world.note("Still live.")
    backup = world.back_up()
    ids = {
        "note_id": first.note_id,
        "consolidation": f"demo.consolidation.{run.job_id}",
        "memory_id": memory_id,
        "conversation_id": conversation_id,
        "question": f"demo.question.{asked.job_id}",
        "erasure": f"demo.erasure.{erased.job_id}",
        "backup_id": backup.job_id,
        "slot": next(key.split("/")[2] for key in world.keys("demo/_digests/") if key.endswith("/input.json")),
    }
    ids["digest"] = f"demo.digest.{ids['slot']}"
    world.queued.clear()
    return Whole(world, ids)


def _conversation(world: World) -> str:
    process = world.process
    wanted = NewConversation(title="Harbour", cwd="/work", parameters=Parameters(batch_delay_ms=0, group_chars=2_000))
    other = conversations.create(process, "demo", "ann", NewConversation(title="Other"))
    log.append(process, "demo", other.conversation_id, "ann", TurnDraft("Hello", "Hi", message_id="o1"))
    world.clock.move(1)
    made = conversations.create(process, "demo", "ann", wanted).conversation_id
    for number in range(8):
        world.clock.move(1)
        calls = [ToolCall(name="read", result="x" * 40_000)] if number == 1 else []
        turn = TurnDraft("user " * 300, "assistant " * 300, calls, message_id=f"t{number}")
        log.append(process, "demo", made, "ann", turn)
    until = world.clock() + INVOCATION
    assert update.look(process, "demo", made, until).outcome == "done"
    orders.rebuild(process, "demo", made, None, {"group_chars": 2_500})
    while world.queued:
        world.work()
    return made


def _rooms(world: World) -> None:
    process = world.process
    for number in range(3):
        world.clock.move(1)
        posting.post(process, "demo", "general", Said("ann", chatter.fact(number), message_id=f"r{number}"))
    done = digesting.carry_out(process, "demo", digesting.DigestOrder(forced=True), world.clock() + INVOCATION)
    assert [one.outcome for one in done] == ["done"]
    world.clock.move(3_600)
    posting.post(process, "demo", "general", Said("ann", chatter.fact(7), message_id="r7"))


def documents(whole: Whole) -> dict[str, str]:
    """One key of each kind of document of the space, by what it is called: of what counts, and that others rest on."""
    found: dict[str, list[str]] = {}
    for key in whole.world.keys("demo/"):
        kind = kind_of(whole, key.removeprefix("demo/"))
        if kind:
            found.setdefault(kind, []).append(key)
    # The record of the note that is asked for, and the version that counts; else one in the middle.
    last = {kind: -1 for kind in found if kind.startswith(("v/", "memories/facts/snapshot"))}
    place = {"_consolidations": 0} | last
    return {kind: some[place.get(kind, (len(some) - 1) // 2)] for kind, some in found.items()}


def kind_of(whole: Whole, name: str) -> str | None:
    """What kind of document it is; None for one that any bytes can be in, and for the head."""
    parts = name.split("/")
    if name.startswith(("live/", "bank/", "_search/", "_vectors/", "_by_cwd/", "rooms/")) or name == keys.META:
        return None
    if parts[0] == "conversations":
        if parts[1] != whole.ids["conversation_id"] or parts[2] == "claims":
            return None
        version = re.fullmatch(r"v[0-9]+", parts[2]) and len(parts) > 3
        return "/".join(["v", *parts[3:5]]) if version else parts[2]
    if parts[0] == "_digests":
        return "/".join(("_digests", parts[2])) if len(parts) > 2 and parts[2] != "claim.json" else None
    if parts[0] == "memories":
        return "/".join(parts[:3]) if name.endswith(".json") else None
    if parts[0] in ("_asks", "sessions"):
        return parts[0] if name.endswith(".json") and "claim" not in name and "open" not in parts else None
    if name.endswith(".json") and name not in ("_lease.json", "_runs/by_hand.json"):
        return parts[0]
    return None


READS: Mapping[str, str] = {
    **{
        f"GET {SPACE}{path}": "reads"
        for path in (
            "",
            "/rules",
            "/summary",
            "/synthesis",
            "/notes",
            "/notes/{note_id}",
            "/bank",
            "/bank/{path+}",
            "/consolidations",
            "/consolidations/{number}",
        )
    },
    "GET /v1/spaces": "reads",
    "GET /v1/usage": "reads",
    f"GET {SPACE}/search": "search",
    f"GET {SPACE}/start": "search",
    f"GET {SPACE}/read": "search",
    f"GET {SPACE}/stale": "search",
    f"GET {SPACE}/context": "search",
    **{
        f"GET {SPACE}/conversations{path}": "conversations"
        for path in (
            "",
            "/{conversation_id}",
            "/{conversation_id}/turns",
            "/{conversation_id}/turns/{turn_index}",
            "/{conversation_id}/summaries",
        )
    },
    f"GET {SPACE}/memories": "memories",
    f"GET {SPACE}/memories/changes": "memories",
    f"GET {SPACE}/memories/{{memory_id}}": "memories",
    f"GET {SPACE}/rooms": "rooms",
    f"GET {SPACE}/rooms/{{room}}/messages": "rooms",
    "GET /v1/backups": "archives",
    "GET /v1/jobs": "archives",
    "GET /v1/jobs summaries": "archives",
    **{f"GET /v1/jobs/{{job}} {kind}": "archives" for kind in ("consolidation", "question", "digest", "erasure")},
}
QUERIES = {
    "search": {"q": "harbour"},
    "context": {"q": "harbour"},
    "memories": {"q": "harbour"},
    "read": {"id": "bank/log.md"},
}


@dataclass(frozen=True)
class Answer:
    """What a route answered; `names` are the keys of objects that it says cannot be read."""

    status: int
    code: str
    names: frozenset[str]


def http(agents: Agents, function: str, route: str, ids: Mapping[str, str], **rest: Any) -> tuple[int, Any]:
    """Status and body of an answer."""
    method, path, *_ = route.split(" ")
    values = {"space_id": "demo", "path": "log.md", "number": "1", "turn_index": "2", "room": "general", **ids}
    places = {name: value for name, value in values.items() if f"{{{name}}}" in path or f"{{{name}+}}" in path}
    return agents.http(function, request(method, path, token=BOOTSTRAP_KEY, **{**places, **rest}))


def answers(agents: Agents, whole: Whole) -> dict[str, Answer]:
    """What each route that reads answers."""
    found = {}
    for route, function in READS.items():
        last = route.rpartition("/")[2]
        ids = {**whole.ids, "job": whole.ids.get(route.rpartition(" ")[2], "")}
        query = QUERIES.get(last)
        if last == "jobs summaries":
            query = {"space_id": "demo", "kind": "summaries", "subject": ids["conversation_id"]}
        status, body = http(agents, function, route, ids, query=query)
        found[route] = Answer(status, (body or {}).get("code", ""), frozenset(named(body)))
    return found


def named(body: Any) -> Iterator[str]:
    """The keys that an answer names as those of objects that cannot be read."""
    if isinstance(body, dict):
        yield from body.get("unreadable") or ()
        if "code" in body and body.get("key"):
            yield body["key"]
        for value in body.values():
            yield from named(value)
    elif isinstance(body, list):
        for value in body:
            yield from named(value)


def opened(patch: pytest.MonkeyPatch, whole: Whole) -> tuple[Agents, Whole]:
    """The same space in a world of its own, with a service that works in it."""
    twin = forked(whole)
    return started(patch, twin.world), twin


def forked(whole: Whole) -> Whole:
    """The same space in a world of its own."""
    twin = whole.world.fork()
    twin.llm = Model()
    twin.new_process()
    return Whole(twin, whole.ids)


def damage(world: World, key: str, body: bytes) -> None:
    """Somebody writes other bytes over the object."""
    world.inner.put_object(Bucket="bucket", Key=key, Body=body)
    world.new_process()


def works(whole: Whole) -> dict[str, Any]:
    """What becomes of everything that works on the space: its result, or the error."""
    world = whole.world
    process = world.process
    world.clock.move(3_600)
    done: dict[str, Any] = {}

    def run(name: str, act: Any) -> None:
        try:
            done[name] = act()
        except Exception as error:  # noqa: BLE001 - which one it is is what is asked
            done[name] = error

    soon = process.clock() + INVOCATION
    run("note", lambda: world.note("One more, after all that.").status)
    run("consolidation", lambda: world.consolidate().state)
    run(
        "message", lambda: posting.post(process, "demo", "general", Said("ann", chatter.fact(9), message_id="r9")).fresh
    )
    run(
        "digest",
        lambda: digesting.carry_out(process, "demo", digesting.DigestOrder(forced=True, by_hand=True), soon)[0].outcome,
    )
    run("memory", lambda: storing.store(process, "demo", "ann", MemoryDraft("fact 77: zzzzzzzzz")).fresh)
    conversation = whole.ids["conversation_id"]
    draft = TurnDraft("And then?", "That was it.", message_id="t99")
    run("turn", lambda: log.append(process, "demo", conversation, "ann", draft).fresh)
    run("summaries", lambda: update.look(process, "demo", conversation, soon).outcome)
    run("backup", lambda: world.back_up(description="after").complete)

    def ask() -> str | None:
        wanted = AskRequest("Who leads the harbour?")
        until = process.clock() + timedelta(seconds=20)
        return asking.ask(
            process, "demo", "ann", wanted, may_write=True, until=until, idempotency_key="q2", pause=world.pass_time
        ).outcome

    run("ask", ask)
    return done
