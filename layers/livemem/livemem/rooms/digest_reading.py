"""Reading digests: their state and results."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from livemem import clock
from livemem.access.principal import Principal
from livemem.errors import InvalidName, NotFound
from livemem.jobs.describable import Description
from livemem.jobs.job import Failure, Progress, Status
from livemem.llm.usage import Usage
from livemem.process import Process
from livemem.rooms import current_digest, digest_input, digest_progress
from livemem.rooms.digest_documents import DeadLetter, DigestDone
from livemem.rooms.digest_progress import ChunkProgress
from livemem.rooms.digested import Input
from livemem.spaces import head as heads
from livemem.store import keys
from livemem.store.bucket import DEAD_LETTER, DIGEST_DONE, DIGEST_INPUT, IN_DIGEST

WAITS = "The digest waits after a failure, and continues by itself."


@dataclass(frozen=True)
class GivenUpChunk:
    """A chunk that was given up. A dead letter keeps its messages."""

    chunk: int
    room: str
    messages: int
    code: str
    detail: str
    at: str


@dataclass(frozen=True)
class Digest:
    """A digest. `done` are its counts, once it has ended.

    `error` is the code of a failure after which it waits. It continues later.
    """

    slot: str
    status: Status
    done: DigestDone | None = None
    error: str | None = None
    messages: int = 0
    """Messages that it takes."""
    chunks: int = 0
    settled: int = 0
    """Chunks that need no more work."""
    given_up: Sequence[GivenUpChunk] = field(default_factory=tuple)
    """Chunks that may be tried again (digest_work.retry)."""
    missing: Sequence[str] = field(default_factory=tuple)
    """Keys of its documents that cannot be read."""


def load(process: Process, space_id: str, slot: str) -> Digest:
    """One digest, with its given-up chunks: some GETs and 1 LIST, 2 LISTs if it has not ended.

    Raises NotFound, InvalidName.
    """
    keys.check_slot(slot)
    heads.load_recent(process, space_id)
    digest = _readable(process, space_id, slot)
    missing = list(digest.missing)
    chunks = given_up(process, space_id, slot, missing)
    return Digest(**{**digest.__dict__, "given_up": chunks, "missing": missing})


def given_up(process: Process, space_id: str, slot: str, missing: list[str]) -> list[GivenUpChunk]:
    """The chunks that were given up and not put back: 1 LIST, 1 GET each."""
    letters = dead_letters(process, space_id, slot, missing)
    return [
        GivenUpChunk(number, dead.room, len(dead.messages), dead.code, dead.detail, dead.at)
        for number, dead in letters.items()
    ]


def dead_letters(process: Process, space_id: str, slot: str, missing: list[str]) -> dict[int, DeadLetter]:
    """The same chunks with their messages. The keys of unreadable ones are added to `missing`."""
    entries = process.store.scan(DEAD_LETTER.prefix(space_id, slot))
    numbers = [chunk for entry in entries if (chunk := DEAD_LETTER.last(entry.key)) is not None]
    letters = process.store.map(
        lambda number: digest_progress.readable(process, DEAD_LETTER.key(space_id, slot, number), DeadLetter, missing),
        numbers,
    )
    return {number: dead for number, dead in zip(numbers, letters, strict=True) if dead}


def _readable(process: Process, space_id: str, slot: str) -> Digest:
    """The digest without its given-up chunks. Raises NotFound."""
    missing: list[str] = []
    done = digest_progress.readable(process, DIGEST_DONE.key(space_id, slot), DigestDone, missing)
    if done:
        return Digest(slot, "done", done, messages=done.messages, chunks=done.chunks, settled=done.chunks)
    if missing:
        return Digest(slot, "done", missing=missing)
    current = current_digest.find(process, space_id).value
    if slot == current.ordered:
        return Digest(slot, "queued")
    source = digest_progress.readable(process, DIGEST_INPUT.key(space_id, slot), Input, missing)
    progress = digest_progress.look(process, space_id, slot)
    job = current if slot == current.open_slot else None
    if not (job or source or missing or progress != ChunkProgress()):
        raise NotFound("digest", slot)
    return Digest(
        slot,
        job.status if job else "queued",
        error=job.error.code if job and job.error and job.status == "queued" else None,
        messages=len(source.names()) if source else 0,
        chunks=len(source.chunks) if source else 0,
        settled=len(progress.stored | progress.dead),
        missing=missing,
    )


def hours_since_done(process: Process, space_id: str) -> float | None:
    """Hours that messages of the space wait for a digest, at most since the last digest ended; None if none wait.

    1 LIST, and if some wait 1 LIST and 1 GET.
    """
    waits = digest_input.waits_since(process, space_id)
    if waits is None:
        return None
    last = _last_end(process, space_id)
    since = max(waits, last or datetime.min.replace(tzinfo=UTC))
    return max(0.0, (process.clock() - since).total_seconds() / 3_600)


def _last_end(process: Process, space_id: str) -> datetime | None:
    """When the last digest ended; None without one."""
    slots = sorted(slot for slot in process.store.folders(IN_DIGEST.prefix(space_id)) if keys.SLOT.fullmatch(slot))
    for slot in reversed(slots):
        done = digest_progress.readable(process, DIGEST_DONE.key(space_id, slot), DigestDone)
        if done:
            return clock.parse(done.ended_at)
    return None


def of_digest(space_id: str, digest: Digest) -> Description:
    """The digest as a job. Its subject is its slot."""
    done = digest.done
    return Description(
        space_id=space_id,
        kind="digest",
        name=digest.slot,
        status=digest.status,
        created_at=clock.iso(keys.slot_moment(digest.slot)),
        subject=digest.slot,
        progress=Progress(done=digest.settled, total=digest.chunks),
        usage=done.usage if done else Usage(),
        error=Failure(code=digest.error, detail=WAITS) if digest.error else None,
        started_at=done.started_at if done else None,
        ended_at=done.ended_at if done else None,
        result=digest,
    )


def described(process: Process, _: Principal, space_id: str, name: str) -> Description:
    """The digest as a job, with the requests of `load`. Raises InvalidName, NotFound."""
    return of_digest(space_id, load(process, space_id, name))


def item(process: Process, _: Principal, space_id: str, name: str) -> Description:
    """The digest as a list shows it, without its given-up chunks: 1 GET; 2 GETs and 1 LIST more before its end."""
    keys.check_slot(name)
    return of_digest(space_id, _readable(process, space_id, name))


def listing(process: Process, _: Principal, space_id: str, __: int | None) -> Iterable[tuple[int, str]]:
    """The digests of a space, the newest first: 1 GET, 1 LIST per 1,000."""
    current = current_digest.find(process, space_id).value
    slots = {*process.store.folders(IN_DIGEST.prefix(space_id)), current.ordered or "", current.open_slot or ""}
    return sorted(((moment, slot) for slot in slots if (moment := _moment(slot)) is not None), reverse=True)


def _moment(slot: str) -> int | None:
    # A slot that was not ordered, or a folder that is none.
    try:
        return int(keys.slot_moment(slot).timestamp()) * 1_000
    except InvalidName:
        return None
