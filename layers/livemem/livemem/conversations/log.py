"""The log of a conversation: turns with dense numbers, each message exactly once.

Before a turn is written, the id of its message stores a floor: the turn behind which the message's own turn must be.
An append tries one number after the other from there on. Each number is another message's turn, the message's own turn
from an earlier try, or free. So a repeat meets its own turn before a free number. Of two workers that append the same
message at once, the second meets the turn of the first.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Annotated, ClassVar

from pydantic import Field

from livemem.conversations import conversation as conversations
from livemem.conversations import due
from livemem.conversations import turn as turns
from livemem.conversations.conversation import Conversation
from livemem.conversations.turn import Draft, Turn
from livemem.errors import ConversationBroken, InvalidRequest, LiveMemoryError, NotFound, PreconditionLost
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.spaces import unreadable
from livemem.store import keys, stored
from livemem.store.bucket import MESSAGE_ID, TOOL_RESULT, TURN
from livemem.store.capability_check import require_conditional_writes
from livemem.store.objects import Entry, Object
from livemem.store.stored_documents import StoredDocument

AT_ONCE = 16
"""Turns that are read in parallel."""
READ_AT_ONCE = 256
"""Turns that are requested before a check whether any of them is there."""
IMPORTED_AT_ONCE = 256
"""Turns of an import whose ids are entered before the first of them is written."""
TRIES = 10_000
"""Numbers that an append tries. There are never more writers at once."""
OTHER = "was used for another turn of this conversation: choose another id"


class Floor(StoredDocument):
    """`ids/{sha256(message_id)}.json`: the message's own turn comes after the turn `floor`."""

    most_bytes: ClassVar[int] = 1 << 10

    floor: Annotated[int, Field(ge=0, le=keys.LAST_TURN)]


@dataclass(frozen=True)
class Appended:
    """A turn of the log. Not `fresh`: it was there already. `redacted` counts the removed secrets by kind."""

    turn: Turn
    fresh: bool
    redacted: dict[str, int] = field(default_factory=dict, hash=False)


def append(process: Process, space_id: str, conversation_id: str, author: str, draft: Draft) -> Appended:
    """Append a turn: 3 round trips with a `message_id`, 2 without. It never waits for the model.

    A repeat returns the turn that is there. Raises NotFound, InvalidRequest, TooLarge.
    """
    draft = prepare(draft)
    keys.check_conversation_id(conversation_id)
    heads.load_recent(process, space_id)
    require_conditional_writes(process.store)
    message_id = draft.message_id
    result, tail, floor = process.store.concurrently(
        lambda: conversations.find(process, space_id, conversation_id),
        lambda: last_index(process, space_id, conversation_id),
        lambda: find_floor(process, space_id, conversation_id, message_id) if message_id else None,
    )
    if not result:
        raise NotFound("conversation", conversation_id)
    return _append(process, _At(space_id, result, author), draft, tail, floor)


def prepare(draft: Draft, where: str = "") -> Draft:
    """The turn as it is to be stored: checked as it was sent, then always redacted, regardless of the settings."""
    turns.check(draft, where)
    return replace(turns.redacted(draft), code=draft.code.checked(where))


@dataclass(frozen=True)
class _At:
    """The conversation that a caller writes to, and the caller's name."""

    space_id: str
    conversation: Conversation
    author: str

    @property
    def conversation_id(self) -> str:
        return self.conversation.conversation_id


def append_all(
    process: Process,
    space_id: str,
    conversation_id: str,
    author: str,
    drafts: Sequence[Draft],
    until: datetime | None = None,
) -> list[Appended]:
    """Append checked turns that have ids, in their order: 1 round trip each, and 1 per 16 of them before. After each
    256 of them 1 GET shows whether the conversation was deleted.

    It stops at `until`. Turns before the one that stops or fails stay in the log. A caller that sends the same turns
    again continues behind them. Raises NotFound, InvalidRequest.
    """
    require_conditional_writes(process.store)
    at = _At(space_id, conversations.load(process, space_id, conversation_id), author)
    due.mark(process, space_id, conversation_id, at.conversation.parameters)
    done: list[Appended] = []
    for start in range(0, len(drafts), IMPORTED_AT_ONCE):
        if until is not None and process.clock() >= until:
            break
        done += _append_some(process, at, drafts[start : start + IMPORTED_AT_ONCE], until)
        # An import takes long: raise where the conversation was deleted meanwhile.
        conversations.load(process, space_id, conversation_id)
    return done


def _append_some(process: Process, at: _At, drafts: Sequence[Draft], until: datetime | None) -> list[Appended]:
    tail = last_index(process, at.space_id, at.conversation_id)
    named = [draft.message_id or "" for draft in drafts]
    floors = process.store.map(lambda item: find_floor(process, at.space_id, at.conversation_id, item), named)
    before = [floor for floor in floors if floor is not None]
    # Turns of earlier tries are behind the lowest floor: read them once, not once for each message.
    behind = range(min(before, default=tail) + 1, tail + 1)
    by_message_id = {turn.message_id: turn for turn in read(process, at.space_id, at.conversation_id, behind)}
    missing = [item for item, floor in zip(named, floors, strict=True) if floor is None]
    claimed = process.store.map(lambda item: _claim(process, at, item, tail), list(dict.fromkeys(missing)))
    if any(floor < tail for floor in claimed):
        # Another worker imports the same right now: its turns may be anywhere behind their floor.
        behind = range(min(claimed) + 1, tail + 1)
        by_message_id |= {turn.message_id: turn for turn in read(process, at.space_id, at.conversation_id, behind)}
    done: list[Appended] = []
    for draft, message_id in zip(drafts, named, strict=True):
        if until is not None and process.clock() >= until:
            break
        mine = by_message_id.get(message_id) or by_message_id.get(turns.erased_name(message_id))
        if mine:
            done.append(_repeated(process, at, draft, mine))
        else:
            # Turns that others write meanwhile may be of later lines, so the turns on the way are kept.
            done.append(_write(process, at, draft, message_id, tail + 1, by_message_id))
            tail = max(tail, done[-1].turn.turn_index)
    return done


def _append(process: Process, at: _At, draft: Draft, tail: int, floor: int | None) -> Appended:
    """Append with the results of the first look: the newest turn, and the message's floor if it came before."""
    message_id = draft.message_id or process.new_id()

    def claim() -> int:
        if draft.message_id is None:
            return tail
        return floor if floor is not None else _claim(process, at, draft.message_id, tail)

    # Where the message came before, its turn may be anywhere up to the newest.
    behind, _ = process.store.concurrently(
        claim, lambda: due.mark(process, at.space_id, at.conversation_id, at.conversation.parameters)
    )
    if behind < tail:
        mine = _own(process, at, message_id, behind + 1, tail)
        if mine:
            return _repeated(process, at, draft, mine)
        behind = tail
    return _write(process, at, draft, message_id, behind + 1)


def _claim(process: Process, at: _At, message_id: str, tail: int) -> int:
    """Write the floor of a message that has none yet. The first one that was written counts, and is returned."""
    key = MESSAGE_ID.key(at.space_id, at.conversation_id, message_id)
    written = stored.write_once(process.store, key, Floor(floor=tail).to_bytes())
    if written.gone:
        # Somebody deletes the conversation right now.
        raise NotFound("conversation", at.conversation_id)
    return conversations.parsed(process, Floor, written.other).floor if written.other else tail


def find_floor(process: Process, space_id: str, conversation_id: str, message_id: str) -> int | None:
    """The turn behind which a message's own turn is, or None if the message never came: 1 GET."""
    item = process.store.get(MESSAGE_ID.key(space_id, conversation_id, message_id))
    return conversations.parsed(process, Floor, item).floor if item else None


def _own(process: Process, at: _At, message_id: str, first: int, last: int) -> Turn | None:
    """The message's turn among these, or None."""
    for start in range(first, last + 1, AT_ONCE):
        batch = read(process, at.space_id, at.conversation_id, range(start, min(start + AT_ONCE, last + 1)))
        if not batch:
            return None
        mine = next((turn for turn in batch if turn.is_of(message_id)), None)
        if mine:
            return mine
    return None


def _write(
    process: Process, at: _At, draft: Draft, message_id: str, first: int, met: dict[str, Turn] | None = None
) -> Appended:
    """Write the turn at the first free number from `first` on. The turns on the way are added to `met`."""
    met = {} if met is None else met
    for index in range(first, first + TRIES):
        turn, apart = turns.made(draft, message_id, index, at.author, process.clock())
        key = TURN.key(at.space_id, at.conversation_id, index)
        written = stored.write_once(process.store, key, turn.to_bytes())
        if written.gone:
            # Somebody deletes the conversation right now.
            raise NotFound("conversation", at.conversation_id)
        if written.other:
            other = conversations.parsed(process, Turn, written.other)
            met[other.message_id] = other
            if other.is_of(message_id):
                return _repeated(process, at, draft, other)
            continue
        met[message_id] = turn
        _keep_apart(process, at, index, apart)
        return Appended(turn, fresh=True, redacted=draft.redacted)
    raise PreconditionLost("Too many turns were appended at the same time. Try again.")


def _keep_apart(process: Process, at: _At, index: int, apart: dict[int, bytes]) -> None:
    """Write large results. The turn is written by now, so a repeat of the message writes the same results again."""

    def put(place: int) -> None:
        key = TOOL_RESULT.key(at.space_id, at.conversation_id, index, place)
        stored.write_if(process.store, key, apart[place])

    process.store.map(put, list(apart))


def _repeated(process: Process, at: _At, draft: Draft, turn: Turn) -> Appended:
    if turn.erased_on:
        # The words are erased for good: a repeat, however late, brings nothing back.
        return Appended(turn.model_copy(update={"message_id": draft.message_id or turn.message_id}), fresh=False)
    wanted, apart = turns.made(draft, turn.message_id, turn.turn_index, at.author, process.clock())
    if not turns.same(wanted, turn):
        raise InvalidRequest.of("message_id", OTHER)
    _keep_apart(process, at, turn.turn_index, apart)
    return Appended(turn, fresh=False, redacted=draft.redacted)


def newest(process: Process, space_id: str, conversation_id: str, most: int) -> list[Entry]:
    """The newest turns as a listing shows them, the newest first: 1 LIST for up to 1,000 of them."""
    entries = process.store.scan(TURN.prefix(space_id, conversation_id), limit=most)
    return [entry for entry in entries if TURN.parse(entry.key)]


def last_index(process: Process, space_id: str, conversation_id: str) -> int:
    """The number of the newest turn, or 0 where there is none: 1 LIST."""
    result = newest(process, space_id, conversation_id, 1)
    parsed = TURN.parse(result[0].key) if result else None
    return parsed[2] if parsed else 0


def read(process: Process, space_id: str, conversation_id: str, indexes: Sequence[int]) -> list[Turn]:
    """Those of these turns that are there: 1 GET each, in parallel. Raises ConversationBroken."""
    batch = _there(process, space_id, conversation_id, indexes)
    return [conversations.parsed(process, Turn, item) for item in batch]


def read_on(process: Process, space_id: str, conversation_id: str, indexes: Sequence[int]) -> list[Turn]:
    """As `read`, up to the first one that cannot be read. Raises ConversationBroken where there is none before it."""
    turns: list[Turn] = []
    for item in _there(process, space_id, conversation_id, indexes):
        try:
            turns.append(conversations.parsed(process, Turn, item))
        except ConversationBroken:
            if not turns:
                raise
            break
    return turns


def readable(
    process: Process, space_id: str, conversation_id: str, indexes: Sequence[int], missing: list[str] | None
) -> list[Turn]:
    """Those of the turns that are there and can be read. The keys of unreadable ones are added to `missing`."""
    batch = _there(process, space_id, conversation_id, indexes)
    turns = [unreadable.tolerated(process, Turn, item, missing) for item in batch]
    return [turn for turn in turns if turn]


def _there(process: Process, space_id: str, conversation_id: str, indexes: Sequence[int]) -> Iterator[Object]:
    """The objects of those of these turns that are there.

    Turns have no gaps, so behind 256 missing ones there is none. A forged log with gaps can't make this loop long.
    """
    for start in range(0, len(indexes), READ_AT_ONCE):
        batch = indexes[start : start + READ_AT_ONCE]
        items = process.store.get_many([TURN.key(space_id, conversation_id, index) for index in batch])
        existing = [item for item in items if item]
        if not existing:
            return
        yield from existing


@dataclass(frozen=True)
class Closed:
    """A conversation is closed behind a turn. Not `fresh`: it was closed there before."""

    turn_index: int
    fresh: bool


def close(process: Process, space_id: str, conversation_id: str, *, at_once: bool = True) -> Closed | None:
    """Close the conversation behind its newest turn, so that its open turns are summarised. None where it is empty.
    Further turns may come, and it can be closed again behind them. Unless `at_once`, the next sweep summarises it.

    2 GETs, 1 LIST, 1 PUT for the due index and 1 PUT. No PUT where it is closed already. Raises NotFound,
    ConversationBroken, PreconditionLost.
    """
    conversation = conversations.load(process, space_id, conversation_id)
    last = last_index(process, space_id, conversation_id)
    if not last:
        return None
    if last in conversation.closings:
        return Closed(last, fresh=False)
    # The due index first: if this worker dies after it notes the closing, the sweep summarises.
    due.mark_at(process, space_id, conversation_id, process.clock() + due.LOST_AFTER)
    fresh = conversations.note_closing(process, space_id, conversation_id, last)
    if at_once:
        with suppress(LiveMemoryError):
            process.enqueue("summarize", {"space_id": space_id, "conversation_id": conversation_id})
    return Closed(last, fresh)
