"""The document that belongs under each name of a space, and the check whether it fits. Anybody may have made an
archive.

Each document is read by the model that the service reads it by, whose numbers, lists and texts have bounds, and agrees
with its name. At the end documents are checked against each other: turns and operations have no gaps, block boundaries
follow each other, a group has its children below it. No reader reads objects of other names.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from livemem import clock
from livemem.bank import paths
from livemem.changes.records import Record
from livemem.conversations import user_signals
from livemem.conversations.boundaries import BlockBoundary, GroupBoundary
from livemem.conversations.capture import BlockCapture
from livemem.conversations.conversation import Conversation, markers
from livemem.conversations.log import Floor
from livemem.conversations.summaries import Summary
from livemem.conversations.summaries_job import SummariesJob
from livemem.conversations.summary_versions import FIRST, SummaryVersions
from livemem.conversations.turn import ToolResult, Turn
from livemem.conversations.user_signals import NamedSummary, UserSignals
from livemem.jobs.receipt import Receipt
from livemem.jobs.run import Run
from livemem.memories.operation import Operation
from livemem.memories.state import Snapshot
from livemem.notes.idempotency import KeyedNote
from livemem.rooms.current_digest import CurrentDigest
from livemem.rooms.digest_documents import DeadLetter, DigestDone, Extract, StoredFacts, Try
from livemem.rooms.digested import Input
from livemem.rooms.message import Message
from livemem.rooms.posting import Stamp
from livemem.spaces.head import Meta
from livemem.store import bucket, keys
from livemem.store.bucket import (
    BLOCK_BOUNDARY,
    BOUNDARY,
    CAPTURE,
    CONVERSATION,
    CONVERSATION_DELETED,
    CURRENT_DIGEST,
    DEAD_LETTER,
    DIGEST_DONE,
    DIGEST_INPUT,
    ERASURE,
    EXTRACT,
    FAILED_TRY,
    IDEMPOTENCY,
    IN_DIGEST,
    IN_SPACE,
    MEMORY_SNAPSHOT,
    MESSAGE_ID,
    OPERATION,
    RECORD,
    ROOM_ID,
    ROOM_MESSAGE,
    RUN,
    STORED_FACTS,
    SUMMARIES_JOB,
    SUMMARY,
    SUMMARY_VERSIONS,
    TOOL_RESULT,
    TURN,
    BoundaryKey,
    OperationKey,
    SummaryKey,
    message_name,
)
from livemem.store.keys import MemoryKind
from livemem.store.object_table import AnyKind, digest_of
from livemem.store.stored_documents import BadShape, StoredDocument

LATE = 1_000
"""Most block boundaries that may have been written on one level while the backup listed the next one."""
SHOWN_CHARACTERS = 100
REDACTED = "[redacted:"
"""The text that replaces a secret in an id. The name then has the hash of the id that was sent."""

SPACE = "x"
"""Stands for the id of the space in keys."""

Disagreement = Iterator[tuple[str, bool]]
"""Fields, and whether each agrees with the name."""


class Misfit(ValueError):
    """A document that can't be imported: its name below the space, and the field that does not fit, if one field is the
    cause.
    """

    def __init__(self, name: str, field: str | None, problem: str) -> None:
        super().__init__(f"has the field {field!a}, which {problem}" if field else problem)
        self.name = name
        self.field = field


@dataclass(frozen=True)
class ArchivedKind:
    """The documents whose names have one form. `agrees` compares a document with its name, which begins with the
    space's id.
    """

    model: type[StoredDocument]
    agrees: Callable[[Any, str], Disagreement]


def kind_of(name: str) -> ArchivedKind | None:
    """The kind of the document under this name below a space. None if it is no document, or no reader reads it."""
    row = bucket.kind_of(name)
    return KINDS.get(row) if row else None


def read(name: str, body: bytes, kind: ArchivedKind) -> StoredDocument:
    """The document in `body`. Raises Misfit."""
    try:
        kind.model.measure(body, numbers=True)
        document = kind.model.from_bytes(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])[:SHOWN_CHARACTERS]
        raise Misfit(name, where or None, "does not have the required form" if where else "can't be read") from None
    except BadShape as error:
        raise Misfit(name, None, f"can't be read: its {error.what} are out of bounds") from None
    except ValueError:
        raise Misfit(name, None, "can't be read") from None
    for where, agrees in kind.agrees(document, f"x/{name}"):
        if not agrees:
            raise Misfit(name, where, "does not agree with the name of the object")
    return document


def fits(name: str, body: bytes) -> bool:
    """Whether an import takes the object under this name by itself."""
    kind = kind_of(name)
    try:
        if kind:
            read(name, body, kind)
    except Misfit:
        return False
    return True


def read_head(body: bytes) -> Meta:
    """The head of a space. Raises Misfit."""
    head = read(keys.META, body, ArchivedKind(Meta, _agrees_anyway))
    assert isinstance(head, Meta)
    return head


def _agrees_anyway(_: StoredDocument, __: str) -> Disagreement:
    yield from ()


def _record(record: Record, key: str) -> Disagreement:
    name = RECORD.last(key)
    assert name
    yield "number", record.number == name.number
    yield "notes", all(name.first <= source.note_id[:15] <= name.last for source in record.notes)
    yield "files", all(_is_bank_path(change.path) for change in record.files)
    yield "rules", record.rules is None or record.rules.path == keys.RULES_PATH


def _is_bank_path(path: str) -> bool:
    try:
        paths.check_bank_path(path)
    except paths.BankPathError:
        return False
    return True


def _run(run: Run, key: str) -> Disagreement:
    yield "job_id", key.endswith(f"/{run.job_id}.json") and _is_of_a_time(run.job_id)


def _is_of_a_time(ulid: str) -> bool:
    try:
        clock.id_time(ulid)
    except ValueError:
        return False
    return True


def _receipt(receipt: Receipt, key: str) -> Disagreement:
    yield "job_id", receipt.job_id == ERASURE.last(key) and _is_of_a_time(receipt.job_id)


def _conversation(conversation: Conversation, key: str) -> Disagreement:
    parsed = CONVERSATION.parse(key)
    assert parsed
    yield "conversation_id", conversation.conversation_id == parsed[1] and _is_of_a_time(parsed[1])


def _turn(turn: Turn, key: str) -> Disagreement:
    parsed = TURN.parse(key)
    assert parsed
    yield "turn_index", turn.turn_index == parsed[2]


def _job(job: SummariesJob, key: str) -> Disagreement:
    yield "job_id", job.job_id == SUMMARIES_JOB.last(key)
    yield "subject", f"/{job.subject}/" in key


def _summary(summary: Summary, key: str) -> Disagreement:
    parsed = SUMMARY.parse_as(SummaryKey, key)
    assert parsed
    yield "level", summary.level == parsed.level
    yield "number", summary.number == parsed.number
    yield "children", (summary.children is None) == (parsed.level == 1)


def _operation(operation: Operation, key: str) -> Disagreement:
    parsed = OPERATION.parse_as(OperationKey, key)
    assert parsed
    yield "number", operation.number == parsed.number
    yield "memory.kind", operation.memory.kind == parsed.kind


def _snapshot(snapshot: Snapshot, key: str) -> Disagreement:
    parsed = MEMORY_SNAPSHOT.parse_as(OperationKey, key)
    assert parsed
    yield "number", snapshot.number == parsed.number
    yield "memories", all(memory.kind == parsed.kind for memory in snapshot.memories)
    yield "done", all(done.number <= parsed.number for done in snapshot.done.values())
    yield "deleted", all(number <= parsed.number for number in snapshot.deleted.values())


def _message(message: Message, key: str) -> Disagreement:
    parsed = message_name(key)
    assert parsed
    yield "timestamp", clock.parse(message.timestamp).replace(microsecond=0) == parsed.moment
    yield "message_id", _is_of_hash(message.message_id, parsed.digest)


def _stamp(stamp: Stamp, key: str) -> Disagreement:
    parsed = ROOM_ID.parse(key)
    assert parsed
    yield "message_id", _is_of_hash(stamp.message_id, parsed[2])


def _is_of_hash(message_id: str, digest: str) -> bool:
    return REDACTED in message_id or digest_of(message_id, len(digest)) == digest


def _of_slot(document: Input | DigestDone, key: str) -> Disagreement:
    parsed = IN_DIGEST.parse(key)
    yield "slot", parsed is not None and document.slot == parsed[1]


@dataclass
class _Talk:
    """The facts in one conversation's documents that must agree with each other."""

    buried: bool = False
    turns: dict[int, str] = field(default_factory=dict)
    behind: list[tuple[str, str, int]] = field(default_factory=list)
    """Turns that must exist, with the document that requires them: its name and field."""
    versions: tuple[str, SummaryVersions] | None = None
    blocks: dict[tuple[int, int], tuple[str, BlockBoundary]] = field(default_factory=dict)
    """By version and number."""
    groups: dict[tuple[int, int, int], tuple[str, GroupBoundary]] = field(default_factory=dict)
    """By version, level and number."""
    users: dict[int, str] = field(default_factory=dict)
    """The user who speaks in a turn, by its index."""
    signals: list[tuple[NamedSummary, tuple[int, int], list[str] | None]] = field(default_factory=list)
    """The summaries that have some, with the turns that they cover, and the tokens that wrote these."""

    def heard(self) -> Iterator[tuple[str, NamedSummary]]:
        """The summaries of the present version with signals, and the one user of whom each is."""
        present = self.versions[1].version if self.versions else FIRST
        for signal, (first, last), written_by in self.signals:
            users = {self.users[index] for index in range(first, min(last, len(self.turns)) + 1) if index in self.users}
            if signal.version == present and len(users) == 1:
                user = users.pop()
                yield user, signal.model_copy(update={"own": written_by == [user]})

    def check(self) -> None:
        """Raise Misfit if they do not agree."""
        if self.buried:
            # Part of it may be gone by now, and no reader reads the rest.
            return
        count = len(self.turns)
        if self.turns and max(self.turns) > count:
            raise Misfit(self.turns[max(self.turns)], "turn_index", "comes after turns that are missing")
        for name, where, index in self.behind:
            if index > count:
                raise Misfit(name, where, "is after the last turn")
        if self.versions:
            self._check_versions(*self.versions)
        self._check_blocks()
        self._check_groups()

    def _check_versions(self, name: str, summary_versions: SummaryVersions) -> None:
        given = [summary_versions.version, *(item.version for item in summary_versions.retired)]
        given += [summary_versions.building.version] if summary_versions.building else []
        if summary_versions.highest < max(given):
            raise Misfit(name, "highest", "is lower than a version number in use")

    def _check_blocks(self) -> None:
        for (version, number), (name, block) in self.blocks.items():
            before = self.blocks.get((version, number - 1))
            if before and before[1].next != (block.start, block.start_offset):
                raise Misfit(name, "start", "does not continue where the previous one ends")

    def _check_groups(self) -> None:
        for (version, level, number), (name, group) in self.groups.items():
            if group.children[1] > self._highest(version, level - 1) + LATE:
                raise Misfit(name, "children", "names summaries of the level below that are missing")
            before = self.groups.get((version, level, number - 1))
            if before and before[1].children[1] + 1 != group.children[0]:
                raise Misfit(name, "children", "does not continue where the previous one ends")

    def _highest(self, version: int, level: int) -> int:
        if level == 1:
            return max((number for of, number in self.blocks if of == version), default=0)
        return max((number for of, at, number in self.groups if (of, at) == (version, level)), default=0)


@dataclass
class Documents:
    """The documents of a space, taken in one by one. At the end `check` compares them with each other."""

    talks: dict[str, _Talk] = field(default_factory=lambda: defaultdict(_Talk))
    operations: dict[MemoryKind, dict[int, str]] = field(default_factory=lambda: defaultdict(dict))
    markers: set[str] = field(default_factory=set)
    """The names of the markers by which the conversations are found, and of the signs that they are deleted."""
    folded_until: str = ""
    """Compact time of the newest note in a record of a consolidation."""

    def take(self, name: str, body: bytes, kind: ArchivedKind) -> None:
        """Take in the document under this name. Raises Misfit."""
        document = read(name, body, kind)
        if isinstance(document, Operation):
            self.operations[document.memory.kind][document.number] = name
        elif isinstance(document, Record) and document.kind == "consolidation":
            self.folded_until = max(self.folded_until, document.name().last)
        elif name.startswith("conversations/"):
            self._take_said(self.talks[name.split("/")[1]], name, document)

    def _take_said(self, talk: _Talk, name: str, document: StoredDocument) -> None:
        boundary = BOUNDARY.parse_as(BoundaryKey, f"x/{name}")
        if isinstance(document, Conversation):
            talk.buried = document.deleted_at is not None
            keys_of_it = markers(SPACE, document)
            keys_of_it += [CONVERSATION_DELETED.key(SPACE, document.conversation_id)] if talk.buried else []
            self.markers.update(key.removeprefix(IN_SPACE.prefix(SPACE)) for key in keys_of_it)
        elif isinstance(document, Turn):
            talk.turns[document.turn_index] = name
            user = user_signals.speaker([document])
            if user:
                talk.users[document.turn_index] = user
        elif isinstance(document, SummaryVersions):
            talk.versions = name, document
        elif isinstance(document, Floor):
            talk.behind.append((name, "floor", document.floor))
        elif isinstance(document, Summary):
            talk.behind.append((name, "covers", document.covers.turns[1]))
            self._take_signals(talk, name, document)
        elif isinstance(document, BlockBoundary) and boundary:
            talk.behind.append((name, "end", document.end))
            talk.blocks[boundary.version, boundary.number] = name, document
        elif isinstance(document, GroupBoundary) and boundary:
            talk.behind.append((name, "covers", document.covers[1]))
            talk.groups[boundary.version, boundary.level, boundary.number] = name, document

    @staticmethod
    def _take_signals(talk: _Talk, name: str, summary: Summary) -> None:
        parsed = SUMMARY.parse_as(SummaryKey, f"{SPACE}/{name}")
        if parsed and parsed.level == 1 and summary.signals:
            named_summary = NamedSummary(
                conversation_id=parsed.conversation_id,
                version=parsed.version,
                number=parsed.number,
                name=parsed.name,
                until=summary.range_end,
            )
            talk.signals.append((named_summary, summary.covers.turns, summary.written_by))

    def is_stray(self, name: str) -> bool:
        """Whether the object of this name is a marker that no conversation here has."""
        parts = name.split("/")
        is_marker = parts[0] == "_by_cwd" or (parts[0] == "conversations" and parts[2:] == ["deleted"])
        return is_marker and name not in self.markers

    def user_signals(self) -> Mapping[str, UserSignals]:
        """The documents that name summaries with signals, by user, as the summaries and turns make them."""
        found: dict[str, list[NamedSummary]] = defaultdict(list)
        for talk in self.talks.values():
            for user, name in () if talk.buried else talk.heard():
                found[user].append(name)
        return {user: user_signals.newest(named) for user, named in found.items()}

    def check(self) -> None:
        """Raise Misfit where documents contradict each other."""
        for talk in self.talks.values():
            talk.check()
        for log in self.operations.values():
            if max(log) > len(log):
                raise Misfit(log[max(log)], "number", "comes after operations that are missing")


KINDS: Mapping[AnyKind, ArchivedKind] = {
    RECORD: ArchivedKind(Record, _record),
    RUN: ArchivedKind(Run, _run),
    IDEMPOTENCY: ArchivedKind(KeyedNote, _agrees_anyway),
    ERASURE: ArchivedKind(Receipt, _receipt),
    TURN: ArchivedKind(Turn, _turn),
    MESSAGE_ID: ArchivedKind(Floor, _agrees_anyway),
    TOOL_RESULT: ArchivedKind(ToolResult, _agrees_anyway),
    BLOCK_BOUNDARY: ArchivedKind(BlockBoundary, _agrees_anyway),
    BOUNDARY: ArchivedKind(GroupBoundary, _agrees_anyway),
    SUMMARY: ArchivedKind(Summary, _summary),
    CAPTURE: ArchivedKind(BlockCapture, _agrees_anyway),
    CONVERSATION: ArchivedKind(Conversation, _conversation),
    SUMMARY_VERSIONS: ArchivedKind(SummaryVersions, _agrees_anyway),
    SUMMARIES_JOB: ArchivedKind(SummariesJob, _job),
    OPERATION: ArchivedKind(Operation, _operation),
    MEMORY_SNAPSHOT: ArchivedKind(Snapshot, _snapshot),
    ROOM_MESSAGE: ArchivedKind(Message, _message),
    ROOM_ID: ArchivedKind(Stamp, _stamp),
    CURRENT_DIGEST: ArchivedKind(CurrentDigest, _agrees_anyway),
    EXTRACT: ArchivedKind(Extract, _agrees_anyway),
    STORED_FACTS: ArchivedKind(StoredFacts, _agrees_anyway),
    FAILED_TRY: ArchivedKind(Try, _agrees_anyway),
    DEAD_LETTER: ArchivedKind(DeadLetter, _agrees_anyway),
    DIGEST_INPUT: ArchivedKind(Input, _of_slot),
    DIGEST_DONE: ArchivedKind(DigestDone, _of_slot),
}
