"""The keys of promotions (docs/bucket.md). Only this file builds and parses them."""

import hashlib
import re
from dataclasses import dataclass

from ulid import ULID

from livemem.store import keys
from livemem.store.keys import RUN_ID, SPACE_ID

_PROMOTION = re.compile(rf"{SPACE_ID.pattern}/_promotions/(?P<id>{RUN_ID.pattern})\.json")
_COPY = re.compile(rf"{SPACE_ID.pattern}/_promoted/(?P<source>[^/]+)/(?P<target>{SPACE_ID.pattern})")


@dataclass(frozen=True)
class CopyKey:
    """The parts of an entry's key: the promoted note or memory, and the space that has the copy."""

    source_id: str
    target: str


def id_of(source_uid: str, source_id: str, target_uid: str) -> str:
    """The id of the promotion of a note or a memory: the same for the same one between the same two spaces."""
    # None of the three has a space.
    digest = hashlib.sha256(f"{source_uid} {source_id} {target_uid}".encode()).digest()
    return str(ULID.from_bytes(digest[:16]))


def check_promotion_id(text: str) -> str:
    """Return the promotion's id, or raise InvalidName."""
    return keys.check_ulid("promotion_id", text)


def promotion(space_id: str, promotion_id: str) -> str:
    """The key of a promotion into the space."""
    return f"{space_id}/_promotions/{promotion_id}.json"


def parse_promotion(key: str) -> str | None:
    """The promotion's id in such a key. None for every other key."""
    match = _PROMOTION.fullmatch(key)
    return match["id"] if match else None


def all_copies_prefix(space_id: str) -> str:
    """The prefix of the entries of all that was promoted out of the space."""
    return f"{space_id}/_promoted/"


def copies_prefix(space_id: str, source_id: str) -> str:
    """The prefix of the entries of a note or a memory: one for each space into which it was promoted."""
    return f"{all_copies_prefix(space_id)}{source_id}/"


def copy(space_id: str, source_id: str, target: str) -> str:
    """The key of the entry for the space `target`: an object without content."""
    return f"{copies_prefix(space_id, source_id)}{target}"


def parse_copy(key: str) -> CopyKey | None:
    """The parts of such a key. None for every other key."""
    match = _COPY.fullmatch(key)
    return CopyKey(match["source"], match["target"]) if match else None


def is_promotion(name: str) -> bool:
    """Whether the key below a space, without the space's id, is that of a promotion into it."""
    return parse_promotion(f"x/{name}") is not None


def is_of_promotions(name: str) -> bool:
    """Whether it is of a promotion, into the space or out of it."""
    return name.startswith(("_promotions/", "_promoted/"))
