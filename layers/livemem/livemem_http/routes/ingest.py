"""Appends live notes, one or a batch."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Body, Header

from livemem.access import decision
from livemem.notes import appending, idempotency, pages
from livemem.notes.note import CopiedFrom
from livemem_http.api import Api
from livemem_http.environment import process
from livemem_http.views import IdempotencyKey, NewNote, NewNotes, NoteList, NoteOrNotes, NoteView

api = Api()


@api.route(
    "POST",
    "/v1/spaces/{space_id}/notes",
    needs="write",
    status=HTTPStatus.CREATED,
    also=[HTTPStatus.OK],
    tag="notes",
    summary="Append a note",
)
def append_note(
    space_id: str,
    body: Annotated[NoteOrNotes, Body()],
    idempotency_key: Annotated[IdempotencyKey | None, Header(alias="Idempotency-Key")] = None,
) -> Response[NoteView | NoteList]:
    """Write a note, or up to 100 as `items`, which are never changed afterwards. All `items` are checked before the
    first is written. The agent is the name of the token. When the live notes reach the space's threshold, a
    consolidation starts by itself. With an `Idempotency-Key` the request can be repeated safely: 201 has a new note,
    200 only such that exist already.
    """
    agent = api.principal().name
    if isinstance(body, NewNotes):
        return _append_all(space_id, agent, body.items, idempotency_key)
    sources = _sources([body])
    if idempotency_key is None:
        pages.check_sources(process(), sources)
        note = appending.append(process(), space_id, agent, body.draft())
        return api.json(HTTPStatus.CREATED, NoteView.of(note))
    note, is_new = idempotency.append_once(process(), space_id, agent, body.draft(), idempotency_key)
    return api.json(HTTPStatus.CREATED if is_new else HTTPStatus.OK, NoteView.of(note))


def _append_all(
    space_id: str, agent: str, notes: Sequence[NewNote], idempotency_key: str | None
) -> Response[NoteView | NoteList]:
    api.count_batch(space_id, len(notes))
    sources = _sources(notes)
    drafts = [note.draft() for note in notes]
    if idempotency_key is None:
        pages.check_sources(process(), sources)
        written = [(note, True) for note in appending.append_batch(process(), space_id, agent, drafts)]
    else:
        written = idempotency.append_batch_once(process(), space_id, agent, drafts, idempotency_key)
    status = HTTPStatus.CREATED if any(is_new for _, is_new in written) else HTTPStatus.OK
    return api.json(status, NoteList(items=[NoteView.of(note) for note, _ in written]))


def _sources(notes: Sequence[NewNote]) -> set[CopiedFrom]:
    """What the notes pass on. Raises Forbidden if one names a space as its source that the token may not read."""
    sources = {source for note in notes if (source := note.draft().source)}
    for space_id in {source.space_id for source in sources}:
        decision.check_permission(api.principal(), "read")
        decision.check_space(process(), api.principal(), space_id)
    return sources
