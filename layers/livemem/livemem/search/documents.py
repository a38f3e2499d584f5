"""What is searched."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Document:
    """One thing that a search can find.

    `id` is unique in its space. `group` and `position` say who is whose neighbour: the documents of a group stand in
    the order of their positions.
    """

    id: str
    kind: str
    text: str
    group: str
    position: str
    title: str = ""
    time: str = ""
    """ISO 8601, UTC; empty where it has none."""
    expires: str = ""
    """From when on it is not found any more: ISO 8601, UTC, in milliseconds; empty: never."""
    author: str = ""
    role: str = ""
    """Of a turn of a conversation: `user` for what a person said, `assistant` for what a model answered; `tool` and
    `system` for what nobody said.
    """
    category: str = ""
    tags: tuple[str, ...] = ()
    source: Mapping[str, str] = field(default_factory=dict, hash=False)
    """What to ask for to get the whole, by the names of the API's parameters."""
    more: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """What is needed to show it, beyond all this: values of JSON."""


@dataclass(frozen=True)
class Reading:
    """What one object of the bucket tells of documents, as it was read.

    Several may tell of the same one: the one of the highest `rank` counts. `gives_back`: ids of documents about which
    it has nothing more to say, and nobody of a lower rank either but those of rank 0 (an undo gives notes back).
    """

    key: str
    mark: str
    """What tells this version of the object from another one (view.Source)."""
    documents: tuple[Document, ...] = ()
    rank: int = 0
    gives_back: tuple[str, ...] = ()


def storable(text: str) -> str:
    """Text that any store of text takes: no half surrogate pairs, which JSON can hold."""
    return text.encode(errors="replace").decode()
