"""Decisions on plans as requests."""

from typing import Annotated

from livemem_http.views.fields import Body, PlanRevision, Reason, described, job_described

PlanJob = Annotated[str, job_described("consolidation", "01KHXE5Q2V8R0M4T6W9YBNCD3F")]


class PlanApproval(Body):
    """The plan that is approved. Its revision is named, so that nobody approves an unseen plan."""

    job: PlanJob
    plan_revision: PlanRevision


class PlanRefusal(Body):
    """The plan that is refused, and why."""

    job: PlanJob
    reason: Annotated[
        Reason | None, described("The reason, in at most 500 bytes. The job shows it.", "This is not decided.")
    ] = None
