"""The check of the contents of archives, a space of ours or Markdown files, in one pass that writes nothing."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import NoReturn

from livemem import limits
from livemem.copies import archive, schema, unpacking
from livemem.copies.archive import ArchivedObject, ArchivePlace
from livemem.copies.schema import ArchivedKind, Documents, Misfit
from livemem.copies.unpacking import Member, refused
from livemem.errors import InvalidArchive, InvalidRequest, LiveMemoryError, TooLarge
from livemem.markdown import front_matter
from livemem.spaces import head as heads
from livemem.spaces.head import Meta
from livemem.store import keys
from livemem.store.bucket import BANK_FILE, NOTE, RECORD, USER_SIGNALS, beyond_log, snapshot_of

OBJECT_BYTES = archive.OBJECT_BYTES
META_BYTES = 1 << 20
MANIFESTS_BYTES = 64 << 20
"""Most bytes of the manifests of all archives of a space together."""
NOTE_BYTES = limits.NOTE_BYTES + 4 * front_matter.HEAD_CHARACTERS
"""Most bytes of a note with its front matter."""
SYNTHESIS_BYTES = limits.SYNTHESIS_BYTES + 4 * front_matter.HEAD_CHARACTERS
MOST_COUNTED = 10**8
"""The highest count that a head may hold, so that there is room to continue it."""
TEXT_BYTES = 16 << 20
"""Most bytes of all Markdown files together that become a bank."""
MEMBERS = 200_000
"""Most files of all archives of a space together: their names and digests are in memory."""

NONE = (
    "The archive holds no space and no Markdown files: upload an export of this service, or a tar.gz of a folder of "
    "Markdown files."
)


@dataclass
class Contents:
    """The files of archives: size and SHA-256 by path, the documents that name and describe the space, and the texts as
    long as they could be Markdown files of a bank.
    """

    files: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    heads: dict[str, bytes] = field(default_factory=dict)
    """`{folder}/_meta.json`, and the last `{folder}/_manifest.json`."""
    manifests: list[bytes] = field(default_factory=list)
    """The manifest of each archive."""
    size: int = 0
    texts: dict[str, bytes] = field(default_factory=dict)
    text_bytes: int = 0
    documents: Documents = field(default_factory=Documents)
    """The documents that are checked if it is a space."""
    misfit: LiveMemoryError | None = None
    """Why one of the documents can't be imported."""

    def is_space(self) -> bool:
        """Whether it claims to be a space. Else it can only be a folder of Markdown files."""
        return bool(self.heads)


@dataclass(frozen=True)
class ArchivedSpace:
    """A space in an archive that agrees with its manifest: all its objects by name."""

    space_id: str
    meta: Meta
    objects: Mapping[str, ArchivedObject]
    documents: Documents

    def takes(self, name: str) -> bool:
        """Whether an import writes the object of this name as the archive has it. Not those that follow from others:
        the import makes them, or leaves them out where they do not follow.
        """
        made = name in (keys.META, keys.MANIFEST) or snapshot_of(f"x/{name}")
        return not (made or USER_SIGNALS.parse(f"x/{name}") or self.documents.is_stray(name))


def inspect(contents: Contents, chunks: Iterator[bytes], check: Callable[[], None]) -> None:
    """Read an archive to its end, and add what it holds. Raises InvalidArchive, TooLarge."""
    for member in unpacking.files(chunks, check):
        _check_bounds(contents, member)
        _take(contents, member)


def _check_bounds(contents: Contents, member: Member) -> None:
    if member.size > OBJECT_BYTES:
        raise too_large(member.path, member.size, OBJECT_BYTES)
    is_manifest = member.path.partition("/")[2] == keys.MANIFEST
    if member.path in contents.files and not is_manifest:
        raise refused(member.path, "is in two of the archives")
    # They are in memory together until the end.
    manifests = member.size + sum(map(len, contents.manifests))
    if is_manifest and manifests > MANIFESTS_BYTES:
        raise too_large(member.path, manifests, MANIFESTS_BYTES)
    contents.size += member.size
    if contents.size > unpacking.UNPACKED_BYTES or len(contents.files) == MEMBERS:
        most = f"{unpacking.UNPACKED_BYTES >> 30} GiB or {MEMBERS} members"
        raise TooLarge(f"The archives have more than {most} together.")


def _take(contents: Contents, member: Member) -> None:
    folder, _, name = member.path.partition("/")
    head = name in (keys.META, keys.MANIFEST)
    if name == keys.META and member.size > META_BYTES:
        raise too_large(member.path, member.size, META_BYTES)
    if head and any(not path.startswith(f"{folder}/") for path in contents.heads):
        raise InvalidArchive(f"The archive holds more than one space; one of them is {unpacking.shown(folder)}.")
    kind = _kind(contents, member, name)
    is_text = not contents.heads and not head and member.path.endswith(".md")
    is_kept = is_text and member.size <= limits.BANK_FILE_BYTES and contents.text_bytes <= TEXT_BYTES
    digest = sha256()
    bodies: list[bytes] = []
    for piece in member.content:
        digest.update(piece)
        if head or is_kept or kind:
            bodies.append(piece)
    contents.files[member.path] = (member.size, digest.digest())
    if kind:
        _take_document(contents, member, b"".join(bodies), kind)
    if head:
        contents.heads[member.path] = b"".join(bodies)
        contents.manifests += [contents.heads[member.path]] if name == keys.MANIFEST else []
        contents.texts.clear()
    elif is_text:
        contents.text_bytes += member.size
        if is_kept:
            contents.texts[member.path] = b"".join(bodies)


def _kind(contents: Contents, member: Member, name: str) -> ArchivedKind | None:
    """The kind of a document that is to be checked. None after a document that can't be imported, and for a too large
    one.
    """
    kind = None if contents.misfit else schema.kind_of(name)
    if kind and member.size > kind.model.most_bytes:
        contents.misfit = too_large(member.path, member.size, kind.model.most_bytes)
        return None
    return kind


def _take_document(contents: Contents, member: Member, body: bytes, kind: ArchivedKind) -> None:
    folder, _, name = member.path.partition("/")
    try:
        contents.documents.take(name, body, kind)
    except Misfit as misfit:
        # Not raised here: in a folder of Markdown files it is no document of ours.
        contents.misfit = _refused(folder, misfit)


def _refused(folder: str, misfit: Misfit) -> InvalidArchive:
    return refused(f"{folder}/{misfit.name}", f"can't be imported: it {misfit}")


def too_large(path: str, size: int, limit: int) -> TooLarge:
    """The error about one member."""
    return TooLarge(f"The member {unpacking.shown(path)} has {size} bytes, but at most {limit} are allowed.")


def check_space(contents: Contents) -> ArchivedSpace:
    """The space that archives hold, if it is complete and unchanged, and all its objects are allowed in a space.

    Raises InvalidArchive, TooLarge, which name the member.
    """
    folders = {path.partition("/")[0] for path in contents.files}
    if len(folders) > 1:
        first, second = sorted(folders)[:2]
        raise InvalidArchive(
            f"The archive holds more than one folder: {unpacking.shown(first)} and {unpacking.shown(second)}."
        )
    (space_id,) = folders
    if not keys.SPACE_ID.fullmatch(space_id):
        raise InvalidArchive(f"The folder {unpacking.shown(space_id)} has a name that is not the id of a space.")
    for name in (keys.META, keys.MANIFEST):
        if f"{space_id}/{name}" not in contents.heads:
            raise InvalidArchive(f"The archive has no {space_id}/{name}.")
    # First of all: a newer layout may have objects of other names and forms.
    _check_layout(space_id, contents)
    objects = _check_manifests(space_id, contents)
    _check_members(contents)
    if contents.misfit:
        raise contents.misfit
    try:
        contents.documents.check()
    except Misfit as misfit:
        raise _refused(space_id, misfit) from None
    meta = _check_meta(space_id, contents, objects)
    return ArchivedSpace(space_id, meta, objects, contents.documents)


def _check_layout(space_id: str, contents: Contents) -> None:
    path = f"{space_id}/{keys.META}"
    try:
        heads.check_layout(heads.layout_of(contents.heads[path]))
    except InvalidRequest as error:
        raise refused(path, f"can't be imported: {error.detail}") from None


def _check_manifests(space_id: str, contents: Contents) -> dict[str, ArchivedObject]:
    path = f"{space_id}/{keys.MANIFEST}"
    result: dict[str, ArchivedObject] = {}
    places: list[ArchivePlace] = []
    try:
        for manifest in contents.manifests:
            place, items = archive.read_manifest(manifest)
            places.append(place)
            for item in items:
                if item.name in result:
                    _wrong(path, f"names {unpacking.shown(item.name)} twice")
                result[item.name] = item
                if contents.files.get(f"{space_id}/{item.name}") is None:
                    _wrong(path, f"names {unpacking.shown(item.name)}, which the archive does not have")
    except (ValueError, RecursionError, AttributeError):
        raise refused(path, "can't be read") from None
    _check_places(path, space_id, places)
    for file, (size, digest) in contents.files.items():
        name = file.partition("/")[2]
        if name == keys.MANIFEST:
            continue
        if name not in result:
            _wrong(path, f"does not name {unpacking.shown(name)}")
        if (result[name].size, result[name].sha256) != (size, digest.hex()):
            raise refused(file, "differs from its entry in the manifest: it was changed")
    return result


def _check_places(path: str, space_id: str, places: Sequence[ArchivePlace]) -> None:
    """Check that these are all archives of one export of the space."""
    first = places[0]
    if first.space_id != space_id:
        _wrong(path, f"belongs to another space, {unpacking.shown(first.space_id)}")
    if len({(place.uid, place.backup_id, place.checksum) for place in places}) > 1:
        raise InvalidArchive(
            "The archives are of different exports, so objects could be missing. Download all archives of one export "
            "again, and send them in their order."
        )
    if len(places) != first.archives or places != [replace(first, number=place) for place in range(1, len(places) + 1)]:
        raise InvalidArchive(
            f"The space is in {first.archives} archives of one export. Send all of them, in their order."
        )


def _wrong(path: str, problem: str) -> NoReturn:
    raise refused(path, problem)


def _check_members(contents: Contents) -> None:
    for path, (size, _) in contents.files.items():
        name = path.partition("/")[2]
        problem = archive.name_problem(name) if name != keys.MANIFEST else None
        if problem:
            raise refused(path, problem)
        limit = _limit(name)
        if size > limit:
            raise too_large(path, size, limit)
    folders = {path.partition("/")[2]: path for path in contents.files}
    for name in sorted(beyond_log(folders)):
        raise refused(folders[name], "needs a log of memories up to its number, which is incomplete")


def _limit(name: str) -> int:
    if NOTE.parse(f"x/{name}"):
        return NOTE_BYTES
    if BANK_FILE.parse(f"x/{name}"):
        return limits.BANK_FILE_BYTES
    return {keys.RULES_PATH: limits.RULES_BYTES, keys.SYNTHESIS: SYNTHESIS_BYTES}.get(name, OBJECT_BYTES)


def _check_meta(space_id: str, contents: Contents, objects: Mapping[str, ArchivedObject]) -> Meta:
    path = f"{space_id}/{keys.META}"
    try:
        meta = schema.read_head(contents.heads[path])
    except Misfit as misfit:
        raise refused(path, f"is not a valid space record: it {misfit}") from None
    if meta.space_id != space_id:
        raise refused(path, f"belongs to another space, {unpacking.shown(meta.space_id)}")
    try:
        heads.check_settings(meta)
    except LiveMemoryError as error:
        raise refused(path, f"can't be imported: {error.detail}") from None
    for name in ("changes", "consolidation_count", "total_notes_processed", "consolidation_threshold"):
        if getattr(meta, name) > MOST_COUNTED:
            raise refused(path, f"can't be imported: its {name} is more than {MOST_COUNTED}")
    if meta.deleted_at:
        raise refused(path, "is the record of a deleted space")
    newest = max((record.number for name in objects if (record := RECORD.last(f"x/{name}"))), default=0)
    if newest > meta.changes:
        raise refused(path, f"counts {meta.changes} changes, but the archive has a record of change {newest}")
    return meta
