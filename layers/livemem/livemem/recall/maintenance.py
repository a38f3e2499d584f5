"""Maintenance of searches: a snapshot that no indexer has made, an order that none has carried out. It imports no
module of the search itself.
"""

from collections.abc import Mapping
from contextlib import suppress

from livemem.errors import StoreUnavailable
from livemem.jobs.package import Package, Space
from livemem.process import Process
from livemem.store.bucket import SEARCH_ORDER, SEARCH_SNAPSHOT


def maintain(process: Process, space: Space) -> Mapping[str, float]:
    """Once a day, ask for the indexer if no snapshot includes the last change, or if an order to forget is open: 1
    LIST.
    """
    if not space.daily:
        return {}
    entries = [entry.key for entry in process.store.scan(SEARCH_SNAPSHOT.prefix(space.space_id))]
    numbers = [parsed[2] for key in entries if (parsed := SEARCH_SNAPSHOT.parse(key))]
    ordered = any(key.startswith(SEARCH_ORDER.prefix(space.space_id)) for key in entries)
    if max(numbers, default=0) >= space.head.meta.changes and not ordered:
        return {}
    with suppress(StoreUnavailable):
        process.enqueue("indexer", {"space_id": space.space_id})
    return {"reindexed": 1}


PACKAGE = Package(maintain=maintain)
