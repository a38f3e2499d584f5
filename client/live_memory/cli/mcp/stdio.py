"""The loop between an agent's program and the service: a line of JSON-RPC in, its answer out.

A message is passed on as it is; the headers that the transport over HTTP wants are made from it
(https://modelcontextprotocol.io/specification/2026-07-28/basic/transports). Nothing but answers is written to stdout.
"""

import base64
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import urlencode

import httpx

from live_memory import _exchange
from live_memory._redaction import redact
from live_memory._version import __version__
from live_memory.cli import gone_paths
from live_memory.cli.agent_tokens import NAMELESS
from live_memory.cli.code_version import WorkTree
from live_memory.cli.config import LOOPBACK
from live_memory.cli.mcp import personal_tools
from live_memory.cli.mcp.kept_answers import METHODS, KeptAnswers
from live_memory.cli.mcp.upstream import Upstream, Upstreams

MAX_LINE = 8 * 1024 * 1024
"""Bytes of a message. The service takes less and says so; a longer line is not even read into memory."""
AT_ONCE, WAITING = 8, 32
SECONDS = httpx.Timeout(60, connect=5)
PARSE_ERROR, INVALID_REQUEST, FAILED = -32700, -32600, -32000

_MOST_MARKS = 1_000
_REFUSED = 401
_GIVES_MEMORY = {"start_session", "read", "notes", "search", "context", "ask", "poll"}
_CLIENT_KEY = "io.modelcontextprotocol/clientInfo"
_VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
_NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_HINTS = {
    401: "Log in again (`livemem login`), or let the service of this machine answer (`livemem logout`).",
    404: "Is this the address of Live Memory? `livemem config` shows it.",
}


class Unanswered(Exception):
    """A message that gets an error: the text says what to do."""


class Passer:
    """Passes messages on, several at a time."""

    def __init__(
        self, upstreams: Upstreams, kept: KeptAnswers, output: BinaryIO, log: Callable[[str], None], folder: Path
    ) -> None:
        """`output` gets the answers, a line each; `log` gets what an error leaves no room for. The agent works in
        `folder`.
        """
        self._upstreams = upstreams
        self._kept = kept
        self._query = {"structured": "false", "toolset": kept.toolset}
        self._output = output
        self._log = log
        self._writing = threading.Lock()
        self._version: str | None = None
        self._agent = NAMELESS
        self._folder = folder
        self._code = WorkTree(folder)
        self._marks: dict[str, str] = {}
        self._said: set[str] = set()
        # A request to the own machine needs no proxy, and no connection that was kept: if the service has died since, a
        # call over it would have no answer, and nobody could tell whether it was carried out.
        # Certificates take longer to read than all else of a start.
        trust, none = httpx.create_ssl_context(), httpx.Limits(max_keepalive_connections=0)
        near = httpx.Client(timeout=SECONDS, trust_env=False, limits=none, verify=trust)
        self._web = {True: near, False: httpx.Client(timeout=SECONDS, verify=trust)}

    def run(self, lines: BinaryIO) -> None:
        """Answer each message until the input ends; those that are under way then still get their answers."""
        places = threading.BoundedSemaphore(WAITING)
        with ThreadPoolExecutor(AT_ONCE) as executor:
            while line := lines.readline(MAX_LINE + 1):
                if len(line) > MAX_LINE and not line.endswith(b"\n"):
                    _skip(lines)
                    self._write(_error(None, INVALID_REQUEST, f"A message has at most {MAX_LINE} bytes."))
                elif line.strip():
                    places.acquire()
                    executor.submit(self.answer, line).add_done_callback(lambda _: places.release())
        for client in self._web.values():
            client.close()

    def answer(self, line: bytes) -> None:
        """Pass one message on, and write its answer if it gets one."""
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            self._write(_error(None, PARSE_ERROR, "The message is no JSON."))
            return
        asked = message if isinstance(message, dict) else {}
        if "method" not in asked and asked.keys() & {"result", "error"}:
            return  # an answer, and the service has asked nothing
        try:
            found = self._exchange(asked, line)
        except Exception as problem:  # noqa: BLE001 - the edge: a request without an answer would stop the agent
            text = redact(str(problem) or type(problem).__name__)[0]
            found = _error(asked.get("id"), FAILED, text)
        if found is None:
            return
        if "id" in asked or not isinstance(message, dict):
            self._write(found)
        elif "error" in found:
            self._log(f"livemem mcp: {asked.get('method')}: {found['error']}")

    def _exchange(self, asked: dict[str, Any], line: bytes) -> dict[str, Any] | None:
        self._agent = client_of(asked) or self._agent
        version = _meta(asked).get(_VERSION_KEY) or self._version
        kept = self._kept.get(asked, self._agent, version) if asked.get("method") in METHODS else None
        if kept and self._upstreams.must_start():
            threading.Thread(target=self._start, daemon=True).start()
            known = self._known({"jsonrpc": "2.0", "id": asked.get("id"), "result": kept}, asked)
            return personal_tools.offered(known) if self._upstreams.has_personal() else known
        upstream = self._upstreams.get(self._agent)
        for notice in upstream.notices:
            if notice not in self._said:
                self._said.add(notice)
                self._log(f"livemem mcp: {notice}")
        own = self._upstreams.beside(upstream)
        calls = asked.get("method") == "tools/call" and isinstance(_params(asked).get("arguments"), dict)
        if calls and not own and (refused := personal_tools.lacking(asked)):
            return refused
        if calls and own:
            found = personal_tools.carried_out(
                asked, upstream.space, own, lambda call: self._asked(upstream, call, json.dumps(call).encode(), version)
            )
        else:
            found = self._asked(upstream, asked, line, version)
        if own and str(_params(asked).get("uri")).startswith(f"livemem://{own.space_id}/"):
            found = personal_tools.noted(own, found)
        if own and asked.get("method") == "tools/list":
            found = personal_tools.offered(found)
        return _with_notices(found, upstream.notices) if found else found

    def _asked(
        self, upstream: Upstream, asked: Mapping[str, Any], line: bytes, version: str | None
    ) -> dict[str, Any] | None:
        try:
            reply = self._post(upstream, asked, line)
            # It was refused before anything was done.
            if reply.status_code == _REFUSED and (other := self._upstreams.renewed(upstream)):
                reply = self._post(other, asked, line)
        except (httpx.ConnectError, httpx.ConnectTimeout):
            reply = self._post(self._upstreams.again(upstream), asked, line)
        except httpx.TransportError as problem:
            if asked.get("method") == "tools/call":
                raise Unanswered(
                    "The service gave no answer, so the call may have been carried out or not: look before you "
                    f"repeat it ({type(problem).__name__})."
                ) from None
            reply = self._post(self._upstreams.again(upstream), asked, line)
        found = self._known(_read(reply), asked)
        if found and upstream.own and isinstance(found.get("result"), dict):
            self._kept.keep(asked, self._agent, version, found["result"])
        if found and asked.get("method") == "tools/call" and _params(asked).get("name") in _GIVES_MEMORY:
            found = self._with_marks(found)
        return found

    def _start(self) -> None:
        # If it can't be started, the next call says so.
        with suppress(Exception):
            self._upstreams.get(self._agent)

    def _known(self, found: dict[str, Any] | None, asked: Mapping[str, Any]) -> dict[str, Any] | None:
        if asked.get("method") == "initialize" and found and "result" in found:
            self._version = found["result"].get("protocolVersion")
        return found

    def _with_marks(self, answer: dict[str, Any]) -> dict[str, Any]:
        """The answer with marks at paths that are gone and lines of other branches (gone_paths.py)."""
        result = answer.get("result")
        parts = result.get("content") if isinstance(result, dict) else None
        for part in parts if isinstance(parts, list) else ():
            if isinstance(part, dict) and isinstance(part.get("text"), str):
                plain = part["text"]
                part["text"] = gone_paths.marked(plain, self._folder)
                made = gone_paths.marks(part["text"]).items() - gone_paths.marks(plain).items()
                self._marks = dict([*self._marks.items(), *made][-_MOST_MARKS:])
        return answer

    def _without_marks(self, asked: Mapping[str, Any], line: bytes) -> bytes:
        """The message. Where it edits lines of the bank, these are quoted without the marks that were made here."""
        arguments = _params(asked).get("arguments")
        edits = arguments.get("edits") if isinstance(arguments, dict) and self._marks else None
        of_lines = (
            [one for one in edits if isinstance(one, dict) and one.get("line")] if isinstance(edits, list) else []
        )
        for edit in of_lines:
            for marked, plain in self._marks.items():
                edit["line"] = str(edit["line"]).replace(marked, plain)
        return json.dumps(asked).encode() if of_lines else line

    def _post(self, upstream: Upstream, asked: Mapping[str, Any], line: bytes) -> httpx.Response:
        query = urlencode({"space": upstream.space, **self._query})
        headers = {
            "Authorization": f"Bearer {upstream.token}",
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
            "User-Agent": f"live-memory/{__version__}",
            **headers_of(asked, self._version),
            **(
                self._code.headers()
                if asked.get("method") == "tools/call" and not _is_personal(asked, upstream)
                else {}
            ),
            # A message may name a trace of its own, and a header would count before that.
            **({} if _meta(asked).get("traceparent") else _exchange.trace()),
        }
        client = self._web[httpx.URL(upstream.url).host in LOOPBACK]
        return client.post(
            f"{upstream.url}/mcp?{query}", content=self._without_marks(asked, line).strip(), headers=headers
        )

    def _write(self, answer: dict[str, Any]) -> None:
        text = json.dumps(answer, ensure_ascii=False, separators=(",", ":"))
        with self._writing:
            self._output.write(text.encode("utf-8", "replace") + b"\n")
            self._output.flush()


def _with_notices(answer: dict[str, Any], notices: Sequence[str]) -> dict[str, Any]:
    """The answer, with the notices in the server's instructions if it has any: few people read a server's log."""
    result = answer.get("result")
    if not notices or not isinstance(result, dict) or not isinstance(result.get("instructions"), str):
        return answer
    told = "\n\n".join((result["instructions"], "Tell the user once:", *notices))
    return {**answer, "result": {**result, "instructions": told}}


def headers_of(asked: Mapping[str, Any], negotiated: str | None) -> dict[str, str]:
    """The headers of a message: its version, and since 2026-07-28, where each message says it, its method and name."""
    params, version = _params(asked), _meta(asked).get(_VERSION_KEY)
    if not isinstance(version, str):
        return {"MCP-Protocol-Version": negotiated} if negotiated and asked.get("method") != "initialize" else {}
    headers = {"MCP-Protocol-Version": _sendable(version), "Mcp-Method": _sendable(str(asked.get("method")))}
    name = params.get(_NAMED_BY.get(str(asked.get("method")), ""))
    return {**headers, "Mcp-Name": _sendable(name)} if isinstance(name, str) else headers


def client_of(asked: dict[str, Any]) -> str | None:
    """The name that a client gives itself: in `initialize`, and since 2026-07-28 in each message. None: not here."""
    told = _params(asked).get("clientInfo") or _meta(asked).get(_CLIENT_KEY)
    name = told.get("name") if isinstance(told, dict) else None
    return name if isinstance(name, str) and name.strip() else None


def _is_personal(asked: Mapping[str, Any], upstream: Upstream) -> bool:
    arguments = _params(asked).get("arguments")
    named = arguments.get("space_id") if isinstance(arguments, dict) else None
    return named is not None and named == upstream.personal


def _params(asked: Mapping[str, Any]) -> dict[str, Any]:
    params = asked.get("params")
    return params if isinstance(params, dict) else {}


def _meta(asked: Mapping[str, Any]) -> dict[str, Any]:
    meta = _params(asked).get("_meta")
    return meta if isinstance(meta, dict) else {}


def _sendable(text: str) -> str:
    """The text as a header's value: in base64 where a header could not hold it."""
    if text.isascii() and text.isprintable() and text == text.strip() and not text.startswith("=?base64?"):
        return text
    return f"=?base64?{base64.b64encode(text.encode('utf-8', 'replace')).decode()}?="


def _read(reply: httpx.Response) -> dict[str, Any] | None:
    """The JSON-RPC answer of a reply, None if it has none. Raises Unanswered for what is no such answer."""
    if reply.is_success and not reply.content.strip():
        return None
    try:
        found = reply.json()
    except ValueError:
        found = None
    if isinstance(found, dict) and found.get("jsonrpc"):
        return found
    detail = found.get("detail") if isinstance(found, dict) else None
    code = f" [{found['code']}]" if isinstance(found, dict) and found.get("code") else ""
    hint = _HINTS.get(reply.status_code, "")
    raise Unanswered(f"{detail or f'The answer is none of MCP (status {reply.status_code}).'}{code} {hint}".strip())


def _error(message_id: Any, code: int, text: str) -> dict[str, Any]:
    known = message_id if isinstance(message_id, str | int) else None
    return {"jsonrpc": "2.0", "id": known, "error": {"code": code, "message": text}}


def _skip(lines: BinaryIO) -> None:
    """Read to the end of a line."""
    while (part := lines.readline(1 << 16)) and not part.endswith(b"\n"):
        pass
