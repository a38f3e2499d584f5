"""What the functions are given in the place of network clients: this program, which runs them."""

import contextvars
import threading
from collections.abc import Callable
from typing import Any

from local.functions.invocations import check_time
from local.store.client import FileStore


def context(
    invoke: Callable[[str, bytes], tuple[Any, bool]],
    enqueue: Callable[[str, bytes], None],
    store: FileStore | None,
) -> contextvars.Context:
    """The context of all invocations of a runtime."""
    # The layers are on the import path by now.
    from livemem.errors import OutOfTime  # noqa: PLC0415
    from livemem.store.clients import HOST, Host  # noqa: PLC0415

    def check() -> None:
        check_time(lambda: OutOfTime("The time of this invocation is over."))

    made = contextvars.Context()
    made.run(HOST.set, Host(invoke, enqueue, check, PresigningStore(store) if store else None))
    return made


def make_process() -> None:
    """Make what all functions share (`livemem_http.environment`). Raises what the settings raise."""
    from livemem_http.environment import process  # noqa: PLC0415 - the layers are on the import path by now

    process()


class PresigningStore:
    """The embedded store, with addresses for others: they are of its door for other programs."""

    def __init__(self, store: FileStore) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._signer: Any = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def generate_presigned_url(self, *arguments: Any, **named: Any) -> str:
        """Sign an address, as a client of botocore does."""
        # Most services never need it.
        from livemem.settings import settings  # noqa: PLC0415
        from livemem.store import clients  # noqa: PLC0415

        with self._lock:
            self._signer = self._signer or contextvars.Context().run(clients.s3_client, settings())
        return str(self._signer.generate_presigned_url(*arguments, **named))
