"""A backup as a job: `backup`."""

from collections.abc import Iterable

from livemem.access.principal import Principal
from livemem.backups import catalog, remains
from livemem.backups import manifest as manifests
from livemem.errors import NotFinished, NotFound
from livemem.jobs.describable import Describable, Description
from livemem.jobs.job import Failure, Progress
from livemem.process import Process
from livemem.store import keys

LOST = "Its worker was interrupted, and nobody goes on with it. Take another one."


def find(process: Process, caller: Principal, space_id: str, name: str) -> Description:
    """Also of a space that is deleted: 1 GET, and what `catalog.check` takes. Raises InvalidName, NotFound."""
    catalog.check(process, caller, space_id, keys.check_backup_id(name))
    saved = manifests.summary(process, space_id, name)
    if not saved or saved.manifest.removing:
        raise NotFound("backup", name)
    manifest = saved.manifest
    is_lost = remains.find(process, space_id, name, saved) == "unfinished"
    copied = manifest.objects_count
    return Description(
        space_id=space_id,
        kind="backup",
        name=name,
        status="done" if manifest.complete else "failed" if is_lost else "running",
        created_at=manifest.started_at,
        subject=name,
        progress=Progress(done=copied, total=copied if manifest.complete else None),
        error=Failure(code=NotFinished.code, detail=LOST) if is_lost else None,
        started_at=manifest.started_at,
        ended_at=manifest.completed_at,
    )


def listed(process: Process, _: Principal, space_id: str, __: int | None) -> Iterable[tuple[int, str]]:
    """1 LIST per 1,000."""
    return ((catalog.moment(one), one) for one in reversed(catalog.ids(process, space_id)))


DESCRIBABLE = Describable("backup", find, listed)
