"""What was said since the last time goes into a conversation of the space; each message arrives once.

Whoever dies in between, comes twice or loses an answer sends some of it again: the import knows the messages by their
`message_id`.
"""

import json
import platform
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from live_memory.cli.init.hooks import transcripts
from live_memory.cli.init.hooks.events import Event
from live_memory.cli.init.hooks.state import Files, Session
from live_memory.cli.init.hooks.transcripts import Part, Said

LINES = 40
"""Of one request: small enough to be carried out before a hook must end, so that the next one goes on behind it."""
BYTES = 500_000
REFUSED = (413, 422)
GONE = 404
LOOKED_AT = 50
"""How many of the newest conversations of a folder are looked through for that of a session whose state is lost."""


class Memory(Protocol):
    """What hooks need of `live_memory.Client`."""

    def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Carry out an operation."""

    def markdown(self, name: str, arguments: Mapping[str, Any]) -> str:
        """The answer of an operation as Markdown."""

    def send_lines(self, name: str, arguments: Mapping[str, Any], lines: Iterable[Any]) -> Any:
        """Carry out an operation that takes lines of JSON."""


@dataclass(frozen=True)
class Sender:
    """Sends one session as long as there is time; what is left comes with the next event."""

    memory: Memory
    space_id: str
    event: Event
    files: Files
    in_time: Callable[[], bool]
    log: Callable[[str], None]

    def send(self) -> int:
        """Send what is new in the transcript; gives how many messages. Raises OSError, LiveMemoryError."""
        path = self.event.transcript or self.files.kept
        sent = 0
        while self.in_time():
            start = self.files.load().sent
            part = transcripts.read(path, start, transcripts.PARSERS[self.event.client])
            if part.end == start:
                break
            sent += self._send_part(part)
            if self.files.load().sent != part.end:
                break
        return sent

    def _send_part(self, part: Part) -> int:
        """Send one part in several requests, and remember after each how far it is done."""
        sent = 0
        for lines, end in _chunks(self.event, part):
            conversation = self.files.load().conversation_id
            if lines:
                conversation = conversation or self._begin()
                if not self._import(conversation, lines):
                    return sent
            self.files.save(Session(conversation, end))
            sent += len(lines)
            if not self.in_time():
                break
        return sent

    def _begin(self) -> str:
        conversation = _conversation(self.memory, self.space_id, self.event)
        self.files.save(Session(conversation, self.files.load().sent))
        return conversation

    def _import(self, conversation: str, lines: list[dict[str, Any]]) -> bool:
        """Whether all lines are there, or will never be; False if there was no time for some of them."""
        arguments = {"space_id": self.space_id, "conversation_id": conversation}
        try:
            while self.memory.send_lines("import_turns", arguments, lines).get("left"):
                if not self.in_time():
                    return False
        except Exception as problem:
            status = getattr(problem, "status", None)
            if status == GONE and getattr(problem, "code", "") == "conversation_not_found":
                # Somebody deleted it: what is said from here on goes into a new one, what was said stays deleted.
                self.files.save(Session(None, self.files.load().sent))
            if status not in REFUSED:
                raise
            if len(lines) > 1:
                return all(self._import(conversation, [line]) for line in lines)
            # The service will never take it: the messages behind it must not wait for ever.
            self.log(f"left out {lines[0]['message_id']}: {problem}")
        return True


def _chunks(event: Event, part: Part) -> Iterable[tuple[list[dict[str, Any]], int]]:
    """Lines for one request each, with how far the transcript is done behind it."""
    lines: list[dict[str, Any]] = []
    size, done = 0, 0
    for said, end in part.messages:
        line = _line(event, said)
        length = len(json.dumps(line, ensure_ascii=False).encode())
        if lines and (len(lines) == LINES or size + length > BYTES):
            yield lines, done
            lines, size = [], 0
        lines.append(line)
        size, done = size + length, end
    yield lines, part.end


def _line(event: Event, said: Said) -> dict[str, Any]:
    line = {"message_id": f"{event.client}-{said.key}", "role": said.role, "content": said.content}
    return {**line, "timestamp": said.timestamp} if said.timestamp else line


def _conversation(memory: Memory, space_id: str, event: Event) -> str:
    """The conversation of the session: that which bears its name, else a new one."""
    title = f"{event.client} session {event.session}".encode(errors="replace")[:400].decode(errors="replace")
    where = {"host": platform.node()[:200] or "unknown", **({"cwd": event.folder} if event.folder else {})}
    listed = memory.call("list_conversations", {"space_id": space_id, "limit": LOOKED_AT, **where})
    for one in listed.get("items", []):
        if one.get("title") == title:
            return str(one["conversation_id"])
    asked = {"space_id": space_id, "title": title, **where}
    return str(memory.call("create_conversation", asked)["conversation_id"])
