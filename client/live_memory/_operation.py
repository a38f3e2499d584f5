"""What is known of an operation of the API; the table of all is in `operations`."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final


class Unset(enum.Enum):
    """The type of UNSET."""

    UNSET = "UNSET"

    def __repr__(self) -> str:
        return self.name


UNSET: Final = Unset.UNSET
"""What stands for a field that is not sent, where None would be sent as null."""


@dataclass(frozen=True)
class Field:
    """A parameter of a path or query, or a field of a body."""

    name: str
    type: str
    """Of JSON: string, integer, number, boolean, array or object."""
    required: bool = False
    description: str = ""
    choices: tuple[str, ...] = ()
    """The values that it may have, where they are few."""
    format: str | None = None
    """`date` or `date-time` of some strings."""
    items: str | None = None
    """The type of what is in an array."""
    item_choices: tuple[str, ...] = ()
    nullable: bool = False
    """Whether null says something else than leaving it out, as it may in a change."""


@dataclass(frozen=True)
class Operation:
    """One operation of the API."""

    name: str
    method: str
    path: str
    """With `{names}`, without /v1."""
    tag: str
    summary: str
    description: str
    path_parameters: Mapping[str, Field] = field(default_factory=dict)
    query: Mapping[str, Field] = field(default_factory=dict)
    body: Mapping[str, Field] = field(default_factory=dict)
    answer: str | None = None
    """The name of the model of its answer; None: it has no body."""
    needs: str = ""
    """The permission that it takes."""
    markdown: bool = False
    """Whether it also answers in Markdown."""
    takes_key: bool = False
    """Whether it takes an Idempotency-Key."""
    lines: bool = False
    """Whether its body are lines of JSON."""
    paged: bool = False
    """Whether its answer is a page with `items` and `next_cursor`."""

    @property
    def fields(self) -> Mapping[str, Field]:
        """All that it takes, by name; no name is twice in one operation."""
        return {**self.path_parameters, **self.query, **self.body}
