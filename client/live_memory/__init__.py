"""A client of Live Memory over its HTTP API, and the command line `livemem`."""

from live_memory import operations
from live_memory._async import AsyncClient
from live_memory._operation import UNSET
from live_memory._sync import Client
from live_memory._version import __version__
from live_memory.errors import BadArgument, FieldProblem, LiveMemoryError

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
