"""Appends live notes, one or a batch."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Header

from livemem.access import decision
from livemem.notes import appending, idempotency
from livemem_http.api import Api
from livemem_http.environment import process
from livemem_http.views import IdempotencyKey, NewNote, NewNotes, NoteList, NoteView

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
    body: NewNote,
    idempotency_key: Annotated[IdempotencyKey | None, Header(alias="Idempotency-Key")] = None,
) -> Response[NoteView]:
    """Write one note, which is never changed afterwards. Its agent is the name of the token. When the live notes reach
    the space's threshold, a consolidation starts by itself. With an `Idempotency-Key` the request can be repeated
    safely: 201 is a new note, 200 one that exists already.
    """
    agent = api.principal().name
    _check_sources([body])
    if idempotency_key is None:
        note = appending.append(process(), space_id, agent, body.draft())
        return api.json(HTTPStatus.CREATED, NoteView.of(note))
    note, is_new = idempotency.append_once(process(), space_id, agent, body.draft(), idempotency_key)
    return api.json(HTTPStatus.CREATED if is_new else HTTPStatus.OK, NoteView.of(note))


@api.route(
    "POST",
    "/v1/spaces/{space_id}/notes/batch",
    needs="write",
    status=HTTPStatus.CREATED,
    tag="notes",
    summary="Append notes",
)
def append_notes(space_id: str, body: NewNotes) -> NoteList:
    """Write up to 100 notes in one request. All are checked before the first is written. This route takes no
    `Idempotency-Key`: a repeat writes the notes again.
    """
    api.count_batch(space_id, len(body.notes))
    _check_sources(body.notes)
    drafts = [note.draft() for note in body.notes]
    written = appending.append_batch(process(), space_id, api.principal().name, drafts)
    return NoteList(items=[NoteView.of(note) for note in written])


def _check_sources(notes: Sequence[NewNote]) -> None:
    """Raise Forbidden if a note names a space as its source that the token may not read. No request as a rule."""
    for space_id in {note.source.space_id for note in notes if note.source}:
        decision.check_permission(api.principal(), "read")
        decision.check_space(process(), api.principal(), space_id)
