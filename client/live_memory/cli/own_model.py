"""A model without a key: the command line of a client that is installed here (`livemem serve --llm claude`)."""

import os
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from live_memory.cli import repository
from live_memory.cli.exits import Refused
from live_memory.cli.local_service import OWN_MODEL, Choices

NAME = "claude"
NO_MODEL = "No language model: fixed rules. `livemem serve --llm claude` uses Claude Code for folds."


def find(environ: Mapping[str, str], folder: Path) -> Path | None:
    """The whole path of the program by the user's PATH. A program in the project of `folder` does not count."""
    project, home = repository.of(folder).top, Path.home()
    entries = [Path(entry) for entry in environ.get("PATH", "").split(os.pathsep)]
    own = [
        str(entry)
        for entry in entries
        if entry.is_absolute()
        and "node_modules" not in entry.parts
        and (home.is_relative_to(project) or not entry.is_relative_to(project))
    ]
    found = shutil.which(NAME, path=os.pathsep.join(own)) if own else None
    return Path(found) if found else None


def settled(said: Choices, environ: Mapping[str, str], folder: Path) -> Choices:
    """The choices with the path of the program, if they name it. Raises Refused."""
    if said.llm != NAME:
        return said
    program = find(environ, folder)
    if not program:
        raise Refused("`claude` is not on your PATH, outside of this project: install Claude Code, and log in once.")
    return replace(said, llm=OWN_MODEL, program=str(program))
