"""Answers questions over HTTP. When the function is invoked asynchronously, it continues questions that take longer
than the API allows.
"""

from http import HTTPStatus
from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Header

from livemem import clock
from livemem.ask import question as questions
from livemem.ask import question_work
from livemem.store import timing
from livemem_http import metrics
from livemem_http.api import Api
from livemem_http.environment import process
from livemem_http.views.ask import IdempotencyKey, NewQuestion
from livemem_http.views.jobs import JobView

api = Api()

ALL = "/v1/spaces/{space_id}/ask"


@api.route(
    "POST",
    ALL,
    needs="read",
    also=[HTTPStatus.ACCEPTED],
    tag="questions",
    summary="Ask a question",
)
def ask_question(
    space_id: str,
    body: NewQuestion,
    idempotency_key: Annotated[IdempotencyKey | None, Header(alias="Idempotency-Key")] = None,
) -> Response[JobView]:
    """Ask an agent that searches memories, notes and conversations, and answers with its sources. With `write` the
    agent may also store memories, and the questions of one user form a session. With `read` alone each question is
    independent and leaves nothing that others see. 200: the question is answered (`result`) or has failed (`error`).
    202: the work continues, see `Location`. Questions of one user are answered one after the other. With an
    `Idempotency-Key` the request can be repeated safely.
    """
    principal = api.principal()
    worked = question_work.ask(
        process(),
        space_id,
        principal.name,
        body.wanted(),
        may_write="write" in principal.permissions,
        until=clock.now() + timing.REQUEST,
        idempotency_key=idempotency_key,
    )
    metrics.report_question("questions", worked)
    assert worked.job
    view = JobView.of(questions.of_question(worked.job))
    return api.json(HTTPStatus.OK, view) if worked.job.ended() else api.accepted(view)
