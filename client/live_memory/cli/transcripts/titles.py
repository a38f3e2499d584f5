"""The title of a session's conversation: the begin of its first prompt, and the name by which it is found again."""

from live_memory._redaction import identifier, redact

NAME_BYTES, TITLE_BYTES = 350, 500
LINE_CHARS = 120


def of(client: str, session: str, prompt: str = "") -> str:
    """The title that hooks give. A name alone where the service would change the rest."""
    name = _name(client, session)
    title = f"{line_of(prompt)} ({name})"
    fits = title[0] != " " and len(title.encode(errors="replace")) <= TITLE_BYTES and redact(title)[0] == title
    return title if fits else name


def line_of(prompt: str) -> str:
    """The first line of a prompt, empty for a long one: an erasure finds whole lines, and would not find a part."""
    line = next((line.strip() for line in prompt.splitlines() if line.strip()), "")
    return line if len(line) <= LINE_CHARS and line.isprintable() and line == " ".join(line.split()) else ""


def is_of(title: object, client: str, session: str) -> bool:
    """Whether a conversation is that of a session."""
    name = _name(client, session)
    return isinstance(title, str) and (title == name or title.endswith(f" ({name})"))


def _name(client: str, session: str) -> str:
    name = f"{client} session {session}".encode(errors="replace")[:NAME_BYTES].decode(errors="replace")
    return identifier(name)
