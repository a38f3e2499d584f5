"""Several sources at once, each with a time of its own. One that fails or is late does not delay the others."""

import logging
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any

from livemem.background import in_context
from livemem.errors import LiveMemoryError, NotFound, StoreUnavailable
from livemem.process import Process

logger = logging.getLogger(__name__)

FAILURES = (LiveMemoryError, ValueError)
"""Expected errors of a source, damaged objects among them. Any other error is a defect."""


Tasks = dict[str, Callable[[], Any]]
"""Tasks by the names of their sources."""


def done(process: Process, seconds: Mapping[str, float], tasks: Tasks) -> tuple[dict[str, Any], dict[str, Exception]]:
    """The result of each task by its name, and the errors of the tasks that gave none within their `seconds`. Raises
    NotFound if one of them does.

    The caller does not wait for a late task, which ends by the limits of its own requests. A store with one thread runs
    them in their order.
    """
    results: dict[str, Any] = {}
    failures: dict[str, Exception] = {}
    began = process.timer()
    started = {} if process.store.threads == 1 else {name: _started(name, do) for name, do in tasks.items()}
    for name, do in tasks.items():
        try:
            if name in started:
                results[name] = started[name].result(max(0.0, began + seconds[name] - process.timer()))
            else:
                results[name] = _in_time(process, do, seconds[name])
        except NotFound:
            raise
        except (*FAILURES, TimeoutError) as error:
            logger.warning("source left out", extra={"source": name, "error_code": getattr(error, "code", "late")})
            failures[name] = error
    return results, failures


def error_of(failure: Exception) -> LiveMemoryError:
    """The error for a caller that has no answer without the source."""
    if isinstance(failure, LiveMemoryError):
        return failure
    return StoreUnavailable("The space could not be read in time. Try again.")


def _in_time(process: Process, do: Callable[[], Any], seconds: float) -> Any:
    began = process.timer()
    result = do()
    if process.timer() - began > seconds:
        raise TimeoutError
    return result


def _started(name: str, do: Callable[[], Any]) -> Future[Any]:
    future: Future[Any] = Future()

    def work() -> None:
        try:
            future.set_result(do())
        except BaseException as error:  # noqa: BLE001 - it is raised by who waits
            future.set_exception(error)

    threading.Thread(target=in_context(work), name=name, daemon=True).start()
    return future
