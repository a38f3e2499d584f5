"""Spaces' life and rules, and corrections of a bank by hand."""

from http import HTTPStatus
from typing import Annotated, Any

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Query
from aws_lambda_powertools.utilities.typing import LambdaContext

from livemem.bank import corrections, history
from livemem.changes import rules
from livemem.runs import space_change
from livemem.spaces import life
from livemem_http import views
from livemem_http.api import Api
from livemem_http.environment import process
from livemem_http.logs import function_logger

logger = function_logger("admin")
api = Api()


@api.route("POST", "/v1/spaces", needs="write", status=HTTPStatus.CREATED, tag="spaces", summary="Create a space")
def create_space(body: views.NewSpace) -> Response[views.SpaceView]:
    """Create a space with rules of your own or of a template (`standard`, if you name none). A token that may use only
    some spaces gets this one added. The id of a deleted space is free again after 21 minutes.
    """
    meta = life.create(process(), api.principal(), body.wanted())
    return api.json(HTTPStatus.CREATED, views.SpaceView.of(meta), headers={"Location": f"/v1/spaces/{meta.space_id}"})


@api.route("PATCH", "/v1/spaces/{space_id}", needs="write", tag="spaces", summary="Change a space")
def patch_space(space_id: str, body: views.SpaceChange) -> views.SpaceChanged:
    """Change the fields that the body has. Only an admin may change `corrections`. If the threshold is reached now, or
    the space is no longer paused, a consolidation starts at once; `started_run` names it.
    """
    changed = space_change.change(process(), api.principal(), space_id, body.wanted())
    return views.SpaceChanged.of_change(changed)


@api.route(
    "DELETE",
    "/v1/spaces/{space_id}",
    needs="admin",
    status=HTTPStatus.NO_CONTENT,
    tag="spaces",
    summary="Delete a space",
)
def delete_space(
    space_id: str,
    confirm: Annotated[
        str | None,
        Query(description="The id of the space once more. Without it nothing is deleted.", examples=["demo"]),
    ] = None,
) -> Response[None]:
    """Delete a space with its notes, bank, rules and history. There is no way back. While a change is being written out
    it is refused (`busy`).
    """
    life.delete(process(), space_id, confirm)
    return api.empty()


@api.route("PUT", "/v1/spaces/{space_id}/rules", needs="admin", tag="spaces", summary="Change the rules")
def put_rules(space_id: str, body: views.RulesChange) -> views.Rules:
    """Replace the rules, by a text of your own or by a template. The change goes into the history and can be undone;
    the bank itself stays as it is until the next consolidation, which is told of it. Rules that are the same already
    are refused (`conflict`).
    """
    return views.Rules(rules=rules.change(process(), api.principal().name, space_id, body.wanted()))


@api.route(
    "PUT",
    "/v1/spaces/{space_id}/bank/{path+}",
    needs="admin",
    also=HTTPStatus.CREATED,
    tag="bank",
    summary="Write a bank file",
)
def put_bank_file(space_id: str, body: views.FileContent) -> Response[views.FileView]:
    """Create a bank file (201) or replace it as a whole (200). The correction goes into the history with its author and
    can be undone. It waits for nobody: while a consolidation is under way it is refused (`busy`).
    """
    author, path = api.principal().name, api.path_rest()
    file, is_new = corrections.write_file(process(), author, space_id, path, body.content, body.reason)
    status = HTTPStatus.CREATED if is_new else HTTPStatus.OK
    return api.json(status, views.FileView.of(file))


# What it needs beyond that is the space's own choice (`corrections`), which the domain knows.
@api.route(
    "PATCH", "/v1/spaces/{space_id}/bank/{path+}", needs="write", tag="bank", summary="Edit sections of a bank file"
)
def patch_bank_file(space_id: str, body: views.SectionEdits) -> views.FileView:
    """Edit single sections of a bank file; every other line stays as it is. It needs `admin`, or `write` where the
    space's `corrections` says so. The correction goes into the history with its author and can be undone.
    """
    file = corrections.edit_sections(process(), api.principal(), space_id, api.path_rest(), body.wanted(), body.reason)
    return views.FileView.of(file)


@api.route(
    "DELETE",
    "/v1/spaces/{space_id}/bank/{path+}",
    needs="admin",
    status=HTTPStatus.NO_CONTENT,
    tag="bank",
    summary="Delete a bank file",
)
def delete_bank_file(space_id: str, reason: Annotated[views.Reason | None, Query()] = None) -> Response[None]:
    """Delete a bank file. The deletion goes into the history and can be undone. A later consolidation may write the
    file again, if the rules ask for it.
    """
    corrections.delete_file(process(), api.principal().name, space_id, api.path_rest(), reason)
    return api.empty()


@api.route(
    "POST",
    "/v1/spaces/{space_id}/consolidations/{number}/undo",
    needs="admin",
    tag="consolidations",
    summary="Undo the newest change",
)
def undo_consolidation(space_id: str, number: str) -> views.ChangeDetail:
    """Bring bank, synthesis and rules back to what they were before a change, and its notes back to life. Only the
    newest change that stands can be undone, so repeated undo walks back step by step. The undo is a change of its own;
    after that of a consolidation no other starts by itself (`auto_paused`).
    """
    change = corrections.undo(process(), api.principal().name, space_id, history.check_number(number))
    return views.ChangeDetail.of_detail(change)


@logger.inject_lambda_context(clear_state=True)
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answer one HTTP API event."""
    return api.handle(event, context)
