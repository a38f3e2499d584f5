"""What hooks have recorded already of the sessions that an import brings, so that nothing comes twice."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from live_memory._redaction import identifier
from live_memory.cli.imports.chats import Chat
from live_memory.cli.imports.sending import Service
from live_memory.cli.transcripts import titles


@dataclass(frozen=True)
class Recorded:
    """The conversations that hooks made in a space. It takes a request for each folder of an agent, and one for 100
    turns of a session that is there.
    """

    service: Service
    space_id: str
    _of_folder: dict[str, list[tuple[str, str]]] = field(default_factory=dict)

    def find(self, chat: Chat) -> str | None:
        """The conversation that hooks made of a session."""
        listed = (pair for folder in chat.folders for pair in self._listed(folder))
        found = (name for title, name in listed if titles.is_of(title, chat.service, chat.chat_id))
        return min(found, default=None)

    def without(self, conversation: str, chat: Chat) -> Chat:
        """A session without the turns that are in a conversation of hooks. The others get the names that hooks give."""
        at = {"space_id": self.space_id, "conversation_id": conversation}
        turns = self._pages("list_turns", {**at, "limit": 100, "max_chars": 1_000_000})
        # A turn that is too long for a request came in numbered parts.
        known = {str(turn.get("message_id")).partition("/")[0] for turn in turns}
        named = (replace(turn, message_id=f"{chat.service}-{turn.key}") for turn in chat.turns)
        return replace(chat, turns=[turn for turn in named if turn.message_id not in known])

    def _listed(self, folder: str) -> list[tuple[str, str]]:
        if folder not in self._of_folder:
            at = {"space_id": self.space_id, "cwd": identifier(folder), "limit": 500}
            items = self._pages("list_conversations", at)
            pairs = [(str(one.get("title")), str(one["conversation_id"])) for one in items]
            self._of_folder[folder] = pairs
        return self._of_folder[folder]

    def _pages(self, name: str, asked: dict[str, Any]) -> Iterator[dict[str, Any]]:
        cursor = None
        while page := self.service.call(name, {**asked, **({"cursor": cursor} if cursor else {})}):
            yield from page["items"]
            cursor = page.get("next_cursor")
            if not cursor:
                return
