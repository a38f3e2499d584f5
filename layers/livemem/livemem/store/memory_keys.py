"""The keys of memories (docs/bucket.md). Only this file builds and parses them."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from livemem.errors import InvalidName
from livemem.store import keys
from livemem.store.keys import RUN_ID, SPACE_ID

Kind = Literal["fact", "self", "goal"]
KINDS: tuple[Kind, ...] = ("fact", "self", "goal")
FOLDERS: dict[Kind, str] = {"fact": "facts", "self": "self", "goal": "goals"}
VERDICTS = "_verdicts/"
"""The prefix below a space of the LLM's verdicts on two contents that are nearly the same."""
_KIND_OF = {folder: kind for kind, folder in FOLDERS.items()}
_FOLDER = rf"(?P<space>{SPACE_ID.pattern})/memories/(?P<folder>{'|'.join(_KIND_OF)})/"
_OPERATION = re.compile(rf"{_FOLDER}log/(?P<number>[0-9]{{8}})\.json")
_SNAPSHOT = re.compile(rf"{_FOLDER}snapshot/(?P<number>[0-9]{{8}})\.json")
_VECTORS = re.compile(rf"{_FOLDER}snapshot/(?P<number>[0-9]{{8}})\.(?P<model>[a-z0-9][a-z0-9.-]*)\.vec")
_EXPIRING = re.compile(rf"(?P<kind>{'|'.join(KINDS)})/(?P<id>{RUN_ID.pattern})")


@dataclass(frozen=True)
class OperationKey:
    """Operation `number`, from 1, of a kind's log."""

    space_id: str
    kind: Kind
    number: int


def check_memory_id(memory_id: str) -> str:
    """Return `memory_id`, or raise InvalidName. It is an ULID, so memories sort by their beginning."""
    return keys.check_ulid("memory_id", memory_id)


def check_kind(kind: str) -> Kind:
    """Return the kind, or raise InvalidName."""
    for candidate in KINDS:
        if candidate == kind:
            return candidate
    raise InvalidName("kind", f"must be one of {', '.join(KINDS)}")


def check_number(number: str) -> int:
    """The number of an operation, or raise InvalidName."""
    if not re.fullmatch(r"[0-9]{1,9}", number):
        raise InvalidName("number", "must be a whole number, from 1")
    return int(number)


def prefix(space_id: str, kind: Kind | None = None) -> str:
    """The prefix of a kind's memories, or of all memories."""
    return f"{space_id}/memories/{f'{FOLDERS[kind]}/' if kind else ''}"


def log_prefix(space_id: str, kind: Kind) -> str:
    """The prefix of the operations, the oldest first."""
    return f"{prefix(space_id, kind)}log/"


def operation(space_id: str, kind: Kind, number: int) -> str:
    """The key of operation `number`, from 1."""
    return f"{log_prefix(space_id, kind)}{number:08d}.json"


def parse_operation(key: str) -> OperationKey | None:
    """The parts of the key of an operation. None for every other key."""
    match = _OPERATION.fullmatch(key)
    return OperationKey(match["space"], _KIND_OF[match["folder"]], int(match["number"])) if match else None


def snapshots_prefix(space_id: str, kind: Kind) -> str:
    """The prefix of the snapshots and their vectors, the oldest first."""
    return f"{prefix(space_id, kind)}snapshot/"


def snapshot(space_id: str, kind: Kind, number: int) -> str:
    """The key of the snapshot: the state after operation `number`."""
    return f"{snapshots_prefix(space_id, kind)}{number:08d}.json"


def parse_snapshot(key: str) -> OperationKey | None:
    """The operation after which a snapshot was made, in its key. None for every other key."""
    match = _SNAPSHOT.fullmatch(key)
    return OperationKey(match["space"], _KIND_OF[match["folder"]], int(match["number"])) if match else None


def vectors(space_id: str, kind: Kind, number: int, model: str) -> str:
    """The key of the vectors of a snapshot's memories. `model` as in embeddings.name."""
    return f"{snapshots_prefix(space_id, kind)}{number:08d}.{model}.vec"


def parse_vectors(key: str) -> OperationKey | None:
    """The operation after which vectors were kept, in their key. None for every other key."""
    match = _VECTORS.fullmatch(key)
    return OperationKey(match["space"], _KIND_OF[match["folder"]], int(match["number"])) if match else None


def expiring(kind: Kind, memory_id: str) -> str:
    """The name of a memory in the due index."""
    return f"{kind}/{memory_id}"


def parse_expiring(name: str) -> tuple[Kind, str] | None:
    """Kind and id in such a name. None for every other name."""
    match = _EXPIRING.fullmatch(name)
    return (check_kind(match["kind"]), match["id"]) if match else None


def verdict(space_id: str, digest: str) -> str:
    """The key of the LLM's verdict on a pair of contents. `digest` is their digest in hex."""
    return f"{space_id}/{VERDICTS}{digest}.json"


def is_of_memories(name: str) -> bool:
    """Whether the key below a space, without the space's id, is of a memory."""
    return name.startswith(("memories/", VERDICTS))


def is_snapshot(name: str) -> bool:
    """Whether the key is of a snapshot, or of the vectors beside one: the log holds all their content."""
    return parse_snapshot(f"x/{name}") is not None or parse_vectors(f"x/{name}") is not None


def beyond_log(names: Iterable[str]) -> set[str]:
    """Of these names below a space, those of snapshots and vectors whose number is beyond the log's end. A listing
    returns the log first, so the log may have grown since. Such snapshots belong to another future than the next
    operations.
    """
    newest: dict[Kind, int] = {}
    derivatives: list[tuple[str, OperationKey]] = []
    for name in names:
        # Most names are of something else.
        if not is_of_memories(name):
            continue
        key = f"x/{name}"
        if operation := parse_operation(key):
            newest[operation.kind] = max(newest.get(operation.kind, 0), operation.number)
        elif other := parse_snapshot(key) or parse_vectors(key):
            derivatives.append((name, other))
    return {name for name, derived in derivatives if derived.number > newest.get(derived.kind, 0)}
