"""The facts of template.yaml that the local runtime needs: the functions, with their event sources (event_sources.py).

Only the part of SAM that this project uses is understood. Anything else that would change what runs (another event
type, an unknown S3 event) is an error with the place in its text, never skipped in silence.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from local.functions.event_sources import (
    PUT_EVENT,
    PutTrigger,
    Route,
    Schedule,
    TemplateError,
    read_route,
    read_schedule,
    read_trigger,
)

__all__ = [
    "PSEUDO_PARAMETERS",
    "PUT_EVENT",
    "Function",
    "PutTrigger",
    "Route",
    "Schedule",
    "Template",
    "TemplateError",
    "read_template",
]

_PLACEHOLDER = re.compile(r"\$\{([^!}][^}]*)\}")
# What CloudFormation knows by itself. The stack has a name, since names of functions are made from it.
PSEUDO_PARAMETERS = {
    "AWS::StackName": "live-memory",
    "AWS::Region": "us-east-1",
    "AWS::AccountId": "123456789012",
    "AWS::Partition": "aws",
}
# Lambda's own defaults, for what neither the function nor Globals sets.
_DEFAULT_TIMEOUT, _DEFAULT_MEMORY, _DEFAULT_RETRIES = 3, 128, 2


@dataclass(frozen=True)
class Tagged:
    """A CloudFormation intrinsic in its short form, for example `!Ref Bucket` as Tagged("Ref", "Bucket")."""

    name: str
    value: Any


@dataclass(frozen=True)
class Function:
    """One AWS::Serverless::Function.

    `environment` maps each declared variable to its value in the template, or to None when only the deployment can
    know it (an ARN, a parameter without default).
    """

    logical_id: str
    name: str
    code: Path
    handler: str
    timeout: int
    memory: int
    retries: int
    reserved_concurrency: int | None
    environment: Mapping[str, str | None]
    layers: tuple[Path, ...]
    routes: tuple[Route, ...]
    triggers: tuple[PutTrigger, ...]
    schedules: tuple[Schedule, ...]


@dataclass(frozen=True)
class Template:
    """The functions of a template, in the order of the file."""

    functions: tuple[Function, ...]

    def find(self, name: str) -> Function | None:
        """Return the function with this logical id or FunctionName (also the last part of an ARN), or None."""
        plain = name.rsplit(":", 1)[-1] if name.startswith("arn:") else name
        return next((f for f in self.functions if plain in {f.logical_id, f.name}), None)


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader that keeps CloudFormation's short tags instead of refusing them."""


def _construct_tag(loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> Tagged:
    if isinstance(node, yaml.ScalarNode):
        return Tagged(suffix, loader.construct_scalar(node))
    if isinstance(node, yaml.SequenceNode):
        return Tagged(suffix, loader.construct_sequence(node, deep=True))
    return Tagged(suffix, loader.construct_mapping(node, deep=True))  # type: ignore[arg-type]


_Loader.add_multi_constructor("!", _construct_tag)


def read_template(path: Path, parameters: Mapping[str, str] | None = None) -> Template:
    """Read a SAM template.

    Args:
        path: the file; CodeUri and ContentUri are relative to its folder.
        parameters: values of the template's parameters, instead of their defaults.
    Returns:
        The functions with all that Globals adds to them.
    Raises:
        TemplateError: no such file, no YAML, or something in it that the runtime does not do.
    """
    try:
        # The loader is a SafeLoader: unknown tags become plain data.
        document = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)  # noqa: S506
    except OSError as error:
        raise TemplateError(f"{path}: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise TemplateError(f"{path}: not valid YAML: {error}") from error
    if not isinstance(document, dict) or not isinstance(document.get("Resources"), dict):
        raise TemplateError(f"{path}: no Resources")
    reader = _Reader(document, path.parent, parameters or {})
    functions = tuple(
        reader.read_function(logical_id, resource.get("Properties") or {})
        for logical_id, resource in document["Resources"].items()
        if _kind(path, logical_id, resource) == "AWS::Serverless::Function"
    )
    return Template(functions)


def _kind(path: Path, logical_id: str, resource: Any) -> str:
    """The type of a resource; a TemplateError for what may bring functions from elsewhere: loops, nested templates."""
    kind = resource.get("Type") if isinstance(resource, dict) else None
    if not isinstance(kind, str) or kind in {"AWS::Serverless::Application", "AWS::CloudFormation::Stack"}:
        raise TemplateError(f"{path}: {logical_id}: the local runtime does not know resources of type {kind!r}")
    return kind


class _Reader:
    """Reads functions with the document at hand, since values refer to parameters, layers and other functions."""

    def __init__(self, document: dict[str, Any], root: Path, given: Mapping[str, str]) -> None:
        self._root = root
        self._given = given
        self._parameters: dict[str, Any] = document.get("Parameters") or {}
        self._conditions: dict[str, Any] = document.get("Conditions") or {}
        self._resources: dict[str, Any] = document["Resources"]
        self._globals: dict[str, Any] = (document.get("Globals") or {}).get("Function") or {}

    def read_function(self, logical_id: str, properties: dict[str, Any]) -> Function:
        def setting(name: str, default: Any) -> Any:
            return properties.get(name, self._globals.get(name, default))

        routes: list[Route] = []
        triggers: list[PutTrigger] = []
        schedules: list[Schedule] = []
        for name, event in (properties.get("Events") or {}).items():
            where = f"{logical_id}.Events.{name}"
            kind, wanted = event.get("Type"), event.get("Properties") or {}
            if kind == "HttpApi":
                routes.append(read_route(where, wanted))
            elif kind == "S3":
                triggers.append(read_trigger(where, name, wanted))
            elif kind in {"Schedule", "ScheduleV2"}:
                schedules.extend(read_schedule(where, name, kind, wanted, self._text))
            else:
                raise TemplateError(f"{where}: the local runtime does not know events of type {kind!r}")
        asynchronous = setting("EventInvokeConfig", None) or {}
        return Function(
            logical_id=logical_id,
            name=self._text(properties.get("FunctionName")) or logical_id,
            code=self._folder(logical_id, setting("CodeUri", None)),
            handler=self._handler(logical_id, setting("Handler", None)),
            timeout=self._integer(logical_id, "Timeout", setting("Timeout", _DEFAULT_TIMEOUT)),
            memory=self._integer(logical_id, "MemorySize", setting("MemorySize", _DEFAULT_MEMORY)),
            retries=self._integer(
                logical_id, "MaximumRetryAttempts", asynchronous.get("MaximumRetryAttempts", _DEFAULT_RETRIES)
            ),
            reserved_concurrency=self._optional_integer(properties.get("ReservedConcurrentExecutions")),
            environment=self._environment(properties),
            layers=self._layers(logical_id, properties),
            routes=tuple(routes),
            triggers=tuple(triggers),
            schedules=tuple(schedules),
        )

    def _text(self, value: Any) -> str | None:
        """A value as CloudFormation would pass it on, or None when only a deployment knows it."""
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, str | int | float):
            return str(value)
        if isinstance(value, dict) and set(value) == {"Ref"}:
            value = Tagged("Ref", value["Ref"])
        if isinstance(value, Tagged) and isinstance(value.value, str):
            if value.name == "Ref":
                return self._reference(value.value)
            if value.name == "Sub":
                return self._substitute(value.value)
        if isinstance(value, Tagged) and value.name == "If":
            condition, then, otherwise = value.value
            holds = self._holds(self._conditions.get(condition))
            return None if holds is None else self._text(then if holds else otherwise)
        return None

    def _holds(self, condition: Any) -> bool | None:
        """Whether a condition holds with the parameters' values, or None when only a deployment knows it."""
        if not isinstance(condition, Tagged):
            return None
        if condition.name == "Equals":
            left, right = (self._text(side) for side in condition.value)
            return None if left is None or right is None else left == right
        if condition.name == "Not":
            holds = self._holds(condition.value[0])
            return None if holds is None else not holds
        return None

    def _reference(self, name: str) -> str | None:
        if name in PSEUDO_PARAMETERS:
            return PSEUDO_PARAMETERS[name]
        if name in self._parameters and name in self._given:
            return self._given[name]
        if name in self._parameters:
            return self._text(self._parameters[name].get("Default"))
        target = self._resources.get(name) or {}
        if target.get("Type") == "AWS::Serverless::Function":
            return self._text((target.get("Properties") or {}).get("FunctionName")) or name
        return None

    def _substitute(self, text: str) -> str | None:
        known = {name: self._reference(name) for name in _PLACEHOLDER.findall(text)}
        if None in known.values():
            return None
        return _PLACEHOLDER.sub(lambda match: known[match[1]] or "", text)

    def _environment(self, properties: dict[str, Any]) -> dict[str, str | None]:
        merged: dict[str, Any] = {}
        for source in (self._globals, properties):
            merged |= (source.get("Environment") or {}).get("Variables") or {}
        return {name: self._text(value) for name, value in merged.items()}

    def _layers(self, logical_id: str, properties: dict[str, Any]) -> tuple[Path, ...]:
        # SAM adds a function's layers behind those of Globals.
        wanted = [*(self._globals.get("Layers") or []), *(properties.get("Layers") or [])]
        folders = []
        for layer in wanted:
            name = layer.value if isinstance(layer, Tagged) else layer.get("Ref") if isinstance(layer, dict) else None
            resource = self._resources.get(name) if isinstance(name, str) else None
            if not resource or resource.get("Type") != "AWS::Serverless::LayerVersion":
                raise TemplateError(f"{logical_id}.Layers: {layer!r} is not a layer of this template")
            folders.append(self._folder(str(name), (resource.get("Properties") or {}).get("ContentUri")))
        return tuple(folders)

    def _folder(self, logical_id: str, uri: Any) -> Path:
        if not isinstance(uri, str):
            raise TemplateError(f"{logical_id}: needs a folder as CodeUri or ContentUri, not {uri!r}")
        folder = (self._root / uri).resolve()
        if not folder.is_dir():
            raise TemplateError(f"{logical_id}: no folder {uri}")
        return folder

    def _handler(self, logical_id: str, handler: Any) -> str:
        if not isinstance(handler, str) or "." not in handler:
            raise TemplateError(f"{logical_id}.Handler: {handler!r} is not of the form module.function")
        return handler

    def _integer(self, logical_id: str, name: str, value: Any) -> int:
        number = self._optional_integer(value)
        if number is None or number < 0:
            raise TemplateError(f"{logical_id}.{name}: {value!r} is not a number")
        return number

    def _optional_integer(self, value: Any) -> int | None:
        text = self._text(value)
        return int(text) if text is not None and text.lstrip("-").isdecimal() else None
