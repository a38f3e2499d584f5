"""Reads the input of clients at their events. Names of fields differ and change, and no input is trusted."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from live_memory._invisible import has_controls

Kind = Literal["load", "recall", "keep", "send", "close"]
"""`load`: give the memory to the model. `recall`: give it what is clearly about a prompt. `keep`: keep the messages for
later. `send`: send the messages since the last time. `close`: send them, and close the conversation, so that its last
turns are summarised before the next start.
"""

_OF_CLAUDE_CODE: Mapping[str, Kind] = {
    "SessionStart": "load",
    "UserPromptSubmit": "recall",
    "PreCompact": "close",
    "Stop": "send",
    "SessionEnd": "close",
}
EVENTS: Mapping[str, Mapping[str, Kind]] = {
    "claude-code": _OF_CLAUDE_CODE,
    "codex": {"SessionStart": "load", "UserPromptSubmit": "recall", "PreCompact": "close", "Stop": "send"},
    "vscode": _OF_CLAUDE_CODE,
    "cursor": {
        "sessionStart": "load",
        "beforeSubmitPrompt": "keep",
        "afterAgentResponse": "keep",
        "preCompact": "close",
        "stop": "send",
        "sessionEnd": "close",
    },
    "cline": {
        "TaskStart": "load",
        "TaskResume": "load",
        "PreToolUse": "load",
        "UserPromptSubmit": "keep",
        "PreCompact": "close",
        "TaskComplete": "close",
        "TaskCancel": "close",
    },
    "gemini-cli": {"SessionStart": "load", "BeforeAgent": "recall", "AfterAgent": "send", "SessionEnd": "close"},
    "opencode": _OF_CLAUDE_CODE,
}

COMMAND_LINE: Mapping[str, tuple[str, Kind]] = {
    "PreToolUse": ("tool_call", "load"),
    "TaskComplete": ("agent_end", "send"),
    "TaskCancel": ("agent_abort", "send"),
}
"""The events of Cline's command line: what it calls them, and what is done. It reads no answer at the start of a task,
so the memory comes at the first call of a tool. A task that is complete is one answer there, and no end of a session.
"""

STARTS = "start"
"""Work that an event leaves to another process: to start the service of this machine."""
LONGEST_PROMPT, LEAST_WORDS = 4_000, 3
"""Characters of a prompt that is asked about, of which a longer one holds a pasted log, and words."""
_WORD = re.compile(r"\w+")
_ID_CHARS = 200
_PATH_BYTES = 4_096


@dataclass(frozen=True)
class Called:
    """What a hook is called with: `livemem hook CLIENT EVENT [--space NAME] [--profile NAME]`.

    `later`: it carries out in the background what a hook has left to it, named with commas.
    """

    client: str
    event: str
    space: str | None = None
    profile: str | None = None
    later: str | None = None


@dataclass(frozen=True)
class Event:
    """An event in a session. `said` is the latest message, by `role`, if the client sends it."""

    client: str
    name: str
    kind: Kind
    session: str
    folder: str | None
    transcript: Path | None
    role: Literal["user", "assistant"]
    said: str
    once: bool = False
    """Whether it comes often, and the memory is to be loaded at the first one of the session alone."""
    messages: tuple[dict[str, Any], ...] = ()
    """The session so far, if the client sends it: each with `id`, `role`, `content` and `ts` (Unix time in ms)."""


def is_prompt(client: str, name: str) -> bool:
    """Whether a prompt waits for what is found about it."""
    return EVENTS.get(client, {}).get(name) == "recall"


def is_asked(prompt: str) -> bool:
    """Whether a prompt may say enough to look something up: no command of the client, no log, no "go on"."""
    if len(prompt) > LONGEST_PROMPT or prompt.lstrip().startswith("/"):
        return False
    return len(_WORD.findall(prompt)) >= LEAST_WORDS


def in_background(client: str, name: str) -> bool:
    """Whether the client need not wait for what is done at an event: it goes on, and has no use for the answer.

    At the end of a session it does: where the client is all that a container runs, nothing outlives it.
    """
    kind = EVENTS.get(client, {}).get(name)
    return kind == "send" or (kind == "close" and name.lower() == "precompact")


def read(client: str, name: str, text: str, environ: Mapping[str, str] | None = None) -> Event | None:
    """The event, or None if it is not for this hook: an unknown one, or one of another client.

    Cursor and VS Code run the hooks of Claude Code too. Their input then is their own: with hooks of their own it would
    be kept twice.
    """
    kind = EVENTS.get(client, {}).get(name)
    payload = _object(text)
    if kind is None or payload is None or _sender(payload, client) != client:
        return None
    if client == "cline" and (session := _text(_dict(payload, "sessionContext"), "rootSessionId")):
        return _command_line(name, payload, session[:_ID_CHARS], environ or {})
    if name == "PreToolUse":
        return None
    has_file = client not in {"cursor", "cline", "opencode"}
    transcript = _text(payload, "transcript_path", "transcriptPath") if has_file else None
    sent = payload.get("messages") if client == "opencode" else None
    role, said = _said(client, name, payload)
    return Event(
        client,
        name,
        kind,
        _text(payload, "session_id", "sessionId", "conversation_id", "taskId")[:_ID_CHARS],
        _folder(payload),
        Path(transcript) if transcript else None,
        role,
        said,
        messages=tuple(one for one in sent if isinstance(one, dict)) if isinstance(sent, list) else (),
    )


def _command_line(name: str, payload: Mapping[str, Any], session: str, environ: Mapping[str, str]) -> Event | None:
    from live_memory.cli.init.hooks import cline_sessions  # noqa: PLC0415 - only Cline needs it

    called, kind = COMMAND_LINE.get(name, ("", "load"))
    # Sub-agents are left out, as with the other clients.
    if payload.get("hookName") != called or payload.get("parent_agent_id"):
        return None
    path = cline_sessions.path_of(environ, session)
    if kind == "load":
        # A session that is resumed gets a new task, and the memory again.
        session = _text(payload, "taskId")[:_ID_CHARS] or session
    return Event("cline", name, kind, session, _folder(payload), path, "user", "", once=kind == "load")


def _dict(payload: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = payload.get(name)
    return value if isinstance(value, dict) else {}


def _object(text: str) -> dict[str, Any] | None:
    try:
        payload = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return payload if isinstance(payload, dict) else None


def _sender(payload: Mapping[str, Any], client: str) -> str:
    if "cursor_version" in payload:
        return "cursor"
    if "clineVersion" in payload:
        return "cline"
    # VS Code sends the time of the event, which Claude Code does not.
    return "vscode" if client == "claude-code" and ("sessionId" in payload or "timestamp" in payload) else client


def _text(payload: Mapping[str, Any], *names: str) -> str:
    return next((value for name in names if isinstance(value := payload.get(name), str) and value), "")


def _folder(payload: Mapping[str, Any]) -> str | None:
    roots = payload.get("workspace_roots") or payload.get("workspaceRoots")
    first = roots[0] if isinstance(roots, list) and roots and isinstance(roots[0], str) else ""
    folder = _text(payload, "cwd", "workspacePath") or first
    usable = folder and not has_controls(folder) and len(folder.encode(errors="replace")) <= _PATH_BYTES
    return folder.encode(errors="replace").decode() if usable else None


def _said(client: str, name: str, payload: Mapping[str, Any]) -> tuple[Literal["user", "assistant"], str]:
    if client == "cursor":
        return (
            ("assistant", _text(payload, "text"))
            if name == "afterAgentResponse"
            else ("user", _text(payload, "prompt"))
        )
    if client == "cline":
        own = payload.get(name[:1].lower() + name[1:])
        own = own if isinstance(own, dict) else {}
        if name == "TaskComplete":
            about = own.get("taskMetadata")
            return "assistant", _text(about if isinstance(about, dict) else own, "result")
        return "user", _text(own, "prompt")
    prompt = _text(payload, "prompt")
    if client == "gemini-cli":
        # It puts what a hook said at the start before the first prompt.
        prompt = prompt.rpartition("</hook_context>\n\n")[2]
    return "user", prompt if EVENTS[client][name] == "recall" else ""
