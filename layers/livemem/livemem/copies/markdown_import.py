"""A folder of Markdown files, such as other tools keep as a memory bank, becomes a space of its own.

The space's contents depend on the job in its head and on the files alone. So a worker that continues the import writes
the same bytes.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from livemem import limits
from livemem.bank import files as bank_files
from livemem.bank import paths
from livemem.changes import provenance
from livemem.changes.bank_warnings import BankWarning
from livemem.changes.records import FileChange, Record
from livemem.copies import inspection, restore, unpacking
from livemem.copies.inspection import Contents
from livemem.copies.new_space import Provisioned
from livemem.copies.unpacking import refused
from livemem.errors import InvalidArchive, TooLarge
from livemem.markdown import front_matter
from livemem.process import Process
from livemem.spaces import rules
from livemem.spaces.head import Head, Meta
from livemem.spaces.head_fields import ProvisioningState
from livemem.store.bucket import BANK_FILE, BANK_KEEP, LIVE_KEEP, RECORD, RULES

FILES = 1_000
REASON = "Imported."
_IGNORED = (".DS_Store", "Thumbs.db", ".keep", ".gitkeep")


@dataclass(frozen=True)
class Folder:
    """The bank that the files make, by path, and warnings about changed texts and names, in sentences."""

    texts: Mapping[str, str]
    warnings: list[str]


def check_folder(contents: Contents) -> Folder:
    """The bank that an archive of Markdown files makes. Raises InvalidArchive, TooLarge, which name the member."""
    paths = [path for path in contents.files if not _is_ignored(path)]
    if not any(path.endswith(".md") for path in paths):
        raise InvalidArchive(inspection.NONE)
    for path in paths:
        if not path.endswith(".md"):
            raise refused(path, "is not a Markdown file (.md): remove it from the archive")
    if len(paths) > FILES:
        raise TooLarge.of("archive", len(paths), FILES, "Markdown files")
    if contents.text_bytes > inspection.TEXT_BYTES:
        raise TooLarge.of("archive", contents.text_bytes, inspection.TEXT_BYTES)
    tops = {path.partition("/")[0] for path in paths}
    top = f"{tops.pop()}/" if len(tops) == 1 and all("/" in path for path in paths) else ""
    texts: dict[str, str] = {}
    sources: dict[str, str] = {}
    warnings: list[str] = []
    for path in sorted(paths):
        name = _name(path, path.removeprefix(top))
        if name in sources:
            raise refused(path, f"would have the same name in the bank as {unpacking.shown(sources[name])}")
        sources[name] = path
        text = _text(path, name, contents, warnings)
        if text.strip():
            texts[name] = text
        else:
            warnings.append(f"{name} was left out: it is empty.")
    if not texts:
        raise InvalidArchive("All Markdown files of the archive are empty.")
    return Folder(texts, warnings)


def _is_ignored(path: str) -> bool:
    """Whether it is a file that an operating system leaves in folders."""
    parts = path.split("/")
    return "__MACOSX" in parts or parts[-1] in _IGNORED or parts[-1].startswith("._")


def _name(path: str, proposed: str) -> str:
    try:
        return paths.normalise_bank_path(proposed)
    except paths.BankPathError as error:
        raise refused(path, f"can't be a bank file: {error.detail}") from None


def _text(path: str, name: str, contents: Contents, warnings: list[str]) -> str:
    size, _ = contents.files[path]
    if size > limits.BANK_FILE_BYTES:
        raise inspection.too_large(path, size, limits.BANK_FILE_BYTES)
    try:
        text = contents.texts[path].decode()
    except UnicodeDecodeError:
        raise refused(path, "is not UTF-8") from None
    if text.lstrip("\ufeff").startswith("---"):
        try:
            _, text = front_matter.read(text.removeprefix("\ufeff"))
            warnings.append(f"The front matter of {name} was left out: bank files are plain Markdown.")
        except ValueError:
            # Then it begins with a line, or the next check refuses it.
            pass
    problem = bank_files.content_problem(text)
    if problem:
        raise refused(path, f"can't be a bank file: it {problem}")
    return text


def provision(process: Process, head: Head, folder: Folder) -> Provisioned:
    """Write the space that the files make: rules, bank, and one record of a change by hand. 1 PUT each."""
    provisioning = head.meta.provisioning
    assert provisioning
    space_id = head.meta.space_id
    record = _record(process, head, provisioning, folder)
    objects: dict[str, tuple[bytes, Mapping[str, str] | None]] = {
        RULES.key(space_id): (_rules(provisioning).encode(), None),
        LIVE_KEEP.key(space_id): (b"", None),
        BANK_KEEP.key(space_id): (b"", None),
        RECORD.key(space_id, record.name()): (record.to_bytes(), None),
    }
    for path, text in folder.texts.items():
        objects[BANK_FILE.key(space_id, path)] = (text.encode(), record.metadata())
    bank_chars, length = process.settings.bank_chars, sum(map(len, folder.texts.values()))
    process.store.map(lambda item: restore.write(process, item[0], *item[1]), list(objects.items()))
    meta = Meta(
        space_id=space_id,
        description=provisioning.options.get("description", ""),
        owner=None,
        created_at=provisioning.started_at,
        uid=head.meta.uid,
        consolidation_threshold=process.settings.consolidation_threshold,
        # A longer bank is somebody's work. It is not shortened unless somebody asks for that.
        bank_chars=bank_chars if length <= bank_chars else 0,
        bank_length=length,
        changes=record.number,
        last_run=record.run_id,
        folded_until="",
        undone=[],
    )
    return Provisioned(meta, len(objects) + 1)


def _rules(provisioning: ProvisioningState) -> str:
    chosen = rules.chosen(provisioning.options.get("rules"), provisioning.options.get("rules_template"))
    return rules.template(rules.DEFAULT_TEMPLATE) if chosen is None else chosen


def _record(process: Process, head: Head, provisioning: ProvisioningState, folder: Folder) -> Record:
    changes = [
        FileChange(path=path, action="created", before=None, after=text, reason=REASON)
        for path, text in folder.texts.items()
    ]
    record = Record(
        number=1,
        run_id=provisioning.provisioning_id,
        uid=head.meta.uid,
        kind="manual",
        trigger="api",
        started_at=provisioning.started_at,
        committed_at=provisioning.started_at,
        author=provisioning.requested_by,
        files=changes,
        warnings=[BankWarning(kind="import", text=text) for text in folder.warnings],
    )
    return provenance.with_sources(process, head.meta.space_id, record)
