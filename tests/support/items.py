"""The items of an import, as its route reads them."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from livemem.conversations.turn import Draft
from livemem_http.views.turns import NewTurns


def drafts(items: Iterable[Mapping[str, Any]] | str) -> list[Draft]:
    """The turns in the items, or in lines of JSON."""
    some = [json.loads(line) for line in items.split("\n") if line.strip()] if isinstance(items, str) else [*items]
    return [item.draft() for item in NewTurns.model_validate({"items": some}).items]
