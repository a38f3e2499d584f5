"""Which spaces there are."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from livemem.access.principal import Principal
from livemem.errors import InvalidName, SpaceBroken
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.spaces.head import Head, Meta
from livemem.store import keys


def ids(process: Process, *, start_after: str = "") -> Iterator[str]:
    """The ids of all folders that may be spaces, in order."""
    yield from _possible(process.store.folders(start_after=f"{start_after}/\U0010ffff" if start_after else ""))


def _possible(names: Iterable[str]) -> Iterator[str]:
    """The names that can be ids of spaces. Anybody may have made a folder or an entry of the registry."""
    for name in names:
        try:
            yield keys.check_space_id(name)
        except InvalidName:
            continue


def page(
    process: Process,
    principal: Principal,
    *,
    limit: int,
    after: str | None,
    find: Callable[[Process, str], Head | None] = heads.find,
) -> tuple[list[Meta], str | None]:
    """The spaces that the principal may see and that `find` finds, by id, and the id after which the next page begins.
    1 GET each.

    If the token lists spaces, only these are looked up. Else 1 LIST per 1,000 spaces of the account. A space that can't
    be read is left out. Health names it.
    """
    if principal.space_ids:
        candidates = _possible(sorted(name for name in principal.space_ids if name > (after or "")))
    else:
        candidates = ids(process, start_after=after or "")
    readable: list[Meta] = []
    last = None
    # Folders of deleted spaces are among the candidates.
    while len(readable) < limit and (chosen := list(islice(candidates, limit - len(readable)))):
        metas = process.store.map(lambda space_id: _readable(process, space_id, find), chosen)
        readable += [meta for meta in metas if meta]
        last = chosen[-1]
    return readable, last if next(candidates, None) is not None else None


def _readable(process: Process, space_id: str, find: Callable[[Process, str], Head | None]) -> Meta | None:
    try:
        head = find(process, space_id)
    except SpaceBroken:
        return None
    return head.meta if head else None
