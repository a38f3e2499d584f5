"""Maintenance of searches: a snapshot that no indexer has made, an order that none has carried out. It imports no
module of the search itself.
"""

from collections.abc import Mapping
from contextlib import suppress

from livemem.errors import StoreUnavailable
from livemem.jobs.maintainable import Maintainable, Space
from livemem.process import Process
from livemem.store import keys


def maintain(process: Process, space: Space) -> Mapping[str, float]:
    """Once a day, ask for the indexer if no snapshot includes the last change, or if an order to forget is open: 1
    LIST.
    """
    if not space.daily:
        return {}
    entries = [entry.key for entry in process.store.scan(keys.search_prefix(space.space_id))]
    numbers = [parsed[1] for key in entries if (parsed := keys.parse_search_snapshot(key))]
    ordered = any(key.startswith(keys.search_orders(space.space_id)) for key in entries)
    if max(numbers, default=0) >= space.head.meta.changes and not ordered:
        return {}
    with suppress(StoreUnavailable):
        process.enqueue("indexer", {"space_id": space.space_id})
    return {"reindexed": 1}


MAINTAINABLE = Maintainable(owns=keys.is_of_search, maintain=maintain)
