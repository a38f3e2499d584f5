"""The messages of a session, from the lines that its client wrote.

Only words of the user and the assistant are read, without private words and texts that look like secrets. Results of
tools hold whole files. The formats are the clients' own and change. Texts of unknown kinds are counted. No instruction
in a line is followed.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from live_memory._redaction import Redaction
from live_memory.cli.transcripts import other_entries
from live_memory.cli.transcripts.claude_code_entries import ClaudeCode
from live_memory.cli.transcripts.client_words import words_of_user
from live_memory.cli.transcripts.codex_entries import Codex
from live_memory.cli.transcripts.entries import UNKNOWN, WITHOUT_WORDS, Words
from live_memory.cli.transcripts.gemini_entries import GeminiCli
from live_memory.cli.transcripts.long_lines import CUT, Line
from live_memory.cli.transcripts.private_words import PrivateWords

MOST_CHARS = 60_000
"""Characters of a message by which it is named. A longer one was pasted."""
NO_JSON = "lines that are no JSON or too long"
SECRETS = "secrets, of which only a mark is sent"
_LIKE_MESSAGES = (b'"role"', b'"content"', b'"prompt"')


@dataclass(frozen=True)
class Said:
    """A message. `key` identifies it in the session, also when the file is read again. `name` is the client's own id.

    `at` and `end`: its line in the file. `session`: the session in which it was said first, if the client names it.
    """

    key: str
    role: str
    content: str
    timestamp: str | None
    name: str = ""
    session: str = ""
    at: int = 0
    end: int = 0

    def shortened(self) -> "Said":
        """The message, cut at the characters that a hook sends."""
        left = len(self.content) - MOST_CHARS
        if left <= 0:
            return self
        return replace(self, content=f"{self.content[:MOST_CHARS]}\n[{left:,} characters left out]")


class Messages:
    """Reads lines in their order. `left_out` counts what is no message, by kind."""

    def __init__(self, client: str, *, events: bool = False) -> None:
        self.left_out: Counter[str] = Counter()
        self.session = ""
        """The first session that a line names."""
        self._read = _PARSERS[client](events)
        self._messages: list[Said] = []
        self._queued: list[Said] = []
        """Words that were typed while the agent worked, and have not been delivered yet."""
        self._last: tuple[str, bool] = ("", False)
        """The newest words of the user, and whether they came as delivered ones."""
        self._redaction = Redaction()
        self._private = PrivateWords()

    def take(self, line: Line) -> Mapping[str, Any]:
        """Read a line. Returns its entry, an empty one for a line that is none."""
        entry = entry_of(line.text)
        if entry is None:
            self.left_out[NO_JSON] += 1
            if line.text is None or any(name in line.text for name in _LIKE_MESSAGES):
                self.left_out[f"{UNKNOWN} (lines that are too long or no JSON)"] += 1
            return {}
        self.session = self.session or _plain(entry.get("sessionId"))
        words = self._read(entry)
        if words and words.left_out:
            self.left_out[words.left_out] += 1
        if words and words.kind == "taken back":
            self._queued.clear()
        elif words and words.kind == "run":
            self.left_out[WITHOUT_WORDS] += 1
            self._forget_run(words.text)
        elif words and (said := self._said(words, entry, line)):
            self._add(words, said)
        return entry

    def all(self, *, final: bool = True) -> list[Said]:
        """The messages so far, in their order. `final`: with words that the agent never got."""
        messages = [*self._messages, *self._queued] if final else self._messages
        return [replace(each, content=self.shown(each.content)) for each in sorted(messages, key=lambda one: one.at)]

    def shown(self, text: str) -> str:
        """A text without the secrets and private words of all messages: a later one may name what an earlier held."""
        return self._redaction.again(self._private.again(text))

    def clean(self, text: str) -> str:
        """A text that may leave the machine: no private words, no secrets, nothing that can't be sent."""
        text, cut = _plain(text).replace("\0", ""), CUT in text
        text = self._private.cut(text).strip()
        shown = self._redaction.text(text)
        return f"{shown}\n[the rest is left out: it is longer than 1 MiB]" if cut and shown else shown

    @property
    def redacted(self) -> int:
        """How many texts look like secrets."""
        return self._redaction.found.total()

    def not_taken(self) -> Counter[str]:
        """Counts of the lines that were left out, and of the texts that are marks now."""
        return self.left_out + Counter({SECRETS: self.redacted})

    def forget_messages(self) -> None:
        """Forget what was said so far, but not what waits for its delivery."""
        self._messages.clear()
        self.left_out.clear()

    def _forget_run(self, command: str) -> None:
        """A command of the shell that waited is no prompt."""
        shown = self.clean(command)
        waited = next((each for each in self._queued if each.content == shown), None)
        if waited:
            self._queued.remove(waited)

    def _said(self, words: Words, entry: Mapping[str, Any], line: Line) -> Said | None:
        text = self._private.cut(_plain(words.text).replace("\0", "")).strip()
        if not text:
            return None
        key = _key(words.name or str(line.at), words.role, text)
        moment = instant(entry.get("timestamp"))
        return Said(key, words.role, self.clean(words.text), moment, words.name, words.session, line.at, line.end)

    def _add(self, words: Words, said: Said) -> None:
        if words.kind == "queued":
            self._queued.append(said)
            return
        if said.role == "user":
            delivered = words.kind == "delivered"
            waited = [each for each in self._queued if _holds(said.content, each.content)]
            again = self._last[0] == said.content and (delivered or self._last[1])
            self._last = (said.content, delivered or (again and self._last[1]))
            if waited:
                self._queued.remove(waited[0])
                for each in waited[1:]:
                    # Several that waited may be delivered as one.
                    if each.content != waited[0].content:
                        self._queued.remove(each)
            elif again:
                return
        self._messages.append(said)


def read(client: str, lines: Iterable[Line], *, events: bool = False) -> Messages:
    """The messages of lines."""
    messages = Messages(client, events=events)
    for line in lines:
        messages.take(line)
    return messages


def of_text(text: str, role: str) -> tuple[str, int]:
    """What may be kept of a message that a hook was handed, and how many texts in it look like secrets."""
    messages = Messages("cursor")
    shown = messages.clean(words_of_user(text) if role == "user" else text)
    return messages.shown(shown), messages.redacted


def has_events(data: bytes) -> bool:
    """Whether Codex's events are the words of the user in a part of a transcript."""
    return b'"user_message"' in data and b'"content_item_kinds"' not in data


def instant(stamp: Any) -> str | None:
    """The time of a line, if it is one: the service refuses all lines for a wrong one."""
    try:
        moment = datetime.fromisoformat(stamp)
        return moment.astimezone(UTC).isoformat() if moment.tzinfo and moment.year > 1 else None
    except (ValueError, TypeError, OverflowError):
        return None


def entry_of(line: bytes | None) -> dict[str, Any] | None:
    """The JSON object of a line, None if it is none."""
    try:
        entry = json.loads(line or b"")
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None


def _plain(text: Any) -> str:
    """A text without lone surrogates, which can be written in JSON, but not be sent."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if isinstance(text, str) else ""


def _key(name: str, role: str, text: str) -> str:
    if len(text) > MOST_CHARS:
        text = f"{text[:MOST_CHARS]}\n[{len(text) - MOST_CHARS:,} characters left out]"
    return hashlib.sha256(f"{name}\0{role}\0{text}".encode(errors="replace")).hexdigest()[:32]


def _holds(text: str, queued: str) -> bool:
    return f"\n{queued}\n" in f"\n{text}\n"


_PARSERS: Mapping[str, Callable[[bool], Callable[[Mapping[str, Any]], Words | None]]] = {
    "claude-code": lambda _: ClaudeCode().read,
    "codex": lambda events: Codex(events=events).read,
    "vscode": lambda _: other_entries.vscode,
    "cursor": lambda _: other_entries.kept,
    "cline": lambda _: other_entries.kept,
    "opencode": lambda _: other_entries.kept,
    "gemini-cli": lambda _: GeminiCli().read,
}
