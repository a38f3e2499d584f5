"""Tokens of the agents that use the service of this machine, so that notes name their agent.

Each agent has one, with `read` and `write` in all spaces. It is made with the service's own key when the agent first
needs it, and kept in the service's data folder: a new folder is a new service, which knows none of the former tokens.
Only its owner may read it. A token that the service refuses (revoked, or its store was changed) is replaced once.
"""

import re
import time
from collections.abc import Callable
from pathlib import Path

from live_memory.cli import local_service, own_files
from live_memory.cli.config import Settings
from live_memory.cli.program import Program

FOLDER = "agents"
PERMISSIONS = ("read", "write")
NAMELESS = "agent"
LONGEST = 64
WAIT_SECONDS = own_files.STALE_SECONDS + 1
"""Seconds to wait for a process that makes the same token: then it has the token, or it is dead."""
DEVICES = {"aux", "con", "nul", "prn", *(f"{port}{number}" for port in ("com", "lpt") for number in range(1, 10))}
"""Names that Windows refuses to files, with any ending."""
_KNOWN = {
    "cline-core": "cline",
    "codex-mcp-client": "codex",
    "copilot-cli": "vscode",
    "cursor-vscode": "cursor",
    "gemini-cli-mcp-client": "gemini-cli",
    "visual-studio-code": "vscode",
    "visual-studio-code-insiders": "vscode",
}
"""Names that clients give themselves over MCP, and the shorter ones of `livemem init` and `livemem hook`."""


def agent_name(given: str) -> str:
    """The name of an agent, from the one that a client gives itself: letters, digits and `-`, in small letters."""
    name = re.sub(r"[^a-z0-9]+", "-", given.lower()).strip("-")[:LONGEST].strip("-") or NAMELESS
    return _KNOWN.get(name, name)


class AgentToken:
    """The token of one agent for the service of a data folder. Safe for processes at once: all get the same one."""

    def __init__(self, folder: Path, agent: str, make: Callable[[], str]) -> None:
        """`agent` is a name that `agent_name` gave; `make` gives a new token of the service."""
        # No name of an agent ends with `-`.
        name = f"{agent}-" if agent in DEVICES else agent
        self._file = folder / FOLDER / f"{name}.token"
        self._make = make

    def get(self) -> str:
        """The token, made if there is none. Raises OSError, and what `make` raises."""
        return self._kept() or self.renewed("")

    def renewed(self, refused: str) -> str:
        """The token after the service has refused this one: the one that another process made since, else a new one."""
        with own_files.lock(self._file.with_suffix(".lock"), time.monotonic() + WAIT_SECONDS) as alone:
            if not alone:
                raise TimeoutError(f"another process makes the token of {self._file.stem}")
            kept = self._kept()
            if kept and kept != refused:
                return kept
            made = self._make()
            own_files.write(self._file, made.encode())
            return made

    def _kept(self) -> str:
        try:
            return self._file.read_text("ascii").strip()
        except (FileNotFoundError, UnicodeDecodeError):
            return ""


def of_local_service(program: Program, settings: Settings, agent: str, seconds: float) -> AgentToken:
    """The token of an agent for the service of this machine, which `settings` name with its own key.

    `agent`: as a client names itself. A new token takes one request, `seconds` at most.
    """
    url, key, name = settings.need_url(), settings.need_token(), agent_name(agent)

    def make() -> str:
        admin = program.connect_quickly(url, key, timeout=seconds, retries=0)
        try:
            asked = {"name": name, "permissions": [*PERMISSIONS], "space_ids": []}
            return str(admin.call("create_token", asked)["token"])
        finally:
            admin.close()

    return AgentToken(local_service.data_folder(program.environ), name, make)
