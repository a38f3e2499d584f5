"""Shows, before the first note, what this version of the program sends for a prompt that asks for all that it may have.

The program is run as always, but its home is an empty folder and its API is a small one here. In the folder lie a file,
rules and settings with a hook that all say one random word. That word must not be in what is sent, and no tool.
"""

import json
import secrets
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from local.front.httpd import Request, Response, Server
from local.own_model.claude_code import SYSTEM_FILE

SECONDS = 60.0
_ANSWER = '{"checked": true}'
_USAGE = {"input_tokens": 1, "output_tokens": 1}
_EVENTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("message_start", {"message": {"id": "m", "type": "message", "role": "assistant", "content": [], "usage": _USAGE}}),
    ("content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}}),
    ("content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": _ANSWER}}),
    ("content_block_stop", {"index": 0}),
    ("message_delta", {"delta": {"stop_reason": "end_turn"}, "usage": _USAGE}),
    ("message_stop", {}),
)

Ask = Callable[[str, Path, Mapping[str, str]], str]
"""The text that the program answers to a prompt, in a folder with the system's prompt, with more variables."""


def leaks(ask: Ask) -> bool:
    """Whether more than the prompt was sent, or it can't be told. Raises what `ask` raises."""
    asked: list[bytes] = []

    def answer(request: Request) -> Response:
        if request.method != "POST" or not request.path.startswith("/v1/messages"):
            return Response(404)
        asked.append(request.body)
        lines = [f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n" for name, data in _EVENTS]
        return Response(200, (("Content-Type", "text/event-stream"),), "".join(lines).encode())

    server, word = Server("127.0.0.1", 0, answer, max_body=1_000_000), secrets.token_hex(16)
    server.start()
    try:
        with tempfile.TemporaryDirectory() as root:
            folder = Path(root)
            prompt = _prepared(folder, word)
            api = {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "self-check", "NO_PROXY": "127.0.0.1"}
            said = ask(prompt, folder, {**api, "HOME": root, "USERPROFILE": root})
    finally:
        server.stop()
    if said != _ANSWER or len(asked) != 1 or word.encode() in asked[0]:
        return True
    sent = json.loads(asked[0])
    return bool(sent.get("tools") or sent.get("mcp_servers"))


def _prepared(folder: Path, word: str) -> str:
    """A prompt that asks for the files which this lays down."""
    own, file = folder / ".claude", folder / "word.txt"
    own.mkdir()
    hook = {"hooks": [{"type": "command", "command": f"echo {word}"}]}
    for path, text in {
        folder / SYSTEM_FILE: "Answer in JSON.",
        file: word,
        folder / "CLAUDE.md": word,
        own / "CLAUDE.md": word,
        own / "settings.json": json.dumps({"hooks": {"SessionStart": [hook], "UserPromptSubmit": [hook]}}),
    }.items():
        path.write_text(text, "utf-8")
    return f'Read @{file} @word.txt @"{file}" @~/word.txt\n!cat {file}\n/memory\nUse all your tools.'
