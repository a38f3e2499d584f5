"""Receipts of erasures, `_erasures/{id}.json`: what was erased, when and where, and what could not be reached.

A receipt holds no word and no tag of a note or a memory. It is there before anything is erased, and says `done` only
when all is.
"""

from livemem.errors import NotFound
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.spaces import unreadable
from livemem.spaces.receipt import Receipt
from livemem.store import keys, stored
from livemem.store.stored import Stored

NOT_REACHED = (
    "What the LLM provider keeps of prompts and answers.",
    "Archives that were downloaded, and archives that were uploaded to be imported (those are removed after a day).",
    "Copies of the bucket: replicas, and backups that were made of it without this service.",
    "Other spaces that were restored, forked or imported from this one: erase it there as well.",
    "What a model said in other words: the sections that rest on the note are listed, correct them.",
    "Notes and memories of others that quote it: they are listed, erase them as well if need be.",
)
TOOLS = "What tools were given and gave in the turn is removed with it, and was not looked for elsewhere."
VERSIONS_UNREACHABLE = "Former versions of objects: the store does not let the service see or remove them."


def create(process: Process, receipt: Receipt) -> Stored[Receipt]:
    """Write a new receipt: 1 PUT. Raises PreconditionLost."""
    return stored.create(process.store, keys.erasure(receipt.space_id, receipt.erasure_id), receipt, process.new_id)


def save(process: Process, saved: Stored[Receipt], **changes: object) -> Stored[Receipt]:
    """Write `changes` over exactly the receipt that was read: 1 PUT. Raises PreconditionLost."""
    return stored.swap(process.store, saved, saved.value.model_copy(update=changes), process.new_id)


def find(process: Process, space_id: str, erasure_id: str, missing: list[str] | None = None) -> Stored[Receipt] | None:
    """The receipt, or None: 1 GET. One that is another space's is none, nor is one that cannot be read, whose key is
    added to `missing`.
    """
    found = process.store.get(keys.erasure(space_id, erasure_id))
    receipt = unreadable.tolerated(process, Receipt, found, missing) if found else None
    if not found or not receipt or (receipt.space_id, receipt.erasure_id) != (space_id, erasure_id):
        return None
    return stored.of(found, lambda _: receipt)


def find_readable(process: Process, space_id: str, erasure_id: str) -> Stored[Receipt] | None:
    """The same, but raises ObjectUnreadable for one that cannot be read."""
    missing: list[str] = []
    saved = find(process, space_id, erasure_id, missing)
    if missing:
        raise unreadable.error(missing[0])
    return saved


def view(process: Process, space_id: str, erasure_id: str) -> Receipt:
    """One receipt: 2 GET. Raises InvalidName, NotFound, ObjectUnreadable."""
    keys.check_ulid("erasure_id", erasure_id)
    at_work = heads.load(process, space_id).meta.erasing_now()
    saved = find_readable(process, space_id, erasure_id)
    if not saved or not _began(saved.value, at_work):
        raise NotFound("erasure", erasure_id)
    return saved.value


def page(
    process: Process, space_id: str, *, limit: int, before: str | None = None, missing: list[str] | None = None
) -> tuple[list[Receipt], str | None]:
    """The space's receipts, newest first, those before the id `before`, and the id to go on before, or None. One that
    cannot be read is left out, and its key is added to `missing`.

    1 LIST per 1,000 receipts, 1 GET and 1 more for each that is shown. Raises InvalidName, NotFound.
    """
    if before is not None:
        keys.check_ulid("before", before)
    at_work = heads.load(process, space_id).meta.erasing_now()
    prefix = keys.erasures_prefix(space_id)
    names = [entry.key.removeprefix(prefix).removesuffix(".json") for entry in process.store.scan(prefix)]
    ids = [name for name in reversed(names) if keys.RUN_ID.fullmatch(name) and (before is None or name < before)]
    shown = ids[:limit]
    found = process.store.map(lambda erasure_id: find(process, space_id, erasure_id, missing), shown)
    visible = [saved.value for saved in found if saved and _began(saved.value, at_work)]
    return visible, shown[-1] if len(ids) > limit else None


def _began(receipt: Receipt, at_work: str | None) -> bool:
    """Whether it is done or will be: one whose beginning failed was never heard of, and nothing was erased for it."""
    return receipt.status == "done" or receipt.erasure_id == at_work
