"""Long work of every kind as answers, with what came of it."""

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from livemem.jobs.describable import Description, KindName
from livemem.jobs.job import Status
from livemem.jobs.run import RunCode
from livemem_http.views.ask import QuestionResult
from livemem_http.views.erasures import ErasureView
from livemem_http.views.fields import (
    Gapped,
    LlmUsage,
    Metrics,
    Model,
    Moment,
    PlanRevision,
    SpaceId,
    Unreadable,
    View,
    described,
)
from livemem_http.views.history import FoldDetail, folding

if TYPE_CHECKING:
    from livemem.bank.plans import WaitingPlan
    from livemem.changes.run_progress import RunResult
    from livemem.conversations.summaries_job import SummariesJob
    from livemem.copies import export
    from livemem.rooms.digest_reading import Digest
    from livemem.spaces.head_fields import ProvisioningState

BACKUP = "2026-02-20T02-00-00"


class PlanDetail(FoldDetail):
    """A plan that waits for a person. Its run commits it once it is approved."""

    plan_revision: PlanRevision
    planned_at: Annotated[Moment, described("The time since when the plan waits, UTC.", "2026-02-20T14:05:00Z")]
    outdated: Annotated[
        bool,
        described(
            "Whether the bank or the rules have changed since. If so, an approval makes another plan instead.", False
        ),
    ]
    number: Annotated[int, described("The number that the change will have.", 2)]

    @classmethod
    def of(cls, plan: "WaitingPlan") -> "PlanDetail":
        return cls(
            plan_revision=plan.review.revision,
            planned_at=plan.review.planned_at,
            outdated=plan.outdated,
            number=plan.review.number,
            **folding(plan.detail),
        )


class ConsolidationResult(View):
    """A run: one attempt to consolidate."""

    kind: Annotated[Literal["consolidation"], described("The kind of work.", "consolidation")] = "consolidation"
    code: Annotated[
        RunCode | None,
        described("Why. `busy`: other work held the space. `superseded`: its plan was discarded, `message` says why."),
    ] = None
    step: Annotated[
        str | None, described("The phase of a running run: `asking` the LLM, or `applying` the committed change.")
    ] = None
    trigger: Annotated[
        str,
        described(
            "The trigger: `api` (by hand), `threshold` (enough notes), `session_end`, `daily` (after a day), "
            "`sweep` (the schedule), `gc` (garbage collection), `agent` (one that folds).",
            "api",
        ),
    ]
    agent: Annotated[str | None, described("The agent whose notes alone were requested. Left out: all notes.")] = None
    max_notes: Annotated[int | None, described("The maximum number of notes that was requested.")] = None
    dry_run: Annotated[bool, described("Whether the run only shows a plan.", False)] = False
    tidy: Annotated[bool, described("Whether it is a tidy run, which shortens the bank and folds no notes.", False)] = (
        False
    )
    rules: Annotated[str | None, described("The other rules of a dry run. Lists leave them out.")] = None
    notes_of: Annotated[
        int | None, described("The number of the earlier change whose notes a dry run takes again.")
    ] = None
    consolidation: Annotated[int | None, described("The number of the change that the run made.", 1)] = None
    model: Model = None
    metrics: Metrics = {}
    message: Annotated[
        str | None, described("The reason why the run did nothing, or why its plan was refused or discarded.")
    ] = None
    decided_by: Annotated[str | None, described("The name of the token that approved or refused the plan.")] = None
    decided_at: Annotated[
        Moment | None, described("The time when the plan was approved, refused or discarded, UTC.")
    ] = None
    plan: Annotated[
        dict[str, Any] | None,
        described(
            "The plan of a dry run: the `changes` of the files, the `synthesis`, and the ids of the notes in "
            "`sources`. Lists leave it out."
        ),
    ] = None
    pending_plan: Annotated[
        PlanDetail | None, described("The plan, while it waits for approval. Lists leave it out.")
    ] = None

    @classmethod
    def of(cls, result: "RunResult") -> "ConsolidationResult":
        run = result.run.model_dump(exclude={"kind"} if result.whole else {"kind", "rules", "plan"})
        return cls.model_validate({**run, "pending_plan": PlanDetail.of(result.plan) if result.plan else None})


class SummariesResult(View):
    """The summaries of a conversation that a job makes."""

    kind: Annotated[Literal["summaries"], described("The kind of work.", "summaries")] = "summaries"
    strategy: Annotated[
        Literal["incremental", "full", "redo"], described("The work that was requested.", "incremental")
    ]
    generation: Annotated[int, described("The number of the summary version that the job works on.", 1)]
    sealed: Annotated[dict[str, int], described("Number of new blocks and groups, by level.", {"1": 2})]
    generated: Annotated[dict[str, int], described("Number of summaries that the job made, by level.", {"1": 2})]
    reused: Annotated[
        int,
        described(
            "Number of summaries that were reused from an earlier summary version with exactly the same source.", 0
        ),
    ]
    latency_ms: Annotated[
        dict[str, float], described("Milliseconds for one summary: `mean` and `max`.", {"mean": 2100.5, "max": 2300.0})
    ]
    dirty_share: Annotated[
        float | None, described("The share of the summaries that was missing at the start, from 0 to 1.", 0.25)
    ] = None
    queue_length: Annotated[int, described("Number of summaries that could be made and are still missing.", 0)]

    @classmethod
    def of(cls, job: "SummariesJob") -> "SummariesResult":
        return cls.model_validate(job.model_dump(exclude={"kind"}))


class ChunkGivenUp(View):
    """A chunk for which the model gave no usable answer three times. Its messages are kept."""

    chunk: Annotated[int, described("The number of the chunk.", 3)]
    room: Annotated[str, described("The room of its messages.", "general")]
    messages: Annotated[int, described("Number of messages in the chunk.", 17)]
    code: Annotated[str, described("The error code.", "llm_contract")]
    detail: Annotated[str, described("The error as a sentence.", "The LLM's answer could not be used.")]
    at: Annotated[Moment, described("The time when the chunk was given up, UTC.", "2026-02-20T17:00:31.580Z")]


class DigestResult(View):
    """A digest of the messages in rooms. `progress` counts its chunks, each of which is one prompt to the LLM. The
    numbers of memories are there once it is done.
    """

    kind: Annotated[Literal["digest"], described("The kind of work.", "digest")] = "digest"
    messages: Annotated[int, described("Number of messages that the digest takes.", 42)]
    new: Annotated[int | None, described("Number of new memories.", 5)] = None
    merged: Annotated[int | None, described("Number of memories that existed already, or were updated.", 1)] = None
    refused: Annotated[int | None, described("Number of facts that could not be stored.", 0)] = None
    dead_letters: Annotated[
        list[int] | None, described("The numbers of the dead letters: chunks that failed three times.", [])
    ] = None
    given_up: Annotated[
        list[ChunkGivenUp] | None, described("The chunks that can be tried again. Lists leave them out.")
    ] = None
    unreadable: Unreadable = None

    @classmethod
    def of(cls, digest: "Digest") -> "DigestResult":
        done = digest.done.model_dump(include={"new", "merged", "refused", "dead_letters"}) if digest.done else {}
        given_up = [ChunkGivenUp.model_validate(chunk, from_attributes=True) for chunk in digest.given_up]
        return cls(messages=digest.messages, given_up=given_up or None, unreadable=list(digest.missing) or None, **done)


class CopyResult(View):
    """Where a new space comes from. It is visible once the job is `done`. If the job failed, nothing of it remains."""

    kind: Annotated[Literal["restore", "fork", "import"], described("The kind of work.", "restore")]
    source_space_id: Annotated[str | None, described("The source space.", "demo")] = None
    at: Annotated[int | None, described("The number of the change whose state was copied.")] = None
    requested_by: Annotated[str, described("The name of the token that requested it.", "admin")]

    @classmethod
    def of(cls, state: "ProvisioningState") -> "CopyResult":
        return cls(kind=state.kind, source_space_id=state.space_id, at=state.at, requested_by=state.requested_by)


class Archive(View):
    """An archive to download (tar.gz). It is removed after a day."""

    url: Annotated[
        str,
        described(
            "The download URL. It needs no token: anyone who has the URL can read the archive.",
            "http://127.0.0.1:9000/live-memory/_exports/demo/2026-02-20T14-00-00.tar.gz?X-Amz-Signature=...",
        ),
    ]
    bytes: Annotated[int, described("Size of the archive in bytes.", 18_204)]


class ExportResult(View):
    """The archives of a space, or of a backup of it. A space of more than 128 MiB has several."""

    kind: Annotated[Literal["export"], described("The kind of work.", "export")] = "export"
    backup_id: Annotated[
        str,
        described(
            "The backup that the archives hold. An export takes a new backup if anything has changed.",
            "2026-02-20T14-00-00",
        ),
    ]
    archives: Annotated[list[Archive], described("The archives, in their order.")]
    expires_at: Annotated[
        Moment,
        described("The time at which the URLs expire, UTC: 15 minutes after this answer.", "2026-02-20T14:15:00Z"),
    ]
    objects: Annotated[int, described("Number of objects in the archives.", 42)]
    left_out: Annotated[
        int,
        described("Number of objects in the bucket that are in no archive, because no import would accept them.", 0),
    ]

    @classmethod
    def of(cls, result: "export.ExportResult") -> "ExportResult":
        archives = [Archive(url=made.url, bytes=made.bytes) for made in result.archives]
        return cls(**{**vars(result), "archives": archives})


JobResult = Annotated[
    ConsolidationResult | SummariesResult | DigestResult | ErasureView | QuestionResult | CopyResult | ExportResult,
    Field(discriminator="kind"),
]
_RESULTS: dict[str, Any] = {
    "consolidation": ConsolidationResult,
    "summaries": SummariesResult,
    "digest": DigestResult,
    "erasure": ErasureView,
    "question": QuestionResult,
    "restore": CopyResult,
    "fork": CopyResult,
    "import": CopyResult,
    "export": ExportResult,
}


class JobProgress(View):
    """The progress of a job."""

    done: Annotated[
        int,
        described("Number of finished parts: objects of a copy, summaries, prompts of a digest, or erased items.", 42),
    ]
    total: Annotated[int | None, described("Total number of parts, if it is known.", 42)] = None


class JobError(View):
    """Why a job failed, or what it waits for."""

    code: Annotated[str, described("A stable code (see errors.md).", "llm_unavailable")]
    detail: Annotated[str, described("The error as a sentence.", "The LLM's API answered with status 503.")]


class JobView(View):
    """A job of any kind: its status, and what came of it."""

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
        described(
            "The object that the job works on within the space: a conversation, a backup, the slot of a digest.", BACKUP
        ),
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
    result: Annotated[JobResult | None, described("What came of the work so far, by its `kind`.")] = None

    @classmethod
    def of(cls, job: Description) -> "JobView":
        known = bool(job.progress.done) or job.progress.total is not None
        view = _RESULTS.get(job.kind)
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
            result=view.of(job.result) if view and job.result is not None else None,
        )


class JobPage(Gapped):
    """A page of jobs, newest first."""

    items: Annotated[list[JobView], described("The jobs.")]
