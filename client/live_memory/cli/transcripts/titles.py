"""The title of a session's conversation, by which hooks and imports find it again."""

from live_memory._redaction import identifier

NAME_BYTES = 350


def of(client: str, session: str) -> str:
    """The title that hooks give."""
    name = f"{client} session {session}".encode(errors="replace")[:NAME_BYTES].decode(errors="replace")
    return identifier(name)
