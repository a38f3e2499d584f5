"""Conversations: their turns are appended, read and removed, and their summaries are read and updated."""

from http import HTTPStatus
from typing import Annotated, Any

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Body, Query

from livemem import clock, limits
from livemem.access import decision
from livemem.conversations import conversation as conversations
from livemem.conversations import log, orders, reading, removal, turn_import
from livemem.conversations.log import Appended, Closed
from livemem.spaces import caps
from livemem.store import cursors, keys, timing
from livemem_http import metrics, transcripts
from livemem_http.api import Api
from livemem_http.environment import process
from livemem_http.paging import Cursor, Limit
from livemem_http.views.conversations import (
    ConversationDetail,
    ConversationPage,
    ConversationView,
    Folder,
    Host,
    ListedConversation,
    OpenConversation,
)
from livemem_http.views.summaries import (
    SummariesUpdate,
    SummaryPage,
    SummaryView,
    UpdateView,
)
from livemem_http.views.turns import (
    ClosingView,
    ImportedView,
    NewMessage,
    NewTurn,
    TurnOrTurns,
    TurnPage,
    TurnView,
    TurnWritten,
)

api = Api()

ALL = "/v1/spaces/{space_id}/conversations"
ONE = f"{ALL}/{{conversation_id}}"
TurnLimit = Annotated[int, Query(ge=1, le=100, description="Maximum number of turns in the page.", examples=[20])]
MaxChars = Annotated[
    int,
    Query(
        ge=100,
        le=1_000_000,
        description="Maximum number of characters in the turns of the page. The page has at least one turn.",
        examples=[5000],
    ),
]
TurnOrder = Annotated[reading.TurnOrder, Query(description="`newest` first, or `oldest` first.", examples=["newest"])]
First = Annotated[
    int | None,
    Query(ge=1, le=keys.LAST_TURN, description="Only items with this number or a later one.", examples=[1]),
]
Last = Annotated[
    int | None,
    Query(ge=1, le=keys.LAST_TURN, description="Only items with this number or an earlier one.", examples=[8]),
]
OfLevel = Annotated[int | None, Query(ge=1, le=3, description="Only summaries of this level.", examples=[1])]
OfState = Annotated[
    reading.SealState | None,
    Query(description="`sealed`: only blocks and groups that have a summary. `pending`: only those that wait for one."),
]


@api.route(
    "POST",
    ALL,
    needs="write",
    status=HTTPStatus.CREATED,
    tag="conversations",
    summary="Create a conversation",
)
def create_conversation(space_id: str, body: OpenConversation | None = None) -> Response[ConversationView]:
    """Create a conversation. All fields are optional. With `cwd` (and `host`) it can be found by its folder. The
    parameters that cut it into blocks are fixed now. A full update of its summaries can build them again with other
    parameters. A token that has begun too many within a day gets 429.
    """
    wanted = (body or OpenConversation()).wanted()
    with caps.beginning_conversation(process(), api.principal()):
        made = conversations.create(process(), space_id, api.principal().name, wanted)
    headers = {"Location": f"/v1/spaces/{space_id}/conversations/{made.conversation_id}"}
    return api.json(HTTPStatus.CREATED, ConversationView.of(made), headers=headers)


@api.route(
    "GET",
    ALL,
    needs="read",
    tag="conversations",
    markdown=transcripts.conversations,
    summary="List conversations",
)
def list_conversations(
    space_id: str,
    cwd: Annotated[Folder | None, Query(examples=["/home/ann/ferry"])] = None,
    host: Annotated[Host | None, Query(examples=["laptop"])] = None,
    limit: Limit = limits.PAGE_DEFAULT,
    cursor: Cursor = None,
) -> ConversationPage:
    """The conversations of the space, or of a folder (`cwd`, on any machine or on `host`), the last created first."""
    after = cursors.decode_conversation(cursor)
    missing: list[str] = []
    found, more = reading.page(process(), space_id, cwd=cwd, host=host, limit=limit, after=after, missing=missing)
    items = [ListedConversation.of(one) for one in found]
    return ConversationPage(items=items, next_cursor=cursors.encode(more), unreadable=missing)


@api.route("GET", ONE, needs="read", tag="conversations", summary="Get a conversation")
def get_conversation(space_id: str, conversation_id: str) -> ConversationDetail:
    """A conversation: its parameters, its number of turns, and the progress of its summaries."""
    return ConversationDetail.of_detail(reading.detail(process(), space_id, conversation_id))


@api.route(
    "DELETE",
    ONE,
    needs="admin",
    status=HTTPStatus.NO_CONTENT,
    tag="conversations",
    summary="Delete a conversation",
)
def delete_conversation(space_id: str, conversation_id: str) -> Response[None]:
    """Delete a conversation with its turns, summaries, jobs and vectors. Only a backup can bring it back."""
    removal.delete(process(), space_id, conversation_id)
    return api.empty()


@api.route(
    "POST",
    f"{ONE}/turns",
    needs="write",
    status=HTTPStatus.CREATED,
    also=[HTTPStatus.OK],
    tag="conversations",
    summary="Append a turn",
)
def append_turn(
    space_id: str, conversation_id: str, body: Annotated[TurnOrTurns, Body()]
) -> Response[TurnWritten | ImportedView]:
    """Append a turn, or up to 2,000 as `items` (200), which are never changed afterwards; their author is the name of
    the token. The service makes summaries by itself. With a `message_id` the request can be repeated safely: 201 is a
    new turn, 200 one that exists already.
    """
    author = api.principal().name
    if isinstance(body, NewTurn):
        return _written(log.append(process(), space_id, conversation_id, author, body.draft()))
    api.count_batch(space_id, len(body.items))
    drafts = [item.draft() for item in body.items]
    until = clock.now() + timing.REQUEST
    done = turn_import.take_in(process(), space_id, conversation_id, author, drafts, until)
    return api.json(HTTPStatus.OK, ImportedView.of(done))


@api.route(
    "POST",
    f"{ONE}/messages",
    needs="write",
    status=HTTPStatus.CREATED,
    also=[HTTPStatus.OK],
    tag="conversations",
    summary="Append a message",
)
def append_message(space_id: str, conversation_id: str, body: NewMessage) -> Response[TurnWritten]:
    """Append one message, for clients that have no whole turns. It becomes a turn of its own with one side empty."""
    author = api.principal().name
    return _written(log.append(process(), space_id, conversation_id, author, body.draft()))


def _written(appended: Appended) -> Response[Any]:
    return api.json(_fresh(appended), TurnWritten.of(appended))


def _fresh(done: Appended | Closed | None) -> HTTPStatus:
    return HTTPStatus.CREATED if done and done.fresh else HTTPStatus.OK


@api.route(
    "POST",
    f"{ONE}/close",
    needs="write",
    status=HTTPStatus.CREATED,
    also=[HTTPStatus.OK],
    tag="conversations",
    summary="Close a conversation",
)
def close_conversation(space_id: str, conversation_id: str) -> Response[ClosingView]:
    """Close the conversation for now: its turns that have no summary yet are summarised at once. Further turns may
    follow. 200: it is closed already after its newest turn, or it has no turn (`closed` is false).
    """
    closed = log.close(process(), space_id, conversation_id)
    return api.json(_fresh(closed), ClosingView.of(closed))


@api.route(
    "GET",
    f"{ONE}/turns",
    needs="read",
    tag="conversations",
    markdown=transcripts.turns,
    summary="List turns",
)
def list_turns(
    space_id: str,
    conversation_id: str,
    limit: TurnLimit = 20,
    max_chars: MaxChars = 100_000,
    order: TurnOrder = "newest",
    first: First = None,
    last: Last = None,
    cursor: Cursor = None,
) -> TurnPage:
    """The turns of a conversation word for word. Only large results of tools are cut. `first` and `last` choose a range
    of numbers, such as the turns that a summary covers.
    """
    page = reading.turns(
        process(),
        space_id,
        conversation_id,
        limit=limit,
        max_chars=max_chars,
        after=cursors.decode_turn(cursor),
        order=order,
        within=_range(first, last),
    )
    return TurnPage.of(page, cursors.encode(page.after))


def _range(first: int | None, last: int | None) -> tuple[int, int]:
    return first or reading.EVERY[0], last or reading.EVERY[1]


@api.route("GET", f"{ONE}/turns/{{turn_index}}", needs="read", tag="conversations", summary="Get a turn")
def get_turn(space_id: str, conversation_id: str, turn_index: str) -> TurnView:
    """One turn with all results of its tools, however large."""
    index = keys.check_index(turn_index)
    return TurnView.of(reading.whole_turn(process(), space_id, conversation_id, index))


@api.route(
    "GET",
    f"{ONE}/summaries",
    needs="read",
    tag="conversations",
    markdown=transcripts.summaries,
    summary="List summaries",
)
def list_summaries(
    space_id: str,
    conversation_id: str,
    level: OfLevel = None,
    state: OfState = None,
    first: First = None,
    last: Last = None,
    limit: Limit = limits.PAGE_DEFAULT,
    cursor: Cursor = None,
) -> SummaryPage:
    """The summaries of a conversation with the turns that they cover: the highest level first, of each level the newest
    first. Turns at the end of the log that are in no block yet have no summary: read the turns themselves.
    """
    after = cursors.decode_summary(cursor)
    missing: list[str] = []
    found, more = reading.summary_page(
        process(),
        space_id,
        conversation_id,
        level=level,
        state=state,
        limit=limit,
        after=after,
        within=_range(first, last),
        missing=missing,
    )
    items = [SummaryView.of(one) for one in found]
    return SummaryPage(items=items, next_cursor=cursors.encode_summary(more), unreadable=missing)


@api.route(
    "POST",
    f"{ONE}/summaries/update",
    needs="write",
    also=[HTTPStatus.ACCEPTED],
    tag="conversations",
    summary="Update summaries",
)
def update_summaries(space_id: str, conversation_id: str, body: SummariesUpdate | None = None) -> Response[UpdateView]:
    """Make the missing summaries now, make all again with other parameters (`full`), or make one again (`level` and
    `number`, admin). The service also makes missing summaries by itself after new turns. 200: they are up to date, or
    it was a dry run. 202: the work continues, see `Location`.
    """
    wish = (body or SummariesUpdate()).wish()
    if wish.number is not None:
        decision.check_permission(api.principal(), "admin")
    answer = orders.carry_out(process(), space_id, conversation_id, wish, clock.now() + timing.REQUEST)
    if answer.worked:
        metrics.report_summaries("conversations", [answer.worked])
    view = UpdateView.of(space_id, conversation_id, answer)
    return api.accepted(view) if answer.goes_on else api.json(HTTPStatus.OK, view)
