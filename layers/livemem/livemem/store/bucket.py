"""The kinds of objects in the bucket (docs/bucket.md), a row for each, and the forms of the folders that they lie in.

Only this table says how a key is built, and what backups, imports and repeated requests may do with its object.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache

from livemem.errors import InvalidName
from livemem.store.keys import MANIFEST, META, RULES_PATH, SYNTHESIS, MemoryKind, RecordName
from livemem.store.object_table import AnyKind, KeyForm, ObjectKind

IN_SPACE = KeyForm[str, str]("{space}/{name:any}")
"""Everything of a space."""

HEAD = ObjectKind[str](f"{{space}}/{META}")
RULES = ObjectKind[str](f"{{space}}/{RULES_PATH}")
SYNTHESIS_FILE = ObjectKind[str](f"{{space}}/{SYNTHESIS}")
LEASE = ObjectKind[str]("{space}/_lease.json", derived=True)

NOTE = ObjectKind[str, str]("{space}/live/{note}.md", once=True)
"""A live note, by its id."""
LIVE_KEEP = ObjectKind[str]("{space}/live/.keep")
IDEMPOTENCY = ObjectKind[str, str]("{space}/_idempotency/{digest:hex64}.json")
PASSED_ON = ObjectKind[str, str, str, str]("{space}/_passed_on/{source:item}/{target:space}/{copy:item}", derived=True)
"""An object without content: a note of another space passes on a note or a memory of this one. Copies of the space lack
it, because their readers may not know the other space.
"""
BANK_FILE = ObjectKind[str, str]("{space}/bank/{path}")
BANK_KEEP = ObjectKind[str]("{space}/bank/.keep")
RECORD = ObjectKind[str, RecordName]("{space}/_consolidations/{record}.json", once=True)
RUN = ObjectKind[str, str]("{space}/_runs/{run}.json")
STARTED_BY_HAND = ObjectKind[str]("{space}/_runs/by_hand.json", derived=True)
"""It names the run that was started by hand last."""
PLAN = ObjectKind[str, str]("{space}/_runs/{run:ulid}.plan.json", derived=True)
"""The plan of a run or of a change by hand, about to be committed."""
REVIEW = ObjectKind[str, str]("{space}/_runs/{run:ulid}.review.json", derived=True)
"""A run's plan that waits for a person. Only an approval makes a plan of it that is committed."""
DISPLACED = ObjectKind[str, str, str]("{space}/_runs/{run:ulid}.displaced/{name:any}")
"""A bank file which was changed outside the service between plan and application."""
ERASURE = ObjectKind[str, str]("{space}/_erasures/{erasure:ulid}.json")
"""The receipt of an erasure."""

SEARCH_SNAPSHOT = ObjectKind[str, int, int, int](
    "{space}/_search/{schema:1-6}-{number:6-12}{turns}.sqlite", derived=True
)
"""The snapshot up to change `number` of the space, and up to so many objects of conversations, which are no changes."""
SEARCH_LEASE = ObjectKind[str]("{space}/_search/lease.json", derived=True)
SEARCH_ORDER = ObjectKind[str, str]("{space}/_search/forget/{order:any}", derived=True)
"""An order to remove deleted things from what searches keep (recall/indexing.py)."""
SEGMENT = ObjectKind[str, str, int, int]("{space}/_vectors/{model}-{dimensions:1-6}/{number:8-12}.vec", derived=True)
"""A segment of a model's vectors. Keys of some other models begin so too."""

_CONVERSATION = "{space}/conversations/{conversation:ulid}/"
_VERSION = f"{_CONVERSATION}v{{version}}/"
IN_CONVERSATION = KeyForm[str, str, str](f"{_CONVERSATION}{{name:any}}")
"""Everything of a conversation."""
IN_VERSION = KeyForm[str, str, int, str](f"{_VERSION}{{name:any}}")
"""The boundaries, captures and summaries of a version."""
VERSION_FOLDER = KeyForm[int]("v{version}")
TURNS_FOLDER = KeyForm[str, str](f"{_CONVERSATION}turns/")
SUMMARIES_FOLDER = KeyForm[str, str, int](f"{_VERSION}summaries/")
TURN_ID = KeyForm[str, int]("{conversation:ulid}/{index:count}")
"""The id of a turn in its space, as searches return it. Turns are counted from 1."""
CONVERSATION = ObjectKind[str, str](f"{_CONVERSATION}conversation.json", once=True)
CONVERSATION_DELETED = ObjectKind[str, str](f"{_CONVERSATION}deleted")
"""An object without content: it shows, in a listing too, that the conversation is deleted."""
TURN = ObjectKind[str, str, int](f"{_CONVERSATION}turns/{{index:turn}}.turn.json", once=True)
MESSAGE_ID = ObjectKind[str, str, str](f"{_CONVERSATION}ids/{{message:sha64}}.json", once=True)
"""It names the turn after which to look for the message."""
TOOL_RESULT = ObjectKind[str, str, int, int](f"{_CONVERSATION}tools/{{index:10}}/{{order:3-4}}.json", once=True)
"""A large result of the tool call at place `order`, from 0, of a turn."""
SUMMARY_VERSIONS = ObjectKind[str, str](f"{_CONVERSATION}versions.json")
BLOCK_BOUNDARY = ObjectKind[str, str, int, int](f"{_VERSION}boundaries/l1/{{number:6-9}}.json", once=True)
BOUNDARY = ObjectKind[str, str, int, int, int](f"{_VERSION}boundaries/{{level}}/{{number:6-9}}.json", once=True)
"""Any boundary; above level 1 it names a group of summaries. The row of level 1 comes first."""
SUMMARY = ObjectKind[str, str, int, int, int, str](
    f"{_VERSION}summaries/{{level}}/{{number:6-9}}/{{input:hex64}}.json", once=True
)
"""The summary of block `number` of a level, under the hash of its input."""
CAPTURE = ObjectKind[str, str, int, int](f"{_VERSION}captures/{{number:6-9}}.json", once=True)
"""What a block of a version names for the team."""
SUMMARIES_CLAIM = ObjectKind[str, str](f"{_CONVERSATION}claims/summaries.json", derived=True)
SUMMARIES_JOB = ObjectKind[str, str, str](f"{_CONVERSATION}jobs/{{job_id}}.json")
BY_CWD = ObjectKind[str, str, datetime, str](
    "{space}/_by_cwd/{host_and_folder:sha32}/{created:descending}_{conversation:ulid}", once=True
)
"""The marker of a conversation of a folder, the newest first. The host is empty for any host."""
USER_SIGNALS = ObjectKind[str, str]("{space}/_signals/{user:sha32}.json")


_MEMORIES = "{space}/memories/{kind:kinds}/"
IN_MEMORIES = KeyForm[str, MemoryKind, str](f"{_MEMORIES}{{name:any}}")
OPERATION = ObjectKind[str, MemoryKind, int](f"{_MEMORIES}log/{{number:8}}.json", once=True)
"""Operation `number`, from 1, of a kind's log."""
MEMORY_SNAPSHOT = ObjectKind[str, MemoryKind, int](f"{_MEMORIES}snapshot/{{number:8}}.json", once=True)
"""The state after operation `number`."""
MEMORY_VECTORS = ObjectKind[str, MemoryKind, int, str](f"{_MEMORIES}snapshot/{{number:8}}.{{model}}.vec")
"""The vectors of a snapshot's memories. The model as in embeddings.name."""
VERDICT = ObjectKind[str, str]("{space}/_verdicts/{pair:hex64}.json", derived=True)
"""The LLM's verdicts on a pair of contents that are nearly the same, by their digest."""
EXPIRING = KeyForm[MemoryKind, str]("{kind}/{memory:ulid}")
"""The name of a memory in the due index."""

ROOM_MESSAGE = ObjectKind[str, str, datetime, str]("{space}/rooms/{room}/{moment}_{message:sha16}.json", once=True)
ROOM_ID = ObjectKind[str, str, str]("{space}/_room_ids/{room}/{message:sha16}.json")
"""A message's id. The object holds the time under which the message is kept."""
_DIGEST = "{space}/_digests/{slot}/"
IN_DIGEST = KeyForm[str, str, str](f"{_DIGEST}{{name:any}}")
CURRENT_DIGEST = ObjectKind[str]("{space}/_digests/open.json")
"""It names the current digest: the one that is open, or the last one."""
DIGEST_CLAIM = ObjectKind[str, str](f"{_DIGEST}claim.json", derived=True)
DIGEST_INPUT = ObjectKind[str, str](f"{_DIGEST}input.json")
EXTRACT = ObjectKind[str, str, int](f"{_DIGEST}extract/{{chunk:4}}.json")
"""The model's answer to a chunk."""
STORED_FACTS = ObjectKind[str, str, int](f"{_DIGEST}stored/{{chunk:4}}.json")
"""It says that the memories of a chunk are stored."""
FAILED_TRY = ObjectKind[str, str, int, int](f"{_DIGEST}tries/{{chunk:4}}-{{number:digit}}.json")
"""A try, from 1, for which the model gave no usable answer to a chunk."""
DEAD_LETTER = ObjectKind[str, str, int](f"{_DIGEST}dead/{{chunk:4}}.json")
"""The messages of a chunk that was given up, and the reason."""
DIGEST_DONE = ObjectKind[str, str](f"{_DIGEST}done.json")
"""The end of a digest, with its counts."""

QUESTION = ObjectKind[str, str]("{space}/_asks/{request_id}.json", derived=True)
"""A question, its progress and its answer. Both are in a conversation too."""
SESSION = ObjectKind[str, str]("{space}/sessions/{user:sha32}.json", derived=True)
"""It names the conversation of the user's questions."""
SESSION_CLAIM = ObjectKind[str, str]("{space}/sessions/{user:sha32}/claim.json", derived=True)

BACKUP_OBJECT = ObjectKind[str, str, str]("_backups/{space}/{backup}/{name:any}")
"""The object in a backup, deleted spaces included, under its name below the space."""
BACKUP_MANIFEST = ObjectKind[str, str](f"_backups/{{space}}/{{backup}}/{MANIFEST}")
EXPORT = ObjectKind[str, str, int]("_exports/{space}/{backup}{archive}.tar.gz")
"""An archive of a backup to download, from 1. It is removed after a day."""
EXPORT_STATE = ObjectKind[str, str]("_exports/{space}/{backup}.json")
"""The job that makes a backup's archives."""
UPLOAD = ObjectKind[str]("_uploads/{upload_id}")
"""An archive to import. It is removed after a day."""

TOKENS = "_system/tokens.json"
LAST_USED = ObjectKind[str]("_system/last_used/{token}")
"""The last use of a token."""
LAST_CALL = "_system/calls/llm.json"
"""The key of the outcome of the last call of the LLM."""
CAPABILITY_CHECK = "_system/capability-check/conditional-writes"
TOTALS = ObjectKind[date, int]("_system/usage/{day}/{shard:2}.json")
"""A day's usage of the LLM of the spaces in this shard (spaces/totals.py)."""
SPACE_CAPS = ObjectKind[str]("_system/caps/spaces/{space}.json")
"""The used places of a space's caps (spaces/caps.py)."""
TOKEN_CAPS = ObjectKind[str]("_system/caps/tokens/{token:any}.json")
"""Those of a token, by its hash without `sha256:`, or by the bootstrap key's name."""
REQUEST_COUNT = ObjectKind[int, str, str, int]("_system/requests/{window:10}/{subject}/{process:ulid}-{count:7}")
"""How many requests a busy process got in a window of time about a space, for a write there, or of a token."""
SWEEP_PLACE = ObjectKind[str]("_system/sweeps/{kind:any}.json")
"""The place among the spaces where a sweep of this kind is, or was when it ended."""
OAUTH = "_system/oauth/"
"""The prefix of all of sign-in. Secrets are in no key: objects are named by their SHA-256."""
ATTEMPT = ObjectKind[str](f"{OAUTH}attempts/{{ticket:hash}}.json")
"""A sign-in that waits for consent."""
CODE = ObjectKind[str](f"{OAUTH}codes/{{code:hash}}.json")
REDEEMED = ObjectKind[str](f"{OAUTH}redeemed/{{code:hash}}.json")
"""The mark that a code was redeemed."""
GRANT = ObjectKind[str](f"{OAUTH}grants/{{grant_id}}.json")
GRANT_USE = ObjectKind[str](f"{OAUTH}used/{{connection_id}}")
WRONG_TOKENS = ObjectKind[str](f"{OAUTH}wrong/{{from:hash}}.json")
"""How often a token was tried, by one digest of who tries it."""
CLIENT_DOCUMENT = ObjectKind[str](f"{OAUTH}documents/{{url:place}}.json")
"""A client's document, by the digest of its URL. Others have the same place."""
PAGE_CODE = ObjectKind[str]("_system/page_codes/{code:hash}.json")
"""A code by which a browser gets a token."""


FORMER_FOLDERS = ("_promotions", "_promoted", "_quarantine")
"""Folders in which the service keeps nothing any more."""
KINDS: tuple[AnyKind, ...] = tuple(value for value in globals().values() if isinstance(value, ObjectKind))
"""All rows of the table."""


@lru_cache(1)
def _kinds_by_folder() -> Mapping[str, Sequence[AnyKind]]:
    result: dict[str, list[AnyKind]] = {}
    for kind in KINDS:
        space, folder, *_ = kind.pattern.split("/")
        if space == "{space}":
            result.setdefault(folder, []).append(kind)
    return result


def kind_of(name: str) -> AnyKind | None:
    """The kind of the object with this key below a space, without the space's id. None: nobody reads such a name."""
    kinds = _kinds_by_folder().get(name.partition("/")[0], ())
    return next((kind for kind in kinds if kind.parse(f"x/{name}")), None)


def is_own(name: str) -> bool:
    """Whether the service keeps objects under such keys below a space. Somebody else's file may lie beside notes and
    bank files, not in the other folders.
    """
    folder = name.partition("/")[0]
    if folder in ("live", "bank"):
        return kind_of(name) is not None
    return folder in _kinds_by_folder() or folder in FORMER_FOLDERS


def is_derived(name: str) -> bool:
    """Whether the key below a space is left out of backups. Left out are derived objects, and a key that would collide
    with the backup's manifest.
    """
    kinds = _kinds_by_folder().get(name.partition("/")[0], ())
    kind = kind_of(name)
    return name == MANIFEST or (kind.derived if kind else bool(kinds) and all(kind.derived for kind in kinds))


def is_immutable(name: str) -> bool:
    """Whether the key below a space is of an object that is never written again with other content."""
    kind = kind_of(name)
    return kind is not None and kind.once


def is_memory(name: str) -> bool:
    """Whether the key below a space is that of a note, a record, an operation on memories, a message of a room, or a
    part of the bank.
    """
    if kind_of(name) in (OPERATION, BANK_FILE, SYNTHESIS_FILE):
        return True
    return name.startswith(("live/", "rooms/", "_consolidations/", "_erasures/")) and name != "live/.keep"


def is_plan(name: str) -> bool:
    """Whether the key below a space is that of a plan, either about to be committed or waiting for a person."""
    return kind_of(name) in (PLAN, REVIEW)


def path_in_records(name: str) -> str | None:
    """The path that records use for the object with this key below a space: a bank file's path, the synthesis, the
    rules. None for every other object.
    """
    return BANK_FILE.last(f"x/{name}") or (name if name in {SYNTHESIS, RULES_PATH} else None)


def recorded(space_id: str, path: str) -> str:
    """The key of the object for which records use this path."""
    return (IN_SPACE if path in {SYNTHESIS, RULES_PATH} else BANK_FILE).key(space_id, path)


@dataclass(frozen=True)
class BoundaryKey:
    """The key of a level's boundary in a version."""

    space_id: str
    conversation_id: str
    version: int
    level: int
    number: int


@dataclass(frozen=True)
class SummaryKey(BoundaryKey):
    """The key of the summary of block `number` of a level. `name` is the hash of its input."""

    name: str


def searched_folder(key: str) -> str | None:
    """The folder of a turn, or of the summaries of a version, up to its slash. None for every other key."""
    return TURNS_FOLDER.beginning(key) or SUMMARIES_FOLDER.beginning(key)


@dataclass(frozen=True)
class OperationKey:
    """Operation `number` of a kind's log, or what was made of the memories after it: a snapshot, a model's vectors."""

    space_id: str
    kind: MemoryKind
    number: int
    model: str = ""


def snapshot_of(key: str) -> OperationKey | None:
    """The operation after which the memories' snapshot was made, or the vectors beside one: the log holds all their
    content. None for every other key.
    """
    return MEMORY_SNAPSHOT.parse_as(OperationKey, key) or MEMORY_VECTORS.parse_as(OperationKey, key)


def beyond_log(names: Iterable[str]) -> set[str]:
    """Of these names below a space, those of snapshots and vectors whose number is beyond the log's end. A listing
    returns the log first, so the log may have grown since. Such snapshots belong to another future than the next
    operations.
    """
    newest: dict[MemoryKind, int] = {}
    derivatives: list[tuple[str, OperationKey]] = []
    for name in names:
        key = f"x/{name}"
        if operation := OPERATION.parse_as(OperationKey, key):
            newest[operation.kind] = max(newest.get(operation.kind, 0), operation.number)
        elif other := snapshot_of(key):
            derivatives.append((name, other))
    return {name for name, derived in derivatives if derived.number > newest.get(derived.kind, 0)}


@dataclass(frozen=True)
class MessageName:
    """The parts of the key of a message. `name` is the key below its space, which a fork of the space has too."""

    name: str
    room: str
    moment: datetime
    digest: str
    """The beginning of the SHA-256 of its id."""

    @property
    def order(self) -> tuple[datetime, str]:
        return self.moment, self.name


def message_name(key: str) -> MessageName | None:
    """The parts of the key of a message. None for every other key."""
    parsed = ROOM_MESSAGE.parse(key)
    return MessageName(key.partition("/")[2], *parsed[1:]) if parsed else None


def check_message_name(name: str) -> str:
    """Return the name of a message within its room, as a cursor has it, or raise InvalidName."""
    if not ROOM_MESSAGE.parse(ROOM_MESSAGE.prefix("x", "x") + name):
        raise InvalidName("cursor", "is not the name of a message")
    return name
