"""A code that stands for a token for one minute, and once: a browser gets it in the address, where no token may stand.

The bucket never holds the token or the code. It holds the token under a stream of bytes that follows from the code
(SHAKE-256), below the code's SHA-256. A code has 256 random bits and hides one token, so no stream is used twice. A
reader of the bucket learns neither of them. A finder of the code needs the service, which gives the token once.
"""

import base64
import hashlib
import secrets
from collections.abc import Callable
from datetime import timedelta

from livemem.access import decision
from livemem.access.principal import Principal
from livemem.errors import Unauthenticated
from livemem.process import Process
from livemem.store import stored
from livemem.store.bucket import PAGE_CODE
from livemem.store.capability_check import require_conditional_writes
from livemem.store.stored import Revised
from livemem.store.stored_documents import Line

LIFE = timedelta(seconds=60)
"""Longer than a browser takes to start."""
KEPT = timedelta(days=1)
"""Longer than a late request can bring a code back: until then the object says that it was redeemed."""
CODE_CHARACTERS = 200
"""Of a text that is looked up at all."""


class HiddenToken(Revised):
    """`_system/page_codes/{digest}.json`: created once, and emptied by the one request that gets the token."""

    hidden: Line | None
    """The token's bytes under the code's stream, in base64. None: the code was redeemed."""


def make(process: Process, token: str, *, new_secret: Callable[[], str] = secrets.token_urlsafe) -> str:
    """A new code for the token: 1 PUT. Raises StoreUnavailable, ConditionalWritesUnsupported."""
    require_conditional_writes(process.store)
    code = new_secret()
    document = HiddenToken(hidden=base64.b64encode(_hide(code, token.encode())).decode())
    stored.create(process.store, PAGE_CODE.key(_digest(code)), document, process.new_id)
    return code


def redeem(process: Process, code: str) -> tuple[str, Principal]:
    """The token of a code, and whose it is: 1 GET and 1 PUT, and the registry. Of many requests with one code one gets
    the token.

    Raises Unauthenticated (unknown, redeemed or too old, or the token is not valid any more), StoreUnavailable.
    """
    if len(code) > CODE_CHARACTERS:
        raise _unknown()
    hidden = stored.find(process.store, PAGE_CODE.key(_digest(code)), stored.or_none(HiddenToken))
    if not hidden or not hidden.value or hidden.value.hidden is None or hidden.age > LIFE:
        raise _unknown()
    with stored.race(lost=_unknown()):
        stored.swap(process.store, hidden, HiddenToken(hidden=None), process.new_id)
    token = _hide(code, base64.b64decode(hidden.value.hidden)).decode(errors="replace")
    return token, decision.authorise(process, f"Bearer {token}", needs=None, space_id=None)


def remove_old(process: Process) -> None:
    """Remove codes after a day: 1 LIST per 1,000, and 1 DeleteObjects where there are any."""
    old = [entry.key for entry in process.store.scan(PAGE_CODE.prefix()) if entry.age > KEPT]
    process.store.delete_many(old)


def _unknown() -> Unauthenticated:
    return Unauthenticated("The code is not known, was used, or is older than a minute. Run `livemem open` again.")


def _digest(code: str) -> str:
    return hashlib.sha256(code.encode(errors="replace")).hexdigest()


def _hide(code: str, text: bytes) -> bytes:
    """The text under the code's stream; the same again brings it back."""
    stream = hashlib.shake_256(b"live memory page code\n" + code.encode(errors="replace")).digest(len(text))
    return bytes(byte ^ other for byte, other in zip(text, stream, strict=True))
