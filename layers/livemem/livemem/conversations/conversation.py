"""The document of a conversation, and the keys under which its folder finds it. Both are written when it begins."""

import posixpath
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal, TypeVar

from pydantic import Field

from livemem import clock, limits
from livemem.conversations.parameters import Parameters, Profile
from livemem.errors import ConversationBroken, InvalidRequest, NotFound, ObjectUnreadable
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.spaces import unreadable
from livemem.store import keys, stored, stored_documents
from livemem.store.bucket import BY_CWD, CONVERSATION, CONVERSATION_DELETED
from livemem.store.capability_check import require_conditional_writes
from livemem.store.objects import Object
from livemem.store.stored import Revised
from livemem.store.stored_documents import Count, Line, Moment, Path, StoredDocument
from livemem.text.invisible import has_controls
from livemem.text.redaction import Redaction, identifier, named

TITLE_BYTES = 500
PATH_BYTES = 4_096
HOST_BYTES = 255
TurnIndex = Annotated[int, Field(ge=1, le=keys.LAST_TURN)]
"""The number of a turn in its conversation."""
Capturing = Literal["notes", "off"]
"""Whether notes are captured from the conversation."""
D = TypeVar("D", bound=StoredDocument)
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")


class Conversation(Revised):
    """`conversation.json`."""

    most_bytes: ClassVar[int] = 1 << 20

    conversation_id: Line
    title: str | None = None
    cwd: Path | None = None
    """The folder that the agent works in, normalised."""
    host: Line | None = None
    project_path: Path | None = None
    profile: Profile = "turns"
    parameters: Parameters = Parameters()
    capture: Capturing = "off"
    """Whether blocks name notes for the team (capture.py)."""
    created_at: Moment
    uid: Line
    """The uid of the space that it began in."""
    author: Line
    deleted_at: Moment | None = None
    """Set in a tombstone: when the conversation was deleted. The tombstone stays for a while, so that no late request
    of its creation brings it back.
    """
    erased_turns: list[TurnIndex] = []
    """Numbers of turns whose words were erased. Summaries that were made of them before are removed."""
    closings: list[TurnIndex] = []
    """Numbers of turns behind which a caller has closed it. A block ends there, unless one ended there already."""
    redacted: dict[str, Count] = Field(default={}, exclude=True)
    """Counts of the secrets that were removed when it was begun, by kind. They are returned, and not stored.
    """


@dataclass(frozen=True)
class NewConversation:
    """A conversation to be begun."""

    title: str | None = None
    cwd: str | None = None
    host: str | None = None
    project_path: str | None = None
    profile: Profile = "turns"
    parameters: Parameters = field(default_factory=Parameters)
    capture: Capturing = "off"


def normalised(path: str, field: str = "cwd") -> str:
    """A folder's path in one spelling, by its text alone: only the client knows the targets of links.

    `a//b/./c/..` becomes `a/b`. A Windows path gets slashes, and `..` does not leave its drive. Raises InvalidRequest.
    """
    limits.check_text(field, path, PATH_BYTES)
    if has_controls(path):
        raise InvalidRequest.of(field, "must not have control characters")
    before = ""
    while path != before:
        # Again where blanks at an end hid a part, so that the returned spelling is one that no further call changes.
        before, path = path, _once(path.strip())
    return path


def _once(path: str) -> str:
    drive = path[:2] if _DRIVE.match(path) else ""
    if drive or path.startswith("\\\\"):
        path = path.removeprefix(drive).replace("\\", "/")
    result = posixpath.normpath(path)
    # POSIX leaves exactly two slashes at the beginning to the system.
    return drive + (result[1:] if result.startswith("//") else result)


def check_host(host: str) -> str:
    """Return the host's name, or raise InvalidRequest."""
    limits.check_text("host", host, HOST_BYTES)
    if has_controls(host):
        raise InvalidRequest.of("host", "must not have control characters")
    return host


def folder_name(path: str, done: Redaction | None = None) -> str:
    """A folder's path as it is stored and searched: in one spelling, without secrets. Raises InvalidRequest."""
    plain, shown = normalised(path), _shown_path(path, done or Redaction())
    return plain if shown == plain else named(shown, plain)


def _shown_path(path: str, done: Redaction, field: str = "cwd") -> str:
    """The path without secrets, in one spelling. Secrets are removed before and after: the spelling shortens `//` of a
    URL.
    """
    return done.text(normalised(done.text(path), field))


def host_name(host: str) -> str:
    """A host's name as it is stored and searched. Raises InvalidRequest."""
    return identifier(check_host(host))


def create(
    process: Process, space_id: str, author: str, new_conversation: NewConversation, conversation_id: str | None = None
) -> Conversation:
    """Begin a conversation: 1 PUT, and 1 or 2 more for its folder. Raises NotFound, InvalidRequest.

    With a `conversation_id` of the service's own a repeat begins no other. Notes are captured only where the space
    allows it.
    """
    if new_conversation.title is not None:
        limits.check_text("title", new_conversation.title, TITLE_BYTES)
    done = Redaction()
    cwd = folder_name(new_conversation.cwd, done) if new_conversation.cwd is not None else None
    host = done.identifier(check_host(new_conversation.host)) if new_conversation.host is not None else None
    project = (
        _shown_path(new_conversation.project_path, done, "project_path")
        if new_conversation.project_path is not None
        else None
    )
    head = heads.load_recent(process, space_id)
    require_conditional_writes(process.store)
    now = process.clock()
    conversation = Conversation(
        conversation_id=conversation_id or process.new_id(),
        title=done.text(new_conversation.title) if new_conversation.title is not None else None,
        cwd=cwd,
        host=host,
        project_path=project,
        profile=new_conversation.profile,
        parameters=new_conversation.parameters,
        capture=new_conversation.capture if head.meta.capture_allowed else "off",
        created_at=clock.iso_millis(now),
        uid=head.meta.uid,
        author=author,
        redacted=done.counted(),
    )
    key = CONVERSATION.key(space_id, conversation.conversation_id)
    # A document that is there already is the same: nobody else knows the id.
    stored.write_if(process.store, key, conversation.stamped(process.new_id()).to_bytes())
    process.store.map(lambda marker: _mark(process, marker), markers(space_id, conversation))
    return conversation


def note_closing(process: Process, space_id: str, conversation_id: str, index: int) -> bool:
    """Note that the conversation is closed behind a turn: 1 GET, 1 PUT. No PUT where that was noted before. Returns
    whether it is new.

    Raises NotFound, PreconditionLost, ConversationBroken.
    """
    fresh = False

    def noted(conversation: Conversation | None) -> Conversation | None:
        nonlocal fresh
        if not conversation or conversation.deleted_at:
            raise NotFound("conversation", conversation_id)
        if index in conversation.closings:
            return None
        fresh = True
        return conversation.model_copy(update={"closings": sorted({*conversation.closings, index})})

    _update(process, space_id, conversation_id, noted)
    return fresh


def note_erased(process: Process, space_id: str, conversation_id: str, index: int) -> None:
    """Note that the words of a turn are erased: 1 GET, 1 PUT. No PUT where that was noted before, or without a
    conversation.

    Raises PreconditionLost, ConversationBroken.
    """

    def noted(conversation: Conversation | None) -> Conversation | None:
        if not conversation or conversation.deleted_at or index in conversation.erased_turns:
            return None
        return conversation.model_copy(update={"erased_turns": sorted({*conversation.erased_turns, index})})

    _update(process, space_id, conversation_id, noted)


def _update(
    process: Process,
    space_id: str,
    conversation_id: str,
    change: Callable[[Conversation | None], Conversation | None],
) -> None:
    stored.update(
        process.store,
        CONVERSATION.key(space_id, conversation_id),
        change,
        process.new_id,
        read=lambda item: parsed(process, Conversation, item),
    )


def bury(process: Process, space_id: str, conversation: Conversation) -> None:
    """Replace the conversation by a tombstone without title, folders and host, and sign it for listings: 2 PUTs."""
    fields = {"title": None, "cwd": None, "host": None, "project_path": None}
    tombstone = conversation.model_copy(update={**fields, "deleted_at": clock.iso_millis(process.clock())})
    key = CONVERSATION.key(space_id, conversation.conversation_id)
    process.store.put(key, tombstone.to_bytes(), content_type=stored_documents.JSON)
    sign(process, space_id, conversation.conversation_id)


def sign(process: Process, space_id: str, conversation_id: str) -> None:
    """Write the sign beside a tombstone that the conversation is deleted. A search only lists, and reads no tombstone.
    1 PUT.
    """
    process.store.put(CONVERSATION_DELETED.key(space_id, conversation_id), b"", content_type=stored_documents.JSON)


def markers(space_id: str, conversation: Conversation) -> list[str]:
    """The keys under which the conversation is found by its folder: one for its host, and one for any host."""
    if conversation.cwd is None:
        return []
    hosts = dict.fromkeys(["", conversation.host or ""])
    moment, conversation_id = clock.parse(conversation.created_at), conversation.conversation_id
    return [BY_CWD.key(space_id, host + conversation.cwd, moment, conversation_id) for host in hosts]


def _mark(process: Process, key: str) -> None:
    process.store.put(key, b"", content_type=stored_documents.JSON)


def find(process: Process, space_id: str, conversation_id: str) -> Conversation | None:
    """The conversation, or None where it does not exist or is deleted: 1 GET."""
    conversation = look(process, space_id, conversation_id)
    return conversation if conversation and not conversation.deleted_at else None


def gone(process: Process, space_id: str, ids: Iterable[str | None]) -> set[str]:
    """Those of the conversations that do not exist or are deleted: 1 GET for each. None is skipped."""

    def is_gone(conversation_id: str) -> bool:
        try:
            return find(process, space_id, conversation_id) is None
        except ObjectUnreadable:
            # A document that cannot be read exists.
            return False

    wanted = sorted({item for item in ids if item})
    results = process.store.map(is_gone, wanted)
    return {item for item, is_one in zip(wanted, results, strict=True) if is_one}


def look(process: Process, space_id: str, conversation_id: str) -> Conversation | None:
    """The conversation, or its tombstone, or None where there is neither: 1 GET."""
    item = process.store.get(CONVERSATION.key(space_id, keys.check_conversation_id(conversation_id)))
    return parsed(process, Conversation, item) if item else None


def parsed(process: Process, kind: type[D], item: Object) -> D:
    """The document in an object of a conversation. Raises ConversationBroken for one that cannot be read."""
    return unreadable.parsed(process, kind, item, ConversationBroken)


def load(process: Process, space_id: str, conversation_id: str) -> Conversation:
    """The conversation: 1 GET, and 1 for the space where this process has not read it lately. Raises NotFound."""
    keys.check_conversation_id(conversation_id)
    heads.load_recent(process, space_id)
    result = find(process, space_id, conversation_id)
    if not result:
        raise NotFound("conversation", conversation_id)
    return result


def no_summary(level: int, number: int) -> NotFound:
    """The error for a summary that does not exist."""
    return NotFound("summary", f"{level}/{number}")
