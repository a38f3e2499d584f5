"""Former sessions of Claude Code: the files below `~/.claude/projects`, lines of JSON, one file a session.

The messages are read as the hooks read them (init/hooks/transcripts.py): the words of the user and of the assistant,
each with its own time, without secrets and without what the client wrote itself. Calls of tools and their results hold
whole files and are not taken.
"""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from live_memory._redaction import Redaction
from live_memory.cli.imports import chats
from live_memory.cli.imports.chats import Chat, Message
from live_memory.cli.imports.unfit import BadPart
from live_memory.cli.init.hooks.transcripts import PARSERS

SERVICE = "claude-code"
LINE_BYTES = 2 << 20
TITLE_CHARACTERS = 80
_MESSAGES = ("user", "assistant")


def chat(path: str, content: Iterable[bytes], seen: set[str]) -> Chat:
    """The conversation in a session's file; raises BadPart. `seen` has the ids of messages of earlier files: a session
    that was resumed repeats them.
    """
    parse = PARSERS[SERVICE]
    redaction = Redaction()
    left_out: Counter[str] = Counter()
    messages: list[Message] = []
    title, session, newest = "", "", None
    for line in _lines(content):
        entry = _entry(line)
        if entry is None:
            left_out["lines that are no JSON or too long"] += 1
            continue
        session = session or chats.text_of(entry.get("sessionId"))
        title = chats.title_of(entry.get("summary")) if entry.get("type") == "summary" else title
        said = parse(entry)
        role, text = said or ("", "")
        text = redaction.text(chats.text_of(text).replace("\0", "")).strip()
        if not text:
            left_out["lines without words, such as calls of tools"] += entry.get("type") in _MESSAGES
            continue
        name = chats.id_of(entry.get("uuid"), "a message")
        if name in seen:
            left_out["messages that an earlier session holds"] += 1
            continue
        seen.add(name)
        moment = chats.moment(entry.get("timestamp"))
        newest = max(newest or "", moment or "") or None
        messages.append(Message(name, role, text, moment))  # type: ignore[arg-type]
    messages = [replace(one, text=redaction.again(one.text)) for one in messages]
    if redaction.found:
        left_out["secrets, of which only a mark is sent"] = redaction.found.total()
    if not session:
        raise BadPart("is no session of Claude Code")
    first = next((one.text for one in messages if one.role == "user"), "")
    # A file may hold another session's id, of the session that it resumed. Its name is its own.
    own = path.rpartition("/")[2].removesuffix(".jsonl")
    return Chat(
        SERVICE,
        chats.id_of(own, "a session"),
        title or chats.title_of(first[:TITLE_CHARACTERS]),
        newest,
        chats.turns(messages),
        +left_out,
    )


def _entry(line: bytes) -> dict[str, object] | None:
    if len(line) > LINE_BYTES:
        return None
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _lines(content: Iterable[bytes]) -> Iterable[bytes]:
    rest = b""
    for piece in content:
        *whole, rest = (rest + piece).split(b"\n")
        yield from (line for line in whole if line.strip())
    if rest.strip():
        yield rest
