"""What sign-in leaves behind is removed once a day: codes, shown tokens, tries and documents of clients when they
are a day old, and grants a week after their end.
"""

import logging
from datetime import timedelta

from livemem.access.grant import GRANT_LIFE, Grant
from livemem.process import Process
from livemem.store import stored
from livemem.store.bucket import ATTEMPT, CLIENT_DOCUMENT, CODE, GRANT, GRANT_USE, OAUTH, REDEEMED, WRONG_TOKENS
from livemem.store.objects import Entry

logger = logging.getLogger(__name__)

KEPT = timedelta(days=1)
"""Longer than any of them counts, and than a late request may take."""
ENDED_KEPT = timedelta(days=7)
USE_KEPT = GRANT_LIFE + ENDED_KEPT
"""A grant whose last use is older has ended, or is not used."""
PASSING = (CODE.prefix(), REDEEMED.prefix(), ATTEMPT.prefix(), WRONG_TOKENS.prefix(), CLIENT_DOCUMENT.prefix())
"""Codes before the marks that they were used: a code without its mark could be used again."""


def expire(process: Process) -> int:
    """Remove what is over, and say how much that was: 1 LIST per 1,000 objects, 1 GET for each grant that did not
    change for a week, and 1 DeleteObjects per 1,000. No request in a service without sign-in.

    Raises StoreUnavailable.
    """
    if process.settings.oauth_issuer is None:
        return 0
    entries = list(process.store.scan(OAUTH))
    passed = [entry.key for prefix in PASSING for entry in entries if _is_old(entry, prefix, KEPT)]
    old = [entry for entry in entries if _is_old(entry, GRANT.prefix(), ENDED_KEPT)]
    over = process.store.map(lambda entry: _is_over(process, entry), old)
    passed += [entry.key for entry in entries if _is_old(entry, GRANT_USE.prefix(), USE_KEPT)]
    doomed = [*passed, *(entry.key for entry, ended in zip(old, over, strict=True) if ended)]
    process.store.delete_many(doomed)
    return len(doomed)


def _is_old(entry: Entry, prefix: str, life: timedelta) -> bool:
    return entry.key.startswith(prefix) and entry.age > life


def _is_over(process: Process, entry: Entry) -> bool:
    """Whether a grant has ended. None comes back from that. One that can't be read opens nothing, and is left for an
    operator.
    """
    grant = stored.find(process.store, entry.key, stored.or_none(Grant))
    if grant and not grant.value:
        logger.warning("a grant of sign-in can't be read")
    return bool(grant and grant.value and grant.value.is_over(process.clock() - ENDED_KEPT))
