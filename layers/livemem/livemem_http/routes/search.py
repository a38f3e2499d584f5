"""Searches one space or several, and gives an agent the context for its start."""

from dataclasses import replace
from http import HTTPStatus
from typing import Annotated

from aws_lambda_powertools.event_handler.openapi.params import Query

from livemem.access import decision
from livemem.recall import by_id, context, message_context, search, search_request, stale, start
from livemem.recall.by_id import ReadRequest
from livemem.recall.context import ContextRequest
from livemem.recall.search_request import SearchRequest
from livemem.recall.start import StartRequest
from livemem.store import cursors
from livemem.store.keys import MemoryKind
from livemem.text.language import Lang
from livemem_http.api import Api
from livemem_http.environment import process
from livemem_http.filters import Everything, Least, OfCategory, OfEntity, OfSpeaker, OfTopic, Since, Tagged, Until
from livemem_http.paging import Cursor
from livemem_http.past import TOO_FAR_BACK, At
from livemem_http.views.read import ReadView, read_as_markdown
from livemem_http.views.recall import (
    ContextView,
    context_as_markdown,
)
from livemem_http.views.search import SearchAnswer, as_markdown
from livemem_http.views.stale import StaleView, stale_as_markdown
from livemem_http.views.start import StartView, start_as_markdown

api = Api()

Question = Annotated[
    str,
    Query(
        description='The query: words or a question. `"a phrase"` must occur, `-word` must not occur, `begin*` '
        "matches all words that begin so. All other characters are plain text.",
        examples=["which store do we keep"],
    ),
]
Scope = Annotated[
    str | None,
    Query(
        description="The kinds to search: some of `live`, `bank`, `archive` (consolidated notes), `conversations`, "
        "`memories` and `rooms`, separated by commas, or `all`. `tools` (calls of tools) and `questions` (what `ask` "
        "has recorded) are named alone, and are part of no other scope. Default: `all`, or the part of the space that "
        "another filter names.",
        examples=["all"],
    ),
]
Most = Annotated[
    int,
    Query(
        ge=1,
        le=search_request.LIMIT_MOST,
        description="Maximum number of documents.",
        examples=[search_request.LIMIT_DEFAULT],
    ),
]
Recency = Annotated[
    float,
    Query(
        ge=0,
        le=3,
        description="Advantage of the newest document over the oldest, in standard deviations of the score. 0: time "
        "does not count.",
        examples=[0.5],
    ),
]
OfConversation = Annotated[
    str | None,
    Query(description="Only turns and summaries of this conversation.", examples=["01KHXH9RA0QTF1S3T1Z8A0M0WJ"]),
]
Explain = Annotated[
    bool, Query(description="Whether to return the parts of each score, and the floor.", examples=[True])
]
WhyNotFound = Annotated[
    str | None,
    Query(
        max_length=search_request.ID_CHARACTERS,
        description="The id of a document, as searches and starts show it. The answer tells why it was not found.",
        examples=["20260220T140000_cline-dev_decision_1a2b3c4d"],
    ),
]
Spaces = Annotated[
    str | None,
    Query(
        description=f"The spaces, up to {search.SPACES}, separated by commas. Default: all that the token may see, "
        f"{search.SPACES} in each answer.",
        examples=["demo"],
    ),
]
FurtherSpaces = Annotated[
    str | None,
    Query(description="The `next_spaces` of the previous answer. Default: the first spaces. Not with `spaces`."),
]
OfKindAlone = Annotated[
    MemoryKind | None, Query(description="Only memories of this kind. Default: all documents.", examples=["fact"])
]
Levels = Annotated[
    str | None,
    Query(
        description="Only turns and summaries of these levels, separated by commas. 0: turns. 1 to 3: summaries.",
        examples=["0,1,2,3"],
    ),
]
Folder = Annotated[
    str | None,
    Query(
        description="Only turns and summaries of conversations of this folder.",
        examples=["/home/ann/shop"],
    ),
]
Host = Annotated[str | None, Query(description="Only conversations of the folder on this host.", examples=["laptop"])]
Turns = Annotated[
    int | None,
    Query(
        ge=1,
        le=context.TURNS_MOST,
        description="With `conversation_id`: maximum number of newest turns that are shown word for word. Default: "
        f"{context.TURNS_DEFAULT}.",
        examples=[context.TURNS_DEFAULT],
    ),
]
RawChars = Annotated[
    int | None,
    Query(
        ge=context.RAW_LEAST,
        le=context.RAW_MOST,
        description="With `conversation_id`: maximum number of characters in these turns together. Default: "
        f"{context.RAW_DEFAULT:,}. The newest turn is always shown. If it is longer, it is cut in the middle.",
        examples=[context.RAW_DEFAULT],
    ),
]

ContextConversation = Annotated[
    str | None, Query(description="The conversation to continue.", examples=["01KHXH9RA0QTF1S3T1Z8A0M0WJ"])
]
ContextRoom = Annotated[str | None, Query(description="The room in which the answer is given.", examples=["salon"])]
ContextItems = Annotated[
    int | None,
    Query(
        ge=1,
        le=search_request.RESULTS_MOST,
        description="With `conversation_id`: maximum number of turns and summaries that match. With `room`: maximum "
        f"number of messages, and of facts. Default: {search_request.RESULTS_DEFAULT}, of a room "
        f"{message_context.LIMIT_DEFAULT}.",
        examples=[search_request.RESULTS_DEFAULT],
    ),
]
ContextChars = Annotated[
    int | None,
    Query(
        ge=context.CHARS_LEAST,
        le=context.CHARS_MOST,
        description="Maximum number of characters in the Markdown. If there is too much, whole items are left out. "
        f"Default: {message_context.CHARS_DEFAULT:,}, of a conversation {context.CHARS_DEFAULT:,}. Not with `room`.",
        examples=[context.CHARS_DEFAULT],
    ),
]
OfRoom = Annotated[
    str | None,
    Query(description="Only messages in this room.", examples=["salon"]),
]
Headings = Annotated[
    Lang | None,
    Query(
        description="The language of the headings. Default: `Accept-Language`, then the space's language, then "
        "English.",
        examples=["en"],
    ),
]
Said = Annotated[
    str | None,
    Query(
        description="The message, as plain text without search syntax. For small talk, nothing is returned. Only with "
        "`conversation_id` or `room` it may be left out: then the newest items are returned.",
        examples=["Who turned the oven off?"],
    ),
]
Kinds = Annotated[
    str | None,
    Query(
        description="The kinds to search, separated by commas: some of "
        f"{', '.join(f'`{one}`' for one in message_context.KINDS)}. Default: all. Not with `conversation_id` "
        "or `room`.",
        examples=["memory,message"],
    ),
]
Clear = Annotated[
    bool | None,
    Query(
        description="Only items that are clearly about the message, in short, for somebody who did not ask: they hold "
        "two of its rare words, or one and are near in meaning. Not with `conversation_id` or `room`."
    ),
]
StartChars = Annotated[
    int,
    Query(
        description=f"Maximum number of characters in the Markdown, {start.CHARS_LEAST} to {start.CHARS_MOST}. It "
        "is never exceeded.",
        examples=[start.CHARS_DEFAULT],
    ),
]
ThingId = Annotated[
    str,
    Query(
        description='The id: `bank/{path}`, `bank/{path}#{headings joined by " > "}`, `notes/{note_id}`, '
        "`memories/{memory_id}`, `conversations/{id}/turns/{n}`, `conversations/{id}/summaries/{level}/{n}`, `rules`, "
        "`synthesis`, or `bank` for the list of files.",
        examples=["rules"],
    ),
]
PageChars = Annotated[
    int,
    Query(
        description=f"Maximum number of characters in the page, {by_id.CHARS_LEAST} to {by_id.CHARS_MOST}.",
        examples=[by_id.CHARS_DEFAULT],
    ),
]
UnconfirmedDays = Annotated[
    int,
    Query(
        ge=1,
        le=stale.DAYS_MOST,
        description="Number of days without a confirmation.",
        examples=[stale.DAYS_DEFAULT],
    ),
]
StaleItems = Annotated[
    int, Query(ge=1, le=stale.LIMIT_MOST, description="Maximum number of items.", examples=[stale.LIMIT_DEFAULT])
]
Task = Annotated[
    str | None,
    Query(
        description="The subject of the session, as plain text without search syntax. The best matching parts take up "
        "to a third of the characters.",
        examples=["the nightly backup fails"],
    ),
]


ForUser = Annotated[
    str | None,
    Query(
        description="Whom the agent works with: hints from that user's conversations come too. Without it the name of "
        "the token; with `read` alone another user is a 403 (`user_not_allowed`).",
        examples=["ann"],
    ),
]


@api.route(
    "GET",
    "/v1/spaces/{space_id}/start",
    needs="read",
    tag="spaces",
    markdown=start_as_markdown,
    refuses=TOO_FAR_BACK,
    summary="Start a session",
)
def get_start(
    space_id: str,
    max_chars: StartChars = start.CHARS_DEFAULT,
    q: Task = None,
    lang: Headings = None,
    user: ForUser = None,
    at: At = None,
) -> StartView:
    """The context for the start of an agent, within a maximum number of characters. It has the whole bank if that fits.
    Else it is filled by whole lines: what the rules mark as *load first*, what answers `q`, what was heard of the user,
    and new notes. Then each other section gives its newest lines, the synthesis what it says more. All parts that are
    left out are named. The summary route returns everything. With `at` it is what an agent would have been given then,
    without memories and hints on the user.
    """
    caller = api.principal()
    decision.check_user(caller.name, user, may_write="write" in caller.permissions)
    wanted = StartRequest(
        max_chars=max_chars,
        q=q,
        lang=lang or api.language(),
        user=caller.name if user is None else user,
        at=at,
        reader=api.reader(),
    )
    return StartView.of(start.start(process(), space_id, wanted))


@api.route(
    "GET",
    "/v1/spaces/{space_id}/read",
    needs="read",
    tag="spaces",
    markdown=read_as_markdown,
    summary="Read one thing by its id",
)
def read_by_id(
    space_id: str,
    id: ThingId,  # noqa: A002 - the name of the parameter
    max_chars: PageChars = by_id.CHARS_DEFAULT,
    cursor: Cursor = None,
) -> ReadView:
    """A file, section, note, turn, summary or memory, by the id that the start, searches, contexts and the list of what
    may be out of date give. A long text comes in pages. The cursor of a text that was changed since is refused (422).
    """
    wanted = ReadRequest.of(id, max_chars=max_chars, cursor=cursor, reader=api.reader())
    return ReadView.of(wanted, by_id.read(process(), space_id, wanted))


@api.route(
    "GET",
    "/v1/spaces/{space_id}/stale",
    needs="read",
    tag="spaces",
    markdown=stale_as_markdown,
    summary="List what may be out of date",
)
def list_stale(
    space_id: str, days: UnconfirmedDays = stale.DAYS_DEFAULT, limit: StaleItems = stale.LIMIT_DEFAULT
) -> StaleView:
    """Sections of the bank and memories that nobody has confirmed for this number of days, the longest first. A section
    is confirmed by each new note that it rests on, and by a correction. A memory is confirmed when it is stored
    again.
    """
    return StaleView.of(stale.stale(process(), space_id, days=days, limit=limit))


@api.route(
    "GET",
    "/v1/spaces/{space_id}/search",
    needs="read",
    tag="search",
    markdown=as_markdown,
    summary="Search a space",
)
def search_space(
    space_id: str,
    q: Question,
    scope: Scope = None,
    limit: Most = search_request.LIMIT_DEFAULT,
    author: OfSpeaker = None,
    category: OfCategory = None,
    tag: Tagged = None,
    topic: OfTopic = None,
    entity: OfEntity = None,
    kind: OfKindAlone = None,
    since: Since = None,
    until: Until = None,
    recency: Recency = 0.0,
    conversation_id: OfConversation = None,
    cwd: Folder = None,
    host: Host = None,
    levels: Levels = None,
    room: OfRoom = None,
    min_score: Least = None,
    everything: Everything = False,
    explain: Explain = False,
    why_not: WhyNotFound = None,
    cursor: Cursor = None,
) -> SearchAnswer:
    """The documents that match a query best, by words and, with an embedding model, by meaning: live notes, sections of
    the bank, consolidated notes, parts of conversations, memories and messages of rooms. All filters must match.
    A conversation, a folder, levels, a room or a kind of memories limits the search to that part. Only notes and
    memories have a category or tags (the subjects of a memory). Sections and summaries have no author.
    """
    wanted = SearchRequest.of(
        q,
        scope=scope,
        limit=limit,
        author=author,
        category=category,
        tag=tag,
        since=since,
        until=until,
        recency=recency,
        conversation_id=conversation_id,
        cwd=cwd,
        host=host,
        levels=levels,
        room=room,
        kind=kind,
        topic=topic,
        entity=entity,
        min_score=min_score,
        everything=everything,
    )
    wanted = wanted.asking_why_not(why_not).from_rank(cursors.decode_number(cursor))
    wanted = replace(wanted, reader=api.reader())
    return SearchAnswer.of(search.search(process(), space_id, wanted), explain=explain, floor=wanted.floor)


@api.route(
    "GET",
    "/v1/search",
    needs="read",
    tag="search",
    markdown=as_markdown,
    refuses=[HTTPStatus.NOT_FOUND],
    summary="Search several spaces",
)
def search_spaces(
    q: Question,
    spaces: Spaces = None,
    scope: Scope = None,
    limit: Most = search_request.LIMIT_DEFAULT,
    author: OfSpeaker = None,
    category: OfCategory = None,
    tag: Tagged = None,
    topic: OfTopic = None,
    entity: OfEntity = None,
    since: Since = None,
    until: Until = None,
    recency: Recency = 0.0,
    conversation_id: OfConversation = None,
    min_score: Least = None,
    everything: Everything = False,
    explain: Explain = False,
    cursor: FurtherSpaces = None,
) -> SearchAnswer:
    """Search several spaces in one request. The results start with the best hit of each space, then the second of each.
    Scores of different spaces can't be compared. A space that can't be searched now is named in `failed_spaces`, and
    the others still return hits. With `next_spaces` there are further spaces that were not searched.
    """
    wanted = SearchRequest.of(
        q,
        scope=scope,
        limit=limit,
        author=author,
        category=category,
        tag=tag,
        since=since,
        until=until,
        recency=recency,
        conversation_id=conversation_id,
        topic=topic,
        entity=entity,
        min_score=min_score,
        everything=everything,
    )
    wanted = replace(wanted, reader=api.reader())
    found = search.several(process(), api.principal(), spaces, wanted, cursors.decode_name(cursor))
    return SearchAnswer.of_several(found, limit, explain=explain, floor=wanted.floor)


@api.route(
    "GET",
    "/v1/spaces/{space_id}/context",
    needs="read",
    tag="search",
    markdown=context_as_markdown,
    summary="Load the context",
)
def load_context(
    space_id: str,
    q: Said = None,
    kinds: Kinds = None,
    conversation_id: ContextConversation = None,
    room: ContextRoom = None,
    limit: ContextItems = None,
    max_chars: ContextChars = None,
    max_turns: Turns = None,
    raw_chars: RawChars = None,
    lang: Headings = None,
    clear: Clear = None,
) -> ContextView:
    """What an agent should know before it answers. Without `conversation_id` and `room`: up to ten items that concern
    the message, from notes, bank, conversations, memories and rooms, the best match first. A conversation gives its
    newest turns word for word, earlier turns and summaries on the same subject, and the level 1 summaries that no
    level 2 summary covers yet. A room gives its messages on the same subject, and the most similar facts. Items that
    are not relevant enough are left out, and nothing is shown twice.
    """
    wanted = ContextRequest(q, conversation_id, room, kinds, lang, limit, max_chars, max_turns, raw_chars, clear)
    return ContextView.of(context.context(process(), space_id, wanted, lang=api.language(), reader=api.reader()))
