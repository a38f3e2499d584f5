"""What calls a function, as the template declares it: routes of the HTTP API, S3 triggers and schedules.

Each reader gets the place of its event for the text of an error, a TemplateError.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from local.functions.expressions import Cron, Rate, read_expression

PUT_EVENT = "s3:ObjectCreated:Put"
METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "ANY"})

Text = Callable[[Any], str | None]
"""The text that CloudFormation makes of a value. None where only a deployment knows it."""


class TemplateError(ValueError):
    """The template cannot be read, or asks for something that the local runtime does not do."""


@dataclass(frozen=True)
class Route:
    """One HTTP API route. `segments` are literal texts, `{x}` (one segment) or `{x+}` (the rest of the path)."""

    method: str
    path: str

    @property
    def segments(self) -> tuple[str, ...]:
        """The path cut at its slashes, without the leading one."""
        return tuple(self.path.strip("/").split("/")) if self.path.strip("/") else ()


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
    """A recurring invocation. `source` is `aws.events` (a rule) or `aws.scheduler`; `payload` replaces the event."""

    name: str
    when: Rate | Cron
    source: str = "aws.events"
    payload: str | None = None


def read_route(where: str, properties: dict[str, Any]) -> Route:
    """Read an event of type HttpApi."""
    path, method = properties.get("Path"), str(properties.get("Method", "")).upper()
    # SAM writes the catch-all without a slash, OpenAPI with one.
    path = "/$default" if path == "$default" else path
    method = "ANY" if method in {"*", "X-AMAZON-APIGATEWAY-ANY-METHOD"} else method
    if not isinstance(path, str) or not path.startswith("/"):
        raise TemplateError(f"{where}: Path {path!r} does not start with a slash")
    if method not in METHODS:
        raise TemplateError(f"{where}: unknown Method {properties.get('Method')!r}")
    route = Route(method, path)
    if any(s.endswith("+}") for s in route.segments[:-1]):
        raise TemplateError(f"{where}: {path}: a greedy variable must be the last segment")
    names = [s[1:-1].rstrip("+") for s in route.segments if s.startswith("{")]
    if len(set(names)) < len(names) or not all(n.isidentifier() and n.isascii() for n in names):
        raise TemplateError(f"{where}: {path}: path variables need different names of letters, digits and underscores")
    return route


def read_trigger(where: str, name: str, properties: dict[str, Any]) -> PutTrigger:
    """Read an event of type S3."""
    wanted = properties.get("Events")
    events = wanted if isinstance(wanted, list) else [wanted]
    if events != [PUT_EVENT]:
        raise TemplateError(f"{where}: the local runtime delivers {PUT_EVENT} only, not {wanted!r}")
    filters = {"prefix": "", "suffix": ""}
    for rule in ((properties.get("Filter") or {}).get("S3Key") or {}).get("Rules") or []:
        kind = str(rule.get("Name", "")).lower()
        if kind not in filters or not isinstance(rule.get("Value"), str):
            raise TemplateError(f"{where}: a filter rule names prefix or suffix and a text, not {rule!r}")
        filters[kind] = rule["Value"]
    return PutTrigger(name, **filters)


def read_schedule(where: str, name: str, kind: str, properties: dict[str, Any], text: Text) -> list[Schedule]:
    """Read an event of type Schedule (a rule, in UTC) or ScheduleV2 (EventBridge Scheduler); none if it is off."""
    rule = kind == "Schedule"
    for never in ({"StartDate", "EndDate"} | ({"ScheduleExpressionTimezone"} if rule else set())) & properties.keys():
        raise TemplateError(f"{where}: the local runtime does not do {never}")

    def read(key: str) -> str | None:
        if key not in properties:
            return None
        value = text(properties[key])
        if value is None:
            raise TemplateError(f"{where}: {key}: only a deployment knows {properties[key]!r}")
        return value

    state, enabled = read("State") or "ENABLED", (rule and read("Enabled")) or "true"
    if state not in {"ENABLED", "DISABLED"} or enabled not in {"true", "false"}:
        raise TemplateError(
            f"{where}: State is ENABLED or DISABLED and Enabled true or false, not {state!r}, {enabled!r}"
        )
    payload = read("Input")
    if payload is not None and not _is_json(payload):
        raise TemplateError(f"{where}: Input must be a JSON text")
    expression = read("Schedule" if rule else "ScheduleExpression") or ""
    timezone = read("ScheduleExpressionTimezone")
    try:
        when = read_expression(expression, timezone or "UTC")
    except ValueError as error:
        raise TemplateError(f"{where}: {error}") from error
    if state == "DISABLED" or enabled == "false":
        return []
    return [Schedule(name, when, "aws.events" if rule else "aws.scheduler", payload)]


def _is_json(text: Any) -> bool:
    try:
        json.loads(text)
    except (TypeError, ValueError):
        return False
    return True
