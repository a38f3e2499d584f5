"""Whether the simulated account asks the store for the same as the real service: the requests of single actions.

A proxy before the store of the local runtime counts them there.
"""

import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from benchmarks import requests
from benchmarks.chaos.programs import BUCKET
from benchmarks.requests import SPACE, Bench
from benchmarks.scale.account import Account
from benchmarks.scale.growth import LargeWorld
from benchmarks.scale.virtual import Schedule
from livemem.bank import files
from livemem.conversations import conversation, log
from livemem.conversations.conversation import NewConversation
from livemem.conversations.turn import Draft
from livemem.memories import storing
from livemem.memories.memory import MemoryDraft
from livemem.notes import appending
from livemem.notes.appending import NoteDraft
from livemem.process import Process
from livemem.recall import search, start
from livemem.recall.search_request import SearchRequest
from livemem.recall.start import StartRequest
from livemem.rooms import posting
from livemem.rooms.message import MessageDraft
from livemem.store.bucket import BANK_FILE

TIMES = 3
"""How often each action is done. What most of the times take counts: the first ones fill caches."""
QUIET_SECONDS = 0.4
"""Before each action, so that what the last one has begun in the background is not counted."""
NOTES = "The store keeps all notes."
FILE, BANK = "facts.md", b"# Facts\n\nThe store keeps all notes.\n"
AS_ON_AWS = {"EMBEDDINGS_API_URL": "off", "SESSION_FOLDS": "false"}
"""The simulated account has no embedding model, and folds at no end of a session."""
Take = Callable[[], object]


@dataclass(frozen=True)
class Alike:
    """The requests of an action by verb."""

    action: str
    local: Counter[str]
    simulated: Counter[str]


def _fact() -> str:
    """Words that no other memory has, so that no model is asked whether it says the same."""
    return " ".join(secrets.token_hex(4) for _ in range(6))


def _usual(counted: list[Counter[str]]) -> Counter[str]:
    """Those that most of the times took, or else the fewest."""
    (most, times), *_ = Counter(tuple(sorted(one.items())) for one in counted).most_common(1)
    return Counter(dict(most)) if times > 1 else min(counted, key=Counter.total)


def on_local_runtime() -> Mapping[str, Counter[str]]:
    """On a runtime that is started for it, over HTTP."""
    with requests.running(0, TIMES, variables=AS_ON_AWS) as bench:
        path = f"/spaces/{SPACE}"
        bench.ok("POST", f"{path}/notes", {"category": "decision", "content": NOTES})
        bench.client.put_object(Bucket=BUCKET, Key=BANK_FILE.key(SPACE, FILE), Body=BANK)
        talk = bench.ok("POST", f"{path}/conversations", {})["conversation_id"]
        turn = {"user_message": "Hello.", "assistant_message": "Hello yourself."}
        actions: Mapping[str, Take] = {
            "a note": lambda: bench.ok("POST", f"{path}/notes", {"category": "progress", "content": NOTES}),
            "a turn": lambda: bench.ok("POST", f"{path}/conversations/{talk}/turns", turn),
            "a message": lambda: bench.ok(
                "POST", f"{path}/rooms/general/messages", {"author": "Ann", "content": "Hi."}
            ),
            "a memory": lambda: bench.ok("POST", f"{path}/memories", {"content": _fact()}),
            "a bank file": lambda: bench.ok("GET", f"{path}/bank/{FILE}"),
            "a search": lambda: bench.ok("GET", f"{path}/search?q=store&scope=all"),
            "a start": lambda: bench.ok("GET", f"{path}/start"),
        }
        return {name: _usual([_seen(bench, take) for _ in range(TIMES)]) for name, take in actions.items()}


def _seen(bench: Bench, take: Take) -> Counter[str]:
    time.sleep(QUIET_SECONDS)
    bench.seen()
    take()
    return requests.verbs(bench.seen())


def in_the_simulation() -> Mapping[str, Counter[str]]:
    """In the simulated account, by the same actions."""
    world = LargeWorld()
    world.create_space(SPACE)
    world.note(NOTES, space_id=SPACE)
    world.inner.put_object(Bucket="bucket", Key=BANK_FILE.key(SPACE, FILE), Body=BANK)
    account = Account(world, Schedule(world.clock), {})
    talk = conversation.create(world.process, SPACE, "admin", NewConversation()).conversation_id
    actions: Mapping[str, tuple[str, Callable[[Process], object]]] = {
        "a note": ("ingest", lambda one: appending.append(one, SPACE, "admin", NoteDraft("progress", NOTES))),
        "a turn": (
            "conversations",
            lambda one: log.append(one, SPACE, talk, "admin", Draft("Hello.", "Hello yourself.")),
        ),
        "a message": ("rooms", lambda one: posting.post(one, SPACE, "general", MessageDraft("Ann", "Hi."))),
        "a memory": ("memories", lambda one: storing.store(one, SPACE, "admin", MemoryDraft(_fact()))),
        "a bank file": ("reads", lambda one: files.read(one, SPACE, FILE)),
        "a search": ("search", lambda one: search.search(one, SPACE, SearchRequest.of("store", scope="all"))),
        "a start": ("search", lambda one: start.start(one, SPACE, StartRequest())),
    }
    return {
        name: _usual([_asked(account, function, f"{name} {turn}", work) for turn in range(TIMES)])
        for name, (function, work) in actions.items()
    }


def _asked(account: Account, function: str, name: str, work: Callable[[Process], object]) -> Counter[str]:
    def do(process: Process, _: datetime) -> Any:
        return work(process)

    ended: list[Any] = []
    moment = account.schedule.now + QUIET_SECONDS
    account.schedule.at(moment, lambda: ended.append(account.request(function, name, do)))
    while not ended:
        # No longer than it takes: what a process remembers for a second counts here as there.
        account.schedule.run(account.schedule.now + 0.05)
    assert not account.failed, account.failed
    return account.tally.requests[name]


def compare() -> Iterator[Alike]:
    """Each action in both worlds."""
    local, simulated = on_local_runtime(), in_the_simulation()
    return (Alike(name, counted, simulated[name]) for name, counted in local.items())


def table() -> Iterator[str]:
    """The lines of the table."""
    yield "| action | requests on the local runtime | in the simulated account |"
    yield "|---|---|---|"
    for one in compare():
        yield f"| {one.action} | {_told(one.local)} | {_told(one.simulated)} |"


def _told(asked: Counter[str]) -> str:
    return ", ".join(f"{count} {verb}" for verb, count in sorted(asked.items())) or "none"
