"""Former sessions of Codex: the rollouts below `~/.codex/sessions`, lines of JSON, one file a session.

The messages are read as the hooks read them (cli/transcripts/messages.py). Sessions of sub-agents are not taken: their
prompts are the agent's.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, takewhile
from typing import Any

from live_memory.cli.imports import chats
from live_memory.cli.imports.chats import Chat, Message
from live_memory.cli.imports.claude_sessions import ELSEWHERE, chat_of
from live_memory.cli.imports.unfit import BadPart
from live_memory.cli.transcripts.entries import fields, string
from live_memory.cli.transcripts.long_lines import lines
from live_memory.cli.transcripts.messages import Messages, Said, has_events, instant

SERVICE = "codex"
OF_AGENTS = "messages of sessions of sub-agents"
HEAD_BYTES = 8 << 20
"""Bytes of a file that tell in which of its lines the words of the user are."""

_NAME = re.compile(r"rollout-.{19}-(?P<id>[0-9A-Za-z-]+)")


@dataclass
class Former:
    """What the sessions before hold: older versions of Codex copied a session into its forks, as it was."""

    said: dict[str, list[bytes]] = field(default_factory=dict)
    keys: set[str] = field(default_factory=set)
    """Those of messages with an id of the client."""

    def copied(self, session: str, origin: str, messages: Iterable[Said]) -> int:
        """How many of the first messages of a session are those of the session that it was forked from."""
        earlier = self.said.get(origin, [])
        self.said[session] = own = [_digest(each) for each in messages]
        return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(own, earlier, strict=False)))


def is_one(path: str) -> bool:
    """Whether a file has the name of a rollout."""
    return path.rpartition("/")[2].startswith("rollout-")


def chat_in(path: str, content: Iterable[bytes], former: Former) -> Chat:
    """The conversation in a session's file; raises BadPart."""
    session = _read(path, content)
    if _is_of_agent(session.start):
        return Chat(SERVICE, session.name, "", None, [], +Counter({OF_AGENTS: len(session.said)}))
    copies = former.copied(session.name, string(session.start.get("forked_from_id")), session.said)
    messages: list[Message] = []
    for number, said in enumerate(session.said):
        if number < copies or said.key in former.keys:
            session.left_out[ELSEWHERE] += 1
            continue
        if said.name:
            former.keys.add(said.key)
        # The oldest versions gave messages no time.
        moment = chats.moment(said.timestamp or instant(session.start.get("timestamp")))
        messages.append(Message(said.key, said.role, said.content, moment, key=said.key))  # type: ignore[arg-type]
    chat = chat_of(SERVICE, session.name, messages)
    return replace(chat, left_out=session.left_out, folders=tuple(session.folders))


@dataclass
class _Session:
    name: str = ""
    left_out: Counter[str] = field(default_factory=Counter)
    start: Mapping[str, Any] = field(default_factory=dict)
    folders: dict[str, None] = field(default_factory=dict)
    said: Sequence[Said] = ()


def _read(path: str, content: Iterable[bytes]) -> _Session:
    """A session with its messages; raises BadPart."""
    pieces = iter(content)
    head = b""
    while len(head) < HEAD_BYTES and (piece := next(pieces, b"")):
        head += piece
    reader = Messages(SERVICE, events=has_events(head))
    session = _Session()
    for line in lines(chain([head], pieces)):
        if line.text is None or line.text.strip():
            _learn(session, reader.take(line))
    session.said = reader.all()
    if not (session.start or session.said):
        raise BadPart("is no session of Codex")
    stem = path.rpartition("/")[2].removesuffix(".jsonl")
    named = _NAME.fullmatch(stem)
    session.name = chats.id_of(string(session.start.get("id")) or (named["id"] if named else stem), "a session")
    session.left_out = reader.not_taken()
    return session


def _learn(session: _Session, entry: Mapping[str, Any]) -> None:
    """What a line says about its session: in the oldest versions the first one has no type."""
    payload = fields(entry.get("payload"))
    if entry and not session.start and entry.get("type", "session_meta") == "session_meta":
        session.start = {**entry, **payload}
    if folder := string(payload.get("cwd")):
        session.folders[folder] = None


def _is_of_agent(start: Mapping[str, Any]) -> bool:
    source = fields(start.get("source"))
    return "subagent" in source or "internal" in source or start.get("thread_source") == "subagent"


def _digest(said: Said) -> bytes:
    return hashlib.sha256(f"{said.role}\0{said.content}".encode(errors="replace")).digest()[:12]
