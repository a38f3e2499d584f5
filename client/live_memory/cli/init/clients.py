"""The files that each client needs, and their places: the MCP server, the rules text, hooks.

docs/agents/hooks.md names the document against which each format was checked.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Any

from live_memory.cli import own_files
from live_memory.cli.init import blocks, files, record
from live_memory.cli.init.pieces import BlockPiece, Element, JsonPiece, Key, TomlPiece, as_json
from live_memory.cli.init.plan import ByHand, Place
from live_memory.cli.init.setup import (
    HEADERS_COMMAND,
    HOOK_SECONDS,
    IN_ANY_SHELL,
    SERVER,
    START_SECONDS,
    TOKEN_VARIABLE,
    Setup,
)

EXECUTABLE = 0o755
ALWAYS_STARTED = ("gemini-cli", "opencode")
"""Clients whose server is `livemem mcp`, also for a service elsewhere."""
READING = ("start_session", "read", "search", "context", "poll")
"""The core tools that only read. Codex and VS Code ask before no such tool, by themselves."""
_SETTINGS = ".claude/settings.json"
_ALLOWED = tuple(Element(("permissions", "allow"), f"mcp__{SERVER}__{name}") for name in READING)


@dataclass(frozen=True)
class Fitting:
    """The files to write for a client, the steps that its user must do by hand, and remarks."""

    places: list[Place]
    by_hand: list[ByHand] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)


def fitting(client: str, setup: Setup) -> Fitting:
    """The files and steps for a client of CLIENTS."""
    return CLIENTS[client](setup)


def others(client: str, setup: Setup) -> list[str]:
    """The other clients that `init` gave the memory here."""
    given = (other for other in CLIENTS if other != client)
    return [other for other in given if record.load(record.path_of(setup.environ, other, setup.scope, setup.root))]


def own_places(client: str, setup: Setup, places: list[Place]) -> list[Place]:
    """The places that an undo takes back: not those which another client needs that `init` gave the memory here."""
    needed = {(place.root, place.relative) for other in others(client, setup) for place in fitting(other, setup).places}
    return [place for place in places if (place.root, place.relative) not in needed]


def _claude_code(setup: Setup) -> Fitting:
    project = setup.scope == "project"
    server = _started(setup, "stdio")
    if not setup.local:
        server = {"type": "http", "url": setup.server_url, "headersHelper": HEADERS_COMMAND}
    # Else the model finds the tools only by a search for tools, and often does not look.
    server["alwaysLoad"] = True
    events = [*_giving(setup), *(["PreCompact", "Stop", "SessionEnd"] if setup.record else [])]
    hooks = _hook_groups(setup, "claude-code", events)
    return Fitting(
        [
            _server(setup, ".mcp.json" if project else ".claude.json", "mcpServers", server),
            _rules(setup, ".claude/rules/livemem.md"),
            Place(setup.root, _SETTINGS, JsonPiece((*hooks.entries, *(_ALLOWED if setup.allow_reading else ())))),
        ],
        hints=[
            *([] if setup.local else [_READS_PROFILE]),
            "Claude Code asks once whether to trust the server and the hooks of a project.",
        ],
    )


def may_read(setup: Setup) -> bool:
    """Whether Claude Code's settings have the permissions already. Raises Refused."""
    text = files.read(files.inside(setup.root, _SETTINGS)) or ""
    return all(json.dumps(entry.value) in text for entry in _ALLOWED)


def _codex(setup: Setup) -> Fitting:
    root, folder = _moved(setup, "CODEX_HOME", ".codex", ".")
    server: dict[str, Any] = {"url": setup.server_url, "bearer_token_env_var": TOKEN_VARIABLE}
    if setup.local:
        server = {**_started(setup), "startup_timeout_sec": START_SECONDS}
    table = "\n".join([f"[mcp_servers.{SERVER}]", *(f"{name} = {as_json(value)}" for name, value in server.items())])
    events = [*_giving(setup), *(["PreCompact", "Stop"] if setup.record else [])]
    rules = "AGENTS.md" if setup.scope == "project" else f"{folder}/AGENTS.md"
    return Fitting(
        [
            Place(root, f"{folder}/config.toml", TomlPiece(table, ("mcp_servers", SERVER))),
            Place(root, rules, BlockPiece(setup.rules)),
            Place(root, f"{folder}/hooks.json", _hook_groups(setup, "codex", events)),
        ],
        hints=[
            *([] if setup.local else [_NEEDS_TOKEN]),
            "Codex runs new hooks only after you have trusted them: type `/hooks` in Codex"
            + (" (and trust the project's folder)." if setup.scope == "project" else "."),
        ],
    )


def _cursor(setup: Setup) -> Fitting:
    server = _started(setup, "stdio") if setup.local else _remote(setup, f"${{env:{TOKEN_VARIABLE}}}")
    events = ["sessionStart"]
    if setup.record:
        events += ["beforeSubmitPrompt", "afterAgentResponse", "preCompact", "stop", "sessionEnd"]
    hooks = [Element(("hooks", event), {"command": setup.hook("cursor", event)}) for event in events]
    places = [
        _server(setup, ".cursor/mcp.json", "mcpServers", server),
        Place(setup.root, ".cursor/hooks.json", JsonPiece((Key(("version",), 1, optional=True), *hooks))),
    ]
    header = "---\ndescription: The memory that all agents of this project share\nalwaysApply: true\n---\n\n"
    by_hand = []
    if setup.scope == "project":
        places.append(_rules(setup, ".cursor/rules/livemem.mdc", header))
    else:
        by_hand.append(
            ByHand("Cursor Settings > Rules > User Rules", "Cursor does not keep them in a file", setup.rules)
        )
    token = [] if setup.local else [_NEEDS_TOKEN]
    return Fitting(places, by_hand, [*token, "Switch the server on in Cursor's settings, under Tools & MCP."])


def _vscode(setup: Setup) -> Fitting:
    project = setup.scope == "project"
    server = {"type": "http", **_remote(setup, "${input:livemem-token}")}
    asked = {"type": "promptString", "id": "livemem-token", "description": "Token of Live Memory", "password": True}
    entries: tuple[Key | Element, ...] = (Element(("inputs",), asked, "id", "livemem-token"),)
    if setup.local:
        server, entries = _started(setup, "stdio"), ()
    entries = (Key(("servers", SERVER), server), *entries)
    settings = ".vscode/mcp.json" if project else f"{setup.vscode_user_folder()}/mcp.json"
    events = [*_giving(setup), *(["PreCompact", "Stop", "SessionEnd"] if setup.record else [])]
    hooks = [Element(("hooks", event), _command(setup.hook("vscode", event))) for event in events]
    places = [
        Place(setup.root, settings, JsonPiece(entries)),
        # Copilot's command line reads the same hooks and rules, and has a file of its own for servers.
        _server(setup, ".github/mcp.json" if project else ".copilot/mcp-config.json", "mcpServers", _started(setup)),
        Place(
            setup.root,
            ".github/hooks/livemem.json" if project else ".copilot/hooks/livemem.json",
            JsonPiece((Key(("version",), 1, optional=True), *hooks)),
        ),
    ]
    if project:
        places.append(_rules(setup, ".github/copilot-instructions.md"))
    else:
        places.append(_rules(setup, ".copilot/instructions/livemem.instructions.md", '---\napplyTo: "**"\n---\n\n'))
    asks = "VS Code asks for the token when it starts the server, and keeps it encrypted."
    return Fitting(places, hints=[] if setup.local else [asks, _FOR_HOOKS])


def _cline(setup: Setup) -> Fitting:
    project = setup.scope == "project"
    recording = ["UserPromptSubmit", "PreCompact", "TaskComplete", "TaskCancel"]
    hooks = ".clinerules/hooks" if project else "Documents/Cline/Hooks"
    places = [_rules(setup, ".clinerules/livemem.md" if project else "Documents/Cline/Rules/livemem.md")]
    hints = [
        "Switch the hooks on in Cline: the Hooks tab of its rules panel.",
        "Cline's command line runs them at once. Its model gets the memory at the first call of a tool.",
    ]
    if setup.platform == "win32":
        hints = ["Cline runs its hooks where they are: the Hooks tab of its rules panel shows them."]
    else:
        places.append(_script(setup, hooks, "PreToolUse", only='"hookName":"tool_call"'))
    places += [_script(setup, hooks, event) for event in ("TaskStart", "TaskResume")]
    places += [replace(_script(setup, hooks, event), wanted=setup.record) for event in recording]
    settings = _cline_settings(setup)
    if setup.local:
        piece = JsonPiece((Key(("mcpServers", SERVER), _started(setup)),))
        return Fitting([*places, Place(*settings, piece)], hints=hints)
    server = {"type": "streamableHttp", **_remote(setup, setup.token or "PUT-YOUR-TOKEN-HERE")}
    piece = JsonPiece((Key(("mcpServers", SERVER), server),))
    if setup.token is None:
        reason = "Cline can't read the token from the environment. Enter it yourself, or use --with-token"
        return Fitting(places, [ByHand(str(settings[0] / settings[1]), reason, piece.snippet())], [*hints, _FOR_HOOKS])
    places.append(Place(*settings, piece, own_files.OWNER_ONLY))
    if (settings[0] / settings[1]).is_relative_to(setup.project) and setup.project != setup.home:
        ignored = (settings[0] / settings[1]).relative_to(setup.project).as_posix()
        places.append(Place(setup.project, ".gitignore", BlockPiece(f"/{ignored}", blocks.HASH)))
    return Fitting(places, hints=[*hints, _FOR_HOOKS])


def _gemini_cli(setup: Setup) -> Fitting:
    root, folder = _moved(setup, "GEMINI_CLI_HOME", ".gemini", ".gemini")
    events = ["SessionStart", *(["BeforeAgent"] if setup.recall else [])]
    events += ["AfterAgent", "SessionEnd"] if setup.record else []
    hooks = _hook_groups(setup, "gemini-cli", events, HOOK_SECONDS * 1_000)
    server = Key(("mcpServers", SERVER), _started(setup))
    rules = "GEMINI.md" if setup.scope == "project" else f"{folder}/GEMINI.md"
    return Fitting(
        [
            Place(root, f"{folder}/settings.json", JsonPiece((server, *hooks.entries))),
            Place(root, rules, BlockPiece(setup.rules)),
        ],
        hints=["Gemini CLI warns once of new hooks of a project, and runs them where the folder is trusted."],
    )


def _opencode(setup: Setup) -> Fitting:
    root, folder = _moved(setup, "XDG_CONFIG_HOME", ".config/opencode", "opencode")
    outside, inside = (f"{folder}/", folder) if setup.scope == "user" else ("", ".opencode")
    started = {"type": "local", "command": ["livemem", "mcp", *setup.named_space], "timeout": START_SECONDS * 1_000}
    return Fitting(
        [
            Place(root, f"{outside}opencode.json", JsonPiece((Key(("mcp", SERVER), started),))),
            Place(root, f"{outside}AGENTS.md", BlockPiece(setup.rules)),
            Place(root, f"{inside}/plugin/livemem.js", BlockPiece(_opencode_plugin(setup), blocks.SLASHES, own=True)),
        ],
        hints=["Start OpenCode again: it reads its plugins when it starts."],
    )


def _opencode_plugin(setup: Setup) -> str:
    """The plugin that calls the hooks: OpenCode has none that are commands."""
    events = [*_giving(setup), *(["PreCompact", "Stop", "SessionEnd"] if setup.record else [])]
    commands = {event: setup.hook("opencode", event).removesuffix(IN_ANY_SHELL) for event in events}
    text = resources.files("live_memory.cli.init").joinpath("opencode_plugin.js").read_text("utf-8")
    return text.replace("COMMANDS_OF_INIT", json.dumps(commands, indent=2))


def _moved(setup: Setup, variable: str, folder: str, moved: str) -> tuple[Path, str]:
    """The root and the folder below it in which a client keeps its files: `moved` for those of the user where a
    variable of the client names another root.
    """
    named = setup.environ.get(variable)
    return (Path(named), moved) if setup.scope == "user" and named else (setup.root, folder)


def _cline_settings(setup: Setup) -> tuple[Path, str]:
    """The file of all servers, which Cline keeps per user, not per project: that of the command line or editor."""
    if named := setup.environ.get("CLINE_MCP_SETTINGS_PATH"):
        return Path(named).parent, Path(named).name
    editor = f"{setup.vscode_user_folder()}/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"
    in_editor = (setup.home / editor).exists()
    return setup.home, editor if in_editor else ".cline/data/settings/cline_mcp_settings.json"


def _started(setup: Setup, kind: str = "") -> dict[str, Any]:
    """A server that the client starts. It starts the service of this machine, and needs no token."""
    named = {"type": kind} if kind else {}
    return {**named, "command": "livemem", "args": ["mcp", *setup.named_space]}


def _remote(setup: Setup, token: str) -> dict[str, Any]:
    return {"url": setup.server_url, "headers": {"Authorization": f"Bearer {token}"}}


def _server(setup: Setup, relative: str, key: str, server: dict[str, Any]) -> Place:
    return Place(setup.root, relative, JsonPiece((Key((key, SERVER), server),)))


def _rules(setup: Setup, relative: str, header: str = "") -> Place:
    return Place(setup.root, relative, BlockPiece(setup.rules, header=header))


def _giving(setup: Setup) -> list[str]:
    """The events at which a client takes something for its model. Cursor and Cline take nothing at a prompt."""
    return ["SessionStart", *(["UserPromptSubmit"] if setup.recall else [])]


def _command(command: str, timeout: int = HOOK_SECONDS) -> dict[str, Any]:
    return {"type": "command", "command": command, "timeout": timeout}


def _hook_groups(setup: Setup, client: str, events: list[str], timeout: int = HOOK_SECONDS) -> JsonPiece:
    """Hooks in the form of Claude Code, which Codex and Gemini CLI have too: groups of commands below each event.

    `timeout`: in the client's unit.
    """
    commands = {event: _command(setup.hook(client, event), timeout) for event in events}
    return JsonPiece(tuple(Element(("hooks", event), {"hooks": [one]}) for event, one in commands.items()))


def _script(setup: Setup, folder: str, event: str, only: str = "") -> Place:
    """A hook of Cline: a program. One that fails blocks the task, so it does not even if livemem is not installed.

    `only`: the text in its input without which it does nothing.
    """
    call = setup.hook("cline", event).removesuffix(IN_ANY_SHELL)
    if setup.platform == "win32":
        found = "Get-Command livemem -ErrorAction SilentlyContinue"
        body = f"if ({found}) {{ {call}; if ($LASTEXITCODE -eq 0) {{ exit 0 }} }}\n'{{\"cancel\": false}}'\nexit 0"
        return Place(setup.root, f"{folder}/{event}.ps1", BlockPiece(body, blocks.HASH, own=True))
    allow = """printf '{"cancel": false}\\n'"""
    call = f"{call} || {allow}"
    if only:
        call = f"input=$(cat)\ncase $input in\n  *'{only}'*) printf '%s' \"$input\" | {call} ;;\n  *) {allow} ;;\nesac"
    body = f"command -v livemem >/dev/null 2>&1 || {{ {allow}; exit 0; }}\n{call}\nexit 0"
    return Place(setup.root, f"{folder}/{event}", BlockPiece(body, blocks.HASH, "#!/bin/sh\n", own=True), EXECUTABLE)


_NEEDS_TOKEN = f"Set {TOKEN_VARIABLE} where the client is started (it reads the token from there): no file holds it."
_READS_PROFILE = (
    "It gets the token from `livemem login`, or from LIVEMEM_TOKEN (`livemem mcp-headers`): no file here holds it."
)
_FOR_HOOKS = "The hooks read the token from `livemem login`, or from LIVEMEM_TOKEN."

CLIENTS: Mapping[str, Callable[[Setup], Fitting]] = {
    "claude-code": _claude_code,
    "cursor": _cursor,
    "cline": _cline,
    "vscode": _vscode,
    "codex": _codex,
    "gemini-cli": _gemini_cli,
    "opencode": _opencode,
}
