"""What the service of this machine has last said about itself, for agents that ask while it still starts.

Codex waits a second for a server, and then asks its model without the tools.
"""

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from live_memory._version import __version__
from live_memory.cli import own_files

METHODS = ("initialize", "server/discover", "tools/list")
_OF_SESSION = ("clientInfo", "capabilities", "_meta")
"""Parameters that change no answer, but for the version in `_meta`."""
PACKAGE = Path(__file__).resolve().parents[2]
_TOOLS = "layers/livemem/livemem_mcp"


@dataclass(frozen=True)
class KeptAnswers:
    """Results by the message, the version of MCP, and the agent, whose token decides which tools it gets."""

    folder: Path
    toolset: str

    def get(self, asked: Mapping[str, Any], agent: str, version: str | None) -> dict[str, Any] | None:
        """The last result of such a message, None if there is none."""
        with suppress(OSError, ValueError):
            found = json.loads(self._path(asked, agent, version).read_bytes())
            return found if isinstance(found, dict) else None
        return None

    def keep(self, asked: Mapping[str, Any], agent: str, version: str | None, result: Mapping[str, Any]) -> None:
        """Keep a result, if it is another one than before. A full disk is no reason to fail."""
        if asked.get("method") in METHODS and self.get(asked, agent, version) != result:
            with suppress(OSError):
                own_files.make_folder(self.folder)
                own_files.write(self._path(asked, agent, version), json.dumps(result).encode())

    def _path(self, asked: Mapping[str, Any], agent: str, version: str | None) -> Path:
        params = asked.get("params")
        own = (
            {name: value for name, value in params.items() if name not in _OF_SESSION}
            if isinstance(params, dict)
            else {}
        )
        said = json.dumps(
            [__version__, _code(), self.toolset, agent, version, asked.get("method"), own], sort_keys=True
        )
        return self.folder / f"{hashlib.sha256(said.encode()).hexdigest()[:32]}.json"


def _code() -> list[tuple[str, int, int]]:
    """Name, size and time of the files that make the tools, in the package or the checkout: an upgrade of a clone gives
    no new version.
    """
    roots = (PACKAGE / "_server", PACKAGE.parents[1])
    found = sorted(path for root in roots for path in (root / _TOOLS).glob("*.*"))
    return [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in found]
