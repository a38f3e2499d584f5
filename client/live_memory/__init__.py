"""A client of Live Memory over its HTTP API, and the command line `livemem`."""

import importlib
from typing import TYPE_CHECKING, Any

from live_memory._version import __version__

if TYPE_CHECKING:
    from live_memory import operations
    from live_memory._async import AsyncClient
    from live_memory._sync import Client
    from live_memory.errors import BadArgument, FieldProblem, LiveMemoryError
    from live_memory.operations import UNSET

__all__ = [
    "UNSET",
    "AsyncClient",
    "BadArgument",
    "Client",
    "FieldProblem",
    "LiveMemoryError",
    "__version__",
    "operations",
]

_HOMES = {
    "UNSET": "operations",
    "AsyncClient": "_async",
    "BadArgument": "errors",
    "Client": "_sync",
    "FieldProblem": "errors",
    "LiveMemoryError": "errors",
}


def __getattr__(name: str) -> Any:
    # The command line is a part of this package, and its `--help` must not wait for httpx and pydantic to load.
    if name == "operations":
        return importlib.import_module("live_memory.operations")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"live_memory.{_HOMES[name]}"), name)
