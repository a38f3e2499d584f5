"""What a day costs that hooks record: calls of the LLM, captured notes, requests to the store, time of the hooks.

    .venv/bin/python -m benchmarks.day [--turns 40] [--sessions 3]

A transcript grows turn by turn; the real hook reads it, and the real domain takes it in, on the simulated world: a
bucket in memory, so the time of hooks is theirs alone. Each turn's event is worked off at once. The model is scripted:
it names one note wherever it is asked for notes. The first row is as hooks kept a session before: a summary of each
turn, asked of the model whatever its length, and nothing captured.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from benchmarks.conversations import drafts
from live_memory.cli.init.hooks.running import Hook
from livemem.conversations import conversation as conversations
from livemem.conversations import log, reading, turn_import, update
from livemem.conversations.conversation import NewConversation
from livemem.conversations.parameters import Parameters
from tests.support import items as turn_items
from tests.support.talk import Summariser, captures
from tests.support.world import World

SPACE = "demo"
DECIDED = {"category": "decision", "content": "What was decided in this block.", "turns": []}
BEFORE: Mapping[str, Any] = {"profile": "turns", "parameters": {"verbatim_chars": 0}}
MINUTES = 5
"""Between two turns; an hour between two sessions."""


@dataclass
class Memory:
    """The service as hooks see it, in this process. `instead` is how conversations are kept, if not as hooks ask."""

    world: World
    instead: Mapping[str, Any] | None = None
    ids: list[str] = field(default_factory=list)

    def markdown(self, name: str, arguments: Mapping[str, Any]) -> str:
        """The start of a session."""
        del name, arguments
        return ""

    def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Carry out an operation."""
        return getattr(self, name)(arguments)

    def append_turn(self, arguments: Mapping[str, Any]) -> Any:
        """Take turns in."""
        drafts = turn_items.drafts(arguments["items"])
        turn_import.take_in(self.world.process, SPACE, arguments["conversation_id"], "ann", drafts)
        return {"left": 0}

    def list_conversations(self, arguments: Mapping[str, Any]) -> Any:
        """Those of a folder."""
        where = {name: arguments.get(name) for name in ("cwd", "host")}
        found, _ = reading.page(self.world.process, SPACE, **where, limit=arguments["limit"], after=None)
        known = [one.conversation for one in found]
        return {"items": [{"conversation_id": one.conversation_id, "title": one.title} for one in known]}

    def create_conversation(self, arguments: Mapping[str, Any]) -> Any:
        """Begin one."""
        kept = self.instead if self.instead is not None else arguments
        wanted = NewConversation(
            title=arguments["title"],
            cwd=arguments.get("cwd"),
            host=arguments.get("host"),
            profile=kept["profile"],
            parameters=Parameters(batch_delay_ms=0, **kept["parameters"]),
            capture=kept.get("capture", "off"),
        )
        made = conversations.create(self.world.process, SPACE, "ann", wanted)
        self.ids.append(made.conversation_id)
        return {"conversation_id": made.conversation_id}

    def close_conversation(self, arguments: Mapping[str, Any]) -> Any:
        """Close one; as hooks kept sessions before, none was closed."""
        if self.instead is None:
            log.close(self.world.process, SPACE, arguments["conversation_id"])
        return {}


def lived(turns: int, sessions: int, instead: Mapping[str, Any] | None) -> list[str]:
    """A day; returns the row of the table."""
    world = World()
    world.create_space(SPACE)
    llm = Summariser(captures(DECIDED))
    world.llm = llm  # type: ignore[assignment]
    memory, took = Memory(world, instead), 0.0
    world.client.reset()

    def settle() -> None:
        world.queued.clear()
        for one in memory.ids:
            update.look(world.process, SPACE, one, world.clock() + timedelta(minutes=10))

    with tempfile.TemporaryDirectory() as folder:
        hook = Hook(lambda _: memory, Path(folder) / "state", print, time.monotonic)

        def timed(event: str, payload: Mapping[str, Any]) -> float:
            begun = time.perf_counter()
            hook.run("claude-code", event, SPACE, json.dumps(payload))
            return time.perf_counter() - begun

        said = drafts(turns)
        for session in range(sessions):
            path = Path(folder) / f"{session}.jsonl"
            payload = {"session_id": f"s{session}", "transcript_path": str(path), "cwd": "/home/ann/ferry"}
            for draft in said[session::sessions]:
                _write(path, draft.user_message, draft.assistant_message)
                took += timed("Stop", payload)
                settle()
                world.pass_time(MINUTES * 60)
            took += timed("SessionEnd", payload)
            settle()
            world.pass_time(3_600)
            settle()
    requests = len(world.client.requests)
    calls, notes = len(llm.asked), len(world.live_ids(SPACE))
    return [str(turns), str(calls), str(notes), f"{requests:,}", f"{took:.2f}"]


def _write(path: Path, user: str, assistant: str) -> None:
    with path.open("a") as file:
        for role, text in (("user", user), ("assistant", assistant)):
            file.write(json.dumps({"type": role, "message": {"role": role, "content": text}}) + "\n")


def main(say: Callable[[str], None] = print) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="What a day by hooks costs.")
    parser.add_argument("--turns", type=int, default=40)
    parser.add_argument("--sessions", type=int, default=3)
    asked = parser.parse_args()
    say("| a day by hooks | turns | LLM calls | notes captured | requests to the store | seconds of hooks |")
    say("|---|---|---|---|---|---|")
    for name, instead in (("before", BEFORE), ("now", None)):
        say(f"| {name} | {' | '.join(lived(asked.turns, asked.sessions, instead))} |")


if __name__ == "__main__":
    main()
