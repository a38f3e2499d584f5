"""Memories: single durable facts are stored, found, corrected, and deleted so that they can be brought back."""

from datetime import datetime
from http import HTTPStatus
from typing import Annotated, Any, Literal

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Body, Header, Query

from livemem import clock
from livemem.errors import InvalidRequest
from livemem.memories import changes, correcting, forgetting, operation, reading, splitting, storing
from livemem.memories.memory import SUBJECT_CHARACTERS
from livemem.memories.storing import Failed
from livemem.memories.storing_outcome import StoredMemory
from livemem.store import cursors, timing
from livemem_http import remembered, views
from livemem_http.api import Api
from livemem_http.environment import process
from livemem_http.filters import Everything, Least
from livemem_http.paging import Cursor
from livemem_http.views.memories import (
    BatchItem,
    BatchView,
    IdempotencyKey,
    MemoriesFound,
    MemoryChange,
    MemoryChangePage,
    MemoryDetail,
    MemoryOrMemories,
    NewMemories,
    OfKind,
    SplitView,
    Written,
)

api = Api()

ALL = "/v1/spaces/{space_id}/memories"
ONE = f"{ALL}/{{memory_id}}"

Question = Annotated[
    str | None,
    Query(
        description="The query: words or a question. Without it, the memories that changed last are returned.",
        examples=["how does Ann want to be answered"],
    ),
]
KindOnly = Annotated[
    OfKind | None, Query(description="Only memories of this kind. Default: all kinds.", examples=["fact"])
]
About = Annotated[
    str | None,
    Query(
        description=f"Only memories about this subject, in at most {SUBJECT_CHARACTERS} characters.", examples=["ann"]
    ),
]
Order = Annotated[
    Literal["recent"] | None,
    Query(
        description="`recent`: the memories that changed last first. It goes without `q`, and is the default then.",
        examples=["recent"],
    ),
]
Most = Annotated[
    int,
    Query(ge=1, le=reading.FOUND_MOST, description="Maximum number of memories.", examples=[reading.FOUND_DEFAULT]),
]
ChangesMost = Annotated[
    int,
    Query(ge=1, le=changes.MOST, description="Maximum number of items in the page.", examples=[changes.DEFAULT]),
]
OfMemory = Annotated[
    str | None,
    Query(
        description="Only changes of this memory, also if it is deleted. A page looks at "
        f"{changes.LOOKED_AT} changes of each kind, so it may be empty although there are more: follow `next_cursor`.",
        examples=["01KHXD0B7C2R0M4T6W9YBNCD3F"],
    ),
]
Key = Annotated[IdempotencyKey | None, Header(alias="Idempotency-Key")]


def _soon() -> datetime:
    return clock.now() + timing.REQUEST


@api.route(
    "POST",
    ALL,
    needs="write",
    status=HTTPStatus.CREATED,
    also=[HTTPStatus.OK],
    tag="memories",
    summary="Store a memory",
)
def store_memory(
    space_id: str, body: Annotated[MemoryOrMemories, Body()], idempotency_key: Key = None
) -> Response[Written | BatchView]:
    """Store one durable fact, or up to 50 as `items`, one after the other. All `items` are checked before the first is
    stored. Each has its own result (200), so check `failed`. If a memory of its kind says the same in the same words,
    or the LLM finds that it does, both are merged (200, `merged_into`). The merged memory keeps the content that says
    more and the longer validity; the other content goes to its history. If the LLM finds that the new memory
    contradicts another one, the new one replaces it. 201: a memory of its own. With an `Idempotency-Key` the request
    can be repeated safely.
    """
    author = api.principal().name
    if isinstance(body, NewMemories):
        api.count_batch(space_id, len(body.items))
        causes = [operation.of_key(author, idempotency_key, place) for place in range(len(body.items))]
        drafts = [memory.draft() for memory in body.items]
        done = storing.store_all(process(), space_id, author, drafts, op_ids=causes, until=_soon())
        items = [BatchItem.of(place, _status(result), result) for place, result in enumerate(done)]
        failed = len([result for result in done if isinstance(result, Failed)])
        return api.json(HTTPStatus.OK, BatchView(items=items, failed=failed))
    cause = operation.of_key(author, idempotency_key)
    stored = storing.store(process(), space_id, author, body.draft(), op_id=cause, until=_soon())
    return api.json(_status(stored), Written.of_stored(stored))


def _status(done: StoredMemory | Failed) -> int:
    if isinstance(done, Failed):
        return done.error.status
    return HTTPStatus.CREATED if done.fresh and not done.repeated else HTTPStatus.OK


@api.route("GET", ALL, needs="read", tag="memories", markdown=remembered.found, summary="Search memories")
def search_memories(
    space_id: str,
    q: Question = None,
    kind: KindOnly = None,
    subject: About = None,
    order: Order = None,
    limit: Most = reading.FOUND_DEFAULT,
    min_score: Least = None,
    everything: Everything = False,
    cursor: Cursor = None,
) -> MemoriesFound:
    """The memories that answer a question, the most similar first, with their scores. Those that share only common
    words with it, are no nearer in meaning than others, or say that they no longer hold are left out, so there may be
    none (`nothing`). With `everything`, or 0 as `min_score`, there is no such limit. With `order=recent`, which goes
    without a question: the memories that were stored, merged or corrected last, in pages. A memory that changes between
    two pages comes first again. Expired memories are never returned.
    """
    missing: list[str] = []
    wanted: dict[str, Any] = {"kind": kind, "subject": subject, "missing": missing}
    if q is None:
        for name, value in (("min_score", min_score), ("everything", everything or None)):
            if value is not None:
                raise InvalidRequest.of(name, "goes only with `q`")
        after = cursors.decode_with(reading.parse_place, cursor)
        found = reading.recent(process(), space_id, limit=limit + 1, after=after, **wanted)
        more = reading.place_text(found[limit - 1]) if len(found) > limit else None
        return MemoriesFound.newest(found[:limit], cursors.encode(more), missing)
    if order == "recent" or cursor is not None:
        raise InvalidRequest.of("q", "goes with no `order=recent` and no `cursor`")
    search = reading.ask if everything or min_score == 0 else reading.answers
    wanted["limit"] = limit
    return MemoriesFound.of(search(process(), space_id, q, **wanted).at_least(min_score), missing)


@api.route(
    "GET",
    f"{ALL}/changes",
    needs="read",
    tag="memories",
    markdown=remembered.changes,
    summary="List changes of memories",
)
def list_memory_changes(
    space_id: str,
    kind: KindOnly = None,
    memory_id: OfMemory = None,
    limit: ChangesMost = changes.DEFAULT,
    cursor: Cursor = None,
) -> MemoryChangePage:
    """All changes of memories, or of one, the newest first, with their authors and reasons: stored, merged, split,
    corrected, deleted and restored. To undo a deletion use `restore`, to undo a merge use `split`. To undo a
    correction, correct the memory again with its former content.
    """
    after = cursors.decode_changes(cursor)
    missing: list[str] = []
    found, more = changes.page(
        process(), space_id, kind=kind, limit=limit, after=after, memory_id=memory_id, missing=missing
    )
    return MemoryChangePage.of(found, cursors.encode_changes(more), missing)


@api.route("GET", ONE, needs="read", tag="memories", markdown=remembered.memory, summary="Get a memory")
def get_memory(space_id: str, memory_id: str) -> MemoryDetail:
    """A memory with its former contents and its sources."""
    return MemoryDetail.of(reading.load(process(), space_id, memory_id))


@api.route("PATCH", ONE, needs="write", tag="memories", summary="Correct a memory")
def correct_memory(space_id: str, memory_id: str, body: MemoryChange) -> Written:
    """Change the given fields of a memory. The former content goes to its history. `ttl` counts from now; null: it
    never expires. Send the `revision` that you have read, so that you do not overwrite another change.
    """
    author = api.principal().name
    return Written.of_stored(correcting.correct(process(), space_id, author, memory_id, body.correction()))


@api.route("DELETE", ONE, needs="write", status=HTTPStatus.NO_CONTENT, tag="memories", summary="Delete a memory")
def delete_memory(
    space_id: str, memory_id: str, reason: Annotated[views.Reason, Query(examples=["It is no longer so."])]
) -> Response[None]:
    """Delete a memory. This needs `admin`, unless the caller is its author. The log keeps the memory, so it can be
    restored.
    """
    principal = api.principal()
    forgetting.delete(process(), space_id, principal.name, memory_id, reason, anyone="admin" in principal.permissions)
    return api.empty()


@api.route("POST", f"{ONE}/restore", needs="write", tag="memories", summary="Restore a memory")
def restore_memory(space_id: str, memory_id: str) -> MemoryDetail:
    """Undo the deletion of your own memory, or with `admin` of any memory. A memory that would have expired by now is
    valid for another hour. A memory that is not deleted is returned as it is, so the request can be repeated.
    """
    principal = api.principal()
    anyone = "admin" in principal.permissions
    return MemoryDetail.of(forgetting.restore(process(), space_id, principal.name, memory_id, anyone=anyone).memory)


@api.route("POST", f"{ONE}/split", needs="write", tag="memories", summary="Split a memory")
def split_memory(space_id: str, memory_id: str, idempotency_key: Key = None) -> SplitView:
    """Undo the last merge of a memory: it gets its former content back, and the merged content becomes a memory of its
    own. Corrections stay with the content that they corrected. A second split undoes the merge before that one. With
    an `Idempotency-Key` the request can be repeated safely.
    """
    author = api.principal().name
    cause = operation.of_key(author, idempotency_key)
    op_id = f"split/{memory_id}/{cause}" if cause else None
    return SplitView.of(splitting.split(process(), space_id, author, memory_id, op_id=op_id))
