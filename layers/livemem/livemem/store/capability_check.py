"""Whether the store obeys conditional writes: tested once, by trying both kinds."""

from livemem.errors import ConditionalWritesUnsupported, PreconditionLost, StoreFull
from livemem.store.bucket import CAPABILITY_CHECK
from livemem.store.objects import Store


def has_conditional_writes(store: Store) -> bool:
    """Whether the store obeys If-None-Match and If-Match on PUT: tested once per process by trying both.

    The second PUT of one key with `If-None-Match: *`, and a PUT with a wrong `If-Match`, must each fail.
    """
    if not store.capability_checked:
        try:
            heeds = _refuses_second(store) and _refuses_wrong_match(store)
        except ConditionalWritesUnsupported:
            heeds = False
        store.capability_checked.append(heeds)
    return store.capability_checked[0]


def is_full(store: Store) -> bool:
    """Whether the store has no space left: 1 PUT, which its condition refuses. So nothing is written, also where the
    store keeps all versions. Raises StoreUnavailable.
    """
    try:
        _refuses_wrong_match(store)
    except StoreFull:
        return True
    except ConditionalWritesUnsupported:
        return False
    return False


def _refuses_second(store: Store) -> bool:
    for _ in range(2):
        try:
            store.put(CAPABILITY_CHECK, b"capability check\n", if_none_match=True, content_type="text/plain")
        except PreconditionLost:
            return True
    return False


def _refuses_wrong_match(store: Store) -> bool:
    try:
        store.put(
            CAPABILITY_CHECK,
            b"capability check\n",
            if_match='"00000000000000000000000000000000"',
            content_type="text/plain",
        )
    except PreconditionLost:
        return True
    return False


def require_conditional_writes(store: Store) -> None:
    """Raise ConditionalWritesUnsupported where a change of shared state would be unprotected."""
    if not has_conditional_writes(store):
        raise ConditionalWritesUnsupported(
            "The object store ignores If-Match or If-None-Match, so this change could overwrite another one. Use a "
            "store that obeys them."
        )
