"""The keys of questions and of the sessions they are asked in (docs/bucket.md). Built and parsed here only."""

import hashlib
import json
import re

from ulid import ULID

from livemem.store import keys
from livemem.store.keys import RUN_ID, SPACE_ID

FOLDERS = ("_asks", "sessions")
"""Folders of a space: its questions, and the sessions of its users."""
_QUESTION = re.compile(rf"{SPACE_ID.pattern}/_asks/(?P<id>{RUN_ID.pattern})\.json")
_SESSION = re.compile(rf"{SPACE_ID.pattern}/sessions/(?P<user>[0-9a-f]{{32}})\.json")


def check_request_id(request_id: str) -> str:
    """Return `request_id`, or raise InvalidName: it has the form of an ULID."""
    return keys.check_ulid("request_id", request_id)


def request_of(author: str, idempotency_key: str, *, may_write: bool = True) -> str:
    """The id of the question that a token of this name asks under the client's key. The same input gives the same id.

    Names are not unique, so a token that may only read never meets the question of a namesake that may write.
    """
    parts = [author, idempotency_key, *([] if may_write else ["read"])]
    digest = hashlib.sha256(json.dumps(parts).encode()).digest()
    return str(ULID.from_bytes(digest[:16]))


def asks_prefix(space_id: str) -> str:
    """The prefix of the questions."""
    return f"{space_id}/_asks/"


def question(space_id: str, request_id: str) -> str:
    """The key of a question, its progress and its answer."""
    return f"{asks_prefix(space_id)}{check_request_id(request_id)}.json"


def sessions_prefix(space_id: str) -> str:
    """The prefix of the sessions: which users speak with the service, and in which conversations."""
    return f"{space_id}/sessions/"


def session(space_id: str, user: str) -> str:
    """The key of a user's session, which names the conversation of the user's questions."""
    return f"{sessions_prefix(space_id)}{_digest(user)}.json"


def session_claim(space_id: str, user: str) -> str:
    """The key of the lease under which the user's questions are answered."""
    return f"{sessions_prefix(space_id)}{_digest(user)}/claim.json"


def parse_question(key: str) -> str | None:
    """The id of a question in its key. None for every other key."""
    match = _QUESTION.fullmatch(key)
    return match["id"] if match else None


def parse_session(key: str) -> str | None:
    """The hash of the user in the key of a session. None for every other key."""
    match = _SESSION.fullmatch(key)
    return match["user"] if match else None


def is_of_asks(name: str) -> bool:
    """Whether the key below a space, without the space's id, is of a question or of a session."""
    return name.startswith(("_asks/", "sessions/"))


def _digest(user: str) -> str:
    return hashlib.sha256(user.encode()).hexdigest()[:32]
