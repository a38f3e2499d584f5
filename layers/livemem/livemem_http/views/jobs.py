"""Long work of every kind as answers."""

from typing import Annotated

from livemem.jobs.describable import Description, KindName
from livemem.jobs.job import Status
from livemem_http.views.fields import Gapped, LlmUsage, Moment, NextCursor, SpaceId, View, described

BACKUP = "2026-02-20T02-00-00"


class JobProgress(View):
    """The progress of a job."""

    done: Annotated[int, described("Parts that are done: objects of a copy, summaries, questions of a digest.", 42)]
    total: Annotated[int | None, described("Of how many, where that is known.", 42)] = None


class JobError(View):
    """Why a job failed, or what it waits for."""

    code: Annotated[str, described("A stable code (errors.md).", "llm_unavailable")]
    detail: Annotated[str, described("The same in words.", "The LLM's API answered with status 503.")]


class JobStatusView(View):
    """A job of any kind, and its status. The kind's own route shows its result."""

    job: Annotated[
        str, described("Its id, which says where it is: the space, the kind and a name.", f"demo.backup.{BACKUP}")
    ]
    kind: Annotated[
        KindName,
        described("What it is; `summaries`: those of a conversation.", "backup"),
    ]
    space_id: SpaceId
    subject: Annotated[
        str | None, described("What it works on within the space, such as a conversation or a backup.", BACKUP)
    ] = None
    status: Annotated[
        Status,
        described("`queued` and `running`: ask again after `Retry-After` seconds. The others are final.", "done"),
    ]
    progress: Annotated[JobProgress | None, described("How far it is, where that is known.")] = None
    usage: Annotated[LlmUsage, described("What it asked of the LLM.")]
    error: Annotated[
        JobError | None,
        described("Why it failed. Of one that is `queued`: the failure after which it waits, to go on."),
    ] = None
    created_at: Annotated[Moment, described("When it was asked for, UTC.", "2026-02-20T02:00:00.120Z")]
    started_at: Annotated[Moment | None, described("When it began, UTC.", "2026-02-20T02:00:00.120Z")] = None
    ended_at: Annotated[Moment | None, described("When it ended, UTC.", "2026-02-20T02:00:01.480Z")] = None

    @classmethod
    def of(cls, job: Description) -> "JobStatusView":
        known = bool(job.progress.done) or job.progress.total is not None
        return cls(
            job=job.job_id,
            kind=job.kind,
            space_id=job.space_id,
            subject=job.subject,
            status=job.status,
            progress=JobProgress(done=job.progress.done, total=job.progress.total) if known else None,
            usage=LlmUsage.of(job.usage),
            error=JobError(code=job.error.code, detail=job.error.detail) if job.error else None,
            created_at=job.created_at,
            started_at=job.started_at,
            ended_at=job.ended_at,
        )


class JobStatusPage(Gapped):
    """A page of jobs, newest first."""

    items: Annotated[list[JobStatusView], described("The jobs.")]
    next_cursor: NextCursor = None
