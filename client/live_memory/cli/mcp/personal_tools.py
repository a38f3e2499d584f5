"""The personal space in the tools of `livemem mcp`: a note goes there if it says so, and both spaces are read."""

from collections.abc import Callable, Mapping
from typing import Any

from live_memory.cli.both_spaces import PersonalSpace

WRITING = ("note", "remember")
PERSONAL = "personal"
PROPERTY = {"type": "boolean", "description": "into the user's own space"}
Answer = dict[str, Any] | None
_YES, _NO = (True, 1, "true"), (False, 0, "false", None)


def offered(answer: Answer) -> Answer:
    """An answer with a list of tools, in which those that write have the argument."""
    result = answer.get("result") if answer else None
    tools = result.get("tools") if isinstance(result, dict) else None
    if not answer or not isinstance(result, dict) or not isinstance(tools, list):
        return answer
    return {**answer, "result": {**result, "tools": [_with_argument(tool) for tool in tools]}}


def _with_argument(tool: Any) -> Any:
    schema = tool.get("inputSchema") if isinstance(tool, dict) and tool.get("name") in WRITING else None
    if not isinstance(schema, dict) or not isinstance(schema.get("properties"), dict):
        return tool
    return {**tool, "inputSchema": {**schema, "properties": {**schema["properties"], PERSONAL: PROPERTY}}}


def carried_out(
    asked: Mapping[str, Any], space_id: str, own: PersonalSpace, ask: Callable[[Mapping[str, Any]], Answer]
) -> Answer:
    """The answer to a call of a tool. `ask` asks the service; `space_id` is the project's space."""
    params = asked["params"]
    name, arguments = params.get("name"), dict(params["arguments"])

    def asking(**changed: Any) -> Answer:
        return ask({**asked, "params": {**params, "arguments": {**arguments, **changed}}})

    if name in WRITING and PERSONAL in arguments:
        wanted = arguments.pop(PERSONAL)
        if wanted not in (*_YES, *_NO):
            return refused(asked, f"{PERSONAL}: must be true or false. Nothing was written.")
        return asking(space_id=own.space_id) if wanted in _YES else asking()
    if "spaces" in arguments or _is_of(own, arguments):
        return noted(own, ask(asked), f"- {own.space_id} " if "spaces" in arguments else "")
    if arguments.get("space_id") not in (None, space_id) or not isinstance(arguments.get("max_chars", 0), int):
        return ask(asked)
    if name == "start_session" and arguments.keys() <= {"q", "lang", "user", "max_chars", "space_id"}:
        wanted = {key: arguments.get(key) for key in ("q", "lang", "user")}
        found, text = own.start(lambda chars: asking(max_chars=chars), _text, arguments.get("max_chars"), **wanted)
    elif name == "search" and arguments.keys() <= {"q", "scope", "limit", "space_id"}:
        found, text = own.search(asking, arguments.get("limit"), q=arguments.get("q"), scope=arguments.get("scope"))
    elif name == "context" and arguments.keys() <= {"q", "kinds", "space_id"}:
        found, text = own.context(asking, q=arguments.get("q"), kinds=arguments.get("kinds"))
    else:
        return ask(asked)
    part = _content(found)
    if part and text:
        part["text"] += text
    return found


def _is_of(own: PersonalSpace, arguments: Mapping[str, Any]) -> bool:
    return arguments.get("space_id") == own.space_id or str(arguments.get("handle")).startswith(f"{own.space_id}.")


def lacking(asked: Mapping[str, Any]) -> Answer:
    """The refusal of a call that asks for a personal space where there is none. None: it does not."""
    if asked["params"]["arguments"].get(PERSONAL) in _NO:
        return None
    return refused(
        asked,
        "Nothing was done: there is no personal space here (any more). Ask the user: "
        "`livemem init CLIENT --personal NAME` gives one, and without `personal` a note goes to the project.",
    )


def refused(asked: Mapping[str, Any], text: str) -> Answer:
    """The answer of a tool that is an error."""
    result = {"content": [{"type": "text", "text": text}], "isError": True}
    return {"jsonrpc": "2.0", "id": asked.get("id"), "result": result}


def noted(own: PersonalSpace, answer: Answer, before: str = "") -> Answer:
    """An answer of the personal space, of a tool or a resource, whose lines are noted as given before the agent gets
    it: those with a text `before` them. Raises OSError: then it must not.
    """
    result = answer.get("result") if answer else None
    for part in [*result.get("content", ()), *result.get("contents", ())] if isinstance(result, dict) else ():
        lines = str(part.get("text", "")).splitlines()
        own.note("\n".join(line.removeprefix(before) for line in lines if line.startswith(before)))
    return answer


def _text(answer: Answer) -> str:
    part = _content(answer)
    return str(part["text"]) if part else ""


def _content(answer: Answer) -> dict[str, Any] | None:
    """The text of a tool's answer. None: it is an error."""
    result = answer.get("result") if answer else None
    parts = result.get("content") if isinstance(result, dict) and not result.get("isError") else None
    part = parts[0] if isinstance(parts, list) and parts else None
    return part if isinstance(part, dict) and isinstance(part.get("text"), str) else None
