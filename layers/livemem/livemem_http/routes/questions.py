"""Answers questions over HTTP. When the function is invoked asynchronously, it continues questions that take longer
than the API allows.
"""

from http import HTTPStatus
from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Header

from livemem import clock, limits
from livemem.ask import asked, question_work
from livemem.ask import question as questions
from livemem.store import cursors, timing
from livemem_http import metrics
from livemem_http.api import Api
from livemem_http.environment import process
from livemem_http.paging import Cursor, Limit
from livemem_http.views.ask import AskPage, AskView, IdempotencyKey, NewQuestion

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
) -> Response[AskView]:
    """Ask an agent that searches memories, notes and conversations, and answers with its sources. With `write` the
    agent may also store memories, and the questions of one user form a session. With `read` alone each question is
    independent and leaves nothing that others see. 200: the question is answered or has failed (`status`). 202: the
    work continues, see `Location`. Questions of one user are answered one after the other. With an `Idempotency-Key`
    the request can be repeated safely.
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
    view = AskView.of(worked.job)
    if worked.job.ended():
        return api.json(HTTPStatus.OK, view)
    headers = {"Location": f"/v1/spaces/{space_id}/ask/{view.request_id}"}
    return api.json(HTTPStatus.ACCEPTED, view, headers=headers)


@api.route("GET", ALL, needs="read", tag="questions", summary="List questions")
def list_questions(space_id: str, limit: Limit = limits.PAGE_DEFAULT, cursor: Cursor = None) -> AskPage:
    """The questions of the space with their answers, those with the newest progress first. Questions that were asked
    with `read` alone are listed only for the token that asked them. Old questions are removed with the documents of
    runs (`RUN_RETENTION_DAYS`).
    """
    missing: list[str] = []
    after = cursors.decode_with(asked.parse_place, cursor)
    reader = api.principal().name
    found, more = asked.page(process(), space_id, reader, limit=limit, after=after, missing=missing)
    items = [AskView.of(one) for one in found]
    return AskPage(items=items, next_cursor=cursors.encode(asked.place_text(more)), unreadable=missing)


@api.route("GET", f"{ALL}/{{request_id}}", needs="read", tag="questions", summary="Get a question")
def get_question(space_id: str, request_id: str) -> AskView:
    """A question and its answer. Send the request again until its `status` is final. A question that was asked with
    `read` alone is shown only to the token that asked it.
    """
    return AskView.of(questions.load(process(), space_id, request_id, api.principal().name))
