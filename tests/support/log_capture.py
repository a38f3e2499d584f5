"""Hears what the service logs."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def heard() -> Iterator[list[str]]:
    """All that the service's packages log, with every field of each record."""
    lines: list[str] = []
    call = logging.Logger.callHandlers

    def listen(logger: logging.Logger, record: logging.LogRecord) -> None:
        if record.name.startswith("livemem"):
            lines.append(f"{record.__dict__!r} {logging.Formatter().format(record)}")
        call(logger, record)

    # Each function that is loaded gives the packages' loggers new handlers.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(logging.Logger, "callHandlers", listen)
        yield lines
