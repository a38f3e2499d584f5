"""What the command line's configuration and environment say of the service: its URL, the token, the space."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from live_memory.cli.init.problems import Refused

_SPACE_ID = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_-]{0,63}")

_PLAIN = re.compile(r"[a-zA-Z0-9._~:/%\[\]-]+")
"""It becomes part of files that other programs read."""


@dataclass(frozen=True)
class Known:
    """What is known; None is what nobody said."""

    url: str | None
    token: str | None
    space: str | None

    def __repr__(self) -> str:
        # Never the token.
        return f"Known(url={self.url!r}, space={self.space!r})"


def look(environ: Mapping[str, str] = os.environ) -> Known:
    """What holds here."""
    return Known(*(environ.get(f"LIVEMEM_{name}") or None for name in ("URL", "TOKEN", "SPACE")))


def need_space(space: str | None) -> str:
    """A space id that may become part of a command. Raises Refused."""
    if not space:
        raise Refused("Which space? Say --space, or set LIVEMEM_SPACE.")
    if not _SPACE_ID.fullmatch(space):
        raise Refused("A space's id has 1 to 64 letters, digits, `_` and `-`, and begins with a letter or digit.")
    return space


def need_url(url: str | None) -> str:
    """The service's URL without `/v1` and a slash at its end. Raises Refused."""
    if not url:
        raise Refused("Which service? Say --url, or set LIVEMEM_URL.")
    try:
        parts = urlsplit(url.strip())
        _ = parts.port
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username or parts.query or parts.fragment:
        raise Refused("The URL must look like https://memory.example.org.")
    if not _PLAIN.fullmatch(url.strip()):
        raise Refused("The URL must be plain: letters, digits and `-._~:/%[]`.")
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/').removesuffix('/v1').rstrip('/')}"
