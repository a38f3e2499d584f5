"""The keys of the bucket (docs/bucket.md), and the rules of the names in them. Only this file and the files `*_keys.py`
beside it build and parse keys.
"""

import re
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import lru_cache

from ulid import ULID

from livemem.errors import InvalidName

CATEGORIES = ("observation", "decision", "todo", "insight", "question", "progress", "issue")

TOKENS = "_system/tokens.json"
LAST_USED = "_system/last_used/"
"""The prefix of one object for each token that was used, named by its hash."""
LAST_CALL = "_system/calls/llm.json"
"""The key of the outcome of the last call of the LLM."""
USAGE = "_system/usage/"
"""The prefix of each day's usage of the LLM, in a few objects (spaces/totals.py)."""
CAPS = "_system/caps/"
"""The prefix of the used places of the caps of each token and each space (spaces/caps.py)."""
REQUEST_COUNTS = "_system/requests/"
"""The prefix of how many requests busy processes got, by time and by whose they are (access/request_rate.py)."""
SWEEPS = "_system/sweeps/"
"""The prefix of the progress of the sweeps."""
CAPABILITY_CHECK = "_system/capability-check/conditional-writes"
BACKUPS = "_backups/"
"""The prefix of the backups of all spaces, deleted ones included."""
EXPORTS = "_exports/"
"""The prefix of archives to download, which are removed after a day."""
UPLOADS = "_uploads/"
"""The prefix of archives to import, which are removed after a day."""
SYNTHESIS = "_synthesis.md"
MANIFEST = "_manifest.json"
"""The name of the list of a backup's or an archive's contents."""
META = "_meta.json"
"""The name of the head below its space."""
RULES_PATH = "_rules.md"
"""The rules' path in a record. No path of a bank file begins with an underscore."""

SPACE_ID = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_-]{0,63}")
AGENT = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9-]{0,63}")
RUN_ID = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}")
NOTE_ID = re.compile(
    rf"(?P<time>[0-9]{{8}}T[0-9]{{6}})_(?P<agent>{AGENT.pattern})_(?P<category>{'|'.join(CATEGORIES)})_(?P<suffix>[0-9a-f]{{8}})"
)
BACKUP_ID = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}-[0-9]{2}-[0-9]{2}")
TOKEN_HASH = re.compile(r"sha256:[0-9a-f]{64}")
OBJECT_NAME_BYTES = 900
"""Limit of an object's name below its space: the length that S3 allows, less the prefix of a backup's key."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_TOTALS = re.compile(rf"{USAGE}(?P<day>[0-9]{{8}})/(?P<shard>[0-9]{{2}})\.json")
_REQUEST_COUNT = re.compile(
    rf"{REQUEST_COUNTS}[0-9]{{10}}/(space|token|writes)-[a-zA-Z0-9_-]+/(?P<process>{RUN_ID.pattern})-(?P<count>[0-9]{{7}})"
)
_RECORD = re.compile(r"(?P<number>[0-9]{6,})_(?P<first>[0-9]{8}T[0-9]{6})_(?P<last>[0-9]{8}T[0-9]{6})\.json")
_IDEMPOTENCY = re.compile(r"_idempotency/(?P<digest>[0-9a-f]{64})\.json")
_ERASURE = re.compile(rf"_erasures/(?P<id>{RUN_ID.pattern})\.json")
_SNAPSHOT = re.compile(r"_search/(?P<schema>[0-9]{1,6})-(?P<number>[0-9]{6,12})(?:-(?P<said>[0-9]{9,12}))?\.sqlite")
_SEGMENT = re.compile(
    r"_vectors/(?P<model>[a-z0-9][a-z0-9.-]*)-(?P<dimensions>[0-9]{1,6})/(?P<number>[0-9]{8,12})\.vec"
)
_CLAIM = re.compile(r"conversations/[^/]+/claims/.+|_digests/[^/]+/claim\.json")
_OF_CONVERSATION = re.compile(
    rf"conversations/{RUN_ID.pattern}/(conversation\.json|(turns|ids|tools)/.+|v[0-9]+/.+)|_by_cwd/.+|rooms/.+"
)
"""Objects of conversations that are written once (conversation_keys.py), and messages of rooms (room_keys.py)."""
_OF_MEMORIES = re.compile(r"memories/(facts|self|goals)/(?P<what>log|snapshot)/[0-9]{8}\.json")
"""Objects of memories that are written once (memory_keys.py)."""
_COMPACT_TIME = re.compile(r"[0-9]{8}T[0-9]{6}")


@dataclass(frozen=True)
class NoteName:
    """The parts of a note's id: its time (UTC, whole seconds), its agent and its category."""

    timestamp: datetime
    agent: str
    category: str
    suffix: str

    @property
    def note_id(self) -> str:
        return f"{compact_time(self.timestamp)}_{self.agent}_{self.category}_{self.suffix}"

    @property
    def order(self) -> tuple[datetime, str, str, str]:
        """Sorts the notes of all agents by time: by second, then by suffix. The first 3 digits of a suffix are the
        millisecond, and the suffixes of a batch count up. Names alone sort by agent and category within a second.
        """
        return self.timestamp, self.suffix, self.agent, self.category


@dataclass(frozen=True)
class RecordName:
    """The parts of a record's file name: its number and the compact times of its first and last note."""

    number: int
    first: str
    last: str
    etag: str = field(default="", compare=False)
    """The record's ETag, if a listing has just returned it: a record that is read by it may come from the cache."""

    def covers(self, note: NoteName) -> bool:
        """Whether the record can hold the note."""
        return self.first <= compact_time(note.timestamp) <= self.last


def check_space_id(space_id: str) -> str:
    """Return `space_id`, or raise InvalidName."""
    if not SPACE_ID.fullmatch(space_id):
        raise InvalidName("space_id", "must be 1 to 64 of A-Z a-z 0-9 _ -, beginning with a letter or digit")
    return space_id


def check_agent(agent: str) -> str:
    """Return the agent's name, or raise InvalidName. No underscore: a note's name must parse back."""
    if not AGENT.fullmatch(agent):
        raise InvalidName("agent", "must be 1 to 64 of A-Z a-z 0-9 -, beginning with a letter or digit")
    return agent


def check_run_id(run_id: str) -> str:
    """Return `run_id`, or raise InvalidName. Run ids are ULIDs, so they sort by time."""
    return check_ulid("run_id", run_id)


def check_ulid(field: str, text: str) -> str:
    """Return `text` if it is an ULID, or raise InvalidName, which names the field."""
    if not RUN_ID.fullmatch(text):
        raise InvalidName(field, "must be a ULID of 26 characters")
    return text


def ulid_moment(ulid: str) -> int:
    """When an ULID was made, in milliseconds since 1970. Raises ValueError for a text that only looks like one."""
    return ULID.from_str(ulid).milliseconds


def compact_time(moment: datetime) -> str:
    """`20260220T140000`: the form of time in keys (UTC)."""
    # strftime pads years before 1000 on some systems only.
    text = moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds")
    return text.replace("-", "").replace(":", "")


@lru_cache(4_096)  # each listing of a space tells the same names
def parse_note_id(note_id: str) -> NoteName:
    """The parts of a note's id, or InvalidName."""
    match = NOTE_ID.fullmatch(note_id)
    timestamp = compact_moment(match["time"]) if match else None
    if match and timestamp:
        return NoteName(timestamp, match["agent"], match["category"], match["suffix"])
    raise InvalidName("note_id", "must be the id of a note: {YYYYMMDD}T{HHMMSS}_{agent}_{category}_{8 hex digits}")


def check_token_hash(token_hash: str) -> str:
    """Return the hash of a token as the registry has it, or raise InvalidName."""
    if not TOKEN_HASH.fullmatch(token_hash):
        raise InvalidName("hash", "must be sha256: and 64 hex digits")
    return token_hash


def last_used(token_hash: str) -> str:
    """The key of the last use of a token. Raises InvalidName."""
    return LAST_USED + check_token_hash(token_hash).removeprefix("sha256:")


def parse_last_used(key: str) -> str | None:
    """The token's hash in such a key. None for every other key."""
    token_hash = f"sha256:{key.removeprefix(LAST_USED)}"
    return token_hash if key.startswith(LAST_USED) and TOKEN_HASH.fullmatch(token_hash) else None


def compact_moment(text: str) -> datetime | None:
    """The moment of a compact time. None for every other text."""
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC) if _COMPACT_TIME.fullmatch(text) else None
    except ValueError:
        return None


def sweep_place(kind: str) -> str:
    """The key of the place among the spaces where a sweep of this kind is, or was when it ended."""
    return f"{SWEEPS}{kind}.json"


def prefix(space_id: str) -> str:
    """The prefix of every key of the space."""
    return f"{space_id}/"


def meta(space_id: str) -> str:
    return f"{space_id}/{META}"


def rules(space_id: str) -> str:
    return f"{space_id}/{RULES_PATH}"


def synthesis(space_id: str) -> str:
    return f"{space_id}/{SYNTHESIS}"


def lease(space_id: str) -> str:
    return f"{space_id}/_lease.json"


def caps_of_space(space_id: str) -> str:
    """The key of the used places of the space's caps."""
    return f"{CAPS}spaces/{space_id}.json"


def caps_of_token(name: str) -> str:
    """Key of the used places of a token's caps. `name`: its hash without `sha256:`, or the bootstrap key's name."""
    return f"{CAPS}tokens/{name}.json"


def request_counts_prefix(window: int, subject: str) -> str:
    """What the counts of one window of time for a `subject` (`space-demo`, `writes-demo`, `token-0a...`) begin with."""
    return f"{REQUEST_COUNTS}{window:010d}/{subject}/"


def request_count(window: int, subject: str, process: str, count: int) -> str:
    """The key that says how many requests of the subject a process got in a window of time."""
    return f"{request_counts_prefix(window, subject)}{process}-{count:07d}"


def parse_request_count(key: str) -> tuple[str, int] | None:
    """The process and its count in such a key. None for every other key."""
    match = _REQUEST_COUNT.fullmatch(key)
    return (match["process"], int(match["count"])) if match else None


def live_prefix(space_id: str) -> str:
    return f"{space_id}/live/"


def live_keep(space_id: str) -> str:
    return f"{space_id}/live/.keep"


def note(space_id: str, note_id: str) -> str:
    return f"{space_id}/live/{note_id}.md"


def parse_note(key: str) -> tuple[str, NoteName] | None:
    """Space and name of a live note's key. None for every other key."""
    space_id, _, name = key.partition("/live/")
    if not name.endswith(".md") or not SPACE_ID.fullmatch(space_id):
        return None
    try:
        return space_id, parse_note_id(name.removesuffix(".md"))
    except InvalidName:
        return None


def bank_prefix(space_id: str) -> str:
    return f"{space_id}/bank/"


def bank_keep(space_id: str) -> str:
    return f"{space_id}/bank/.keep"


def bank_file(space_id: str, path: str) -> str:
    return f"{space_id}/bank/{path}"


def parse_bank_file(key: str) -> tuple[str, str] | None:
    """Space and path of a bank file's key. None for every other key."""
    space_id, _, path = key.partition("/bank/")
    if not path.endswith(".md") or not SPACE_ID.fullmatch(space_id):
        return None
    return space_id, path


def run(space_id: str, run_id: str) -> str:
    return f"{space_id}/_runs/{run_id}.json"


def runs_prefix(space_id: str) -> str:
    return f"{space_id}/_runs/"


def run_moment(moment: int) -> str:
    """The beginning of the ids of the runs of a moment, given in milliseconds since 1970."""
    return str(ULID.from_bytes(moment.to_bytes(6, "big") + bytes(10)))[:10]


def parse_run(key: str) -> tuple[str, int] | None:
    """The run's id and its moment in a key of `_runs/`. None for every other key, such as those of plans."""
    run_id = key.rpartition("/_runs/")[2].removesuffix(".json")
    if not key.endswith(".json") or not RUN_ID.fullmatch(run_id):
        return None
    try:
        return run_id, ulid_moment(run_id)
    except ValueError:
        return None


def started_by_hand(space_id: str) -> str:
    """The key of the document that names the run that was started by hand last."""
    return f"{space_id}/_runs/by_hand.json"


def usage_of_day(day: date) -> str:
    """The prefix of a day's totals."""
    return f"{USAGE}{day:%Y%m%d}/"


def totals(day: date, shard: int) -> str:
    """The key of a day's totals of the spaces in this shard."""
    return f"{usage_of_day(day)}{shard:02d}.json"


def parse_totals(key: str) -> tuple[date, int] | None:
    """Day and shard in such a key. None for every other key."""
    match = _TOTALS.fullmatch(key)
    try:
        return (date.fromisoformat(match["day"]), int(match["shard"])) if match else None
    except ValueError:
        return None


def plan(space_id: str, run_id: str) -> str:
    return f"{space_id}/_runs/{run_id}.plan.json"


def parse_plan(key: str) -> str | None:
    """The id of the run or change by hand in the key of a plan. None for every other key."""
    run_id = key.rpartition("/_runs/")[2].removesuffix(".plan.json")
    return run_id if key.endswith(".plan.json") and RUN_ID.fullmatch(run_id) else None


def review(space_id: str, run_id: str) -> str:
    """The key of a run's plan that waits for a person. Only an approval makes a plan of it that is committed."""
    return f"{space_id}/_runs/{run_id}.review.json"


def parse_review(key: str) -> str | None:
    """The id of the run in the key of a plan that waits. None for every other key."""
    run_id = key.rpartition("/_runs/")[2].removesuffix(".review.json")
    return run_id if key.endswith(".review.json") and RUN_ID.fullmatch(run_id) else None


def is_plan(name: str) -> bool:
    """Whether the key below a space is that of a plan, either about to be committed or waiting for a person."""
    return (parse_plan(f"x/{name}") or parse_review(f"x/{name}")) is not None


def runs_up_to(space_id: str, run_id: str) -> str:
    """A key that sorts behind all objects of the run and earlier ones, and before those of later runs."""
    return f"{space_id}/_runs/{run_id}.~"


def displaced(space_id: str, run_id: str, path: str) -> str:
    """The key that keeps a bank file which was changed outside the service between plan and application."""
    return f"{space_id}/_runs/{run_id}.displaced/{path}"


def records_prefix(space_id: str) -> str:
    return f"{space_id}/_consolidations/"


def record(space_id: str, name: RecordName) -> str:
    return f"{space_id}/_consolidations/{name.number:06d}_{name.first}_{name.last}.json"


def records_since(space_id: str, number: int) -> str:
    """A key that sorts before the records from `number` on, and behind the earlier ones."""
    return f"{space_id}/_consolidations/{number:06d}"


def record_text(name: RecordName) -> str:
    """The record's name in the form that the metadata of the objects it wrote hold."""
    return f"{name.number:06d}_{name.first}_{name.last}"


def parse_record_text(text: str) -> RecordName | None:
    """The record's name in a text of that form, or None."""
    return parse_record(f"{text}.json")


def parse_record(key: str, etag: str = "") -> RecordName | None:
    """The record's name in a key of `_consolidations/`, listed with this ETag. None for every other key."""
    match = _RECORD.fullmatch(key.rpartition("/_consolidations/")[2])
    return RecordName(int(match["number"]), match["first"], match["last"], etag) if match else None


def idempotency_prefix(space_id: str) -> str:
    """The prefix of the Idempotency-Keys of a space."""
    return f"{space_id}/_idempotency/"


def idempotency(space_id: str, digest: str) -> str:
    return f"{idempotency_prefix(space_id)}{digest}.json"


def parse_idempotency(key: str) -> str | None:
    """The hash in such a key. None for every other key."""
    match = _IDEMPOTENCY.fullmatch(key.partition("/")[2])
    return match["digest"] if match else None


def check_backup_id(backup_id: str) -> str:
    """Return `backup_id`, or raise InvalidName. It is the backup's time (UTC), so backups sort by time."""
    if not BACKUP_ID.fullmatch(backup_id) or not _backup_moment(backup_id):
        raise InvalidName("backup_id", "must be the time of a backup (UTC), such as 2026-02-20T02-00-00")
    return backup_id


def _backup_moment(backup_id: str) -> datetime | None:
    day, _, time = backup_id.partition("T")
    try:
        return datetime.fromisoformat(f"{day}T{time.replace('-', ':')}").replace(tzinfo=UTC)
    except ValueError:
        return None


def backup_id(moment: datetime) -> str:
    """The id of a backup that is begun at this moment, in whole seconds."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds").replace(":", "-")


def backup_moment(backup_id: str) -> datetime:
    """The moment in a backup's id. Raises InvalidName."""
    moment = _backup_moment(check_backup_id(backup_id))
    assert moment
    return moment


def backups_prefix(space_id: str) -> str:
    return f"{BACKUPS}{space_id}/"


def backup_prefix(space_id: str, backup_id: str) -> str:
    return f"{BACKUPS}{space_id}/{backup_id}/"


def backup_object(space_id: str, backup_id: str, below: str) -> str:
    """The key in a backup of the object whose key below the space is `below`."""
    return f"{backup_prefix(space_id, backup_id)}{below}"


def manifest(space_id: str, backup_id: str) -> str:
    return backup_object(space_id, backup_id, MANIFEST)


def exports_prefix(space_id: str) -> str:
    return f"{EXPORTS}{space_id}/"


def export(space_id: str, backup_id: str) -> str:
    """The key of a backup's archive."""
    return f"{EXPORTS}{space_id}/{backup_id}.tar.gz"


def export_state(space_id: str, backup_id: str) -> str:
    """The key of the progress of a backup's archive."""
    return f"{EXPORTS}{space_id}/{backup_id}.json"


def upload(upload_id: str) -> str:
    """The key to which an archive is uploaded."""
    return f"{UPLOADS}{check_ulid('upload_id', upload_id)}"


def check_object_name(name: str) -> str:
    """Return the name of an object below its space, or raise InvalidName. A valid name stays below its space in every
    bucket and file system.
    """
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        size = 0
    parts = name.split("/")
    if not 1 <= size <= OBJECT_NAME_BYTES or not parts[0] or {".", ".."} & {*parts} or _CONTROL.search(name):
        raise InvalidName(
            "name",
            f"must be relative, with 1 to {OBJECT_NAME_BYTES} bytes, without the parts `.` and `..`, and without "
            "control characters",
        )
    return name


def erasures_prefix(space_id: str) -> str:
    return f"{space_id}/_erasures/"


def erasure(space_id: str, erasure_id: str) -> str:
    """The key of the receipt of an erasure."""
    return f"{space_id}/_erasures/{erasure_id}.json"


def parse_erasure(key: str) -> str | None:
    """The id of an erasure in the key of its receipt. None for every other key."""
    match = _ERASURE.fullmatch(key.partition("/")[2])
    return match["id"] if match else None


def search_prefix(space_id: str) -> str:
    """The prefix of the search snapshots (search/search_snapshots.py)."""
    return f"{space_id}/_search/"


def search_snapshot(space_id: str, schema: int, number: int, turns: int = 0) -> str:
    """The key of the snapshot up to change `number` of the space. `turns` counts its objects of conversations,
    which are no changes.
    """
    return f"{search_prefix(space_id)}{schema}-{number:06d}{f'-{turns:09d}' if turns else ''}.sqlite"


def parse_search_snapshot(key: str) -> tuple[int, int, int] | None:
    """Schema, number and objects of conversations in such a key. None for every other key."""
    match = _SNAPSHOT.fullmatch(key.partition("/")[2])
    return (int(match["schema"]), int(match["number"]), int(match["said"] or 0)) if match else None


def search_orders(space_id: str) -> str:
    """The prefix of the orders to remove deleted things from what searches keep."""
    return f"{search_prefix(space_id)}forget/"


def search_lease(space_id: str) -> str:
    """The lease of the space's indexer (jobs/lease.py)."""
    return f"{search_prefix(space_id)}lease.json"


def search_order(space_id: str, order_id: str) -> str:
    """The key of an order to remove deleted things from what searches keep (recall/indexing.py)."""
    return f"{search_orders(space_id)}{order_id}"


def vectors_prefix(space_id: str) -> str:
    """The prefix of the vectors of all models (search/vectors.py)."""
    return f"{space_id}/_vectors/"


def vectors_of(space_id: str, model: str) -> str:
    """The prefix of a model's segments of all dimensions. Keys of some other models begin so too."""
    return f"{vectors_prefix(space_id)}{model}-"


def segment(space_id: str, model: str, dimensions: int, number: int) -> str:
    """The key of a segment of a model's vectors."""
    return f"{vectors_of(space_id, model)}{dimensions}/{number:08d}.vec"


def parse_segment(key: str) -> tuple[str, int, int] | None:
    """Model, dimensions and number in such a key. None for every other key."""
    match = _SEGMENT.fullmatch(key.partition("/")[2])
    return (match["model"], int(match["dimensions"]), int(match["number"])) if match else None


def is_of_search(name: str) -> bool:
    """Whether the key below a space is that of a snapshot or a segment, or of anything beside them."""
    return name.startswith(("_search/", "_vectors/"))


def is_derived(name: str) -> bool:
    """Whether the key below a space, without the space's id, is left out of backups. Left out are objects that can be
    made again, objects that say who is at work, and a key that would collide with the backup's manifest.
    """
    at_work = name in {"_lease.json", "_runs/by_hand.json", MANIFEST} or name.endswith((".plan.json", ".review.json"))
    # Questions and their answers are in conversations too. The LLM is asked for verdicts again.
    again = name.startswith(("_asks/", "sessions/", "_verdicts/"))
    return at_work or again or is_of_search(name) or _CLAIM.fullmatch(name) is not None


def is_immutable(name: str) -> bool:
    """Whether the key below a space is of an object that is never written again with other content, so that a late copy
    of it does no harm.
    """
    of_notes = parse_note(f"x/{name}") is not None or parse_record(f"x/{name}") is not None
    return of_notes or bool(_OF_CONVERSATION.fullmatch(name) or _OF_MEMORIES.fullmatch(name))


def path_in_records(name: str) -> str | None:
    """The path that records use for the object with this key below a space: a bank file's path, the synthesis, the
    rules. None for every other object.
    """
    parsed = parse_bank_file(f"x/{name}")
    return parsed[1] if parsed else name if name in {SYNTHESIS, RULES_PATH} else None


def recorded(space_id: str, path: str) -> str:
    """The key of the object for which records use this path."""
    return f"{space_id}/{path}" if path in {SYNTHESIS, RULES_PATH} else bank_file(space_id, path)


def is_memory(name: str) -> bool:
    """Whether the key below a space, without the space's id, is that of a note, a record, an operation on memories, a
    message of a room, or a part of the bank.
    """
    operation = _OF_MEMORIES.fullmatch(name)
    is_log = is_of_changes(name) or is_of_erasures(name) or bool(operation and operation["what"] == "log")
    return not name.endswith(".keep") and (name.startswith(("live/", "rooms/")) or is_log or is_of_bank(name))


def is_of_space(name: str) -> bool:
    """Whether the key below a space, without the space's id, is of the head, the rules or the lease; or of promotions
    or the quarantine, where nothing is written any more.
    """
    return name in ("_meta.json", "_rules.md", "_lease.json") or name.startswith(("_quarantine/", "_promot"))


def is_of_changes(name: str) -> bool:
    """Whether it is a record."""
    return name.startswith("_consolidations/")


def is_of_erasures(name: str) -> bool:
    """Whether it is the receipt of an erasure."""
    return name.startswith("_erasures/")


def is_of_runs(name: str) -> bool:
    """Whether it is a run, a plan, or a bank file that one displaced."""
    return name.startswith("_runs/")


def is_of_notes(name: str) -> bool:
    """Whether it is a live note, or an Idempotency-Key."""
    return name == "live/.keep" or name.startswith("_idempotency/") or parse_note(f"x/{name}") is not None


def is_of_bank(name: str) -> bool:
    """Whether it is a bank file or the synthesis."""
    return name in ("bank/.keep", "_synthesis.md") or parse_bank_file(f"x/{name}") is not None
