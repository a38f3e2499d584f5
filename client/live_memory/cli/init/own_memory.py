"""Whether a client remembers by itself, as its settings say, and how that goes together with this memory.

As Claude Code 2.1.332 (on unless it is switched off) and Codex 0.171.0 (off unless it is switched on) read them.
Nothing of theirs is changed.
"""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from live_memory.cli.exits import Refused
from live_memory.cli.init import files
from live_memory.cli.init.setup import Setup

VARIABLE = "CLAUDE_CODE_DISABLE_AUTO_MEMORY"
YES, NO = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


def told(client: str, setup: Setup) -> list[str]:
    """The line for the user, none for a client that has no memory of its own."""
    if client == "claude-code":
        home = Path(setup.environ.get("CLAUDE_CONFIG_DIR") or setup.home / ".claude")
        folder = home / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(setup.project)) / "memory"
        off = f'`"autoMemoryEnabled": false` in {home / "settings.json"}'
        return [_line("Claude Code", setup, folder, off, on=_claude_code(setup, home))]
    if client == "codex":
        home = Path(setup.environ.get("CODEX_HOME") or setup.home / ".codex")
        off = f"`memories = false` below [features] in {home / 'config.toml'}"
        return [_line("Codex", setup, home / "memories", off, on=_codex(setup, home))]
    return []


def _line(name: str, setup: Setup, folder: Path, off: str, *, on: bool) -> str:
    taken = f" Take it over first: `livemem import {setup.quoted(folder)}`." if any(folder.rglob("*.md")) else ""
    if not on:
        return f"{name}'s own memory is off: this one is alone."
    return (
        f"{name}'s own memory is on too. It is one agent's, this one is the team's. To keep this alone: {off}.{taken}"
    )


def _claude_code(setup: Setup, home: Path) -> bool:
    own = [setup.project / ".claude" / name for name in ("settings.local.json", "settings.json")]
    read = [_json(path) for path in (*(own if setup.scope == "project" else ()), home / "settings.json")]
    variables = [_table(one, "env").get(VARIABLE) for one in read]
    said = str(next((one for one in variables if one is not None), setup.environ.get(VARIABLE, ""))).strip().lower()
    if said in (*YES, *NO):
        return said in NO
    enabled = (one["autoMemoryEnabled"] for one in read if isinstance(one.get("autoMemoryEnabled"), bool))
    return next(enabled, True)


def _codex(setup: Setup, home: Path) -> bool:
    own = [setup.project / ".codex/config.toml"] if setup.scope == "project" else []
    read = [_toml(path) for path in (*own, home / "config.toml")]
    # The second is the former name of the first.
    named = (_table(one, "features").get(name) for one in read for name in ("memories", "memory_tool"))
    return bool(next((one for one in named if isinstance(one, bool)), False))


def _json(path: Path) -> Mapping[str, Any]:
    for text in _text(path):
        with suppress(ValueError, RecursionError):
            found = json.loads(text)
            return found if isinstance(found, dict) else {}
    return {}


def _toml(path: Path) -> Mapping[str, Any]:
    for text in _text(path):
        with suppress(tomllib.TOMLDecodeError, RecursionError):
            return tomllib.loads(text)
    return {}


def _text(path: Path) -> Iterator[str]:
    with suppress(Refused):
        if text := files.read(path):
            yield text


def _table(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = document.get(name)
    return found if isinstance(found, dict) else {}
