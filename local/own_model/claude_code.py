"""Claude Code as a model: how it is called with nothing but a prompt, and what its answer says."""

import json
import os
import re
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from local.offline_llm.api import ApiError

NAME = "Claude Code"
SYSTEM_FILE = "system.txt"
FLAGS = (
    *("-p", "--tools", "", "--setting-sources", "", "--strict-mcp-config", "--no-session-persistence"),
    *("--disable-slash-commands", "--output-format", "json", "--verbose", "--system-prompt-file", SYSTEM_FILE),
)
"""`--verbose` adds to the answer which tools and servers there were, and until when a limit holds."""
OFF = {
    # Without it `@/a/file` in a prompt is read and sent, also where there are no tools.
    "CLAUDE_CODE_DISABLE_ATTACHMENTS": "1",
    "CLAUDE_CODE_SAFE_MODE": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "CLAUDE_CODE_MAX_RETRIES": "2",
    "LIVEMEM_HOOKS": "off",
}
KEPT = (
    *("HOME", "USER", "LOGNAME", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "SYSTEMROOT", "LANG", "LC_ALL", "TZ"),
    *("HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"),
)
"""All that is passed on. A project may set other variables: they would send the notes elsewhere, with another login."""
SYSTEM_PATH = ("/usr/local/bin", "/usr/bin", "/bin")
MANAGED = {
    "linux": Path("/etc/claude-code"),
    "darwin": Path("/Library/Application Support/ClaudeCode"),
    "win32": Path("C:/Program Files/ClaudeCode"),
}
_NOT_LOGGED_IN = re.compile(r"/login|not logged in|invalid api key|oauth token|authenticat", re.IGNORECASE)
_TOO_LONG = re.compile(r"output token maximum", re.IGNORECASE)
LIMIT_SECONDS = 3_600.0
"""For how long nothing is asked after a limit that names no end."""


class LimitReached(ApiError):
    """The subscription gives nothing more `until` then, in seconds since 1970."""

    def __init__(self, until: float) -> None:
        when = time.strftime("%Y-%m-%d %H:%M", time.gmtime(until))
        super().__init__(429, f"The limit of the subscription of {NAME} is reached until {when} (UTC).")
        self.until = until


@dataclass(frozen=True)
class ClaudeAnswer:
    """The text, why it ends (as in OpenAI's API), tokens, and dollars as the program counts them."""

    text: str
    finish: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0


def environment(outer: Mapping[str, str], program: Path, **more: str) -> dict[str, str]:
    """The variables of a call, made of those of the user."""
    path = os.pathsep.join([str(program.parent), *SYSTEM_PATH])
    return {**{name: outer[name] for name in KEPT if outer.get(name)}, "PATH": path, **OFF, **more}


def failed(why: str, status: int = 503) -> ApiError:
    """The error for a call that gave no answer."""
    return ApiError(status, f"{NAME} {why}.")


def check_managed(home: str, folder: Path | None = None) -> None:
    """Refuse where the machine's administrator runs hooks or servers in each call. Raises ApiError."""
    root = folder or MANAGED.get(sys.platform, MANAGED["linux"])
    servers = [root / "managed-mcp.json", Path("/Library/Managed Preferences/com.anthropic.claudecode.plist")]
    settings = [root / "managed-settings.json", *sorted((root / "managed-settings.d").glob("*.json"))]
    settings.append(Path(home or "/") / ".claude" / "remote-settings.json")
    if any(file.exists() for file in servers) or any(map(_has_hooks, settings)):
        raise failed("has settings of an administrator with hooks or servers, which can't be switched off")


def _has_hooks(file: Path) -> bool:
    try:
        found = json.loads(file.read_bytes())
    except FileNotFoundError:
        return False
    except (OSError, ValueError):
        return True
    return not isinstance(found, dict) or bool(found.get("hooks")) or '"hooks"' in json.dumps(found)


def read(status: int, output: bytes) -> ClaudeAnswer:
    """The answer in an output. Raises ApiError, LimitReached."""
    parts = _parts(output)
    told = next((part for part in reversed(parts) if part.get("type") == "result"), None)
    if told is None:
        raise failed(f"ended with status {status} and without an answer" if status else "did not answer in JSON")
    init = next((part for part in parts if part.get("subtype") == "init"), {})
    if init.get("tools") or init.get("mcp_servers"):
        raise failed("had tools or servers in a call: its answer is not used")
    text = told.get("result")
    if not isinstance(text, str):
        raise failed("answered without a text")
    if told.get("is_error") and not _TOO_LONG.search(text):
        raise _error(told.get("api_error_status"), text, parts)
    if status and not told.get("is_error"):
        raise failed(f"ended with status {status}")
    return _counted(told, text)


def _parts(output: bytes) -> list[Mapping[str, Any]]:
    try:
        found = json.loads(output)
    except (ValueError, RecursionError):
        return []
    return [part for part in (found if isinstance(found, list) else [found]) if isinstance(part, dict)]


def _error(status: object, text: str, parts: Sequence[Mapping[str, Any]]) -> ApiError:
    if status == 429:
        ends = [
            part["rate_limit_info"].get("resetsAt") for part in parts if isinstance(part.get("rate_limit_info"), dict)
        ]
        times = [end for end in ends if isinstance(end, int | float)]
        return LimitReached(float(times[-1]) if times else time.time() + LIMIT_SECONDS)
    if status in (401, 403) or _NOT_LOGGED_IN.search(text):
        return failed("is not logged in: run `claude` and type /login")
    return failed(f"failed: {' '.join(text.split())[:200]}")


def _counted(told: Mapping[str, Any], text: str) -> ClaudeAnswer:
    used = told.get("usage")
    counts = {name: count for name, count in used.items() if type(count) is int} if isinstance(used, dict) else {}
    read_ = sum(counts.get(f"{kind}input_tokens", 0) for kind in ("", "cache_creation_", "cache_read_"))
    cost = told.get("total_cost_usd")
    cut = told.get("is_error") or told.get("stop_reason") == "max_tokens"
    finish = "length" if cut else "content_filter" if told.get("stop_reason") == "refusal" else "stop"
    return ClaudeAnswer(
        text, finish, read_, counts.get("output_tokens", 0), float(cost) if isinstance(cost, int | float) else 0.0
    )
