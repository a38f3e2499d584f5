"""Sends the messages since the last time to a conversation of the space. Each message is stored once.

A hook that dies, runs twice or loses an answer sends some messages again: the import knows them by their `message_id`.
"""

import json
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from live_memory._redaction import identifier
from live_memory.cli.code_version import WorkTree
from live_memory.cli.given_lines import GivenLines
from live_memory.cli.init.hooks import transcripts
from live_memory.cli.init.hooks.copies import Copies
from live_memory.cli.init.hooks.events import Event
from live_memory.cli.init.hooks.pauses import Pauses
from live_memory.cli.init.hooks.state import Files, Session
from live_memory.cli.init.hooks.transcripts import Part
from live_memory.cli.transcripts import titles
from live_memory.cli.transcripts.messages import Said

LINES = 40
"""Lines of one request: few enough to be carried out before a hook must end, so that the next hook continues after it.
"""
BYTES = 500_000
TURN_CHARS = 60_000
"""Characters of one answer. A longer one becomes two turns."""
REFUSED = (413, 422)
GONE = 404
KEPT = {"profile": "windows", "capture": "notes", "parameters": {"min_flush_chars": 500}}
"""The parameters of conversations of hooks. Some clients send no end of a session: after a pause, open turns are
summarised too.
"""
LOOKED_AT = 50
"""How many of the newest conversations of a folder are searched for that of a session whose state is lost."""


class Memory(Protocol):
    """The methods of `live_memory.Client` that hooks need."""

    def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Carry out an operation."""


@dataclass(frozen=True)
class Sender:
    """Sends one session as long as there is time. The next event sends the rest."""

    memory: Memory
    space_id: str
    event: Event
    files: Files
    in_time: Callable[[], bool]
    log: Callable[[str], None]
    limit: int | None = None
    """The place in the transcript to which it is sent, None: its end."""
    place: Path | None = None
    """The folder in which the session works now, None: it is another session's."""

    def send(self) -> bool:
        """Send the new messages of the transcript, and close the conversation if the event requires it. Returns whether
        nothing is left to do.

        Raises OSError, LiveMemoryError.
        """
        path = self.event.transcript or self.files.kept
        while self.in_time():
            session = self.files.load()
            if session.sent > path.stat().st_size:
                # It was begun again.
                session = replace(session, sent=0, planned=0)
            if self.limit is not None and session.sent >= self.limit:
                self._end(session)
                return True
            until = session.planned if session.planned > session.sent else self.limit or 0
            part = transcripts.read(path, session.sent, self.event.client, until, final=self._is_final)
            self._tell(part)
            recorded = Pauses(self.files.folder).without(self.event.client, self.event.folder, part.messages)
            if paused := len(part.messages) - len(recorded):
                self.log(f"livemem hook: {paused} messages of a time without recording are not sent")
            part = replace(part, messages=self._without_personal(self._copies.without(recorded)))
            if part.end == session.sent and not part.messages:
                self._end(session)
                return True
            self.files.save(replace(session, planned=part.end))
            if not self._send_part(part):
                break
            if part.end == session.sent:
                self._end(self.files.load())
                return True
        return False

    @cached_property
    def _code(self) -> dict[str, str]:
        return WorkTree(self.place).version() if self.place else {}

    def _without_personal(self, messages: list[tuple[Said, int]]) -> list[tuple[Said, int]]:
        cut = GivenLines.of(self.files.folder, self.space_id).cutter()
        return [(replace(said, content=cut(said.content)), end) for said, end in messages]

    @property
    def _copies(self) -> Copies:
        name = Files.of(self.files.folder, self.event.client, self.space_id).state.with_suffix(".copies")
        return Copies(name, self.event.session)

    @property
    def _is_final(self) -> bool:
        """Whether nothing follows: after a compaction, a prompt that waits is given to the agent."""
        return self.event.name.lower() == "sessionend"

    def _tell(self, part: Part) -> None:
        if part.redacted:
            self.log(f"livemem hook: {part.redacted} texts that look like secrets are not sent")
        if part.unknown:
            kinds = ", ".join(f"{count} {kind}" for kind, count in part.unknown.items())
            self.log(f"livemem hook: not understood and not sent: {kinds}")

    def _send_part(self, part: Part) -> bool:
        """Send one part in several requests, and save the position after each. Returns whether all of it is sent."""
        done = self.files.load().sent
        for chunk in _chunks(_turns(self.event.client, self._placed(part)), part.end):
            if chunk.lines and not self._send_chunk(chunk):
                return False
            end = chunk.end
            with suppress(OSError):
                self._copies.add(
                    said for said, place in part.messages if done < place <= end or place == end == part.end
                )
            session = self.files.load()
            turns = session.turns + (0 if chunk.session else len(chunk.lines))
            self.files.save(replace(session, sent=end, planned=part.end, turns=turns))
            done = end
            if not self.in_time():
                return end == part.end
        return True

    def _placed(self, part: Part) -> list[tuple[Said, int]]:
        """The messages. Those that are copied from another session name it, the others none.

        No client promises that the name of a session is that in its lines: where no line has it, no line is a copy.
        """
        path = self.event.transcript
        own = {self.event.session, path.stem if path else "", ""}
        if not own & part.sessions - {""}:
            return [(replace(said, session=""), end) for said, end in part.messages]
        return [(replace(said, session="") if said.session in own else said, end) for said, end in part.messages]

    def _send_chunk(self, chunk: "Chunk") -> bool:
        """Whether all lines are stored, or never will be. Those of another session go into its conversation, and stay
        deleted if somebody deleted it.
        """
        if not chunk.session:
            return self.store(chunk.lines)
        files = Files.of(self.files.folder, self.event.client, self.space_id, chunk.session)
        other = replace(self, event=replace(self.event, session=chunk.session), files=files, place=None)
        try:
            return other.store(chunk.lines)
        except Exception as problem:
            if getattr(problem, "code", "") != "conversation_not_found":
                raise
            return True

    def store(self, lines: list[dict[str, Any]]) -> bool:
        """Store lines in the conversation of the session. Returns whether all are stored, or never will be."""
        lines = [{**line, **self._code} for line in lines]
        return self._import(self.files.load().conversation_id or self._begin(lines), lines)

    def _end(self, session: Session) -> None:
        if self.event.kind == "close":
            self._close(session)

    def _close(self, session: Session) -> None:
        """Close the conversation after the last message that was sent. Without a request if it was closed there
        already.
        """
        if not session.conversation_id or session.closed == session.sent:
            return
        arguments = {"space_id": self.space_id, "conversation_id": session.conversation_id}
        try:
            self.memory.call("close_conversation", arguments)
        except Exception as problem:
            if getattr(problem, "status", None) != GONE:
                raise
        self.files.save(replace(session, closed=session.sent))

    def _begin(self, lines: list[dict[str, Any]]) -> str:
        prompt = next((line["user_message"] for line in lines if line["user_message"]), "")
        conversation = _conversation(self.memory, self.space_id, self.event, prompt)
        self.files.save(replace(self.files.load(), conversation_id=conversation))
        return conversation

    def _import(self, conversation: str, lines: list[dict[str, Any]]) -> bool:
        """Whether all lines are stored, or never will be. False if there was no time for some of them."""
        arguments = {"space_id": self.space_id, "conversation_id": conversation}
        try:
            while self.memory.call("append_turn", {**arguments, "items": lines}).get("left"):
                if not self.in_time():
                    return False
        except Exception as problem:
            status = getattr(problem, "status", None)
            if status == GONE and getattr(problem, "code", "") == "conversation_not_found":
                # Somebody deleted it: later messages go into a new one, earlier messages stay deleted.
                self.files.save(replace(self.files.load(), conversation_id=None))
            if status not in REFUSED:
                raise
            if len(lines) > 1:
                return all(self._import(conversation, [line]) for line in lines)
            plain = {name: value for name, value in lines[0].items() if name not in self._code}
            if plain != lines[0]:
                # A service that runs since before an upgrade may know no version of the code.
                return self._import(conversation, [plain])
            # The service will never take it: the messages behind it must not wait for ever.
            self.log(f"left out {lines[0]['message_id']}: {problem}")
        return True


@dataclass
class Turn:
    """A line of the import: the user's message with all answers."""

    line: dict[str, Any]
    end: int
    session: str


@dataclass
class Chunk:
    """Lines for one request, of one session ("": the hook's own), and the position in the transcript after them."""

    lines: list[dict[str, Any]]
    session: str
    end: int


def _turns(client: str, messages: list[tuple[Said, int]]) -> list[Turn]:
    """The user's messages with all answers, as lines of the import, each with its end.

    A turn is named by its first message: if a hook sends it again with more in it (after its state was lost), the
    service refuses it and keeps it once.
    """
    turns: list[Turn] = []
    for said, end in messages:
        turn = turns[-1] if turns else None
        too_long = turn is not None and len(turn.line["assistant_message"]) + len(said.content) > TURN_CHARS
        if turn is None or said.role == "user" or too_long or turn.session != said.session:
            line = {"message_id": f"{client}-{said.key}", "user_message": "", "assistant_message": ""}
            turn = Turn({**line, **({"client_timestamp": said.timestamp} if said.timestamp else {})}, end, said.session)
            turns.append(turn)
        side = f"{said.role}_message"
        turn.line[side] = f"{turn.line[side]}\n\n{said.content}" if turn.line[side] else said.content
        turn.end = end
    return turns


def _chunks(turns: list[Turn], end: int) -> Iterable[Chunk]:
    """The turns in requests. A position is never between two turns of the same line of the transcript."""
    chunk = Chunk([], "", end)
    size = 0
    for turn in turns:
        length = len(json.dumps(turn.line).encode())
        full = len(chunk.lines) >= LINES or size + length > BYTES
        if chunk.lines and (turn.session != chunk.session or (full and turn.end > chunk.end)):
            yield chunk
            chunk, size = Chunk([], "", end), 0
        chunk.lines.append(turn.line)
        chunk.session, chunk.end = turn.session, turn.end
        size += length
    yield replace(chunk, end=end)


def _conversation(memory: Memory, space_id: str, event: Event, prompt: str) -> str:
    """The conversation of the session: the one with its name, else a new one."""
    where = {"host": host()}
    where |= {"cwd": identifier(event.folder)} if event.folder else {}
    listed = memory.call("list_conversations", {"space_id": space_id, "limit": LOOKED_AT, **where})
    for one in listed.get("items", []):
        if titles.is_of(one.get("title"), event.client, event.session):
            return str(one["conversation_id"])
    asked = {"space_id": space_id, "title": titles.of(event.client, event.session, prompt), **where, **KEPT}
    return str(memory.call("create_conversation", asked)["conversation_id"])


def host() -> str:
    """The name of this machine, as conversations of hooks have it."""
    return identifier(_node()[:200] or "unknown")


def _node() -> str:
    if hasattr(os, "uname"):
        return os.uname().nodename
    import platform  # noqa: PLC0415 - it takes longer to load than to ask the system

    return platform.node()
