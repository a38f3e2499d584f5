"""The bank: the Markdown files that agents load."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from livemem import clock, limits
from livemem.access.principal import Principal
from livemem.bank import paths
from livemem.changes import records
from livemem.errors import Forbidden, InvalidName, NotFound
from livemem.process import Process
from livemem.spaces import contents
from livemem.spaces import head as heads
from livemem.spaces.head import Meta
from livemem.store.bucket import BANK_FILE
from livemem.store.objects import Entry, Object

SETTLED = timedelta(seconds=2)
"""Age from which a file's time, in whole seconds, distinguishes it from every later version. A file may get earlier
bytes again, and thus an earlier ETag, with another change named in its metadata.
"""


@dataclass(frozen=True)
class BankFile:
    """A bank file as it was read for a change, with the ETag that its replacement is conditional on.

    `record` names the record of the change that wrote it (records.written_by).
    """

    path: str
    content: str
    etag: str
    record: str | None = None
    number: int | None = None
    """That change's number."""


@dataclass(frozen=True)
class File:
    """A bank file. `size` in bytes. `consolidation`: the number of the last change that wrote it, if known."""

    path: str
    size: int
    last_modified: str
    content: str | None = None
    consolidation: int | None = None
    record: str | None = None
    """The record of that change (records.written_by)."""
    etag: str = ""
    """Set for a file that was read with its content."""


def listing(process: Process, space_id: str, *, content: bool = False) -> list[File]:
    """All files in the order of their paths: 1 LIST. With `content` also 1 GET for each file not seen before. Raises
    NotFound.
    """
    heads.load_recent(process, space_id)
    entries = contents.bank_files(process, space_id)
    if not content:
        return [from_entry(entry) for entry in entries]
    return with_content(process, entries)


def with_content(process: Process, entries: Sequence[Entry]) -> list[File]:
    """The just listed files with their contents, without those that are gone by now: 1 GET, in parallel, for each whose
    listed version this process has not read yet.
    """
    bank_files = process.store.map(lambda entry: _listed(process, entry), entries)
    return [_with_content(item) for item in bank_files if item]


def _listed(process: Process, entry: Entry) -> Object | None:
    version = f"{entry.etag} {clock.iso(entry.last_modified)}"
    cached = process.reads.get(Object, entry.key, version)
    if cached:
        return cached
    item = process.store.get(entry.key)
    same = item and item.etag == entry.etag and clock.iso(item.last_modified) == clock.iso(entry.last_modified)
    if item and same and item.age >= SETTLED:
        process.reads.put(entry.key, version, item, [item.body])
    return item


def read(process: Process, space_id: str, path: str) -> File:
    """One file as it is now: 1 GET. Raises InvalidName, NotFound."""
    item = _find(process, space_id, path)
    if not item:
        raise NotFound("bank file", path)
    return _with_content(item)


def content_problem(content: str) -> str | None:
    """Why no bank file may have this content, or None."""
    try:
        size = len(content.encode())
    except UnicodeEncodeError:
        return "holds half a surrogate pair"
    if size > limits.BANK_FILE_BYTES:
        return f"{size} bytes, but at most {limits.BANK_FILE_BYTES} are allowed"
    if "\0" in content:
        return "holds a NUL character"
    if content.lstrip("\ufeff").split("\n", 1)[0].rstrip() == "---":
        return "begins with `---`; bank files are plain Markdown without front matter"
    return None


def check_path(path: str) -> str:
    """Return the path of a bank file, or raise InvalidName."""
    try:
        paths.check_bank_path(path)
    except paths.BankPathError as error:
        raise InvalidName("path", str(error)) from None
    return path


def load_files(process: Process, space_id: str, entries: list[Entry]) -> list[BankFile]:
    """The listed files with content and ETag, for a change of the bank."""
    items = process.store.get_many([entry.key for entry in entries])
    return [_for_change(item.key.removeprefix(BANK_FILE.prefix(space_id)), item) for item in items if item]


def find_file(process: Process, space_id: str, path: str) -> BankFile | None:
    """One file with content and ETag, or None."""
    item = _find(process, space_id, path)
    return _for_change(path, item) if item else None


def _for_change(path: str, item: Object) -> BankFile:
    return BankFile(path, item.body.decode(errors="replace"), item.etag, records.written_by(item), _number(item))


def _find(process: Process, space_id: str, path: str) -> Object | None:
    heads.load_recent(process, space_id)
    return process.store.get(BANK_FILE.key(space_id, check_path(path)))


def from_entry(entry: Entry) -> File:
    """A file as a listing shows it, without its content."""
    parsed = BANK_FILE.parse(entry.key)
    assert parsed
    return File(parsed[1], entry.size, clock.iso(entry.last_modified))


def _with_content(item: Object) -> File:
    parsed = BANK_FILE.parse(item.key)
    assert parsed
    return File(
        parsed[1],
        len(item.body),
        clock.iso(item.last_modified),
        item.body.decode(errors="replace"),
        _number(item),
        records.written_by(item),
        item.etag,
    )


def _number(item: Object) -> int | None:
    text = item.metadata.get("consolidation", "")
    return int(text) if text.isdecimal() else None


def check_may_correct(principal: Principal, meta: Meta) -> None:
    """Raise Forbidden for a token that may write notes, but not in this space's bank."""
    if meta.corrections not in principal.permissions:
        raise Forbidden(
            "Correcting sections of this bank needs the permission 'admin'. An admin can allow it for 'write' with "
            "the space's `corrections`."
        )
