"""Receipts of erasures, `_erasures/{id}.json`. A receipt says which notes, memories or turns were erased, when and
where, and which places could not be reached.

It holds no word and no tag of a note or a memory. It is there before the head names it and anything is erased, and says
`done` only when all is.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import islice

from livemem import clock
from livemem.access.principal import Principal
from livemem.errors import LiveMemoryError, NotFound
from livemem.jobs import describable
from livemem.jobs import job as jobs
from livemem.jobs.describable import Description
from livemem.jobs.job import Progress
from livemem.jobs.receipt import Receipt
from livemem.process import Process
from livemem.spaces import directory, unreadable
from livemem.spaces import head as heads
from livemem.spaces.head import Meta
from livemem.spaces.head_fields import Erasing
from livemem.store import keys
from livemem.store.bucket import ERASURE, PASSED_ON
from livemem.store.stored import Stored

NOT_REACHED = (
    "Prompts and answers that the LLM provider keeps.",
    "Archives that were downloaded, and archives that were uploaded to be imported (those are removed after a day).",
    "Copies of the bucket: replicas, and backups that were made of it without this service.",
    "Other spaces that were restored, forked or imported from this one, or that pass it on: erase it there as well.",
    "Paraphrases by a model: the sections that rest on the note are listed, correct them.",
    "Notes and memories of others that quote it: they are listed, erase them too if necessary.",
)
TOOLS = "Inputs and results of tools in the turn: they were removed with it, and were not searched for elsewhere."
VERSIONS_UNREACHABLE = "Former versions of objects: the store does not let the service see or remove them."

OTHER_SPACES = 200
"""Spaces whose heads are looked at for one that came from this one."""
OTHER_NOTES = 200
"""Notes of other spaces that a receipt names."""

ID_LISTS = ("note_ids", "memory_ids", "turns", "quoted_in", "removing")
"""The fields of a receipt that may have thousands of ids or keys."""


def due(meta: Meta, now: datetime) -> list[str]:
    """The erasures that a worker has to continue: the one under way, or those whose watch has ended."""
    if not meta.erasing:
        return []
    if meta.erasing.at_work:
        return [meta.erasing.at_work]
    return [erasure_id for erasure_id, until in meta.erasing.watched.items() if now > clock.parse(until)]


def forget(process: Process, space_id: str, erasure_id: str) -> None:
    """Let the head name the erasure no more: 1 GET and 1 PUT. Raises NotFound."""
    heads.update(process, space_id, lambda meta: _without(meta.erasing or Erasing(), erasure_id))


def _without(erasing: Erasing, erasure_id: str) -> dict[str, object]:
    watched = {existing: until for existing, until in erasing.watched.items() if existing != erasure_id}
    at_work = erasing.at_work if erasing.at_work != erasure_id else None
    rest = Erasing(at_work=at_work, watched=watched)
    return {} if rest == erasing else {"erasing": rest if at_work or watched else None}


def find(process: Process, space_id: str, erasure_id: str) -> Stored[Receipt] | None:
    """The receipt, or None: 1 GET. One of another space does not count, nor does one that cannot be read."""
    read = partial(unreadable.tolerated, process, Receipt)
    return jobs.find(process, ERASURE.key(space_id, erasure_id), read, space_id, erasure_id)


def find_readable(process: Process, space_id: str, erasure_id: str) -> Stored[Receipt] | None:
    """The same, but raises ObjectUnreadable for one that cannot be read."""
    read = partial(unreadable.parsed, process, Receipt)
    return jobs.find(process, ERASURE.key(space_id, erasure_id), read, space_id, erasure_id)


def view(process: Process, space_id: str, erasure_id: str, *, recent: bool = False) -> Receipt:
    """One receipt: 2 GET, or 1 as `item`. Raises InvalidName, NotFound, ObjectUnreadable."""
    keys.check_ulid("erasure_id", erasure_id)
    head = heads.load_recent(process, space_id) if recent else heads.load(process, space_id)
    at_work = head.meta.erasing_now()
    saved = find_readable(process, space_id, erasure_id)
    if not saved or not _began(saved.value, at_work):
        raise NotFound("job", erasure_id)
    return saved.value


def _began(receipt: Receipt, at_work: str | None) -> bool:
    """Whether it is done or will be. Where the beginning failed no caller got a receipt, and nothing was erased."""
    return receipt.status == "done" or receipt.job_id == at_work


def with_copies(process: Process, caller: Principal, receipt: Receipt) -> Receipt:
    """The receipt as this caller sees it: once it is done, with the notes that pass on what was erased and the spaces
    that came from this one, of the spaces that the caller may see. The stored receipt names none: backups and exports
    have it. The requests of _passed_on and _copies; none before its end.
    """
    return naming_copies(process, caller, receipt) if receipt.ended() else receipt


def naming_copies(process: Process, caller: Principal, receipt: Receipt) -> Receipt:
    """The same before the end."""
    beyond = (*_passed_on(process, caller, receipt), *_copies(process, caller, receipt.space_id))
    return receipt.changed({"not_reached": [*receipt.not_reached, *beyond]})


def _passed_on(process: Process, caller: Principal, receipt: Receipt) -> Iterable[str]:
    """The notes of other spaces that pass one of the receipt's on, at most 200: 1 LIST per 1,000 such notes of all
    that stand between the first and the last of them.
    """
    if not receipt.ids:
        return ()
    first, last = (PASSED_ON.prefix(receipt.space_id, item) for item in (min(receipt.ids), max(receipt.ids)))
    entries = process.store.scan(PASSED_ON.prefix(receipt.space_id), start_after=first, stop=f"{last}~")
    markers = (PASSED_ON.parse(entry.key) for entry in entries)
    notes = (parsed[1:] for parsed in markers if parsed and parsed[1] in receipt.ids and caller.may_see(parsed[2]))
    return [
        f"The note {copy!r} of the space {other!r} passes {source!r} on: erase it there as well."
        for source, other, copy in islice(notes, OTHER_NOTES)
    ]


def _copies(process: Process, caller: Principal, space_id: str) -> Iterable[str]:
    """The spaces that came from this one: 1 LIST, 1 GET each of up to 200."""
    ids = (other for other in directory.ids(process) if other != space_id and caller.may_see(other))
    results = process.store.map(lambda other: _came_from(process, other), list(islice(ids, OTHER_SPACES)))
    named = [other for other, source in results if source == space_id]
    return [f"The space {other!r} came from this one: erase there as well." for other in named]


def _came_from(process: Process, space_id: str) -> tuple[str, str | None]:
    try:
        head = heads.find_any(process, space_id)
    except LiveMemoryError:
        return space_id, None
    return space_id, head.meta.provisioning.space_id if head and head.meta.provisioning else None


def described(process: Process, caller: Principal, space_id: str, name: str) -> Description:
    """The erasure as a job, with its receipt, for those alone who may `admin`: 2 GET, and what with_copies takes.
    Raises InvalidName, NotFound, ObjectUnreadable.
    """
    found = _described(process, caller, space_id, name, recent=False)
    return replace(found, result=with_copies(process, caller, found.result))


def item(process: Process, caller: Principal, space_id: str, name: str) -> Description:
    """The same as a list shows it, without ids and without copies in other spaces: 1 GET, as the list has just read
    the head.
    """
    found = _described(process, caller, space_id, name, recent=True)
    return replace(found, result=found.result.changed({name: [] for name in ID_LISTS}))


def _described(process: Process, caller: Principal, space_id: str, name: str, *, recent: bool) -> Description:
    if "admin" not in caller.permissions:
        raise NotFound("job", name)
    receipt = view(process, space_id, name, recent=recent)
    number = len(receipt.ids)
    progress = Progress(done=number if receipt.ended() else 0, total=number or None)
    return replace(describable.of_job("erasure", receipt), result=receipt, progress=progress)


def listing(process: Process, caller: Principal, space_id: str, _: int | None) -> Iterable[tuple[int, str]]:
    """The jobs with their moments, the newest first: 1 LIST per 1,000."""
    if "admin" not in caller.permissions:
        return []
    ids = (ERASURE.last(entry.key) for entry in process.store.scan(ERASURE.prefix(space_id)))
    return describable.by_moment(item for item in ids if item)
