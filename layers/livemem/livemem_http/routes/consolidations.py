"""Starts a consolidation over HTTP, and carries one out when the function is invoked asynchronously."""

from http import HTTPStatus

from aws_lambda_powertools.event_handler import Response

from livemem.consolidation import agent_folds, dry_run
from livemem.jobs.describable import job_id
from livemem_http import job_markdown, views
from livemem_http.api import Api
from livemem_http.environment import process

api = Api()


@api.route(
    "POST",
    "/v1/spaces/{space_id}/consolidations",
    needs="write",
    status=HTTPStatus.ACCEPTED,
    tag="consolidations",
    markdown=job_markdown.folding,
    summary="Start a consolidation",
)
def start_consolidation(space_id: str, body: views.NewConsolidation | None = None) -> Response[views.RunState]:
    """Start a run that folds the live notes into the bank, even if there are few. The run continues after the
    answer: get its job (`Location`) until its status is final, or `waiting` in a space that requires approval.
    Without notes it ends with the code `nothing_to_do`. To fold only another agent's notes needs `admin`. While a
    plan waits for approval, the service refuses the run (`conflict`), except for a dry run or with `replace`.
    Between two runs of a space that are started by hand, at least ten seconds must pass (`cooldown`). A dry run can
    try other `rules`, and with `notes_of` fold the notes of an earlier change again into the bank as it stood
    before. With `tidy` the run folds nothing, and shortens the bank to its `bank_chars`. With `by` the caller is an
    agent that folds the notes itself, in a space that allows it (`agent_folds`): at most twice an hour.
    """
    wanted = body or views.NewConsolidation()
    if wanted.by:
        wanted.check_alone()
        return api.accepted(
            views.RunState.of(agent_folds.begin(process(), api.principal(), space_id, wanted.max_notes))
        )
    run = dry_run.order(process(), api.principal(), space_id, wanted.order(api.principal()))
    return api.accepted(views.RunState(job=job_id(space_id, "consolidation", run.job_id)))


@api.route(
    "POST",
    "/v1/jobs/{job}/answer",
    needs="write",
    tag="jobs",
    markdown=job_markdown.folding,
    summary="Answer the prompt of a run",
)
def answer_job(job: str, body: views.AgentAnswer) -> views.RunState:
    """The answer of the agent that began the run (`by`), which is checked and applied as that of an LLM. A flaw comes
    back as another `prompt`, at most twice. An answer that comes too late, or after other work in the space, is refused
    (`conflict`), and all notes stay live. Only the token that began may answer. A repeat returns the same answer.
    """
    return views.RunState.of(agent_folds.answer(process(), api.principal(), job, body.written()))
