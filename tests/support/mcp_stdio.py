"""An agent's program that starts an MCP server and speaks with it over its standard streams."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any


class McpStdio:
    """The server's process; `ended` is its exit status, after the input was closed."""

    def __init__(self, command: Sequence[str], folder: Path, environ: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            command, cwd=folder, env=dict(environ), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self._numbers = count(1)
        self.ended: int | None = None

    def __enter__(self) -> "McpStdio":
        return self

    def __exit__(self, *_: object) -> None:
        try:
            rest, _nothing = self._process.communicate(timeout=60)
            assert not rest, rest
        finally:
            self._process.kill()
            self.ended = self._process.wait()

    def tell(self, method: str, params: Any = None, **rest: Any) -> None:
        """Send a message."""
        assert self._process.stdin
        message = {"jsonrpc": "2.0", "method": method, **({"params": params} if params else {}), **rest}
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def ask(self, method: str, params: Any = None) -> Any:
        """The result of a request."""
        number = next(self._numbers)
        self.tell(method, params, id=number)
        assert self._process.stdout
        answer = json.loads(self._process.stdout.readline())
        assert answer["id"] == number
        assert "result" in answer, answer
        return answer["result"]

    def call(self, tool: str, **arguments: Any) -> str:
        """The text of a tool's answer, which must be no failure."""
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        assert not result["isError"], result
        return str(result["content"][0]["text"])
