"""A memory as hooks see it, and transcripts as clients write them."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from live_memory import LiveMemoryError
from live_memory.cli.init.hooks.away import Away
from live_memory.cli.init.hooks.running import Hook

START = "# Memory of `demo`\n\nS3 is the only store.\n"


@dataclass
class FakeMemory:
    """Conversations with the rules of the import: a message once, refused with another text, none after a refusal."""

    conversations: dict[str, dict[str, Any]] = field(default_factory=dict)
    messages: dict[str, dict[str, str]] = field(default_factory=dict)
    kept: dict[str, Any] = field(default_factory=dict)
    """How the newest conversation is kept."""
    closed: list[tuple[str, int]] = field(default_factory=list)
    """Which conversation was closed behind how many turns."""
    start: str = START
    parts: list[dict[str, Any]] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    fail: Callable[[int], Exception | None] = lambda _number: None
    """What the nth call ends with, after it was carried out: an answer that is lost."""
    refused: str = "\0"
    """A text that the service does not take."""

    def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        return self._answered(name, getattr(self, f"_{name}")(arguments))

    def _get_start(self, arguments: Mapping[str, Any]) -> Any:
        assert arguments == {"space_id": "demo", "max_chars": 9_500}
        return {"markdown": self.start, "parts": self.parts}

    def _append_turn(self, arguments: Mapping[str, Any]) -> Any:
        lines = arguments["items"]
        held = self.messages.get(arguments["conversation_id"])
        if held is None:
            raise LiveMemoryError("conversation_not_found", "There is none.", status=404)
        turns = {line["message_id"]: f"{line['user_message']}\n\n{line['assistant_message']}" for line in lines}
        if any(self.refused in text or held.get(name, text) != text for name, text in turns.items()):
            raise LiveMemoryError("invalid_request", "No.", status=422)
        assert len(turns) <= 2_000
        assert sum(len(json.dumps(line).encode()) + 1 for line in lines) <= 1_048_576
        repeated = len(held.keys() & turns.keys())
        held.update(turns)
        return {"left": 0, "imported": len(turns) - repeated, "repeated": repeated}

    def _list_turns(self, arguments: Mapping[str, Any]) -> Any:
        names = list(self.messages[arguments["conversation_id"]])
        at, limit = int(arguments.get("cursor", 0)), arguments["limit"]
        rest = {"next_cursor": str(at + limit)} if at + limit < len(names) else {}
        return {"items": [{"message_id": name} for name in names[at : at + limit]], **rest}

    def _list_conversations(self, arguments: Mapping[str, Any]) -> Any:
        found = self.conversations.values()
        return {"items": [one for one in found if one["cwd"] == arguments.get("cwd", one["cwd"])]}

    def _create_conversation(self, arguments: Mapping[str, Any]) -> Any:
        name = f"C{len(self.conversations)}"
        self.conversations[name] = {"conversation_id": name, "title": arguments["title"], "cwd": arguments.get("cwd")}
        self.messages[name] = {}
        self.kept = {part: arguments.get(part) for part in ("profile", "capture")}
        return self.conversations[name]

    def _close_conversation(self, arguments: Mapping[str, Any]) -> Any:
        name = arguments["conversation_id"]
        if name not in self.messages:
            raise LiveMemoryError("conversation_not_found", "There is none.", status=404)
        self.closed.append((name, len(self.messages[name])))
        return {"closed": True}

    def _answered(self, name: str, answer: Any) -> Any:
        self.calls.append(name)
        problem = self.fail(len(self.calls))
        if problem:
            raise problem
        return answer

    @property
    def said(self) -> list[str]:
        """All that was said, in the order in which it came."""
        return [text for turn in self.turns for text in turn.split("\n\n") if text]

    @property
    def turns(self) -> list[str]:
        """Both sides of each turn."""
        return [text for held in self.messages.values() for text in held.values()]


@dataclass
class Machine:
    """Where hooks run: their state folder, and a log."""

    folder: Path
    memory: FakeMemory = field(default_factory=FakeMemory)
    log: list[str] = field(default_factory=list)
    away: Away | None = None
    personal: str | None = None

    def hook(self, client: str, event: str, **payload: Any) -> Any:
        text = json.dumps({"session_id": "s1", "cwd": "/home/ann/ferry", **payload})
        return json.loads(self.run(client, event, text))

    def run(self, client: str, event: str, text: str) -> str:
        hook = Hook(
            lambda _: self.memory, self.folder / "state", self.log.append, away=self.away, personal=self.personal
        )
        return hook.run(client, event, "demo", text)

    def transcript(self, *lines: Any) -> str:
        """Append lines to the session's transcript; gives its path."""
        path = self.folder / "transcript.jsonl"
        with path.open("ab") as file:
            for line in lines:
                file.write((line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n")
        return str(path)


def claude(role: str, text: Any, **more: Any) -> dict[str, Any]:
    return {"type": role, "message": {"role": role, "content": text}, "timestamp": "2026-11-22T10:00:00.000Z", **more}
