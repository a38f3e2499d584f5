"""The base of all groups of methods."""

from collections.abc import Callable
from typing import Any


class Group:
    """Methods for the operations of one kind: `_groups`, and `_async_groups` which is made of it."""

    def __init__(self, invoke: Callable[[str, dict[str, Any]], Any]) -> None:
        """`invoke` carries out an operation, by its name and the local variables of its method."""
        self._invoke = invoke
