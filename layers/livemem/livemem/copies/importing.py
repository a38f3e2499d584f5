"""Importing an archive that was uploaded into a new space: one of ours, or a folder of Markdown files.

The worker reads it twice. First it checks all of it and writes nothing. Then it writes the objects of exactly that
version of the upload to a space that nobody sees yet (new_space.py).

The space that a folder makes depends on the job in its head and on the files alone. So a worker that continues the
import writes the same bytes.
"""

import logging
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import md5

from livemem import clock, limits
from livemem.access.principal import Principal
from livemem.bank import files as bank_files
from livemem.bank import paths
from livemem.changes import provenance
from livemem.changes.bank_warnings import BankWarning
from livemem.changes.records import FileChange, Record
from livemem.copies import export, inspection, new_space, restore, unpacking
from livemem.copies.inspection import ArchivedSpace, Contents
from livemem.copies.new_space import Provisioned, SpaceCopy
from livemem.copies.relabel import Names, follows, relabel
from livemem.copies.unpacking import refused
from livemem.errors import (
    FieldError,
    InvalidArchive,
    InvalidRequest,
    NotFound,
    OutOfTime,
    StoreUnavailable,
    TooLarge,
)
from livemem.markdown import front_matter
from livemem.memories import state as states
from livemem.memories.operation import Operation
from livemem.memories.replay import Replay
from livemem.memories.state import State
from livemem.process import Process
from livemem.spaces import caps, rules
from livemem.spaces.head import Head, Meta
from livemem.spaces.head_fields import ProvisioningState
from livemem.store import copying, keys, large, presigned, stored
from livemem.store.bucket import (
    BANK_FILE,
    BANK_KEEP,
    IN_SPACE,
    LIVE_KEEP,
    MEMORY_SNAPSHOT,
    OPERATION,
    RECORD,
    RULES,
    UPLOAD,
    USER_SIGNALS,
    OperationKey,
)
from livemem.store.keys import MemoryKind
from livemem.store.large import Stream
from livemem.store.objects import Entry
from livemem.text.redaction import when

logger = logging.getLogger(__name__)

MARGIN = timedelta(seconds=5)
"""Time that must be left for the rest."""
CHECKED_AT_ONCE = 64 << 20
"""Most bytes of an upload that is checked before the answer. A larger one takes longer than a request may."""
TOO_LARGE_TO_SEND = "Upload a larger archive to the URL of an upload: `livemem import` does it."
WINDOW_BYTES = 8 << 20
WINDOW_OBJECTS = 500
"""Objects that are written in parallel."""
FILES = 1_000
REASON = "Imported."
_IGNORED = (".DS_Store", "Thumbs.db", ".keep", ".gitkeep")


@dataclass(frozen=True)
class Folder:
    """The bank that the files make, by path, and warnings about changed texts and names, in sentences."""

    texts: Mapping[str, str]
    warnings: list[str]


@dataclass(frozen=True)
class Upload:
    """The place for an archive: `url` takes it by PUT until `expires_at`, if it has the announced size."""

    upload_id: str
    url: str
    expires_at: str


def begin_upload(process: Process, principal: Principal, size: int, content: bytes | None = None) -> Upload:
    """A place for an archive of exactly `size` bytes, kept for a day: 1 GET and 1 PUT to count it. A small archive may
    come with the request as `content`: 1 PUT more, and nothing is left to upload.

    Raises TooLarge above 1 GiB, and for `content` above SENT_ARCHIVE_BYTES; InvalidRequest, CapReached.
    """
    if size < 1:
        raise InvalidRequest.of("size", "must be at least 1")
    if size > unpacking.ARCHIVE_BYTES:
        raise TooLarge.of("size", size, unpacking.ARCHIVE_BYTES)
    if content is not None and len(content) > limits.SENT_ARCHIVE_BYTES:
        message = f"{len(content)} bytes, but at most {limits.SENT_ARCHIVE_BYTES} are allowed. {TOO_LARGE_TO_SEND}"
        raise TooLarge(f"content: {message}", fields=[FieldError("content", message)])
    if content is not None and len(content) != size:
        raise InvalidRequest.of("content", f"has {len(content)} bytes, but `size` says {size}")
    with caps.beginning_upload(process, principal):
        upload_id = process.new_id()
        if content is not None:
            process.store.put(UPLOAD.key(upload_id), content, content_type=export.GZIP)
        expires_at = clock.iso(process.clock() + timedelta(seconds=presigned.SECONDS))
        return Upload(upload_id, presigned.put_url(process.store, UPLOAD.key(upload_id), size), expires_at)


def order(process: Process, principal: Principal, copy: SpaceCopy, deadline: datetime) -> Head:
    """Check the archive and claim the space for what `provision` then writes: 1 HEAD, 1 GET, and the requests of
    new_space.begin. If the archive is too large to be checked now, the worker checks it before it writes any of it, and
    the job shows a failure.

    Raises InvalidName, InvalidRequest, NotFound (no such upload), TooLarge, InvalidArchive, SpaceExists, Conflict,
    Forbidden.
    """
    keys.check_space_id(copy.target)
    entries = process.store.map(lambda upload_id: _upload(process, upload_id), copy.upload_ids)
    _check_options(copy)
    on = process.settings.redact_secrets
    copy = replace(copy, description=when(on, copy.description), rules=when(on, copy.rules))
    uploads = {upload_id: entry.etag for upload_id, entry in zip(copy.upload_ids, entries, strict=True)}
    size = sum(entry.size for entry in entries)
    source = None
    if size <= CHECKED_AT_ONCE:
        try:
            checked = _checked(_inspect(process, uploads, deadline), copy.options())
            source = checked.space_id if isinstance(checked, ArchivedSpace) else None
        except OutOfTime:
            logger.info("archive is checked later", extra={"bytes": size})
    first, *more = uploads.items()
    provisioning = ProvisioningState(
        provisioning_id=process.new_id(),
        kind="import",
        space_id=source,
        upload_id=first[0],
        upload_etag=first[1],
        more_uploads=dict(more),
        requested_by=principal.name,
        options=copy.options(),
        started_at=clock.iso(process.clock()),
    )
    return new_space.begin(process, principal, copy.target, provisioning)


def _upload(process: Process, upload_id: str) -> Entry:
    """The uploaded archive: 1 HEAD. Raises NotFound, TooLarge."""
    result = copying.look(process.store, UPLOAD.key(upload_id))
    if not result:
        raise NotFound("upload", upload_id)
    if result.size > unpacking.ARCHIVE_BYTES:
        raise TooLarge.of("archive", result.size, unpacking.ARCHIVE_BYTES)
    return result


def _check_options(copy: SpaceCopy) -> None:
    limits.check_text("description", copy.description or "", limits.DESCRIPTION_BYTES, blank=True)
    rules.chosen(copy.rules, copy.rules_template)


def provision(process: Process, head: Head, deadline: datetime) -> Provisioned:
    """Check the archives, and write their objects into the space. Objects that the space holds already are not written
    again.

    2 GET for each archive, ceil(A/1000) LIST for A objects and 1 PUT each, and 1 PUT for each kind of memories. Raises
    NotFound, InvalidArchive, TooLarge, InvalidRequest, OutOfTime before the end of an archive; the next invocation
    continues.
    """
    provisioning = head.meta.provisioning
    assert provisioning
    checked = _checked(_inspect(process, provisioning.uploads(), deadline), provisioning.options)
    if not isinstance(checked, ArchivedSpace):
        return _provision_folder(process, head, checked)
    _provision_space(process, head, checked, deadline)
    return _provisioned(head, provisioning, checked)


def end(process: Process, provisioning: ProvisioningState | None) -> None:
    """Remove the uploads of a finished import: 1 DELETE each. If that fails, an upload expires after a day."""
    for upload_id in provisioning.uploads() if provisioning else ():
        with suppress(StoreUnavailable):
            process.store.delete(UPLOAD.key(upload_id))


@contextmanager
def _opened(process: Process, upload_id: str, etag: str | None) -> Iterator[Stream]:
    with ExitStack() as stack:
        # Not to be taken for a lost race about the space.
        with stored.race(lost=InvalidArchive("The upload was replaced after it was checked. Start the import again.")):
            stream = stack.enter_context(large.read(process.store, UPLOAD.key(upload_id), etag=etag))
        if not stream:
            raise NotFound("upload", upload_id)
        if stream.size > unpacking.ARCHIVE_BYTES:
            raise TooLarge.of("archive", stream.size, unpacking.ARCHIVE_BYTES)
        yield stream


def _timer(process: Process, deadline: datetime) -> Callable[[], None]:
    def check() -> None:
        if deadline - process.clock() < MARGIN:
            raise OutOfTime("There is no time left.")

    return check


def _inspect(process: Process, uploads: Mapping[str, str | None], deadline: datetime) -> Contents:
    contents = Contents()
    for upload_id, etag in uploads.items():
        with _opened(process, upload_id, etag) as stream:
            inspection.inspect(contents, stream.chunks, _timer(process, deadline))
    return contents


def _checked(contents: Contents, options: Mapping[str, str]) -> ArchivedSpace | Folder:
    if not contents.is_space():
        return check_folder(contents)
    space = inspection.check_space(contents)
    for name in ("rules", "rules_template"):
        if name in options:
            raise InvalidRequest.of(
                name, "is allowed only for a folder of Markdown files: an exported space has its own"
            )
    return space


@dataclass(frozen=True)
class _Object:
    name: str
    body: bytes


def _provision_space(process: Process, head: Head, space: ArchivedSpace, deadline: datetime) -> None:
    assert head.meta.provisioning
    names = Names(space.space_id, head.meta.space_id, head.meta.uid)
    prefix = IN_SPACE.prefix(names.target)
    entries = {entry.key.removeprefix(prefix): entry for entry in process.store.scan(prefix)}
    replays: dict[MemoryKind, Replay] = defaultdict(Replay)
    for upload_id, etag in head.meta.provisioning.uploads().items():
        with _opened(process, upload_id, etag) as stream:
            for window in _windows(space, stream, _timer(process, deadline)):
                process.store.map(lambda item: _write(process, space, item, names, entries.get(item.name)), window)
                for kind, logged in _logged(window).items():
                    replays[kind].add(logged)
    for kind, replay in replays.items():
        _keep_snapshot(process, names.target, kind, replay.state)
    for user, user_signal in space.documents.user_signals().items():
        restore.write(process, USER_SIGNALS.key(names.target, user), user_signal.to_bytes())


def _logged(window: Sequence[_Object]) -> Mapping[MemoryKind, Sequence[Operation]]:
    """The operations on memories among these objects, by kind."""
    found: dict[MemoryKind, list[Operation]] = defaultdict(list)
    for item in window:
        if parsed := OPERATION.parse_as(OperationKey, f"x/{item.name}"):
            found[parsed.kind].append(Operation.from_bytes(item.body))
    return found


def _keep_snapshot(process: Process, space_id: str, kind: MemoryKind, state: State) -> None:
    """Write what the log makes, in the place of the archive's own snapshots: 1 PUT. Readers then need neither a long
    log nor the vectors of its operations, which may be anything.
    """
    if state.number:
        key = MEMORY_SNAPSHOT.key(space_id, kind, state.number)
        restore.write(process, key, states.to_snapshot(state).to_bytes())


def _windows(space: ArchivedSpace, stream: Stream, check: Callable[[], None]) -> Iterator[list[_Object]]:
    """The space's objects in groups that are written at once."""
    window: list[_Object] = []
    size = 0
    for member in unpacking.files(stream.chunks, check):
        name = member.path.partition("/")[2]
        if not space.takes(name):
            continue
        if window and (size + member.size > WINDOW_BYTES or len(window) == WINDOW_OBJECTS):
            yield window
            window, size = [], 0
        window.append(_Object(name, b"".join(member.content)))
        size += member.size
    if window:
        yield window


def _write(process: Process, space: ArchivedSpace, item: _Object, names: Names, entry: Entry | None) -> None:
    body = relabel(item.name, item.body, names) if follows(item.name, names) else item.body
    if entry and entry.size == len(body) and entry.etag == f'"{md5(body, usedforsecurity=False).hexdigest()}"':
        return
    restore.write(process, IN_SPACE.prefix(names.target) + item.name, body, space.objects[item.name].metadata or None)


def _provisioned(head: Head, provisioning: ProvisioningState, space: ArchivedSpace) -> Provisioned:
    meta = space.meta.model_copy(
        update={
            "space_id": head.meta.space_id,
            "uid": head.meta.uid,
            "description": provisioning.options.get("description", space.meta.description),
            # What these two leave out nobody looks at any more, so they say no more than the objects show.
            "runs_seen": _up_to(space.meta.runs_seen, provisioning.started_at),
            "folded_until": max(space.meta.folded_until or "", space.documents.folded_until),
        }
    )
    return Provisioned(meta, sum(space.takes(name) for name in space.objects) + 1)


def _up_to(run_id: str | None, moment: str) -> str | None:
    """The id of the run, None for one that is of a later time."""
    latest = keys.run_moment(int(clock.parse(moment).timestamp() * 1_000))
    return run_id if run_id and run_id <= latest else None


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


def _provision_folder(process: Process, head: Head, folder: Folder) -> Provisioned:
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
