"""The facts of template.yaml that the local runtime needs: the functions, and what calls them.

Only the part of SAM that this project's template uses is understood. An event or a schedule that is not known is an
error with its place in its text, never skipped in silence. That the template is valid at all `make check` says.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from local.functions.expressions import Cron, Rate, read_expression

PUT_EVENT = "s3:ObjectCreated:Put"
# What CloudFormation knows by itself. The stack has a name, since names of functions are made from it.
PSEUDO_PARAMETERS = {
    "AWS::StackName": "live-memory",
    "AWS::Region": "us-east-1",
    "AWS::AccountId": "123456789012",
    "AWS::Partition": "aws",
}
DEFAULT_PATH = "/$default"
_FUNCTION = "AWS::Serverless::Function"
_PLACEHOLDER = re.compile(r"\$\{([^!}][^}]*)\}")


class TemplateError(ValueError):
    """The template cannot be read, or asks for something that the local runtime does not do."""


@dataclass(frozen=True)
class Route:
    """One HTTP API route. A part of its path is a literal text, `{x}` (one part) or, at the end, `{x+}` (the rest)."""

    method: str
    path: str

    @property
    def pattern(self) -> re.Pattern[str]:
        """What fits a decoded path, with the variables as groups."""
        if self.path == DEFAULT_PATH:
            return re.compile(r"(?s:.*)")
        greedy = re.sub(r"\\\{(\w+)\\\+\\\}$", r"(?P<\1>(?s:.+))", re.escape(self.path.strip("/")))
        return re.compile("/" + re.sub(r"\\\{(.+?)\\\}", r"(?P<\1>[^/]+)", greedy))


@dataclass(frozen=True)
class PutTrigger:
    """An S3 event subscription to ObjectCreated:Put, with the key filter of the notification."""

    name: str
    prefix: str = ""
    suffix: str = ""

    def matches(self, key: str) -> bool:
        """Tell whether a put of `key` is delivered."""
        return key.startswith(self.prefix) and key.endswith(self.suffix)


@dataclass(frozen=True)
class Schedule:
    """A recurring invocation. `payload` replaces the event."""

    name: str
    when: Rate | Cron
    payload: str | None = None


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


@dataclass(frozen=True)
class _Tagged:
    """A CloudFormation intrinsic in its short form, for example `!Ref Bucket` as _Tagged("Ref", "Bucket")."""

    name: str
    value: Any


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """PyYAML's safe loader that keeps CloudFormation's short tags instead of refusing them."""


def _construct_tag(loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> _Tagged:
    if isinstance(node, yaml.ScalarNode):
        return _Tagged(suffix, loader.construct_scalar(node))
    construct: Any = loader.construct_sequence if isinstance(node, yaml.SequenceNode) else loader.construct_mapping
    return _Tagged(suffix, construct(node, deep=True))


_Loader.add_multi_constructor("!", _construct_tag)


def read_template(path: Path, parameters: Mapping[str, str] | None = None) -> Template:
    """Read a SAM template, whose paths are relative to its folder: the functions with all that Globals adds to them.

    `parameters` are values of the template's parameters, instead of their defaults. Raises TemplateError.
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
    values = _Values(document, parameters or {})
    everyone = values.resolve((document.get("Globals") or {}).get("Function") or {})
    functions = []
    for logical_id, resource in document["Resources"].items():
        if resource.get("Type") == _FUNCTION:
            own = values.resolve(resource.get("Properties") or {})
            functions.append(_read_function(logical_id, everyone, own, path.parent))
    return Template(tuple(functions))


class _Values:
    """What the expressions of a template come to. None where only a deployment knows it."""

    def __init__(self, document: dict[str, Any], given: Mapping[str, str]) -> None:
        parameters: dict[str, Any] = document.get("Parameters") or {}
        self._conditions: dict[str, Any] = document.get("Conditions") or {}
        self._known: dict[str, str | None] = {
            **PSEUDO_PARAMETERS,
            **{name: given.get(name, _text(about.get("Default"))) for name, about in parameters.items()},
        }
        for logical_id, resource in document["Resources"].items():
            if resource.get("Type") == _FUNCTION:
                name = self.resolve((resource.get("Properties") or {}).get("FunctionName"))
                self._known[logical_id] = name or logical_id

    def resolve(self, value: Any) -> Any:
        """The value with the expressions in it replaced."""
        if isinstance(value, dict):
            return {name: self.resolve(part) for name, part in value.items()}
        if isinstance(value, list):
            return [self.resolve(part) for part in value]
        if not isinstance(value, _Tagged):
            return value
        if value.name == "Ref":
            return self._known.get(value.value)
        if value.name == "Sub" and isinstance(value.value, str):
            known = {name: self._known.get(name) for name in _PLACEHOLDER.findall(value.value)}
            if None not in known.values():
                return _PLACEHOLDER.sub(lambda match: known[match[1]] or "", value.value)
        if value.name == "If":
            condition, then, otherwise = value.value
            holds = self.resolve(self._conditions.get(condition))
            return None if holds is None else self.resolve(then if holds else otherwise)
        if value.name in {"Equals", "Not"}:
            sides = [_text(side) for side in self.resolve(value.value)]
            if None not in sides:
                return sides[0] == sides[-1] if value.name == "Equals" else sides == ["false"]
        return None


def _read_function(logical_id: str, everyone: dict[str, Any], own: dict[str, Any], root: Path) -> Function:
    # Lambda's own defaults, for what neither the function nor Globals sets.
    given = {"Handler": "", "Timeout": 3, "MemorySize": 128, **everyone, **own}
    retries = (given.get("EventInvokeConfig") or {}).get("MaximumRetryAttempts", 2)
    variables = [(source.get("Environment") or {}).get("Variables") or {} for source in (everyone, own)]
    code = (root / str(given.get("CodeUri"))).resolve()
    if not code.is_dir():
        raise TemplateError(f"{logical_id}: no folder {given.get('CodeUri')}")
    routes: list[Route] = []
    triggers: list[PutTrigger] = []
    schedules: list[Schedule] = []
    for name, event in (own.get("Events") or {}).items():
        where, kind, wanted = f"{logical_id}.Events.{name}", event.get("Type"), event.get("Properties") or {}
        if kind == "HttpApi":
            method, route = wanted["Method"].upper(), wanted["Path"].removeprefix("/")
            # SAM writes the catch-all without a slash, OpenAPI with one.
            routes.append(Route({"*": "ANY"}.get(method, method), f"/{route}"))
        elif kind == "S3":
            triggers.append(_read_trigger(where, name, wanted))
        elif kind in {"Schedule", "ScheduleV2"}:
            schedules.extend(_read_schedule(where, name, kind, wanted))
        else:
            raise TemplateError(f"{where}: the local runtime does not know events of type {kind!r}")
    reserved = own.get("ReservedConcurrentExecutions")
    return Function(
        logical_id=logical_id,
        name=own.get("FunctionName") or logical_id,
        code=code,
        handler=given["Handler"],
        timeout=int(given["Timeout"]),
        memory=int(given["MemorySize"]),
        retries=int(retries),
        reserved_concurrency=None if reserved is None else int(reserved),
        environment={name: _text(value) for source in variables for name, value in source.items()},
        routes=tuple(routes),
        triggers=tuple(triggers),
        schedules=tuple(schedules),
    )


def _text(value: Any) -> str | None:
    """A value as CloudFormation passes it on."""
    return None if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _read_trigger(where: str, name: str, properties: dict[str, Any]) -> PutTrigger:
    events = properties.get("Events")
    if events not in (PUT_EVENT, [PUT_EVENT]):
        raise TemplateError(f"{where}: the local runtime delivers {PUT_EVENT} only, not {events!r}")
    rules = ((properties.get("Filter") or {}).get("S3Key") or {}).get("Rules") or []
    return PutTrigger(name, **{rule["Name"].lower(): rule["Value"] for rule in rules})


def _read_schedule(where: str, name: str, kind: str, properties: dict[str, Any]) -> list[Schedule]:
    """Read a Schedule (a rule, in UTC) or a ScheduleV2 (EventBridge Scheduler); none if it is off."""
    rule = kind == "Schedule"
    expression = "Schedule" if rule else "ScheduleExpression"
    known = {"Description", "Input", "State", expression, "Enabled" if rule else "ScheduleExpressionTimezone"}
    if never := properties.keys() - known:
        raise TemplateError(f"{where}: the local runtime does not do {', '.join(sorted(never))}")
    values = {key: _text(value) for key, value in properties.items()}
    if unknown := [key for key, value in values.items() if value is None]:
        raise TemplateError(f"{where}: only a deployment knows {', '.join(unknown)}")
    payload = values.get("Input")
    try:
        when = read_expression(values.get(expression) or "", values.get("ScheduleExpressionTimezone") or "UTC")
        json.loads(payload or "{}")
    except ValueError as error:
        raise TemplateError(f"{where}: {error}") from error
    is_off = values.get("State") == "DISABLED" or values.get("Enabled") == "false"
    return [] if is_off else [Schedule(name, when, payload)]
