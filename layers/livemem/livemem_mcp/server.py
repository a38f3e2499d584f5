"""The MCP server of one request: the SDK's low-level server, with our tools, resources and prompts."""

import functools
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

import mcp_types as types
from mcp.server.caching import CacheHint
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from livemem import __version__, limits
from livemem.errors import AnswerTooLarge, InvalidRequest, LiveMemoryError
from livemem.text.invisible import visible, visible_values
from livemem_http import problems, sending
from livemem_http import texts as http_texts
from livemem_mcp import catalog, prompts, resources, texts, toolsets
from livemem_mcp.session import McpSession
from livemem_mcp.tool import McpTool

NAME = "live-memory"
IGNORED, IGNORED_CHARACTERS = 10, 100
"""How many arguments that the tool does not have an answer names, and characters of each."""
MADE = "commit_unfinished"
"""The code of a change that is made, and must not be made once more."""
PERSONAL, NO = "personal", (False, 0, "false", None)
"""An argument that only tools of `livemem mcp` have, and the values that do not ask for it."""
LISTS_KEPT_MS = 300_000
"""For how long a client may keep the lists: they change with the service, or with the permissions of the token."""


def build(session: McpSession) -> Server[Any]:
    """The server that answers this one request, on behalf of its sender."""
    tools = {tool.name: tool for tool in toolsets.of(session)}

    async def list_tools(_context: Any, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        _check_whole(params)
        return types.ListToolsResult(tools=[tool.shown(session) for tool in tools.values()])

    async def call_tool(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        return called(session, tools, params.name, params.arguments or {})

    @_told(session)
    def list_resources(params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        found, more = resources.listed(session, params.cursor if params else None)
        return types.ListResourcesResult(resources=found, next_cursor=more)

    async def list_templates(
        _context: Any, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        _check_whole(params)
        return types.ListResourceTemplatesResult(resource_templates=resources.templates())

    @_told(session, about=lambda params: {"uri": params.uri})
    def read_resource(params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        text = visible(resources.read(session, params.uri))
        return types.ReadResourceResult(
            contents=[types.TextResourceContents(uri=params.uri, mime_type="text/markdown", text=text)]
        )

    async def list_prompts(_context: Any, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        _check_whole(params)
        return types.ListPromptsResult(prompts=prompts.listed(session))

    @_told(session)
    def get_prompt(params: types.GetPromptRequestParams) -> types.GetPromptResult:
        return prompts.get(session, params.name, params.arguments or {})

    @_told(session)
    def complete(params: types.CompleteRequestParams) -> types.CompleteResult:
        known = params.context.arguments if params.context else None
        argument = params.argument
        found = resources.completed(session, argument.name, argument.value, (known or {}).get("space_id"))
        return types.CompleteResult(completion=types.Completion(values=found[: resources.NAMES]))

    return Server(
        NAME,
        version=__version__,
        title="Live Memory",
        instructions=texts.INSTRUCTIONS,
        cache_hints={name: CacheHint(ttl_ms=LISTS_KEPT_MS) for name in ("tools/list", "prompts/list")},
        get_tool_input_schema=lambda name: tools[name].schema_for(session) if name in tools else None,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_completion=complete,
    )


def _check_whole(params: types.PaginatedRequestParams | None) -> None:
    """Raise MCPError for a cursor: these lists come whole, so no page of them has given one."""
    if params and params.cursor is not None:
        raise MCPError(types.INVALID_PARAMS, "This list has one page: send no cursor.")


def called(
    session: McpSession, tools: dict[str, McpTool], name: str, arguments: dict[str, Any]
) -> types.CallToolResult:
    """The result of one call. A failure is in it, marked as an error, in words that a model can act on, and so is a
    name that a tool has elsewhere. Only an unknown tool is an error of the protocol.
    """
    tool = tools.get(name)
    former: dict[str, str] = catalog.words()["former"]
    if not tool and name in former:
        return _error(_renamed(former[name], tools))
    if not tool:
        raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {name[:100]}")
    unknown: list[str] = []
    try:
        meant = tool.read(session, arguments)
        unknown = [one.field for one in meant.unknown]
        _check_public(unknown, arguments)
        answer = tool.call(session, meant.values)
        text = visible(answer.text + _ignored(unknown))
        data = visible_values(_with_ignored(answer.data, unknown)) if session.structured else None
        _check_size(tool, text, data)
    except Exception as error:  # noqa: BLE001 - the edge: every error becomes an answer here
        return _failed(_known(session, error), session.request_id, unknown)
    content = types.TextContent(text=text)
    return types.CallToolResult(content=[content], structured_content=data, is_error=answer.failed)


def _check_public(unknown: Sequence[str], arguments: Mapping[str, Any]) -> None:
    """Raise InvalidRequest for a call that means the user's own space, which only `livemem mcp` knows."""
    if any(name.rpartition(".")[2] == PERSONAL and arguments.get(name, True) not in NO for name in unknown):
        raise InvalidRequest(
            "Nothing was done: here are no personal notes. Name the user's space in `space_id`, or ask the user."
        )


def _ignored(unknown: Sequence[str]) -> str:
    """The last line of an answer: what of the call had no effect."""
    if not unknown:
        return ""
    return f"\nIgnored, because the tool has no such argument: {', '.join(_named(unknown))}.\n"


def _with_ignored(data: Mapping[str, Any], unknown: Sequence[str]) -> Mapping[str, Any]:
    # Some clients hand their model the JSON alone.
    return {**data, "ignored_arguments": _named(unknown)} if unknown else data


def _named(unknown: Sequence[str]) -> list[str]:
    shown = [problems.shown(name)[:IGNORED_CHARACTERS] for name in unknown[:IGNORED]]
    return [*shown, f"{len(unknown) - IGNORED} more"] if len(unknown) > IGNORED else shown


def _check_size(tool: McpTool, text: str, data: Any) -> None:
    """Raise AnswerTooLarge for a result that could not leave the function: the caller would get no result at all."""
    # As the SDK writes it, which is in ASCII.
    if sending.is_too_large({"body": json.dumps([text, data]), "isBase64Encoded": False}):
        answer_is = "The answer is" if tool.reads else "The call was carried out, but its answer is"
        raise AnswerTooLarge(f"{answer_is} larger than {limits.ANSWER_BYTES} bytes: ask for its parts one by one.")


def _known(session: McpSession, error: Exception) -> LiveMemoryError:
    """The error as one of ours. For a token that has ended the answer gets its status, too (http.py)."""
    known = problems.own(error, session.request_id)
    if known.status == HTTPStatus.UNAUTHORIZED:
        session.ended.append(known)
    return known


def _failed(error: LiveMemoryError, request_id: str, unknown: Sequence[str]) -> types.CallToolResult:
    again = f" Try again in {error.retry_after} s." if error.retry_after is not None and error.code != MADE else ""
    of_ours = f" Request {request_id}." if error.status >= 500 else ""
    return _error(visible(f"{_with_next_step(error)}{again}{of_ours}{_ignored(unknown).rstrip()} [{error.code}]"))


def _renamed(name: str, tools: Mapping[str, McpTool]) -> str:
    """What an agent reads that calls a tool by the name that it has elsewhere."""
    if not name:
        return "There is no such tool here, and none that does the same."
    missing = "" if name in tools else " You lack it: another toolset or a permission of the token is needed."
    return f"This tool is called `{name}` here.{missing}"


def _error(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text)], is_error=True)


def _with_next_step(error: LiveMemoryError) -> str:
    """The error in its own words, and what the agent does next."""
    detail, step = problems.shown(error.detail), catalog.words()["errors"].get(error.code, "")
    end = "" if detail.endswith((".", "!", "?")) else "."
    return f"{detail}{end} {step}" if step else detail


def _told(
    session: McpSession, about: Callable[[Any], Any] | None = None
) -> Callable[[Callable[[Any], Any]], Callable[[Any, Any], Awaitable[Any]]]:
    """A handler whose errors become errors of the protocol. `about` makes their data from the request's parameters."""

    def wrap(handler: Callable[[Any], Any]) -> Callable[[Any, Any], Awaitable[Any]]:
        @functools.wraps(handler)
        async def handle(_context: Any, params: Any) -> Any:
            try:
                return handler(params)
            except MCPError:
                raise
            except Exception as error:  # noqa: BLE001 - the edge: every error becomes an answer here
                known = _known(session, error)
                # Of a resource that there is not, too, as of 2026-07-28; older clients know -32002 for that, and treat
                # each error of a read alike.
                code = types.INVALID_PARAMS if known.status < 500 else types.INTERNAL_ERROR
                data = http_texts.sendable_values(about(params)) if about else None
                told = visible(_with_next_step(known))
                raise MCPError(code, f"{told} [{known.code}]", data) from None

        return handle

    return wrap
