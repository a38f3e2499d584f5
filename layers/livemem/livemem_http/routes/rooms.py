"""Rooms: their messages are stored and read. Digests, which make memories of the messages, are started and shown."""

from http import HTTPStatus
from typing import Annotated, Literal

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Body, Query

from livemem.access import decision
from livemem.jobs.describable import job_id
from livemem.rooms import digest_work, posting, reading
from livemem.store import cursors
from livemem_http import remembered
from livemem_http.api import Api
from livemem_http.environment import process
from livemem_http.paging import Cursor
from livemem_http.views.rooms import (
    DigestQueued,
    MessageOrMessages,
    MessagePosted,
    MessagesPosted,
    NewDigest,
    NewRoomMessages,
    RoomList,
    RoomMessagePage,
)

api = Api()

SPACE = "/v1/spaces/{space_id}"
MESSAGES = f"{SPACE}/rooms/{{room}}/messages"
DIGESTS = f"{SPACE}/digests"
MessageLimit = Annotated[int, Query(ge=1, le=100, description="Maximum number of messages in the page.", examples=[20])]
MessageOrder = Annotated[
    Literal["newest", "oldest"], Query(description="`newest` first, or `oldest` first.", examples=["newest"])
]


@api.route(
    "POST",
    MESSAGES,
    needs="write",
    status=HTTPStatus.CREATED,
    also=[HTTPStatus.OK],
    tag="rooms",
    summary="Post a message",
)
def post_message(
    space_id: str, room: str, body: Annotated[MessageOrMessages, Body()]
) -> Response[MessagePosted | MessagesPosted]:
    """Keep a message in a room, or up to 100 as `items`, until the next digest makes memories of it. With a
    `message_id` the request can be repeated safely: 201 is a new message, 200 one that exists already or was digested
    since. All `items` are checked before the first is stored, and each has its own result (200). One whose `message_id`
    was used before with another text has an `error`.
    """
    if isinstance(body, NewRoomMessages):
        api.count_batch(space_id, len(body.items))
        done = posting.post_all(process(), space_id, room, [message.draft() for message in body.items])
        digest_work.catch_up(process(), space_id)
        results = zip(done, body.items, strict=True)
        items = [MessagePosted.of(result, message.message_id) for result, message in results]
        return api.json(HTTPStatus.OK, MessagesPosted(items=items))
    posted = posting.post(process(), space_id, room, body.draft())
    digest_work.catch_up(process(), space_id)
    return api.json(HTTPStatus.CREATED if posted.fresh else HTTPStatus.OK, MessagePosted.of(posted))


@api.route("GET", f"{SPACE}/rooms", needs="read", tag="rooms", summary="List rooms")
def list_rooms(space_id: str) -> RoomList:
    """The rooms with messages that wait for a digest, or that were posted in the last days, and when the next digest is
    due.
    """
    found = reading.rooms(process(), space_id)
    return RoomList.of(found, digest_work.next_at(process(), space_id))


@api.route("GET", MESSAGES, needs="read", tag="rooms", markdown=remembered.messages, summary="List messages")
def list_messages(
    space_id: str, room: str, limit: MessageLimit = 20, order: MessageOrder = "newest", cursor: Cursor = None
) -> RoomMessagePage:
    """The messages of a room that wait for a digest. For messages that were digested, search memories."""
    after = cursors.decode_message(cursor)
    page = reading.page(process(), space_id, room, limit=limit, after=after, oldest_first=order == "oldest")
    return RoomMessagePage.of(page, cursors.encode(page.next_after))


@api.route("POST", DIGESTS, needs="write", status=HTTPStatus.ACCEPTED, tag="digests", summary="Start a digest")
def start_digest(space_id: str, body: NewDigest | None = None) -> Response[DigestQueued]:
    """Digest the waiting messages of the space's rooms now, without waiting for the next digest time. The digest
    continues after the answer: get its job (`Location`) until that is `done`. With a `slot` the messages of that
    digest's dead letters are put back into their rooms before (admin). This is possible from 30 minutes after its end.
    """
    messages = None
    if body and body.slot:
        decision.check_permission(api.principal(), "admin")
        messages = digest_work.retry(process(), space_id, body.slot)
    slot = digest_work.start(process(), space_id)
    return api.accepted(DigestQueued(job=job_id(space_id, "digest", slot), messages=messages))
