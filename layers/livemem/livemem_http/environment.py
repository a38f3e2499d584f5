"""The parts of this process, made once: settings, store, ids, and how the next run is started."""

import secrets
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from livemem import __version__, clients, clock
from livemem.settings import Settings, settings
from livemem.store import Store, open_store

__all__ = ["__version__", "new_suffix", "settings", "start_run", "store"]


@lru_cache(maxsize=1)
def store() -> Store:
    """The store of this process."""
    return open_store(settings())


def new_suffix() -> str:
    """8 hex digits for the name of a note: the millisecond, so that notes of one second keep their order, then chance.

    Two notes of one agent and category in one millisecond collide once in a million times; writing them notices.
    """
    return f"{clock.now().microsecond // 1_000:03x}{secrets.randbits(20):05x}"


def start_run(payload: Mapping[str, Any]) -> None:
    """Queue one asynchronous invocation of the consolidation; raises StoreUnavailable."""
    configured: Settings = settings()
    clients.invoke_async(configured.consolidate_function_name, payload)
