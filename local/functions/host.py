"""What the functions are given in the place of network clients: this program, which runs them."""

import contextvars
from collections.abc import Callable
from typing import Any

from local.functions.invocations import check_time
from local.store.addresses import AddressedStore


def context(
    invoke: Callable[[str, bytes], tuple[Any, bool]],
    enqueue: Callable[[str, bytes], None],
    store: AddressedStore | None,
) -> contextvars.Context:
    """The context of all invocations of a runtime."""
    # The layers are on the import path by now.
    from livemem.errors import OutOfTime  # noqa: PLC0415
    from livemem.store.clients import HOST, Host  # noqa: PLC0415

    def check() -> None:
        check_time(lambda: OutOfTime("The time of this invocation is over."))

    made = contextvars.Context()
    made.run(HOST.set, Host(invoke, enqueue, check, store))
    return made


def make_process() -> None:
    """Make what all functions share (`livemem_http.environment`). Raises what the settings raise."""
    from livemem_http.environment import process  # noqa: PLC0415 - the layers are on the import path by now

    process()
