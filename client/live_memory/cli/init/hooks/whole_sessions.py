"""Messages of clients that hand over a session as a whole, each time: those that are not kept yet are kept."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from live_memory.cli.init.hooks.state import Files
from live_memory.cli.transcripts.entries import text_of
from live_memory.cli.transcripts.messages import of_text


@dataclass(frozen=True)
class Message:
    """Words of the user or an answer. `name`: the id that Cline gave."""

    name: str
    role: str
    text: str
    timestamp: str


def keep(
    entries: Sequence[dict[str, Any]], files: Files, log: Callable[[str], None], before: float | None = None
) -> None:
    """Keep the messages of a session that are not kept yet, without what looks like a secret. Raises OSError.

    `before`: those until then alone (Unix time).
    """
    known = files.kept_names()
    found = 0
    for message in _messages(entries):
        late = before is not None and datetime.fromisoformat(message.timestamp).timestamp() > before
        if message.name not in known and not late:
            text, secrets = of_text(message.text, message.role)
            found += secrets
            if text:
                files.keep(message.role, text, message.timestamp, message.name)
    if found:
        log(f"livemem hook: {found} texts that look like secrets are not recorded")


def _messages(entries: Sequence[dict[str, Any]]) -> Iterator[Message]:
    for entry in entries:
        role, about = entry.get("role"), entry.get("metadata")
        # What Cline adds itself, such as the answers of hooks.
        own = isinstance(about, dict) and about.get("displayRole") == "system"
        text = text_of(entry.get("content"), str(role))
        if role in ("user", "assistant") and not own and text and isinstance(entry.get("id"), str):
            yield Message(entry["id"], str(role), text, _moment(entry.get("ts")))


def _moment(milliseconds: Any) -> str:
    try:
        return datetime.fromtimestamp(milliseconds / 1_000, UTC).isoformat()
    except (TypeError, ValueError, OverflowError, OSError):
        return datetime.now(UTC).isoformat()
