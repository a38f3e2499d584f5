"""Lifecycle and rules of spaces, corrections of a bank by hand, and tokens."""

from http import HTTPStatus
from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Header, Query

from livemem import limits
from livemem.access import management, rotation, secret, tokens
from livemem.bank import corrections, history, review
from livemem.changes import rules_change
from livemem.consolidation import space_change
from livemem.spaces import lifecycle
from livemem.store import cursors
from livemem_http import views
from livemem_http.api import Api
from livemem_http.environment import process
from livemem_http.paging import Cursor, Limit

api = Api()


@api.route("POST", "/v1/spaces", needs="write", status=HTTPStatus.CREATED, tag="spaces", summary="Create a space")
def create_space(body: views.NewSpace) -> Response[views.SpaceView]:
    """Create a space with rules of your own or of a template (`standard`, if you name none). A token that may use only
    some spaces gets this one added. The id of a deleted space is free again 21 minutes after the deletion.
    """
    meta = lifecycle.create(process(), api.principal(), body.wanted())
    return api.json(HTTPStatus.CREATED, views.SpaceView.of(meta), headers={"Location": f"/v1/spaces/{meta.space_id}"})


@api.route("PATCH", "/v1/spaces/{space_id}", needs="write", tag="spaces", summary="Change a space")
def patch_space(space_id: str, body: views.SpaceChange) -> views.SpaceChanged:
    """Change the fields that the body has. Only an admin may change `corrections`, `consolidation_mode` and
    `capture_allowed`. If the threshold is reached now, or the space is no longer paused, a consolidation starts at
    once; `started_run` names it. With `consolidation_mode` `auto` a plan that waits is discarded, and its notes go into
    the next run.
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
    """Delete a space with its notes, bank, rules and history. Backups stay, and only they can bring the space back. The
    service refuses (`busy`) while a change is being written out, or notes are erased.
    """
    lifecycle.delete(process(), space_id, confirm)
    return api.empty()


@api.route("PUT", "/v1/spaces/{space_id}/rules", needs="admin", tag="spaces", summary="Change the rules")
def put_rules(space_id: str, body: views.RulesChange) -> views.Rules:
    """Replace the rules, by a text of your own or by a template. The change goes into the history and can be undone.
    The bank itself stays as it is until the next consolidation, which sees the new rules. The service refuses rules
    that are the same already (`conflict`).
    """
    return views.Rules(rules=rules_change.change(process(), api.principal().name, space_id, body.wanted()))


@api.route(
    "PUT",
    "/v1/spaces/{space_id}/bank/{path+}",
    needs="admin",
    also=[HTTPStatus.CREATED],
    tag="bank",
    summary="Write a bank file",
)
def put_bank_file(space_id: str, body: views.FileContent) -> Response[views.FileView]:
    """Create a bank file (201) or replace it as a whole (200). The correction goes into the history with its author and
    can be undone. It does not wait: while a consolidation is under way, the service refuses it (`busy`).
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
def undo_consolidation(space_id: str, number: str) -> views.ChangeSummary:
    """Bring bank, synthesis and rules back to their state before a change, and make its notes live again. Only the
    newest change that stands can be undone, so repeated undo walks back step by step. The undo is a change of its own.
    After the undo of a consolidation, no consolidation starts by itself (`auto_paused`). The change's own route has its
    diffs.
    """
    change = corrections.undo(process(), api.principal().name, space_id, history.check_number(number))
    return views.ChangeSummary.of(change)


# As with sections of the bank, what it needs beyond that is the space's own choice (`corrections`).
@api.route(
    "POST", "/v1/spaces/{space_id}/runs/{run_id}/plan/approve", needs="write", tag="runs", summary="Approve a plan"
)
def approve_plan(space_id: str, run_id: str, body: views.Approval) -> views.ChangeDetail:
    """Commit the plan that was read, which `plan_revision` names, and nothing else. New notes wait for the next run. If
    bank, rules or one of its notes have changed since, nothing is committed (`plan_outdated`), and a run is queued that
    makes another plan. It needs `admin`, or `write` where the space's `corrections` says so. A repeat answers the same.
    """
    change = review.approve(process(), api.principal(), space_id, run_id, body.plan_revision)
    return views.ChangeDetail.of_detail(change)


@api.route(
    "POST", "/v1/spaces/{space_id}/runs/{run_id}/plan/refuse", needs="write", tag="runs", summary="Refuse a plan"
)
def refuse_plan(space_id: str, run_id: str, body: views.Refusal | None = None) -> views.RunView:
    """Refuse a plan. Its notes stay live. No consolidation starts by itself (`auto_paused`), else it would plan the
    same notes again. Change the rules or correct the bank, then start a run. It needs what an approval needs.
    """
    reason = body.reason if body else None
    return views.RunView.of(review.refuse(process(), api.principal(), space_id, run_id, reason))


@api.route("POST", "/v1/tokens", needs="admin", status=HTTPStatus.CREATED, tag="tokens", summary="Make a token")
def create_token(body: views.NewToken) -> Response[views.TokenMade]:
    """Make a token for an agent. Only this answer ever shows the token. It is valid at once. It expires at the latest
    with the token that makes it, which `made_by` names. If the answer is lost, nobody has the token: find it in the
    list, revoke it, and make another.
    """
    made = tokens.create(process(), api.principal(), secret.new(), body.wanted())
    return api.json(HTTPStatus.CREATED, views.TokenMade.of_made(made))


@api.route("GET", "/v1/tokens", needs="admin", tag="tokens", summary="List tokens")
def list_tokens(limit: Limit = limits.PAGE_DEFAULT, cursor: Cursor = None) -> views.TokenPage:
    """All tokens, also those that are revoked or have expired. If the caller's own token has a list of spaces, only
    tokens that can reach no other space.
    """
    after = cursors.decode_token(cursor)
    found, more = management.page(process(), api.principal(), limit=limit, after=after)
    return views.TokenPage(
        items=[views.TokenShown.of_shown(shown) for shown in found], next_cursor=cursors.encode(more)
    )


@api.route("PATCH", "/v1/tokens/{token_hash}", needs="admin", tag="tokens", summary="Change a token")
def patch_token(token_hash: str, body: views.TokenChange) -> views.TokenView:
    """Change what a token may do, where, for how long, or who answers for it. The change is in force within 30 seconds.
    If the change gives the token more permissions, spaces or time, it must expire no later than the token of the
    request.
    """
    return views.TokenView.of(management.update(process(), api.principal(), token_hash, body.wanted()))


@api.route("POST", "/v1/tokens/{token_hash}/revoke", needs="admin", tag="tokens", summary="Revoke a token")
def revoke_token(token_hash: str, body: views.Revocation | None = None) -> views.TokenRevoked:
    """Revoke this token, the tokens that it was rotated to, and the tokens that any of these made. `others` names the
    other tokens that were revoked, as far as the caller may manage them. The revocation is in force within 30 seconds.
    It cannot be undone. The token's notes stay.
    """
    wanted = body or views.Revocation()
    revoked = management.revoke(
        process(), api.principal(), token_hash, successors=wanted.successors, descendants=wanted.descendants
    )
    return views.TokenRevoked.of_revoked(revoked)


@api.route(
    "DELETE",
    "/v1/tokens/{token_hash}",
    needs="admin",
    status=HTTPStatus.NO_CONTENT,
    tag="tokens",
    summary="Remove a token",
)
def delete_token(token_hash: str) -> Response[None]:
    """Remove a token from the registry without a trace. Within 30 seconds the service accepts it no longer. The tokens
    that it was rotated to and those that it made stay valid: to end them too, revoke it first.
    """
    management.delete(process(), api.principal(), token_hash)
    return api.empty()


@api.route("POST", "/v1/tokens/purge", needs="admin", tag="tokens", summary="Remove dead tokens")
def purge_tokens() -> views.TokensPurged:
    """Remove all tokens that are revoked or have expired, of those that the caller may manage."""
    purged = management.purge(process(), api.principal())
    return views.TokensPurged(purged=len(purged), hashes=purged)


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
    idempotency_key: Annotated[views.IdempotencyKey | None, Header(alias="Idempotency-Key")] = None,
) -> Response[views.TokenRotated]:
    """Get a new token of the same name, permissions, spaces and expiry; the one of the request stays valid until
    `old_expires_at`, but manages no tokens any more. A token is rotated once. If the answer was lost, a repeat with the
    same `Idempotency-Key` makes another new token and revokes the lost one. This works for ten minutes also if the old
    token has expired.
    """
    grace = (body or views.Rotation()).grace_seconds
    rotated = rotation.rotate(process(), api.principal(), secret.new(), grace=grace, key=idempotency_key)
    return api.json(HTTPStatus.CREATED, views.TokenRotated.of_rotated(rotated))
