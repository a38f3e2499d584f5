"""A tool: its description for models, the check of its arguments, and its answer."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import mcp_types as types
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError, relevance

from livemem.errors import FieldError, InvalidRequest
from livemem_mcp.session import McpSession, Needs

SHOWN_ERRORS = 5
SHOWN_CHARACTERS = 300


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
    second call with the same arguments changes nothing more.
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

    def run(self, session: McpSession, arguments: Mapping[str, Any]) -> ToolAnswer:
        """Check the arguments and make the call. Raises InvalidRequest, and the errors of the call."""
        schema = self.schema_for(session)
        errors = sorted(Draft202012Validator(schema).iter_errors(dict(arguments)), key=relevance, reverse=True)
        if errors:
            found = [_told(error) for error in errors[:SHOWN_ERRORS]]
            raise InvalidRequest("; ".join(f"{item.field}: {item.message}" for item in found), fields=found)
        return self.call(session, dict(arguments))


def _told(error: ValidationError) -> FieldError:
    place = ".".join(str(part) for part in error.absolute_path)
    # The message begins with the value that was sent, which may be long.
    message = error.message
    short = message if len(message) <= SHOWN_CHARACTERS else f"{message[:60]} ... {message[-120:]}"
    return FieldError(place or "arguments", short)
