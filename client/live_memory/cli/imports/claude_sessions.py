"""Former sessions of Claude Code: the files below `~/.claude/projects`, lines of JSON, one file a session.

The messages are read as the hooks read them (cli/transcripts/messages.py): the words of the user and of the assistant,
each with its own time, without secrets, without private words and without what the client wrote itself. Calls of tools
and their results hold whole files and are not taken.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from live_memory.cli.imports import chats
from live_memory.cli.imports.chats import Chat, Message
from live_memory.cli.imports.unfit import BadPart
from live_memory.cli.transcripts import titles
from live_memory.cli.transcripts.entries import fields, string
from live_memory.cli.transcripts.long_lines import lines
from live_memory.cli.transcripts.messages import Messages, Said, entry_of, instant

SERVICE = "claude-code"
ELSEWHERE = "messages that an earlier session holds"

_COPIED = timedelta(seconds=1)
"""If the first message of a file is older than a note of the client before it by more than this, it was copied."""


@dataclass
class Owners:
    """Which of several files a message belongs to: a session that is forked or resumed repeats those of an earlier one.

    It is the file of the session that the message names. Where that is not known it is the file that was not begun with
    copies, and of several the one that was begun first, by the first line that is no message.
    """

    _ranks: dict[bytes, tuple[bool, bool, str, str]] = field(default_factory=dict)

    def learn(self, path: str, content: Iterable[bytes]) -> None:
        """Look at the ids and times of a file."""
        named: list[tuple[bytes, bool]] = []
        began, latest, copied = "~", datetime.min.replace(tzinfo=UTC), False
        for line in lines(content):
            entry = entry_of(line.text) or {}
            origin = fields(entry.get("forkedFrom"))
            stamp = instant(entry.get("timestamp") or fields(entry.get("snapshot")).get("timestamp"))
            moment = datetime.fromisoformat(stamp) if stamp else latest
            if name := string(origin.get("messageUuid")) or string(entry.get("uuid")):
                session = string(origin.get("sessionId")) or string(entry.get("sessionId"))
                copied = copied or (not named and latest - moment > _COPIED)
                named.append((_digest(name), bool(session) and session != _name(path)))
            elif stamp:
                began, latest = min(began, stamp), max(latest, moment)
        for digest, foreign in named:
            rank = (foreign, copied, began, path)
            self._ranks[digest] = min(rank, self._ranks.get(digest, rank))

    def is_elsewhere(self, path: str, name: str) -> bool:
        """Whether a message belongs to another file."""
        rank = self._ranks.get(_digest(name))
        return bool(rank and rank[-1] != path)


def chats_of(path: str, content: Iterable[bytes], seen: set[str], owners: Owners | None = None) -> list[Chat]:
    """The conversation in a session's file, and those of the sessions whose messages it has copied; raises BadPart.

    `seen` has the ids of messages of earlier files. `owners` tells which messages are copies of those of other files.
    """
    reader = Messages(SERVICE)
    title, folders = "", dict[str, None]()
    for line in lines(content):
        if line.text is None or line.text.strip():
            entry = reader.take(line)
            title = chats.title_of(entry.get("summary")) if entry.get("type") == "summary" else title
            folders |= {folder: None} if (folder := string(entry.get("cwd"))) else {}
    own = chats.id_of(_name(path), "a session")
    found = reader.all()
    # A file that names other sessions alone is a session of its own: its name is its own.
    names_own = any(said.session == own for said in found)
    messages: dict[str, list[Message]] = {own: []}
    for said in found:
        name = _id(said)
        if name in seen or (said.name and owners and owners.is_elsewhere(path, said.name)):
            reader.left_out[ELSEWHERE] += 1
            continue
        seen.add(name)
        session = said.session if names_own and _is_id(said.session) else own
        message = Message(name, said.role, said.content, chats.moment(said.timestamp), key=said.key)  # type: ignore[arg-type]
        messages.setdefault(session, []).append(message)
    left_out = reader.not_taken()
    if not reader.session:
        raise BadPart("is no session of Claude Code, and not named as those of Codex are (rollout-*.jsonl)")
    made = (chat_of(SERVICE, session, taken) for session, taken in messages.items())
    first, *others = (replace(chat, folders=tuple(folders)) for chat in made)
    title = chats.title_of(reader.shown(reader.clean(title))) or first.title
    return [replace(first, title=title, left_out=left_out), *others]


def chat_of(service: str, session: str, messages: list[Message]) -> Chat:
    """The conversation that messages make, with the first line of the user as its title; raises BadPart."""
    first = next((one.text for one in messages if one.role == "user"), "")
    newest = max((one.timestamp or "" for one in messages), default="") or None
    return Chat(service, session, titles.line_of(first) or titles.of(service, session), newest, chats.turns(messages))


def _name(path: str) -> str:
    return path.rpartition("/")[2].removesuffix(".jsonl")


def _id(said: Said) -> str:
    """The id of a message: the client's own, else that of its place and words, as hooks name it."""
    return said.name if _is_id(said.name) else said.key


def _is_id(name: str) -> bool:
    return name.isprintable() and bool(name.strip()) and len(name) <= chats.ID_CHARACTERS


def _digest(name: str) -> bytes:
    return hashlib.sha256(name.encode(errors="replace")).digest()[:12]
