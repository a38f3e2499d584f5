"""The options of `init`, and the folders where clients keep their files on this system."""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from string import Template
from typing import Literal
from urllib.parse import urlencode

from live_memory.cli.exits import Refused

Scope = Literal["project", "user"]
TOKEN_VARIABLE = "LIVEMEM_TOKEN"  # noqa: S105 - the name of a variable
SERVER = "livemem"
HEADERS_COMMAND = "livemem mcp-headers"
"""Prints the headers for a server as JSON."""
START_SECONDS = 60
"""Seconds that a client waits for a server that may have to start the service."""
HOOK_SECONDS = 10
"""Seconds that a client waits for a hook. `livemem hook` ends by itself before."""

IN_ANY_SHELL = " ; exit 0 # || exit 0"
"""Stands behind the command of a hook, which then ends well also where livemem is not installed, as at a colleague's.

The form is one for sh, PowerShell (of Windows too, which has no `||`) and cmd, which takes `;` and `#` for arguments.
"""
_PLAIN_URL = re.compile(r"[a-zA-Z0-9._~:/%\[\]-]+")


@dataclass(frozen=True)
class Setup:
    """The options of a call. `token` is None unless it must be written into a file, for a client with no other way."""

    space: str
    """Empty: the repository's own, as it is found when a command runs."""
    url: str
    scope: Scope
    project: Path
    home: Path
    platform: str
    environ: Mapping[str, str]
    token: str | None = None
    record: bool = True
    """Whether hooks keep messages as conversations, besides loading the memory."""
    recall: bool = True
    """Whether a hook gives the model what is clearly about a prompt, where the client has one."""
    local: bool = False
    """Whether the service is that of this machine, which `livemem mcp` starts and which needs no token of the user."""
    allow_reading: bool = False
    """Whether Claude Code calls the tools that only read without a question to its user."""
    personal: str | None = None
    """The personal space beside the project's. Empty: none any more. None: as it was."""

    @property
    def root(self) -> Path:
        """The folder in which files are changed."""
        return self.project if self.scope == "project" else self.home

    @property
    def server_url(self) -> str:
        """The URL of the MCP server, with the space in which tools act if they name none.

        Answers come as Markdown alone: if JSON came with it, several clients would give their model the JSON instead.
        """
        return f"{self.url}/mcp?{urlencode({'space': self.space, 'structured': 'false'})}"

    @property
    def rules(self) -> str:
        """The text that tells an agent when to read, note and consolidate."""
        text = resources.files("live_memory.cli.init").joinpath("agent_rules.md").read_text("utf-8")
        return Template(text).substitute(space=self.space)

    @property
    def named_space(self) -> list[str]:
        """The arguments of a command that name the space."""
        return ["--space", self.space] if self.space else []

    def hook(self, client: str, event: str) -> str:
        """The command that a client runs at an event, in any shell."""
        return f"{shlex.join(['livemem', 'hook', client, event, *self.named_space])}{IN_ANY_SHELL}"

    def quoted(self, path: Path) -> str:
        """A path in a command for the user of this system."""
        return f'"{path}"' if self.platform == "win32" else shlex.quote(str(path))

    def vscode_user_folder(self) -> str:
        """The folder of VS Code for the user's files, below the home folder."""
        if self.platform == "darwin":
            return "Library/Application Support/Code/User"
        return "AppData/Roaming/Code/User" if self.platform == "win32" else ".config/Code/User"


def checked_url(url: str) -> str:
    """A URL, which becomes part of files that other programs read. Raises Refused."""
    if not _PLAIN_URL.fullmatch(url):
        raise Refused("The URL must be plain: letters, digits and `-._~:/%[]`.")
    return url
