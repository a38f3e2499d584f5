"""The bank: the Markdown files that agents load, and the synthesis beside them."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from livemem import clock, front_matter, keys, paths, records, spaces
from livemem.errors import NotFound
from livemem.planning import BankFile
from livemem.store import Entry, Object, Store


@dataclass(frozen=True)
class File:
    """A bank file; `size` in bytes, `consolidation` the number of the last change that wrote it, if known."""

    path: str
    size: int
    last_modified: str
    content: str | None = None
    consolidation: int | None = None


@dataclass(frozen=True)
class Synthesis:
    """The synthesis of the last consolidation and what its front matter says."""

    consolidated_at: str | None
    consolidation_number: int | None
    notes_processed: int | None
    content: str


def listing(store: Store, space_id: str, *, content: bool = False) -> list[File]:
    """All files in the order of their paths: 1 LIST, and with `content` 1 GET each. Raises NotFound."""
    spaces.load_recent(store, space_id)
    entries = spaces.bank_files(store, space_id)
    if not content:
        return [from_entry(entry) for entry in entries]
    found = store.get_many([entry.key for entry in entries])
    return [_with_content(item) for item in found if item]


def read(store: Store, space_id: str, path: str) -> File:
    """One file as it is now: 1 GET. Raises InvalidName, NotFound."""
    found = _find(store, space_id, path)
    if not found:
        raise NotFound("bank file", path)
    return _with_content(found)


def read_at(store: Store, space_id: str, path: str, number: int) -> File:
    """One file as it stood after consolidation `number`, from the records; `last_modified` is that moment.

    Raises InvalidName, NotFound (no such consolidation, or the file did not exist then).
    """
    check_path(path)
    listed = records.names(store, space_id)
    then = next((name for name in listed if name.number == number), None)
    if not then:
        raise NotFound("consolidation", str(number))
    moment = records.read(store, space_id, then).committed_at
    # The first later change of the file knows what was before it; without one the file still is as it was.
    later = [name for name in listed if name.number > number]
    for start in range(0, len(later), records.AT_ONCE):
        for record in records.read_many(store, space_id, later[start : start + records.AT_ONCE]):
            change = next((change for change in record.files if change.path == path), None)
            if change and not change.before:
                raise NotFound("bank file", path)
            if change and change.before:
                return File(path, len(change.before.content.encode()), moment, change.before.content, number)
    found = read(store, space_id, path)
    return File(path, found.size, moment, found.content, number)


def check_path(path: str) -> str:
    """Return the path of a bank file, or raise InvalidName."""
    try:
        paths.check_bank_path(path)
    except paths.BankPathError as error:
        raise keys.InvalidName("path", str(error)) from None
    return path


def read_synthesis(store: Store, space_id: str) -> Synthesis:
    """The synthesis; raises NotFound if there was no consolidation yet."""
    spaces.load_recent(store, space_id)
    found = store.get(keys.synthesis(space_id))
    if not found:
        raise NotFound("synthesis", space_id)
    return parse_synthesis(found.body.decode(errors="replace"))


def parse_synthesis(text: str) -> Synthesis:
    """The synthesis in the text of `_synthesis.md`; without readable front matter all of it is content."""
    fields: dict[str, Any] = {}
    content = text
    with suppress(ValueError):
        fields, content = front_matter.read(text)
    number, processed = fields.get("consolidation_number"), fields.get("notes_processed")
    return Synthesis(
        consolidated_at=str(fields["consolidated_at"]) if "consolidated_at" in fields else None,
        consolidation_number=number if isinstance(number, int) else None,
        notes_processed=processed if isinstance(processed, int) else None,
        content=content.strip(),
    )


def format_synthesis(content: str, *, consolidated_at: str, number: int, notes_processed: int) -> str:
    """The text of `_synthesis.md`."""
    return (
        f'---\nconsolidated_at: "{consolidated_at}"\nconsolidation_number: {number}\n'
        f"notes_processed: {notes_processed}\n---\n\n{content.strip()}\n"
    )


def load_files(store: Store, space_id: str, entries: list[Entry]) -> list[BankFile]:
    """The listed files with content and ETag, for a change of the bank."""
    found = store.get_many([entry.key for entry in entries])
    return [
        BankFile(item.key.removeprefix(keys.bank_prefix(space_id)), item.body.decode(errors="replace"), item.etag)
        for item in found
        if item
    ]


def find_file(store: Store, space_id: str, path: str) -> BankFile | None:
    """One file with content and ETag, or None."""
    found = _find(store, space_id, path)
    return BankFile(path, found.body.decode(errors="replace"), found.etag) if found else None


def _find(store: Store, space_id: str, path: str) -> Object | None:
    spaces.load_recent(store, space_id)
    return store.get(keys.bank_file(space_id, check_path(path)))


def from_entry(entry: Entry) -> File:
    """A file as a listing shows it, without its content."""
    parsed = keys.parse_bank_file(entry.key)
    assert parsed
    return File(parsed[1], entry.size, clock.iso(entry.last_modified))


def _with_content(item: Object) -> File:
    parsed = keys.parse_bank_file(item.key)
    assert parsed
    number = item.metadata.get("consolidation", "")
    return File(
        parsed[1],
        len(item.body),
        clock.iso(item.last_modified),
        item.body.decode(errors="replace"),
        int(number) if number.isdecimal() else None,
    )
