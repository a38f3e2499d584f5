"""How much of something one token, or one space, may have: the spaces that a token makes on a day, questions at once.

Each thing that counts takes a place for a limited time: for a day, or until it ends and gives the place back. One small
document of the space, or of the token, holds the places that are taken. It is changed by compare-and-swap alone. So a
cap holds however many requests come at once, and wherever they are answered. A cap is a setting. 0 means no cap.
"""

import logging
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

from livemem import clock
from livemem.access import registry as registries
from livemem.access.principal import BOOTSTRAP_NAME, Principal
from livemem.errors import CapName, CapReached, LiveMemoryError, StoreUnavailable
from livemem.process import Process
from livemem.store import stored, timing
from livemem.store.bucket import SPACE_CAPS, TOKEN_CAPS
from livemem.store.stored import Revised
from livemem.store.stored_documents import LazyModel, Moment

logger = logging.getLogger(__name__)

DAY = timedelta(days=1)
QUESTION = timing.INVOCATION + timing.SKEW
"""How long a question keeps its place at most: longer than an invocation that answers it may live."""
MOST_WAITING = 1_000
"""Of a space's line. The sweep finds what does not fit into it."""
SOON = 10
"""Seconds after which to ask again where a place is given back when something ends."""


class TakenPlace(LazyModel, frozen=True):
    """A place that is taken. `by`: which token has it, where that counts."""

    id: str
    by: str = ""
    until: Moment


class Places(Revised):
    """`_system/caps/spaces/{space}.json`, `_system/caps/tokens/{hash}.json`: places by what they are for.

    They are not in the folder of the space, since archives are made of spaces that are deleted, too.
    """

    places: dict[str, list[TakenPlace]] = {}
    waiting: dict[str, list[str]] = {}
    """Ids of what waits for a place, by what it is for, the first at the beginning (jobs/shares.py)."""

    def standing(self, what: str, now: datetime) -> list[TakenPlace]:
        """The places that are still taken."""
        return [place for place in self.places.get(what, []) if clock.parse(place.until) > now]


@dataclass(frozen=True)
class Cap:
    """At most as many places as the `setting` says. `of`: only this token's places count. `things`: the counted things,
    in words.
    """

    setting: CapName
    things: str
    of: str | None = None


@contextmanager
def making_space(process: Process, principal: Principal) -> Iterator[None]:
    """Let a token make a space, if it has not made too many on a day: 1 GET and 1 PUT. Raises CapReached.

    A token with `admin` for all spaces is not counted, since it could make itself another token.
    """
    cap = Cap("spaces_per_token_per_day", "spaces that this token has made within a day")
    with _of_token(process, principal, "space", cap):
        yield


@contextmanager
def beginning_upload(process: Process, principal: Principal) -> Iterator[None]:
    """Let a token begin an upload, in the same way. This counts for every token."""
    cap = Cap("uploads_per_token_per_day", "uploads that this token has started within a day")
    with _on_a_day(process, TOKEN_CAPS.key(subject(process, principal)), "upload", cap):
        yield


@contextmanager
def taking_backup(process: Process, space_id: str) -> Iterator[None]:
    """Let a caller order a backup of a space, in the same way."""
    cap = Cap("backups_per_space_per_day", "backups of this space that were requested within a day")
    with _on_a_day(process, SPACE_CAPS.key(space_id), "backup", cap):
        yield


@contextmanager
def making_archive(process: Process, space_id: str) -> Iterator[None]:
    """Let a caller order an archive of a space, or of one of its backups, in the same way."""
    cap = Cap("exports_per_space_per_day", "archives of this space that were requested within a day")
    with _on_a_day(process, SPACE_CAPS.key(space_id), "archive", cap):
        yield


@contextmanager
def beginning_conversation(process: Process, principal: Principal) -> Iterator[None]:
    """Let a token begin a conversation, in the same way as a space, with the same exception."""
    cap = Cap("conversations_per_token_per_day", "conversations that this token has begun within a day")
    with _of_token(process, principal, "conversation", cap):
        yield


def begin_room(process: Process, space_id: str, room: str) -> None:
    """Take a place for a room that holds no message, for a day: 1 GET, and 1 PUT unless it has one.

    Raises CapReached.
    """
    cap = Cap("rooms_per_space_per_day", "rooms of this space that got a first message within a day")
    place = TakenPlace(id=room, until=clock.iso(process.clock() + DAY))
    _take(process, SPACE_CAPS.key(space_id), "room", place, [cap])


def begin_question(process: Process, space_id: str, question_id: str, by: str) -> None:
    """Take a place for a question, until it has ended (`end_question`): 1 GET and 1 PUT. `by` is the asking token.

    Raises CapReached.
    """
    caps = [
        Cap("asks_at_once_per_space", "questions in this space that are being answered now"),
        Cap("asks_at_once_per_token", "questions of this token in this space that are being answered now", by),
    ]
    place = TakenPlace(id=question_id, by=by, until=clock.iso(process.clock() + QUESTION))
    _take(process, SPACE_CAPS.key(space_id), "question", place, caps)


def end_question(process: Process, space_id: str, question_id: str) -> None:
    """Give the place back: 1 GET, and 1 PUT if it has one. A failure is harmless: the place ends by time."""
    settings = process.settings
    if settings.asks_at_once_per_space or settings.asks_at_once_per_token:
        _give_back(process, SPACE_CAPS.key(space_id), "question", question_id)


def enter(process: Process, space_id: str, what: str, place_id: str, most: int, life: timedelta) -> bool:
    """Take one of a space's `most` places for something. If none is free, put it into the line, and return False: 1 GET
    and 1 PUT, no PUT if it is in the line already. Work that has a place keeps it.
    """
    entered: list[bool] = []

    def make(taken: Places) -> Places | None:
        now = process.clock()
        rest = [place for place in taken.standing(what, now) if place.id != place_id]
        line = taken.waiting.get(what, [])
        entered[:] = [len(rest) < most]
        if entered[0]:
            place = TakenPlace(id=place_id, until=clock.iso(now + life))
            return _with(taken, what, [*rest, place], [waits for waits in line if waits != place_id])
        return None if place_id in line or len(line) >= MOST_WAITING else _with(taken, what, rest, [*line, place_id])

    _change(process, SPACE_CAPS.key(space_id), make)
    return entered[0]


def leave(process: Process, space_id: str, what: str, place_id: str) -> str | None:
    """Give the place back, and take the first of the line, if there is one: 1 GET and 1 PUT."""
    called: list[str] = []

    def make(taken: Places) -> Places | None:
        line = taken.waiting.get(what, [])
        called[:] = line[:1]
        rest = [place for place in taken.places.get(what, []) if place.id != place_id]
        return _with(taken, what, rest, line[1:])

    _change(process, SPACE_CAPS.key(space_id), make)
    return called[0] if called else None


def _with(taken: Places, what: str, places: list[TakenPlace], line: list[str]) -> Places:
    return taken.model_copy(update={"places": {**taken.places, what: places}, "waiting": {**taken.waiting, what: line}})


def subject(process: Process, principal: Principal) -> str:
    """The name under which a token's places are kept: the hash of the first token that it was rotated from, without
    `sha256:`. So a rotation gives no new places.
    """
    own = principal.token_hash
    if own is None:
        return BOOTSTRAP_NAME
    former = {token.replaced_by: token.hash for token in registries.registry(process).tokens if token.replaced_by}
    hashes = {own}
    while (before := former.get(own)) and before not in hashes:
        hashes.add(before)
        own = before
    return own.removeprefix("sha256:")


@contextmanager
def _of_token(process: Process, principal: Principal, what: str, cap: Cap) -> Iterator[None]:
    if ("admin" in principal.permissions and not principal.space_ids) or not getattr(process.settings, cap.setting):
        yield
        return
    with _on_a_day(process, TOKEN_CAPS.key(subject(process, principal)), what, cap):
        yield


@contextmanager
def _on_a_day(process: Process, key: str, what: str, cap: Cap) -> Iterator[None]:
    """Take a place for a day. A failed action gives it back, unless it may have happened."""
    if not getattr(process.settings, cap.setting):
        yield
        return
    place = TakenPlace(id=process.new_id(), until=clock.iso(process.clock() + DAY))
    _take(process, key, what, place, [cap])
    try:
        yield
    except StoreUnavailable:
        raise
    except LiveMemoryError:
        _give_back(process, key, what, place.id)
        raise


def _take(process: Process, key: str, what: str, place: TakenPlace, caps: Sequence[Cap]) -> None:
    if not any(getattr(process.settings, cap.setting) for cap in caps):
        return
    refused: list[CapReached] = []

    def make(taken: Places) -> Places | None:
        refused.clear()
        now = process.clock()
        standing = taken.standing(what, now)
        if any(other.id == place.id for other in standing):
            return None
        for cap in caps:
            most, counted = (
                getattr(process.settings, cap.setting),
                [other for other in standing if cap.of in (None, other.by)],
            )
            if most and len(counted) >= most:
                refused.append(_reached(cap, most, counted, now))
                return None
        return taken.model_copy(update={"places": {**taken.places, what: [*standing, place]}})

    _change(process, key, make)
    if refused:
        raise refused[0]


def _change(process: Process, key: str, make: Callable[[Places], Places | None]) -> None:
    stored.update(
        process.store, key, lambda taken: make(taken or Places()), process.new_id, read=stored.or_empty(Places)
    )


def _reached(cap: Cap, most: int, counted: Sequence[TakenPlace], now: datetime) -> CapReached:
    name = cap.setting.upper()
    if name.endswith("_DAY"):
        free = min(clock.parse(place.until) for place in counted)
        wait = max(1, math.ceil((free - now).total_seconds()))
        detail = (
            f"There are {len(counted)} {cap.things}, and {name} is {most}. The next one is possible from "
            f"{clock.iso(free)} on."
        )
        return CapReached(cap.setting, detail, retry_after=wait)
    detail = f"There are {len(counted)} {cap.things}, and {name} is {most}. Ask again when one has ended."
    return CapReached(cap.setting, detail, retry_after=SOON)


def _give_back(process: Process, key: str, what: str, place_id: str) -> None:
    def make(taken: Places) -> Places | None:
        standing = taken.places.get(what, [])
        rest = [place for place in standing if place.id != place_id]
        if len(rest) == len(standing):
            return None
        return taken.model_copy(update={"places": {**taken.places, what: rest}})

    try:
        _change(process, key, make)
    except LiveMemoryError as error:
        logger.warning("a place was not given back", extra={"error_code": error.code})
