"""Explains recording to the user who decides on it: the data that is kept, its place, its readers, and how to turn it
off.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from live_memory.cli import repository
from live_memory.cli.exits import Refused
from live_memory.cli.init import clients, files
from live_memory.cli.init.hooks.events import EVENTS
from live_memory.cli.init.setup import Scope, Setup

WHAT = {
    "cline": "what you type, and the result of a finished task, or in the command line each answer",
}
"""Clients for whose sessions different data is kept."""
ASKED = " The memory is asked about each prompt (400 characters at most) and does not keep it: --no-recall."
ALSO_READ = {"claude-code": (".claude/settings.local.json",)}
"""Files of a project in which a client looks for hooks too, and `init` writes none."""
_PROJECT: Scope = "project"
_USER: Scope = "user"


def left_over(client: str, setup: Setup, changed: Mapping[Path, str | None]) -> list[str]:
    """The hooks that go on recording: those of the other scope, those of folders above in the same repository, which
    some clients run too, and those that livemem did not write.

    `changed`: the texts that files are about to get.
    """
    called = re.compile(rf"livemem hook {client} ([A-Za-z]+)")
    kinds = EVENTS[client]
    here = repository.of(setup.project)
    folders = [here.top / place for place in here.places]
    places: dict[Path, str] = {folder / name: "" for name in ALSO_READ.get(client, ()) for folder in folders}
    for scope, folder in [*((_PROJECT, folder) for folder in reversed(folders)), (_USER, setup.project)]:
        option = "" if scope == setup.scope else f"--scope {scope} "
        option += "" if folder == folders[0] else f"--directory {setup.quoted(folder)} "
        there = replace(setup, scope=scope, project=folder)
        places |= {place.root / place.relative: option for place in clients.fitting(client, there).places}
    lines = []
    for path, scope_option in places.items():
        text: str | None = None
        with suppress(Refused):
            text = changed[path.resolve()] if path.resolve() in changed else files.read(path)
        events = dict.fromkeys(
            event for event in called.findall(text or "") if kinds.get(event) not in (None, "load", "recall")
        )
        if events:
            way = f"`livemem init {client} {scope_option}--no-record`" if scope_option else "remove them there"
            lines.append(f"- {path} ({', '.join(events)}): {way}.")
    return lines


def told(client: str, setup: Setup, left: list[str]) -> list[str]:
    """The lines, also where nothing is recorded. `left`: those of `left_over`."""
    if left:
        return [f"Chats in {client} are still recorded by other hooks:", *left]
    asked = ASKED if setup.recall and "recall" in EVENTS[client].values() else ""
    if not setup.record:
        return [f"No chat in {client} is recorded: hooks only load the memory.{asked}"]
    what = WHAT.get(client, "what you type and what the agent answers")
    where = "of this machine" if setup.local else f"at {setup.url}"
    folds = ", and folds the notes at the end of a session" if setup.local else ""
    return [
        f"Recorded: {what} (no files, no results of tools), with the folder's path and this machine's name,",
        (
            f"in the space {setup.space} {where}, for all who may read it. The LLM makes summaries and notes of it"
            f"{folds}. Secrets are replaced: most, not all."
        ),
        f"--no-record ends it; chats of before stay until an admin deletes them.{asked}",
    ]
