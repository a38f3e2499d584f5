"""The parts of this process, made once: settings, store, ids, and how the next run is started."""

import secrets
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from livemem import __version__, clients, clock, health
from livemem.access import Principal
from livemem.errors import NotConfigured
from livemem.health import Health
from livemem.settings import Settings, settings
from livemem.store import Store, open_store

__all__ = ["__version__", "look_at_health", "new_suffix", "settings", "start_run", "store"]


@lru_cache(maxsize=1)
def store() -> Store:
    """The store of this process."""
    return open_store(settings())


def look_at_health(caller: Principal | None) -> Health:
    """Health for the caller, None for anybody; it is told even while the settings can't be read."""
    try:
        configured = settings()
    except NotConfigured as refusal:
        return health.not_configured("settings_refused", refusal)
    return health.deep(store(), configured, caller, clock.now()) if caller else health.shallow(store(), configured)


def new_suffix() -> str:
    """8 hex digits for the name of a note: the millisecond, so that notes of one second keep their order, then chance.

    Two notes of one agent and category in one millisecond collide once in a million times; writing them notices.
    """
    return f"{clock.now().microsecond // 1_000:03x}{secrets.randbits(20):05x}"


def start_run(payload: Mapping[str, Any]) -> None:
    """Queue one asynchronous invocation of the consolidation; raises StoreUnavailable."""
    configured: Settings = settings()
    clients.invoke_async(configured.consolidate_function_name, payload)
