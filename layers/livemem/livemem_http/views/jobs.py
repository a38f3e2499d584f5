"""Long work of every kind as answers."""

from typing import Annotated

from livemem.jobs.describable import Description, KindName
from livemem.jobs.job import Status
from livemem_http.views.fields import Gapped, LlmUsage, Moment, NextCursor, SpaceId, View, described

BACKUP = "2026-02-20T02-00-00"


class JobProgress(View):
    """The progress of a job."""

    done: Annotated[
        int, described("Number of finished parts: objects of a copy, summaries, or prompts of a digest.", 42)
    ]
    total: Annotated[int | None, described("Total number of parts, if it is known.", 42)] = None


class JobError(View):
    """Why a job failed, or what it waits for."""

    code: Annotated[str, described("A stable code (see errors.md).", "llm_unavailable")]
    detail: Annotated[str, described("The error as a sentence.", "The LLM's API answered with status 503.")]


class JobStatusView(View):
    """A job of any kind, and its status. The kind's own route shows its result."""

    job: Annotated[
        str, described("The id of the job. It names the space, the kind, and the job.", f"demo.backup.{BACKUP}")
    ]
    kind: Annotated[
        KindName,
        described("The kind of work. `summaries`: the summaries of a conversation.", "backup"),
    ]
    space_id: SpaceId
    subject: Annotated[
        str | None,
        described("The object that the job works on within the space, such as a conversation or a backup.", BACKUP),
    ] = None
    status: Annotated[
        Status,
        described(
            "`queued` and `running`: send the request again after `Retry-After` seconds. `waiting`: for a person. All "
            "other values are final.",
            "done",
        ),
    ]
    progress: Annotated[JobProgress | None, described("The progress, if it is known.")] = None
    usage: Annotated[LlmUsage, described("The LLM usage of this job.")]
    error: Annotated[
        JobError | None,
        described(
            "The error. For a job that failed: the reason. For a `queued` job: the error after which it waits "
            "for another try."
        ),
    ] = None
    created_at: Annotated[Moment, described("The time of the request, UTC.", "2026-02-20T02:00:00.120Z")]
    started_at: Annotated[Moment | None, described("The start time, UTC.", "2026-02-20T02:00:00.120Z")] = None
    ended_at: Annotated[Moment | None, described("The end time, UTC.", "2026-02-20T02:00:01.480Z")] = None

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
