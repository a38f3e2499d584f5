"""Backups and the work that uses them: by request, by schedule, and asynchronously if it takes longer than a request
may.
"""

from datetime import datetime
from http import HTTPStatus
from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Query

from livemem import limits
from livemem.access import decision
from livemem.copies import catalog, export, importing, new_space, provisioning, taking
from livemem.copies.new_space import ProvisioningJob
from livemem.erasure import erasure
from livemem.erasure import preview as previewing
from livemem.jobs.job import Status
from livemem.jobs.receipt import Receipt
from livemem.spaces import lifecycle
from livemem.store import cursors, timing
from livemem.upkeep import garbage, invariants, job_lookup
from livemem.upkeep.job_lookup import After, JobFilter
from livemem_http import job_markdown, views
from livemem_http.api import ASK_AGAIN, Api
from livemem_http.environment import process
from livemem_http.paging import Cursor, Limit
from livemem_http.views.audit import InvariantPage
from livemem_http.views.erasures import ErasureView, NewErasure
from livemem_http.views.jobs import JobPage, JobView

api = Api()


OfSpace = Annotated[views.SpaceId | None, Query(description="Only jobs of this space.", examples=["demo"])]
BackupsOf = Annotated[views.SpaceId | None, Query(description="Only backups of this space.", examples=["demo"])]
OfKind = Annotated[str | None, Query(description="Only jobs of this kind.", examples=["backup"])]
InState = Annotated[Status | None, Query(description="Only jobs with this status.", examples=["waiting"])]
OfSubject = Annotated[
    str | None,
    Query(
        description="Only jobs on this object, such as a conversation. Required for the kind `summaries`.",
        examples=["01KHXD0B7C2R0M4T6W9YBNCD3F"],
        max_length=200,
    ),
]


@api.route(
    "POST",
    "/v1/spaces",
    needs="write",
    status=HTTPStatus.CREATED,
    also=[HTTPStatus.ACCEPTED],
    tag="spaces",
    refuses=[HTTPStatus.NOT_FOUND],
    summary="Create a space",
)
def create_space(body: views.NewSpace) -> Response[views.SpaceView | JobView]:
    """Create a space with your own rules or with those of a template (default: `standard`). A token that may use only
    some spaces gets this one added. The id of a deleted space is free again 21 minutes after the deletion.

    With `from` (needs `admin`) the space is a copy of another space, of a backup, or of an uploaded archive. 202: a job
    makes it, see `Location`. Nobody sees the space before it is complete and each object is verified. An archive is
    checked first as a whole. If it breaks a rule, the service refuses it (`invalid_archive`, `too_large`). A folder of
    Markdown files becomes the bank, with one entry in the history.
    """
    if body.source is None:
        meta = lifecycle.create(process(), api.principal(), body.wanted())
        location = {"Location": f"/v1/spaces/{meta.space_id}"}
        return api.json(HTTPStatus.CREATED, views.SpaceView.of(meta), headers=location)
    decision.check_permission(api.principal(), "admin")
    head = provisioning.order(process(), api.principal(), body.copy_request(body.source), _soon())
    copy = provisioning.carry_on(process(), head, _soon())
    job = ProvisioningJob.of(copy or head.meta)
    return api.accepted(JobView.of(new_space.description(job)))


@api.route(
    "POST",
    "/v1/spaces/{space_id}/exports",
    needs="read",
    status=HTTPStatus.ACCEPTED,
    tag="archives",
    summary="Export a space",
)
def create_export(space_id: str, body: views.NewExport | None = None) -> Response[JobView]:
    """Make archives of the space as it stands, or of a backup, even of a deleted space: a tar.gz of its objects as they
    are in the bucket, without tokens and secrets. The result of the job has their URLs. Each look at the job gives URLs
    that work for 15 minutes. The archives are removed after a day.
    """
    backup_id = body.backup_id if body else None
    if backup_id is None:
        made = export.export(process(), api.principal(), space_id, _soon())
    else:
        made = export.export_backup(process(), api.principal(), space_id, backup_id, _soon())
    return api.accepted(JobView.of(export.description(process(), made)))


def _soon() -> datetime:
    """The time at which this request must be answered, by the clock that the work uses."""
    return process().clock() + timing.REQUEST


@api.route(
    "POST",
    "/v1/spaces/{space_id}/backups",
    needs="write",
    status=HTTPStatus.CREATED,
    also=[HTTPStatus.OK, HTTPStatus.ACCEPTED],
    tag="backups",
    summary="Take a backup",
)
def create_backup(space_id: str, body: views.NewBackup | None = None) -> Response[views.BackupView]:
    """Copy the whole space within the bucket. 201: the backup is complete. 202: the copy continues, see `Location`.
    200: nothing has changed since the last backup. The answer is that backup, with `unchanged_at`.
    """
    description = body.description if body else ""
    wanted = taking.BackupRequest("api", description, api.principal().name)
    taken = taking.order(process(), space_id, wanted, deadline=_soon())
    view = views.BackupView.of(taken.manifest)
    if taken.result == "unfinished":
        return api.accepted(view)
    status = HTTPStatus.OK if taken.unchanged else HTTPStatus.CREATED
    return api.json(status, view, headers={"Location": f"/v1/spaces/{space_id}/backups/{view.backup_id}"})


@api.route("GET", "/v1/backups", needs="read", tag="backups", summary="List backups")
def list_backups(
    space_id: BackupsOf = None, limit: Limit = limits.PAGE_DEFAULT, cursor: Cursor = None
) -> views.BackupPage:
    """The backups of a space, even if it is deleted, newest first. Without a space: of all spaces that the token may
    see, including deleted ones, by space. A backup in progress is not `complete`.
    """
    after = cursors.decode_backup_of(cursor)
    found, more = catalog.page(process(), api.principal(), space_id, limit=limit, after=after)
    cursor = cursors.encode("/".join(more)) if more else None
    return views.BackupPage(items=[views.BackupView.of(found) for found in found], next_cursor=cursor)


@api.route("GET", "/v1/spaces/{space_id}/backups/{backup_id}", needs="read", tag="backups", summary="Look at a backup")
def get_backup(space_id: str, backup_id: str) -> views.BackupView:
    """One backup, complete or in progress."""
    return views.BackupView.of(catalog.get(process(), space_id, backup_id, api.principal()).value)


@api.route(
    "DELETE",
    "/v1/spaces/{space_id}/backups/{backup_id}",
    needs="admin",
    status=HTTPStatus.NO_CONTENT,
    tag="backups",
    summary="Remove a backup",
)
def delete_backup(space_id: str, backup_id: str) -> Response[None]:
    """Remove a backup, even if it is the only one."""
    catalog.remove(process(), space_id, backup_id, api.principal())
    return api.empty()


@api.route("POST", "/v1/uploads", needs="admin", status=HTTPStatus.CREATED, tag="archives", summary="Create an upload")
def create_upload(body: views.NewUpload) -> Response[views.UploadView]:
    """Get a URL to which you can PUT an archive of exactly this size within 15 minutes. Then import the archive: an
    export of this service, or a folder of Markdown files as a tar or tar.gz. The limit is 1 GiB. The upload is
    removed after a day. A small archive can come with this request, as `content`.
    """
    upload = importing.begin_upload(process(), api.principal(), body.size, body.archive())
    return api.json(HTTPStatus.CREATED, views.UploadView.of(upload))


@api.route(
    "GET", "/v1/spaces/{space_id}/invariants", needs="read", tag="consolidations", summary="Check the invariants"
)
def get_invariants(space_id: str, limit: Limit = limits.PAGE_DEFAULT, cursor: Cursor = None) -> InvariantPage:
    """Check in the bucket, now, that nothing of the space is lost, doubled or changed without a record. The answer
    covers the newest `limit` changes; later pages cover older ones. Nothing is repaired. What can't be told beside work
    in progress has no `holds`: ask again.
    """
    found = invariants.page(process(), space_id, limit=limit, before=cursors.decode_number(cursor))
    return InvariantPage.of(found, cursors.encode(found.before))


def _receipt(receipt: Receipt) -> Response[ErasureView]:
    answer = ErasureView.of(receipt)
    return api.json(HTTPStatus.OK, answer) if receipt.status == "done" else api.accepted(answer)


@api.route(
    "POST",
    "/v1/spaces/{space_id}/erasures",
    needs="admin",
    status=HTTPStatus.OK,
    also=[HTTPStatus.ACCEPTED],
    tag="erasure",
    summary="Erase for ever",
)
def erase_items(space_id: str, body: NewErasure) -> Response[ErasureView]:
    """Remove the words of notes, memories and turns for ever, also of deleted and expired ones: from the space,
    backups, archives, old versions of objects, and quotations. A turn keeps its number; the summaries that cover it are
    made again without it. The receipt names the sections of the bank that rest on them, for you to correct. If an id
    is unknown, nothing is erased (404). 202: the erasure continues until it is complete, see `Location`. It cannot be
    undone. With `preview` nothing is changed.
    """
    wanted = (process(), api.principal(), space_id, body.ids, _soon())
    if body.preview:
        found = previewing.preview(*wanted, agent=body.agent)
        return api.json(HTTPStatus.OK, ErasureView.of(found.receipt, found))
    return _receipt(erasure.erase(*wanted, agent=body.agent))


@api.route("GET", "/v1/jobs/{job}", needs="read", tag="jobs", markdown=job_markdown.job, summary="Look at a job")
def get_job(job: str) -> Response[JobView]:
    """A job of any kind, with its result. Its id is `job` in the answer to the request that started it. Send the
    request again while `status` is `queued` or `running`. `waiting`: a person must decide on the plan in the result.
    Erasures are shown to admins, and questions that were asked with `read` alone to the token that asked them.
    """
    found = job_lookup.find(process(), api.principal(), job)
    headers = {"Retry-After": ASK_AGAIN} if found.status in ("queued", "running") else {}
    return api.json(HTTPStatus.OK, JobView.of(found), headers=headers)


@api.route("GET", "/v1/jobs", needs="read", tag="jobs", refuses=[HTTPStatus.NOT_FOUND], summary="List jobs")
def list_jobs(
    space_id: OfSpace = None,
    kind: OfKind = None,
    state: InState = None,
    subject: OfSubject = None,
    limit: Limit = limits.PAGE_DEFAULT,
    cursor: Cursor = None,
) -> JobPage:
    """The jobs of a space, the newest first; without a space, those of one space after the other, in the order of their
    ids. A page may hold fewer jobs than `limit`, or none, and still have a next one. Questions are sorted by their last
    progress. Jobs that make summaries are listed for one conversation: `subject` is its id.
    """
    missing: list[str] = []
    found, more = job_lookup.page(
        process(),
        api.principal(),
        space_id,
        limit=limit,
        filter_by=JobFilter(kind, state, subject),
        after=cursors.decode_with(After.parse, cursor),
        missing=missing,
    )
    items = [JobView.of(job) for job in found]
    return JobPage(items=items, next_cursor=cursors.encode(more and more.text()), unreadable=missing)


@api.route(
    "POST",
    "/v1/admin/gc",
    needs="admin",
    tag="upkeep",
    refuses=[HTTPStatus.NOT_FOUND],
    summary="Collect garbage",
)
def collect_garbage(body: views.GarbageWanted | None = None) -> views.GarbageReport:
    """Start a consolidation of old live notes, or move them to a record. Remove old backups, also of deleted spaces, as
    the nightly retention does: never the only complete one of a space. Remove old documents of runs, orphans of
    interrupted work, expired archives, and tokens that have ended. By default it is a dry run.
    """
    wanted = (body or views.GarbageWanted()).wanted()
    return views.GarbageReport.of(garbage.collect(process(), api.principal(), wanted, _soon()))
