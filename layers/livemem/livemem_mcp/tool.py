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


_BOUNDS = frozenset({"minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum", "format"})


def brief(schema: Mapping[str, Any], *, with_null: bool) -> dict[str, Any]:
    """The schema of a tool's arguments as a model needs it, which pays for each word. A call is checked by the whole
    schema. Left out: bounds, which an error names; defaults that mean no more than an argument that is left out, and
    without `with_null` null, which means no more either; and the fields of `items`, which are those beside it.
    """
    part = _brief(schema, with_null)
    fields = part["properties"]
    form = fields.get("items", {}).get("items", {})
    forms = [set(one.get("properties", ())) for one in form.get("anyOf", [form])]
    if any(names and names & fields.keys() for names in forms):
        fields["items"] = {**fields["items"], "items": {"type": "object"}}
    return {**part, "additionalProperties": False}


def _brief(schema: Mapping[str, Any], with_null: bool) -> dict[str, Any]:
    part = {name: value for name, value in schema.items() if name not in _BOUNDS and name != "additionalProperties"}
    if "default" in part and (part["default"] in (None, "", []) or part["default"] is False):
        del part["default"]
    if isinstance(part.get("type"), list) and not with_null:
        names = [name for name in part["type"] if name != "null"]
        part["type"] = names[0] if len(names) == 1 else names
        if "enum" in part:
            part["enum"] = [word for word in part["enum"] if word is not None]
    if "properties" in part:
        part["properties"] = {name: _brief(one, with_null) for name, one in part["properties"].items()}
    if "items" in part:
        part["items"] = _brief(part["items"], with_null)
    if "anyOf" in part:
        part["anyOf"] = [_brief(form, with_null) for form in part["anyOf"]]
    return part


@dataclass(frozen=True)
class McpTool:
    """One tool. `schema` is the JSON Schema of its arguments, a closed object.

    `reads`: nothing changes. `destroys`: data may be gone afterwards, though there may be a way back. `repeats`: a
    second call with the same arguments changes nothing more. `exact`: an argument that the tool does not have is
    refused and not ignored, since it may be a misspelt one that was to hold something back. `null_clears`: null takes a
    value away, where elsewhere it is an argument that is left out.
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
    null_clears: bool = False

    def shown(self, session: McpSession) -> types.Tool:
        """The tool as `tools/list` shows it to this caller: with a space of its own, none need be named."""
        return types.Tool(
            name=self.name,
            title=self.title,
            description=self.description,
            input_schema=brief(self.schema_for(session), with_null=self.null_clears),
            annotations=types.ToolAnnotations(
                # Those that are left out are false, but for the second one, which says so. It is told only where
                # something is written, as the specification has it.
                read_only_hint=self.reads or None,
                destructive_hint=None if self.reads else self.destroys,
                idempotent_hint=(self.repeats and not self.reads) or None,
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
