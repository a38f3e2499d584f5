"""The service's own variables, checked before anything starts: the same model that the functions read, in sentences."""

import sys
from collections.abc import Iterable, Mapping
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin
from urllib.parse import urlsplit

from pydantic import ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings

_SECRETS = ("KEY", "SECRET", "TOKEN")
_URLS = ("S3_ENDPOINT_URL", "LLMAAS_API_URL")
_LONGEST = 60  # characters of a value in a sentence


def find_problems(variables: Mapping[str, str], layers: Iterable[str] = ()) -> list[str]:
    """What is wrong with the variables of the service, one sentence for each; never the value of a secret.

    Args:
        variables: a whole environment; what the service does not read is not looked at.
        layers: folders where the service's packages lie, if they are not importable already.
    """
    sys.path[:] = [*sys.path, *(folder for folder in layers if folder not in sys.path)]
    from livemem.settings import Settings  # noqa: PLC0415 - a process that checks nothing does without the layer

    given = {name.lower(): value for name, value in variables.items() if name.lower() in Settings.model_fields}
    problems = [
        f"{name} is {_show(name, variables[name])}; it takes an http:// or https:// URL."
        for name in _URLS
        if variables.get(name) and not _is_url(variables[name])
    ]
    try:
        settings = Settings(**given)  # type: ignore[arg-type]  # texts, as in the environment
    except ValidationError as error:
        return problems + [_describe(found, Settings, variables) for found in error.errors(include_url=False)]
    if given.get("admin_bootstrap_key") and (problem := settings.bootstrap_key_problem()):
        problems.append(f"{problem}.")
    return problems


def _describe(found: Any, model: type[BaseSettings], variables: Mapping[str, str]) -> str:
    if not found["loc"]:
        return str(found["msg"]).removeprefix("Value error, ")
    field = str(found["loc"][0])
    name = field.upper()
    return f"{name} is {_show(name, variables.get(name, ''))}; it takes {_bounds(model.model_fields[field])}."


def _show(name: str, value: str) -> str:
    if any(word in name.split("_") for word in _SECRETS) or "@" in value:
        return "not right"
    return repr(value if len(value) <= _LONGEST else value[:_LONGEST] + "…")


def _bounds(field: FieldInfo) -> str:
    """What a setting takes, in words, from its type and its limits."""
    kinds = [field.annotation]
    if get_origin(field.annotation) in {Union, UnionType}:
        kinds = [kind for kind in get_args(field.annotation) if kind is not NoneType]
    limits = {
        name: getattr(limit, name)
        for limit in field.metadata
        for name in ("ge", "gt", "le", "lt")
        if hasattr(limit, name)
    }
    return " or ".join(_words(kind, limits) for kind in kinds)


def _words(kind: Any, limits: Mapping[str, Any]) -> str:
    if get_origin(kind) is Literal:
        return " or ".join(map(str, get_args(kind)))
    if kind is bool:
        return "true or false"
    words = {int: "a whole number", float: "a number"}.get(kind, "a text")
    low, high = limits.get("ge"), limits.get("le")
    if low is not None and high is not None:
        return f"{words} from {low} to {high}"
    for name, phrase in (("ge", "of {} or more"), ("gt", "above {}"), ("le", "of {} or less"), ("lt", "below {}")):
        if name in limits:
            words += " " + phrase.format(limits[name])
    return words


def _is_url(text: str) -> bool:
    try:
        url = urlsplit(text)
        return url.scheme in {"http", "https"} and bool(url.hostname) and (url.port is None or url.port > 0)
    except ValueError:
        return False
