"""What botocore and pydantic work out anew for each client or process, worked out once in a process of pytest.

The answers depend on their own files and the environment alone. So all tests see what they would see without it.
"""

import os
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any

import pytest
from botocore import hooks
from botocore.hooks import EventAliaser
from botocore.loaders import JSONFileLoader, Loader

from livemem import settings as configured
from livemem.settings import Settings
from livemem_http import environment


def worked_out_once(patch: pytest.MonkeyPatch) -> None:
    """From here on, until the patches are undone."""
    # Large models, which each session of its own would read again, and 400 folders, into which it would look.
    patch.setattr(JSONFileLoader, "load_file", _load_file)
    patch.setattr(Loader, "list_available_services", _list_services)
    # Each client asks the same table about the names of some hundred events, and the same functions what they take.
    patch.setattr(EventAliaser, "_alias_event_name", _alias_name)
    patch.setattr(hooks, "accepts_kwargs", _accepts_kwargs)
    # Some hundred variables, for each invocation that is the first of its environment.
    patch.setattr(environment, "settings", _SETTINGS)


class _SettingsOfEnvironment:
    """Reads each environment once: it alone says what the settings are, and nobody can change them."""

    def __init__(self) -> None:
        self._known: dict[frozenset[tuple[bytes, bytes]], Settings] = {}

    def __call__(self) -> Settings:
        # As the system has it: each variable is read anew through os.environ, a sixth of the time. pytest tells there
        # which test it is at.
        told = frozenset(one for one in vars(os.environ)["_data"].items() if not one[0].startswith(b"PYTEST_"))
        if told not in self._known:
            configured.settings.cache_clear()
            self._known[told] = configured.settings()
        return self._known[told]

    def cache_clear(self) -> None:
        """A new environment of Lambda, for all who ask elsewhere; here nothing depends on it."""
        configured.settings.cache_clear()


def _by_arguments(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method, whose answer does not depend on the object."""
    known: dict[tuple[Any, ...], Any] = {}

    @wraps(method)
    def answer(owner: Any, *arguments: Any, **named: Any) -> Any:
        asked = (*arguments, *named.items())
        if asked not in known:
            known[asked] = method(owner, *arguments, **named)
        return known[asked]

    return answer


_SETTINGS = _SettingsOfEnvironment()
_load_file = _by_arguments(JSONFileLoader.load_file)
_accepts_kwargs = lru_cache(maxsize=1_000)(hooks.accepts_kwargs)
_list_services = _by_arguments(Loader.list_available_services)
_alias_name = _by_arguments(EventAliaser._alias_event_name)  # type: ignore[attr-defined]
