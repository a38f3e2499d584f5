"""The personal space beside a project's: `init` records it on this machine alone, and shows and undoes it as a file."""

import json
from dataclasses import dataclass

from live_memory.cli import config, own_files, repository
from live_memory.cli.exits import Refused
from live_memory.cli.init import clients, record
from live_memory.cli.init.accepted import Accepted
from live_memory.cli.init.plan import Place
from live_memory.cli.init.setup import Setup


@dataclass(frozen=True)
class WholeFile:
    """A file that is ours as a whole."""

    text: str

    def add(self, _: str) -> str:
        """The text, in the place of any other."""
        return self.text

    def remove(self, _: str, before: str | None) -> str:
        """Nothing, or the text before it."""
        return before or ""

    def is_bare(self, text: str) -> bool:
        """Whether nothing is left."""
        return not text

    def snippet(self) -> str:
        """The text."""
        return self.text


def check(setup: Setup) -> None:
    """Raise Refused where the personal space is the project's."""
    if setup.personal and setup.personal == setup.space:
        raise Refused(f"{setup.personal} is the space of the project: give your personal space another name.")


def places(setup: Setup, *, undo: bool) -> list[Place]:
    """The record, where this call changes it: all clients of a folder share it, and `undo` takes it away."""
    here = repository.of(setup.project) if setup.scope == "project" else None
    root, name = record.state_folder(setup.environ), Accepted.personal_name(here)
    service = config.address_of(setup.environ, setup.url, is_local=setup.local)
    if undo:
        return [Place(root, name, WholeFile(""), wanted=False)]
    if setup.personal is None:
        return []
    told = {"repository": here and here.identity, "service": service, "space": setup.personal}
    piece = WholeFile(json.dumps(told, ensure_ascii=False) + "\n")
    # A no has to stand there only where a folder above, or all projects, have one.
    above = not setup.personal and any((root / one).exists() for one in Accepted.personal_names(here)[1:])
    return [Place(root, name, piece, own_files.OWNER_ONLY, wanted=bool(setup.personal) or above)]


def told(client: str, setup: Setup) -> list[str]:
    """The lines for the person who decides on it."""
    if not setup.personal:
        return []
    where = "this repository" if setup.scope == "project" else "all your projects"
    who = (
        "all agents of this machine reach it, also by its name from other projects"
        if setup.local
        else "the service's tokens decide if others may read it"
    )
    by_url = not (setup.local or client in clients.ALWAYS_STARTED)
    return [
        f"Personal: the agents of {where} see your space {setup.personal} beside the project's; {who}.",
        *([_TOOLS_BY_URL] if by_url else []),
    ]


_TOOLS_BY_URL = (
    "Only hooks and commands do: the MCP tools of this client ask the service itself. What they read of your space by "
    "its name is not cut from recorded chats."
)
