"""When a token was last used: one small object for each token, whose time of writing is the time of use.

It is an object of its own because the functions that serve requests may not change the registry. Each process that
meets the token writes it once in ten minutes, in the background, so no request waits for it. Where the process is
frozen right after its answer (Lambda), the write may come with the next request, or never. Only people who clear up
tokens use it.
"""

import logging
from collections.abc import Mapping
from datetime import datetime
from functools import partial

from livemem import clock
from livemem.errors import LiveMemoryError
from livemem.process import Process
from livemem.store.bucket import LAST_USED
from livemem.store.cache import TimedCache

logger = logging.getLogger(__name__)

NOTED_SECONDS = 600
MOST_NOTED = 10_000


_NOTED = partial(TimedCache[str, None], MOST_NOTED, seconds=NOTED_SECONDS)
"""The keys under which this process noted a use in the last ten minutes."""


def note(process: Process, token_hash: str) -> None:
    """Note in the background that the token is used now: 1 PUT, if this process did not do so for ten minutes."""
    note_under(process, LAST_USED.key(token_hash))


def note_under(process: Process, key: str) -> None:
    """The same under any key. The object keeps the time alone."""
    if not process.cache(_NOTED).notes(key, None):
        return
    moment = f"{clock.iso(process.clock())}\n".encode()

    def write() -> None:
        try:
            process.store.put(key, moment, content_type="text/plain")
        except LiveMemoryError as error:
            logger.info("a use was not noted", extra={"error_code": error.code})

    process.in_background(write)


def all_times(process: Process) -> Mapping[str, datetime]:
    """For each token's hash the last use, by the store's clock: 1 LIST per 1,000 tokens that were ever used."""
    entries = process.store.scan(LAST_USED.prefix())
    return {token: entry.last_modified for entry in entries if (token := LAST_USED.last(entry.key))}
