"""Spaces' life, and corrections of a bank by an admin."""

from http import HTTPStatus
from typing import Annotated, Any

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Query
from aws_lambda_powertools.utilities.typing import LambdaContext

from livemem import bank, clock, corrections, history, overview, spaces
from livemem.corrections import Editor
from livemem_http import views
from livemem_http.api import Api
from livemem_http.environment import settings, start_run, store
from livemem_http.logs import function_logger

logger = function_logger("admin")
api = Api()


def _editor() -> Editor:
    return Editor(store(), clock.now, clock.new_id, api.principal().name, start_run)


@api.route("POST", "/v1/spaces", needs="write", status=HTTPStatus.CREATED, summary="Create a space")
def create_space(body: views.NewSpace) -> Response[views.SpaceView]:
    meta = overview.create_space(
        store(), settings(), api.principal(), body.wanted(), now=clock.now(), uid=clock.new_id()
    )
    return api.json(HTTPStatus.CREATED, views.SpaceView.of(meta), headers={"Location": f"/v1/spaces/{meta.space_id}"})


@api.route("PATCH", "/v1/spaces/{space_id}", needs="write", summary="Change a space")
def patch_space(space_id: str, body: views.SpaceChange) -> views.SpaceView:
    meta = spaces.patch(
        store(),
        space_id,
        description=body.description,
        owner=body.owner,
        threshold=body.consolidation_threshold,
        auto_paused=body.auto_paused,
    )
    return views.SpaceView.of(meta)


@api.route("DELETE", "/v1/spaces/{space_id}", needs="admin", status=HTTPStatus.NO_CONTENT, summary="Delete a space")
def delete_space(space_id: str, confirm: Annotated[str | None, Query()] = None) -> Response[None]:
    overview.delete_space(store(), space_id, confirm, clock.now())
    return api.empty()


@api.route(
    "PUT", "/v1/spaces/{space_id}/bank/{path+}", needs="admin", also=HTTPStatus.CREATED, summary="Write a bank file"
)
def put_bank_file(space_id: str, body: views.FileContent) -> Response[views.FileView]:
    path = api.path_rest()
    _, is_new = corrections.write_file(_editor(), space_id, path, body.content, body.reason)
    status = HTTPStatus.CREATED if is_new else HTTPStatus.OK
    return api.json(status, views.FileView.of(bank.read(store(), space_id, path)))


@api.route(
    "DELETE",
    "/v1/spaces/{space_id}/bank/{path+}",
    needs="admin",
    status=HTTPStatus.NO_CONTENT,
    summary="Delete a bank file",
)
def delete_bank_file(space_id: str, reason: Annotated[views.Reason | None, Query()] = None) -> Response[None]:
    corrections.delete_file(_editor(), space_id, api.path_rest(), reason)
    return api.empty()


@api.route(
    "POST",
    "/v1/spaces/{space_id}/consolidations/{number}/undo",
    needs="admin",
    summary="Undo the newest consolidation",
)
def undo_consolidation(space_id: str, number: str) -> views.ChangeDetail:
    record = corrections.undo(_editor(), space_id, history.check_number(number))
    return views.ChangeDetail.of_detail(history.read(store(), space_id, record.number))


@logger.inject_lambda_context(clear_state=True)
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answer one HTTP API event."""
    return api.handle(event, context)
