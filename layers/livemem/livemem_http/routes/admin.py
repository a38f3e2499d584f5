"""Lifecycle and rules of spaces, corrections of a bank by hand, and tokens."""

from http import HTTPStatus
from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Header, Query

from livemem import limits
from livemem.access import management, page_codes, rotation, secret, tokens
from livemem.bank import corrections, history, review
from livemem.changes import rules_change
from livemem.consolidation import space_change
from livemem.jobs.describable import name_of
from livemem.spaces import lifecycle
from livemem.store import cursors
from livemem_http import views
from livemem_http.api import Api
from livemem_http.environment import process
from livemem_http.paging import Cursor, Limit
from livemem_http.views.tokens import Descendants, Forget, Successors

api = Api()

NOT_KEPT = {"Cache-Control": "no-store"}
"""For answers with a secret."""


@api.route("PATCH", "/v1/spaces/{space_id}", needs="write", tag="spaces", summary="Change a space")
def patch_space(space_id: str, body: views.SpaceChange) -> views.SpaceView:
    """Change the given fields. Only an admin may change `corrections`, `consolidation_mode`, `capture_allowed`,
    `agent_folds` and `recall`. A `repository` is set once: for another one the service refuses the change
    (`conflict`). If the threshold is reached now, or the space is no longer paused, a consolidation starts at once;
    `started_run` names it. With `consolidation_mode` `auto` a plan that waits is discarded, and its notes go into the
    next run.
    """
    changed = space_change.change(process(), api.principal(), space_id, body.wanted())
    return views.SpaceView.of(changed.meta, started_run=changed.started_run)


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
        Query(
            description="The id of the space again, as a confirmation. Without it nothing is deleted.",
            examples=["demo"],
        ),
    ] = None,
) -> Response[None]:
    """Delete a space with its notes, bank, rules and history. Backups are kept, and only they can bring the space back.
    While a change is being applied, or notes are being erased, the service refuses the deletion (`busy`).
    """
    lifecycle.delete(process(), space_id, confirm)
    return api.empty()


@api.route("PUT", "/v1/spaces/{space_id}/rules", needs="admin", tag="spaces", summary="Change the rules")
def put_rules(space_id: str, body: views.RulesChange) -> views.Rules:
    """Replace the rules by your own text or by a template. The change is kept in the history and can be undone. The
    bank stays as it is until the next consolidation, which uses the new rules. If the rules are the same already,
    the service refuses the change (`conflict`).
    """
    text, number = rules_change.change(process(), api.principal().name, space_id, body.wanted())
    return views.Rules(rules=text, consolidation=number)


@api.route(
    "PUT",
    "/v1/spaces/{space_id}/bank/{path+}",
    needs="admin",
    also=[HTTPStatus.CREATED],
    tag="bank",
    summary="Write a bank file",
)
def put_bank_file(space_id: str, body: views.FileContent) -> Response[views.FileView]:
    """Create a bank file (201) or replace the whole file (200). The correction is kept in the history with its author
    and can be undone. While a consolidation is in progress it waits for some seconds, and is then refused (`busy`).
    Send it again: it comes before the next consolidation.
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
    """Edit single sections of a bank file. All other lines stay as they are. This needs `admin`, or `write` if the
    space's `corrections` allows it. The correction is kept in the history with its author and can be undone.
    A confirmation of sections that were confirmed on the same day (UTC) changes nothing.
    """
    file = corrections.edit_sections(
        process(),
        api.principal(),
        space_id,
        api.path_rest(),
        body.wanted(),
        body.reason,
        written_by=body.consolidation,
    )
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
    """Delete a bank file. The deletion is kept in the history and can be undone. A later consolidation may write the
    file again, if the rules require it.
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
def undo_consolidation(space_id: str, number: str) -> views.ChangeSummary:
    """Bring bank, synthesis and rules back to their state before a change, and make its notes live again. Only the
    newest change that is not undone yet can be undone, so repeated requests undo one change after the other. The
    undo is itself a change in the history. After the undo of a consolidation, no consolidation starts by itself
    (`auto_paused`); after that of a tidy run, no tidy run (`tidy_paused`). To see the diffs, get the change.
    """
    change = corrections.undo(process(), api.principal().name, space_id, history.check_number(number))
    return views.ChangeSummary.of(change)


# As with sections of the bank, what it needs beyond that is the space's own choice (`corrections`).
@api.route(
    "POST", "/v1/spaces/{space_id}/plan/approve", needs="write", tag="consolidations", summary="Approve the plan"
)
def approve_plan(space_id: str, body: views.PlanApproval) -> views.ChangeDetail:
    """Commit exactly the plan that `plan_revision` names. It is in the result of its job. New notes wait for the next
    run. If bank, rules or one of its notes have changed since, nothing is committed (`plan_outdated`), and a run is
    queued that makes another plan. This needs `admin`, or `write` if the space's `corrections` allows it. A repeat
    returns the same answer.
    """
    run_id = name_of(body.job, space_id, "consolidation")
    return views.ChangeDetail.of_detail(
        review.approve(process(), api.principal(), space_id, run_id, body.plan_revision)
    )


@api.route("POST", "/v1/spaces/{space_id}/plan/refuse", needs="write", tag="consolidations", summary="Refuse the plan")
def refuse_plan(space_id: str, body: views.PlanRefusal) -> views.JobState:
    """Refuse a plan. Its notes stay live. No consolidation starts by itself (`auto_paused`), because it would plan the
    same notes again. After the refusal of a tidy run, only no tidy run does (`tidy_paused`). Change the rules or
    correct the bank, then start a run. This needs the same permission as an approval.
    """
    run_id = name_of(body.job, space_id, "consolidation")
    run = review.refuse(process(), api.principal(), space_id, run_id, body.reason)
    return views.JobState(job=body.job, status=run.status)


@api.route("POST", "/v1/tokens", needs="admin", status=HTTPStatus.CREATED, tag="tokens", summary="Make a token")
def create_token(body: views.NewToken) -> Response[views.TokenView]:
    """Make a token for an agent. Only this answer shows the token. It is valid at once. It expires no later than the
    token that makes it, which `made_by` names. If you lose the answer, find the token in the list, revoke it, and
    make another.
    """
    made = tokens.create(process(), api.principal(), secret.new(), body.wanted())
    return api.json(HTTPStatus.CREATED, views.TokenView.of(made.token, token=made.text))


@api.route("GET", "/v1/tokens", needs="admin", tag="tokens", summary="List tokens")
def list_tokens(limit: Limit = limits.PAGE_DEFAULT, cursor: Cursor = None) -> views.TokenPage:
    """List all tokens, including revoked and expired ones. If the caller's own token has a list of spaces, the answer
    has only tokens that can reach no other space.
    """
    after = cursors.decode_token(cursor)
    found, more = management.page(process(), api.principal(), limit=limit, after=after)
    items = [views.TokenView.of(shown.token, last_used_at=shown.last_used_at) for shown in found]
    return views.TokenPage(items=items, next_cursor=cursors.encode(more))


@api.route("PATCH", "/v1/tokens/{token_hash}", needs="admin", tag="tokens", summary="Change a token")
def patch_token(token_hash: str, body: views.TokenChange) -> views.TokenView:
    """Change the permissions, the spaces, the expiry or the responsible person of a token. The change takes effect
    within 30 seconds. If the change gives the token more permissions, spaces or time, it must expire no later than
    the token of the request.
    """
    return views.TokenView.of(management.update(process(), api.principal(), token_hash, body.wanted()))


@api.route("DELETE", "/v1/tokens/{token_hash}", needs="admin", tag="tokens", summary="Revoke a token")
def revoke_token(
    token_hash: str,
    successors: Successors = True,
    descendants: Descendants = True,
    forget: Forget = False,
) -> views.TokenView:
    """Revoke this token, the tokens that it was rotated to, and the tokens that any of these made. `others` names the
    other revoked tokens, as far as the caller may manage them. The revocation takes effect within 30 seconds. It
    cannot be undone. The token's notes are kept.
    """
    revoked = management.revoke(
        process(), api.principal(), token_hash, successors=successors, descendants=descendants, forget=forget
    )
    return views.TokenView.of(revoked.token, others=list(revoked.others))


@api.route(
    "POST",
    "/v1/tokens/self/rotate",
    needs="rotation",
    status=HTTPStatus.CREATED,
    tag="tokens",
    summary="Replace one's own token",
)
def rotate_token(
    body: views.Rotation | None = None,
    idempotency_key: Annotated[views.RotationKey | None, Header(alias="Idempotency-Key")] = None,
) -> Response[views.TokenView]:
    """Get a new token with the same name, permissions, spaces and expiry. The old token stays valid until
    `old_expires_at`, but can no longer manage tokens. A token is rotated once. If the answer was lost, a repeat with
    the same `Idempotency-Key` makes another new token and revokes the lost one. This works for ten minutes even if
    the old token has expired.
    """
    grace = (body or views.Rotation()).grace_seconds
    principal, key = api.principal(), idempotency_key
    rotated = rotation.rotate(process(), principal, secret.new(), grace=grace, key=key, began=api.began())
    return api.json(
        HTTPStatus.CREATED,
        views.TokenView.of(rotated.made.token, token=rotated.made.text, old_expires_at=rotated.old_expires_at),
    )


@api.route(
    "POST", "/v1/page-codes", needs="any", status=HTTPStatus.CREATED, tag="tokens", summary="Make a code for the page"
)
def create_page_code() -> Response[views.PageCode]:
    """Make a code that stands for the token of this request, for one minute and once. Open `path` at the address of the
    service in a browser: the page exchanges the code for the token. So the token is in no address and no history.
    """
    code = page_codes.make(process(), api.token())
    made = views.PageCode(page_code=code, path=f"/#code={code}", expires_in=int(page_codes.LIFE.total_seconds()))
    return api.json(HTTPStatus.CREATED, made, headers=NOT_KEPT)


@api.route("POST", "/v1/page-codes/exchange", needs="nothing", tag="tokens", summary="Exchange a code for its token")
def exchange_page_code(body: views.PageCodeExchange) -> Response[views.PageToken]:
    """Get the token that a code stands for. Only the first request with a code gets it, within a minute. Any other one
    gets a 401.
    """
    token, principal = page_codes.redeem(process(), body.code)
    return api.json(HTTPStatus.OK, views.PageToken(token=token, name=principal.name), headers=NOT_KEPT)
