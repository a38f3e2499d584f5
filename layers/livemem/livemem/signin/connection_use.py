"""When a connection was last used, as access/last_use.py notes it for tokens."""

from collections.abc import Mapping
from datetime import datetime

from livemem.access import last_use
from livemem.process import Process
from livemem.store import oauth_keys


def note(process: Process, grant_id: str) -> None:
    """Note in the background that the connection is used now: 1 PUT, if this process did not do so for ten minutes."""
    last_use.note_under(process, oauth_keys.used(grant_id))


def all_times(process: Process) -> Mapping[str, datetime]:
    """For each connection the last use, by the store's clock: 1 LIST per 1,000 of them."""
    entries = process.store.scan(oauth_keys.USED)
    return {entry.key.removeprefix(oauth_keys.USED): entry.last_modified for entry in entries}
