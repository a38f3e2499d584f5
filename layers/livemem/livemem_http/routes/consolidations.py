"""Starts a consolidation over HTTP, and carries one out when the function is invoked asynchronously."""

from http import HTTPStatus

from aws_lambda_powertools.event_handler import Response

from livemem.consolidation import dry_run
from livemem.jobs.describable import job_id
from livemem_http import views
from livemem_http.api import Api
from livemem_http.environment import process

api = Api()


@api.route(
    "POST",
    "/v1/spaces/{space_id}/consolidations",
    needs="write",
    status=HTTPStatus.ACCEPTED,
    tag="consolidations",
    summary="Start a consolidation",
)
def start_consolidation(space_id: str, body: views.NewConsolidation | None = None) -> Response[views.JobState]:
    """Start a run that folds the live notes into the bank, even if there are few. The run continues after the
    answer: get its job (`Location`) until its status is final, or `waiting` in a space that requires approval.
    Without notes it ends with the code `nothing_to_do`. To fold only another agent's notes needs `admin`. While a
    plan waits for approval, the service refuses the run (`conflict`), except for a dry run or with `replace`.
    Between two runs of a space that are started by hand, at least ten seconds must pass (`cooldown`). A dry run can
    try other `rules`, and with `notes_of` fold the notes of an earlier change again into the bank as it stood
    before. With `tidy` the run folds nothing, and shortens the bank to its `bank_chars`.
    """
    order = (body or views.NewConsolidation()).order(api.principal())
    run = dry_run.order(process(), api.principal(), space_id, order)
    return api.accepted(views.JobState(job=job_id(space_id, "consolidation", run.job_id)))
