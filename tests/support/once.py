"""What botocore and moto work out anew for each client and for each request, worked out once a process.

The answers depend on their own files alone. So all tests see what they would see without it.
"""

from collections.abc import Callable
from functools import cache, lru_cache, wraps
from typing import Any

import pytest
from botocore import hooks
from botocore.hooks import EventAliaser
from botocore.loaders import JSONFileLoader, Loader
from moto.core import models as mocks
from moto.core.base_backend import BaseBackend
from moto.core.custom_responses_mock import CallbackResponse
from moto.s3 import urls
from moto.s3.models import S3Backend


def worked_out_once(patch: pytest.MonkeyPatch) -> None:
    """From here on, until the patches are undone."""
    # Large models, which each session of its own would read again, and 400 folders, into which it would look.
    patch.setattr(JSONFileLoader, "load_file", _load_file)
    patch.setattr(Loader, "list_available_services", _list_services)
    # Each client asks the same table about the names of some hundred events, and the same functions what they take.
    patch.setattr(EventAliaser, "_alias_event_name", _alias_name)
    patch.setattr(hooks, "accepts_kwargs", _accepts_kwargs)
    # A thousand answers, which moto makes anew for each mock; it keeps nothing in them.
    patch.setattr(mocks, "CallbackResponse", _callback_response)
    # moto loads this module again before each request: the environment might name other endpoints by then.
    patch.setattr(S3Backend, "_url_module", urls)
    patch.setattr(S3Backend, "urls", property(_urls_of_s3))


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


_load_file = _by_arguments(JSONFileLoader.load_file)
_accepts_kwargs = lru_cache(maxsize=1_000)(hooks.accepts_kwargs)
_callback_response = cache(CallbackResponse)
_list_services = _by_arguments(Loader.list_available_services)
_alias_name = _by_arguments(EventAliaser._alias_event_name)  # type: ignore[attr-defined]


@cache
def _urls() -> Any:
    return vars(BaseBackend)["urls"].fget(S3Backend("us-east-1", "123456789012"))


def _urls_of_s3(backend: S3Backend) -> Any:
    return _urls()
