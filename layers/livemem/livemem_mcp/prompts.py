"""The prompts: a session's beginning and end, and a fold by the agent, for clients in which people choose them."""

from collections.abc import Mapping

import mcp_types as types
from mcp.shared.exceptions import MCPError

from livemem.recall import start
from livemem.recall.start import StartRequest
from livemem.text.invisible import visible
from livemem_mcp import texts
from livemem_mcp.session import McpSession

SPACE = "space_id"
_ARGUMENTS = {
    "start_session": (SPACE, "task"),
    "end_session": (SPACE,),
    "fold": (SPACE,),
}
_TITLES = {"start_session": "Start a session", "end_session": "End a session", "fold": "Fold the notes"}
_TOLD = {
    "start_session": "Loads the memory of the project, and begins a task with it.",
    "end_session": "Writes the results of the work into the memory, and ends the work.",
    "fold": "Folds the notes into the bank, with the agent in the place of the service's model.",
}
_PLAIN = {"end_session": texts.END, "fold": texts.FOLD}
_OF_ARGUMENTS = {SPACE: "The space. Default: that of the connection.", "task": "The task."}


def listed(session: McpSession) -> list[types.Prompt]:
    """All prompts. A space must be named only where the connection has none."""
    return [
        types.Prompt(
            name=name,
            title=_TITLES[name],
            description=_TOLD[name],
            arguments=[
                types.PromptArgument(
                    name=argument,
                    description=_OF_ARGUMENTS[argument],
                    required=argument == SPACE and session.space is None,
                )
                for argument in arguments
            ],
        )
        for name, arguments in _ARGUMENTS.items()
        if name != "fold" or (session.toolset == "full" and session.may("write"))
    ]


def get(session: McpSession, name: str, arguments: Mapping[str, str]) -> types.GetPromptResult:
    """A prompt with its arguments filled in; raises MCPError for one that is unknown, and LiveMemoryErrors."""
    if name not in _ARGUMENTS:
        raise MCPError(types.INVALID_PARAMS, f"There is no prompt {name[:100]!r}.")
    unknown = sorted(set(arguments) - set(_ARGUMENTS[name]))
    if unknown:
        raise MCPError(types.INVALID_PARAMS, f"The prompt takes no argument {unknown[0][:100]!r}.")
    space_id = session.enter("read", arguments.get(SPACE))
    if name in _PLAIN:
        text = _PLAIN[name].format(space_id=space_id)
    else:
        found = start.start(
            session.process, space_id, StartRequest(q=arguments.get("task"), user=session.principal.name)
        )
        task = texts.TASK.format(task=arguments["task"]) if arguments.get("task") else ""
        text = texts.START.format(space_id=space_id, start=visible(found.markdown), task=task)
    content = types.TextContent(text=text)
    return types.GetPromptResult(description=_TOLD[name], messages=[types.PromptMessage(role="user", content=content)])
