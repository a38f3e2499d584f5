"""All operations of the API, as `operations.json` has them: the arguments and the answer of each."""

import enum
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final


class Unset(enum.Enum):
    """The type of UNSET."""

    UNSET = "UNSET"

    def __repr__(self) -> str:
        return self.name


UNSET: Final = Unset.UNSET
"""The value for a field that is not sent, where None would be sent as null."""


@dataclass(frozen=True)
class Field:
    """A parameter of a path or query, or a field of a body."""

    name: str
    type: str
    """The JSON type: string, integer, number, boolean, array or object."""
    required: bool
    description: str
    choices: tuple[str, ...]
    """The values that it may have, where they are few."""
    items: str | None
    """The type of an array's elements."""
    nullable: bool
    """Whether null has another meaning than leaving the field out, as it may in a change."""


@dataclass(frozen=True)
class Operation:
    """One operation of the API."""

    name: str
    short: str
    """Its name among those of its tag: `append` of `append_note`, whose tag is `notes`."""
    tag: str
    summary: str
    description: str
    needs: str
    """The permission that it takes."""
    method: str
    path: str
    """With `{names}`, without /v1. A `+` behind a name: its value may hold slashes."""
    path_parameters: Mapping[str, Field]
    query: Mapping[str, Field]
    body: Mapping[str, Field]
    answer: str | None
    """The name of the model of its answer; None: it has no body."""
    many: str | None
    """The name of the model of its answer to several things, which are `items` in the place of the other fields of the
    body, or to something to copy (`from`). None: it has one form alone.
    """
    markdown: bool
    """Whether it also answers in Markdown."""
    takes_key: bool
    """Whether it takes an Idempotency-Key."""
    paged: bool
    """Whether its answer is a page with `items` and `next_cursor`."""

    @property
    def fields(self) -> Mapping[str, Field]:
        """All its arguments, by name. No name occurs twice in one operation."""
        return {**self.path_parameters, **self.query, **self.body}


class _Operations(Mapping[str, Operation]):
    """Operations by name. The file is read at the first access. Each operation is built at its first access."""

    def __init__(self) -> None:
        self._made: dict[str, Operation] = {}

    @cached_property
    def _written(self) -> dict[str, Any]:
        written: dict[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_bytes())
        return written

    def __getitem__(self, name: str) -> Operation:
        if name not in self._made:
            self._made[name] = _operation(name, self._written[name])
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._written)

    def __len__(self) -> int:
        return len(self._written)


OPERATIONS: Mapping[str, Operation] = _Operations()


def _operation(name: str, written: Mapping[str, Any]) -> Operation:
    taken: dict[str, dict[str, Field]] = {}
    for field, told in written["fields"].items():
        # Elsewhere null means the same as a missing field.
        nullable = written["method"] == "PATCH" and told["in"] == "body"
        taken.setdefault(told["in"], {})[field] = _field(field, told, nullable)
    return Operation(
        name,
        **{key: written[key] for key in ("short", "tag", "summary", "description", "needs", "method", "path")},
        path_parameters=taken.get("path", {}),
        query=taken.get("query", {}),
        body=taken.get("body", {}),
        answer=written.get("answer"),
        many=written.get("many"),
        markdown=written.get("markdown", False),
        takes_key="idempotency_key" in taken.get("header", {}),
        paged=written.get("paged", False),
    )


def _field(name: str, told: Mapping[str, Any], nullable: bool) -> Field:
    schema = told["schema"]
    kinds = schema.get("type", "object")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    return Field(
        name,
        type=kinds[0],
        required=told.get("required", False),
        description=schema.get("description", ""),
        choices=tuple(one for one in schema.get("enum", ()) if one is not None),
        items=schema["items"].get("type", "object") if "items" in schema else None,
        nullable=nullable and "null" in kinds,
    )
