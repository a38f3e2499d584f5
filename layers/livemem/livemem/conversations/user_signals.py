"""Hints for how to work with a user, from the newest summaries of what the user said.

The model names such `signals` with each summary. For each user, one document names the summaries of level 1 that have
some. It holds no words and no name: the summaries are the truth. A reader leaves out those that are gone, whose
conversation is deleted, or that may hold an erased turn. So neither a deletion nor an erasure has to find the document.

It is written before the summary, so that a worker that dies in between leaves a name without a summary, and no summary
without a name.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, ClassVar, TypeVar

from pydantic import Field

from livemem import clock
from livemem.conversations import conversation as conversations
from livemem.conversations import summary_versions
from livemem.conversations.conversation import Conversation, parsed
from livemem.conversations.summaries import Summary
from livemem.conversations.summary_versions import At, VersionNumber
from livemem.conversations.turn import Turn
from livemem.errors import LiveMemoryError, ObjectUnreadable, PreconditionLost
from livemem.process import Process
from livemem.spaces import unreadable
from livemem.store import stored
from livemem.store.bucket import USER_SIGNALS
from livemem.store.keys import RUN_ID
from livemem.store.objects import Object
from livemem.store.stored import Revised
from livemem.store.stored_documents import LazyModel, Moment, Number
from livemem.text.speakers import NAMED, said_by

logger = logging.getLogger(__name__)
T = TypeVar("T")

MOST = 8
"""Summaries that the document of a user names: the newest."""
SHOWN = 4
"""Summaries that are read: the newest that count."""
SIGNALS = 5
"""Signals of a summary that are given."""


class NamedSummary(LazyModel):
    """A summary of level 1 with signals. `until`: when its last turn was said."""

    conversation_id: Annotated[str, Field(pattern=rf"^{RUN_ID.pattern}$")]
    version: VersionNumber
    number: Number
    name: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    until: Moment
    own: bool = False
    """Whether the user's own token wrote all of its turns, as far as the worker saw."""

    def place(self) -> tuple[str, int, int]:
        """The block that it is a summary of."""
        return self.conversation_id, self.version, self.number


class UserSignals(Revised):
    """`_signals/{hash of the user}.json`."""

    most_bytes: ClassVar[int] = 64 << 10

    newest: Annotated[list[NamedSummary], Field(max_length=MOST)] = []
    """The user's own ones first, the newest first."""


@dataclass(frozen=True)
class Heard:
    """The signals of a summary, by the id under which it can be read. `said_by`: the tokens of its turns, where
    these are not the user's own alone (speakers.said_by).
    """

    summary_id: str
    until: str
    signals: tuple[str, ...]
    said_by: str = ""


def speaker(turns: Sequence[Turn]) -> str | None:
    """The only user who speaks in the turns. None where nobody or more than one does: a signal does not say of whom it
    is.
    """
    users = {turn.speaker("user") for turn in turns if turn.user_message.strip() and turn.role in (None, "user")}
    return next(iter(users)) if len(users) == 1 else None


def own_first(ts: Iterable[T], most: int, is_own: Callable[[T], bool]) -> list[T]:
    """Up to `most` of them: the user's own ones, then those of others, for which one place is kept.

    So a token that writes in a user's name, however often, takes none of the user's own words away.
    """
    own: list[T] = []
    result: list[T] = []
    for item in ts:
        (own if is_own(item) else result).append(item)
    return [*own[: most - bool(result)], *result][:most]


def note(process: Process, at: At, user: str, number: int, name: str, until: str, *, own: bool) -> None:
    """Name a summary that is about to be stored: 1 GET, 1 PUT. No PUT where it is named already.

    A name that is lost costs the user a hint, so no failure of this document costs the summary.
    """
    fresh = NamedSummary(
        conversation_id=at.conversation_id, version=at.version, number=number, name=name, until=until, own=own
    )

    def named(user_signals: UserSignals | None) -> UserSignals | None:
        existing = user_signals.newest if user_signals else []
        if fresh in existing:
            return None
        items = [result for result in existing if result.place() != fresh.place()]
        return (user_signals or UserSignals()).model_copy(update={"newest": newest([fresh, *items]).newest})

    try:
        stored.update(
            process.store,
            USER_SIGNALS.key(at.space_id, user),
            named,
            process.new_id,
            read=lambda user_signal: _readable(process, user_signal),
        )
    except PreconditionLost:
        logger.warning("signals were not named", extra={"space_id": at.space_id})


def newest(named_summaries: Sequence[NamedSummary]) -> UserSignals:
    """The document that names the newest of these summaries, the user's own ones first."""
    ordered = sorted(named_summaries, key=lambda summary: (clock.parse(summary.until), summary.place()), reverse=True)
    return UserSignals(newest=own_first(ordered, MOST, lambda item: item.own))


def _readable(process: Process, item: Object) -> UserSignals:
    # It only names summaries. An unreadable one is written anew.
    return unreadable.tolerated(process, UserSignals, item) or UserSignals()


def heard(process: Process, space_id: str, user: str) -> list[Heard]:
    """What the newest summaries say of how to work with the user, without repeats. First comes what the user's own
    token said, then what others said in the user's name, each the newest first.

    1 GET. Where there is a document, 2 GETs more for each conversation that it names, and 1 GET for each of up to SHOWN
    summaries that this process has not read before. Raises StoreUnavailable.
    """
    item = process.store.get(USER_SIGNALS.key(space_id, user))
    known = _readable(process, item).newest if item else []
    ids = list(dict.fromkeys(user_signal.conversation_id for user_signal in known))
    results = dict(zip(ids, process.store.map(lambda entry: _current(process, space_id, entry), ids), strict=True))
    standing = [
        (user_signal, at)
        for user_signal in known
        if (at := results[user_signal.conversation_id]) and at.version == user_signal.version
    ]
    batch = own_first(standing, SHOWN, lambda pair: pair[0].own)
    read = process.store.map(lambda pair: _summary(process, *pair), batch)
    # The summary is the truth of who wrote it.
    told = [(one, summary, _others(summary, user)) for (one, _), summary in zip(batch, read, strict=True) if summary]
    texts: set[str] = set()
    result = []
    for one, summary, neighbours in own_first(told, SHOWN, lambda entry: not entry[2]):
        fresh = [text for text in summary.signals if text.strip() and text.casefold() not in texts]
        signals = tuple(dict.fromkeys(fresh))[:SIGNALS]
        texts.update(text.casefold() for text in signals)
        if signals:
            summary_id = f"conversations/{one.conversation_id}/summaries/1/{one.number}"
            result.append(Heard(summary_id, one.until, signals, said_by(user, neighbours) if neighbours else ""))
    return result


def _others(summary: Summary, user: str) -> str:
    """The tokens that wrote of a summary's turns and are not the user's own, empty if there are none."""
    if summary.written_by is None:
        return "an unrecorded token"
    tokens = [token for token in summary.written_by if token != user]
    return ", ".join(tokens[:NAMED]) + ", …" * (len(tokens) > NAMED)


def _current(process: Process, space_id: str, conversation_id: str) -> At | None:
    """The version that counts of a conversation: 2 GETs. None for one that is deleted or cannot be read."""

    def version(conversation: Conversation) -> At:
        standing = summary_versions.read(process, space_id, conversation)
        return At(space_id, conversation, standing.current())

    with suppress(ObjectUnreadable):
        conversation = conversations.find(process, space_id, conversation_id)
        return version(conversation) if conversation else None
    return None


def _summary(process: Process, named_summary: NamedSummary, at: At) -> Summary | None:
    """The summary: 1 GET, none where this process has read it. None where it is gone or may hold an erased turn."""
    key = at.summary_key(1, named_summary.number, named_summary.name)
    summary = process.reads.get(Summary, key, named_summary.name)
    if not summary:
        item = process.store.get(key)
        try:
            summary = parsed(process, Summary, item) if item else None
        except LiveMemoryError:
            return None
        if item and summary:
            # The hash of its input stands for it: a summary is written once.
            process.reads.put(key, named_summary.name, summary, [item.body])
    if not summary or any(summary.says_of(index) for index in at.conversation.erased_turns):
        return None
    return summary
