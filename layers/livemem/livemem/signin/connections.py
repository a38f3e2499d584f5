"""Connections: the grants of clients that signed in, as people see and end them.

A connection belongs to the token with which it was allowed. An admin sees those of all tokens that it manages.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from livemem import clock
from livemem.access import decision, last_use
from livemem.access import registry as registries
from livemem.access.grant import Grant
from livemem.access.principal import Principal
from livemem.access.registry import Token
from livemem.errors import LiveMemoryError, NotFound
from livemem.process import Process
from livemem.store import keys, stored
from livemem.store.bucket import GRANT, GRANT_USE
from livemem.store.objects import Object

READ_AT_ONCE = 100


@dataclass(frozen=True)
class Connection:
    """A grant that works, the name of its token, and when it was last used (ISO 8601)."""

    grant: Grant
    name: str
    last_used_at: str | None


def page(
    process: Process, principal: Principal, *, limit: int, after: str | None = None
) -> tuple[list[Connection], str | None]:
    """A page of the connections that the principal may see, oldest first, after the id `after`; and the `after` of the
    next page.

    1 LIST per 1,000 grants, 1 GET for each until the page is full, 1 LIST per 1,000 for their last use, and the
    registry.
    """
    grant_entries = process.store.scan(GRANT.prefix(), start_after=GRANT.key(after) if after else "")
    ids = (grant_id for entry in grant_entries if (grant_id := GRANT.last(entry.key)))
    entries = {entry.hash: entry for entry in registries.registry(process).tokens}
    grants: list[Grant] = []
    while len(grants) <= limit and (batch := list(islice(ids, READ_AT_ONCE))):
        grants += _working(process, principal, entries, batch)
    used = last_uses(process) if grants else {}
    connections = [_connection(grant, entries, used) for grant in grants[:limit]]
    return connections, connections[-1].grant.grant_id if len(grants) > limit else None


def end(process: Process, principal: Principal, connection_id: str) -> None:
    """End a connection, which then works for 30 s at most: 1 GET and 1 PUT, and the registry. Again it changes nothing.

    Raises InvalidName, and NotFound for one that the principal may not see, or that does not exist.
    """
    key = GRANT.key(keys.check_ulid("connection_id", connection_id))

    def change(grant: Grant | None) -> Grant | None:
        entry = registries.find(process, grant.token_hash) if grant else None
        if not grant or not _sees(principal, entry, grant):
            raise NotFound("connection", connection_id)
        return None if grant.revoked else grant.model_copy(update={"revoked": True})

    def read(item: Object) -> Grant:
        grant = stored.or_none(Grant)(item)
        if not grant:
            raise NotFound("connection", connection_id)
        return grant

    stored.update(process.store, key, change, process.new_id, read=read)


def _working(process: Process, principal: Principal, entries: Mapping[str, Token], ids: Iterable[str]) -> list[Grant]:
    """The grants with these ids that the principal may see and that have not ended."""
    now = process.clock()
    read = process.store.map(
        lambda grant_id: stored.find(process.store, GRANT.key(grant_id), stored.or_none(Grant)), ids
    )
    grants = [grant_read.value for grant_read in read if grant_read and grant_read.value]
    return [
        grant
        for grant in grants
        if not grant.is_over(now)
        and _sees(principal, entry := entries.get(grant.token_hash), grant)
        and _lives(entry, now)
    ]


def _sees(principal: Principal, entry: Token | None, grant: Grant) -> bool:
    if grant.token_hash == principal.token_hash:
        return True
    if "admin" not in principal.permissions:
        return False
    return entry.may_reach(principal.space_ids) if entry else not principal.space_ids


def _lives(entry: Token | None, now: datetime) -> bool:
    """Whether the token behind a grant still opens anything by it."""
    try:
        return entry is not None and not decision.principal_of(entry, now).rotated
    except LiveMemoryError:
        return False


def _connection(grant: Grant, entries: Mapping[str, Token], used: Mapping[str, datetime]) -> Connection:
    moment = used.get(grant.grant_id)
    return Connection(grant, entries[grant.token_hash].name, clock.iso(moment) if moment else None)


def note_use(process: Process, grant_id: str) -> None:
    """Note in the background that the connection is used now: 1 PUT, if this process did not do so for ten minutes."""
    last_use.note_under(process, GRANT_USE.key(grant_id))


def last_uses(process: Process) -> Mapping[str, datetime]:
    """For each connection the last use, by the store's clock: 1 LIST per 1,000 of them."""
    entries = process.store.scan(GRANT_USE.prefix())
    return {entry.key.removeprefix(GRANT_USE.prefix()): entry.last_modified for entry in entries}
