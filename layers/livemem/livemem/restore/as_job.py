"""The provisioning of a space as a job: `restore`, `fork` or `import`. Its name is the id of the job in the space's
head.
"""

from functools import partial

from livemem import clock
from livemem.access.principal import Principal
from livemem.errors import NotFound
from livemem.jobs import describable
from livemem.jobs.describable import Describable, Description, KindName
from livemem.process import Process
from livemem.restore import provisioning_job
from livemem.restore.provisioning_job import ProvisioningJob
from livemem.spaces.head import Head


def _find(kind: KindName, process: Process, _: Principal, space_id: str, name: str) -> Description:
    """Find the job, also before the space is visible: 1 GET. Raises InvalidName, NotFound."""
    job = provisioning_job.load(process, space_id)
    if (job.kind, job.job_id) != (kind, name):
        raise NotFound("provisioning", name)
    return describable.of_job(kind, job)


def listed(head: Head | None) -> list[tuple[int, KindName, str]]:
    """The job that restored, forked or imported the space of this head, or is doing so: its moment, its kind and its
    name.
    """
    job = ProvisioningJob.of(head.meta) if head else None
    if not job or not job.job_id:
        return []
    return [(int(clock.parse(job.created_at).timestamp() * 1_000), job.provisioning.kind, job.job_id)]


KINDS: tuple[KindName, ...] = ("restore", "fork", "import")
DESCRIBABLES = tuple(Describable(kind, partial(_find, kind)) for kind in KINDS)
