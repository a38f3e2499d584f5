"""A tool: its description for models, the check of its arguments, and its answer."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import mcp_types as types

from livemem_http import texts
from livemem_mcp import arguments
from livemem_mcp.arguments import Arguments
from livemem_mcp.session import McpSession, Needs


@dataclass(frozen=True)
class ToolAnswer:
    """The answer of a call: Markdown, ready for a prompt, and the same as JSON. `failed`: the work failed, though the
    call itself was carried out.
    """

    text: str
    data: Mapping[str, Any]
    failed: bool = False


@dataclass(frozen=True)
class McpTool:
    """One tool. `schema` is the JSON Schema of its arguments, a closed object.

    `reads`: nothing changes. `destroys`: data may be gone afterwards, though there may be a way back. `repeats`: a
    second call with the same arguments changes nothing more. `exact`: an argument that the tool does not have is
    refused and not ignored, since it may be a misspelt one that was to hold something back.
    """

    name: str
    title: str
    description: str
    schema: Mapping[str, Any]
    needs: Needs
    call: Callable[[McpSession, dict[str, Any]], ToolAnswer]
    reads: bool = False
    destroys: bool = False
    repeats: bool = False
    exact: bool = False

    def shown(self, session: McpSession) -> types.Tool:
        """The tool as `tools/list` shows it to this caller: with a space of its own, none need be named."""
        return types.Tool(
            name=self.name,
            title=self.title,
            description=self.description,
            input_schema=self.schema_for(session),
            annotations=types.ToolAnnotations(
                read_only_hint=self.reads,
                # The two are told only where something is written, as the specification has it.
                destructive_hint=None if self.reads else self.destroys,
                idempotent_hint=None if self.reads else self.repeats,
                open_world_hint=False,
            ),
        )

    def schema_for(self, session: McpSession) -> dict[str, Any]:
        """The schema of the arguments for this caller."""
        required = [name for name in self.schema.get("required", ()) if name != "space_id" or session.space is None]
        rest = {name: value for name, value in self.schema.items() if name != "required"}
        return {**rest, "required": required} if required else rest

    def read(self, session: McpSession, sent: Mapping[str, Any]) -> Arguments:
        """The arguments of a call, as they are meant (arguments.py). Raises InvalidRequest."""
        texts.check(sent)
        schema = self.schema_for(session)
        meant = arguments.read(schema, sent)
        # A text that is read as JSON may spell what the message itself may not.
        texts.check(meant.values)
        arguments.check(schema, meant, exact=self.exact)
        return meant
