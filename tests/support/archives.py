"""Archives as tests need them: exported, built by hand in good and bad ways, and imported."""

import gzip
import io
import tarfile
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from livemem.copies import export, importing, provisioning
from livemem.copies.export import ExportJob
from livemem.copies.new_space import SpaceCopy
from livemem.errors import LiveMemoryError
from livemem.spaces.head import Meta
from livemem.store.bucket import EXPORT, HEAD, IN_SPACE, UPLOAD
from livemem.store.stored import Stored
from tests.support.world import EVERYONE, INVOCATION, World

Content = bytes | tarfile.TarInfo
"""A file's content, or a whole header of a member without content."""


def lived_in() -> World:
    """A space with a bank, a history and a live note."""
    world = World()
    world.create_space()
    for number in range(3):
        world.note(f"note {number}")
    world.consolidate()
    world.note("one more")
    return world


def tar(members: Iterable[tuple[str, Content]], form: int = tarfile.PAX_FORMAT) -> bytes:
    """A tar of these members, in this order, names may repeat."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w", format=form) as made:
        for name, content in members:
            info = content if isinstance(content, tarfile.TarInfo) else tarfile.TarInfo(name)
            if isinstance(content, bytes):
                info.size = len(content)
            made.addfile(info, io.BytesIO(content) if isinstance(content, bytes) else None)
    return target.getvalue()


def targz(members: Iterable[tuple[str, Content]]) -> bytes:
    return gzip.compress(tar(members), 6, mtime=0)


def odd(name: str, kind: bytes, **fields: Any) -> tuple[str, tarfile.TarInfo]:
    """A member of another kind than a file."""
    info = tarfile.TarInfo(name)
    info.type = kind
    for field, value in fields.items():
        setattr(info, field, value)
    return name, info


def unpack(body: bytes) -> dict[str, bytes]:
    """The files of an archive, in their order."""
    with tarfile.open(fileobj=io.BytesIO(body)) as opened:
        return {member.name: opened.extractfile(member).read() for member in opened}


def download(world: World, current: Stored[ExportJob]) -> bytes:
    """What the URL of the one archive of an export gives."""
    (body,) = downloads(world, current)
    return body


def downloads(world: World, current: Stored[ExportJob]) -> list[bytes]:
    """What the URLs of the archives of an export give."""
    job = current.value
    assert job.status == "done", job
    found = [
        world.store.get(EXPORT.key(job.space_id, job.job_id, number)) for number in range(1, len(job.archives) + 1)
    ]
    assert [len(item.body) for item in found if item] == [made.bytes for made in job.archives]
    return [item.body for item in found if item]


def export_now(world: World, space_id: str = "demo") -> Stored[ExportJob]:
    return export.export(world.process, EVERYONE, space_id, world.clock() + INVOCATION)


def exported(world: World, space_id: str = "demo") -> bytes:
    """The archive of a space, made at once."""
    return download(world, export_now(world, space_id))


def upload(world: World, body: bytes) -> str:
    """A client puts an archive to the URL that it is given."""
    # How many there are is not what this is about.
    uncounted = world.settings.model_copy(update={"uploads_per_token_per_day": 0})
    begun = importing.begin_upload(world.with_parts(settings=uncounted), EVERYONE, max(1, len(body)))
    world.inner.put_object(Bucket="bucket", Key=UPLOAD.key(begun.upload_id), Body=body)
    return begun.upload_id


def import_it(world: World, *bodies: bytes, space_id: str = "copy", **options: Any) -> Meta | None:
    """Import archives of one space; None where it goes on later."""
    wanted = SpaceCopy(space_id, upload_ids=[upload(world, body) for body in bodies], **options)
    head = importing.order(world.process, EVERYONE, wanted, world.clock() + INVOCATION)
    return provisioning.carry_on(world.process, head, world.clock() + INVOCATION)


def refusal(world: World, *bodies: bytes, space_id: str = "copy") -> LiveMemoryError:
    """How uploads are refused: by reading them alone, and nothing is written."""
    upload_ids = [upload(world, body) for body in bodies]
    there = dict(world.inner.objects)
    world.client.reset()
    with pytest.raises(LiveMemoryError) as caught:
        importing.order(world.process, EVERYONE, SpaceCopy(space_id, upload_ids=upload_ids), world.clock() + INVOCATION)
    assert world.inner.objects == there
    assert set(world.client.counts) <= {"HEAD", "GET"}
    return caught.value


def objects(world: World, space_id: str) -> dict[str, tuple[bytes, Mapping[str, str]]]:
    """All objects of a space but its head, with their metadata."""
    prefix = IN_SPACE.prefix(space_id)
    return {
        key.removeprefix(prefix): (stored.body, stored.metadata)
        for key, stored in world.inner.objects.items()
        if key.startswith(prefix) and key != HEAD.key(space_id)
    }
