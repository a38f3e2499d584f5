"""Answers everything that only reads: spaces, notes, bank, synthesis, history, runs, health."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import date
from http import HTTPStatus
from typing import Annotated, Literal

from aws_lambda_powertools.event_handler.openapi.params import Query

from livemem import limits
from livemem.bank import folded_notes, history, summary
from livemem.bank.folded_notes import FoldedAfter
from livemem.conversations import conversation as conversations
from livemem.errors import InvalidRequest
from livemem.notes import pages
from livemem.notes.note import CapturedFrom, Note
from livemem.spaces import rules
from livemem.spaces import usage_counts as usages
from livemem.store import cursors
from livemem.upkeep import about, usage_report
from livemem_http import markdown, views
from livemem_http.api import Api
from livemem_http.environment import process
from livemem_http.filters import OfAgent, OfCategory, Since, Tagged, Until
from livemem_http.paging import Cursor, Limit
from livemem_http.past import TOO_FAR_BACK, At
from livemem_http.status import look_at_health

api = Api()

Order = Annotated[
    Literal["asc", "desc"], Query(description="`desc`: newest first; `asc`: oldest first.", examples=["asc"])
]
WithContent = Annotated[bool, Query(description="Whether to return the contents of the files.", examples=[True])]
WithRules = Annotated[
    bool,
    Query(alias="rules", description="`false`: the rules are left out, for agents that know them.", examples=[True]),
]
NoteIds = Annotated[
    str | None,
    Query(
        description="Only these notes, live or consolidated: up to 100 ids, separated by commas. No filter may be "
        "given with it. Notes that no longer exist are left out.",
        examples=["20260220T140000_cline-dev_decision_1a2b3c4d"],
    ),
]
NoteStatus = Annotated[
    Literal["live", "consolidated"],
    Query(
        description="`live`: the notes that wait. `consolidated`: those that a consolidation has folded and no undo "
        "gave back, newest change first. A page may hold fewer notes than `limit` and still have a next one.",
        examples=["live"],
    ),
]
WithWaiting = Annotated[
    bool,
    Query(
        description="Whether to return what waits in each space, and what its next consolidation waits for. Two or "
        "three more requests to the store for each space.",
        examples=[True],
    ),
]
OfSpace = Annotated[views.SpaceId, Query(description="The id of the space.", examples=["demo"])]
OnlySpace = Annotated[views.SpaceId | None, Query(description="Only this space.", examples=["demo"])]
Days = Annotated[
    int, Query(ge=1, le=usages.KEPT_DAYS, description="Number of days, including the last one.", examples=[31])
]
LastDay = Annotated[
    date | None, Query(description="The last day of the report, UTC. Default: today.", examples=["2026-02-28"])
]
WithSources = Annotated[
    bool,
    Query(
        description="Whether to return the notes that each section rests on. It can't be combined with `at`.",
        examples=[True],
    ),
]


@api.route("GET", "/v1/health", needs="nothing", tag="service", summary="Get the health")
def get_health() -> views.HealthView:
    """Whether the service works. The answer is always 200, and no token is needed. With a token the service also asks
    the LLM's API and checks each space that the token may see, which takes longer.
    """
    caller = api.caller()
    return views.HealthView.of(look_at_health(caller), with_spaces=caller is not None)


@api.route("GET", "/v1/whoami", needs="any", tag="service", summary="Get the token's permissions")
def get_whoami() -> views.WhoAmI:
    """The name of the token, its permissions and its spaces. Notes written with the token carry its name."""
    return views.WhoAmI.of(api.principal())


@api.route("GET", "/v1/about", needs="any", tag="service", summary="About the service")
def get_about() -> views.About:
    """The version, the limits, the categories of notes and the templates of rules, so that a client need not hard-code
    them.
    """
    return views.About.model_validate(asdict(about.about(process())))


@api.route("GET", "/v1/spaces", needs="read", tag="spaces", summary="List spaces")
def list_spaces(
    limit: Limit = limits.PAGE_DEFAULT, cursor: Cursor = None, waiting: WithWaiting = False
) -> views.SpacePage:
    """The spaces that the token may see, sorted by id."""
    found, more = summary.page(
        process(), api.principal(), limit=limit, after=cursors.decode_name(cursor), waiting=waiting
    )
    items = [
        views.SpaceView.of(glance.meta, waiting=views.WaitingView.of(glance.waiting) if glance.waiting else None)
        for glance in found
    ]
    return views.SpacePage(items=items, next_cursor=cursors.encode(more))


@api.route("GET", "/v1/spaces/{space_id}", needs="read", tag="spaces", summary="Get a space")
def get_space(space_id: str) -> views.SpaceView:
    """A space with its settings, the number of its live notes and the list of its bank files, without contents."""
    return views.SpaceView.of_info(summary.info(process(), space_id))


@api.route("GET", "/v1/spaces/{space_id}/rules", needs="read", tag="spaces", summary="Get the rules")
def get_rules(space_id: str) -> views.Rules:
    """The rules that say which files the bank has and what belongs where."""
    return views.Rules(rules=rules.read(process(), space_id))


@api.route(
    "GET",
    "/v1/spaces/{space_id}/summary",
    needs="read",
    tag="spaces",
    markdown=markdown.summary,
    refuses=TOO_FAR_BACK,
    summary="Get the summary of a space",
)
def get_summary(space_id: str, at: At = None, with_rules: WithRules = True) -> views.SpaceSummary:
    """The space, its rules, the synthesis, every bank file with its content in the order of the rules, and the newest
    live notes, in one answer of at most 6 MB.
    """
    return views.SpaceSummary.of_summary(summary.summary(process(), space_id, at=at, with_rules=with_rules))


@api.route(
    "GET",
    "/v1/spaces/{space_id}/synthesis",
    needs="read",
    tag="bank",
    markdown=markdown.synthesis,
    refuses=TOO_FAR_BACK,
    summary="Get the synthesis",
)
def get_synthesis(space_id: str, at: At = None) -> views.SynthesisView:
    """The synthesis: the short text that the last consolidation wrote about the whole bank. 404 before the first
    consolidation.
    """
    return views.SynthesisView.model_validate(asdict(history.synthesis(process(), space_id, at=at)))


@api.route(
    "GET",
    "/v1/spaces/{space_id}/notes",
    needs="read",
    tag="notes",
    markdown=markdown.notes,
    summary="List notes",
)
def list_notes(
    space_id: str,
    limit: Limit = limits.PAGE_DEFAULT,
    cursor: Cursor = None,
    order: Order = "desc",
    category: OfCategory = None,
    agent: OfAgent = None,
    tag: Tagged = None,
    since: Since = None,
    until: Until = None,
    ids: NoteIds = None,
    status: NoteStatus = "live",
) -> views.NotePage:
    """The notes that wait for a consolidation, newest first. With `status=consolidated` the folded notes, those of the
    newest change first. All filters must match. `ids` reads several notes at once, live or consolidated.
    """
    if ids is not None:
        if any((cursor, category, agent, tag, since, until)):
            raise InvalidRequest.of("ids", "can't be combined with a filter or a cursor")
        return _note_page(space_id, pages.of_ids(process(), space_id, ids.split(",")))
    wanted = pages.NotesFilter.of(category=category, agent=agent, tag=tag, since=since, until=until)
    if status == "consolidated":
        if order == "asc":
            raise InvalidRequest.of("order", "consolidated notes come newest first")
        after = cursors.decode_with(FoldedAfter.parse, cursor)
        folded = folded_notes.page(process(), space_id, wanted, limit=limit, after=after)
        return _note_page(space_id, folded.items, folded.next_after)
    page = pages.page(
        process(), space_id, wanted, limit=limit, after=cursors.decode_note(cursor), oldest_first=order == "asc"
    )
    return _note_page(space_id, page.items, page.next_after)


def _note_page(space_id: str, items: Sequence[Note], next_after: object = None) -> views.NotePage:
    gone = _gone_sources(space_id, items)
    return views.NotePage(
        items=[views.NoteView.of(note, gone) for note in items], next_cursor=cursors.encode(next_after)
    )


@api.route(
    "GET",
    "/v1/spaces/{space_id}/notes/{note_id}",
    needs="read",
    tag="notes",
    markdown=markdown.note,
    summary="Get a note",
)
def get_note(space_id: str, note_id: str) -> views.NoteView:
    """A note by its id, live or consolidated. Consolidated notes are never lost."""
    note = pages.get(process(), space_id, note_id)
    return views.NoteView.of(note, _gone_sources(space_id, [note]))


def _gone_sources(space_id: str, notes: Sequence[Note]) -> set[str]:
    """The conversations that notes were captured from, and that are deleted."""
    found = (note.source.conversation for note in notes if isinstance(note.source, CapturedFrom))
    return conversations.gone(process(), space_id, found)


@api.route(
    "GET",
    "/v1/spaces/{space_id}/bank",
    needs="read",
    tag="bank",
    markdown=markdown.bank,
    refuses=TOO_FAR_BACK,
    summary="List the bank files",
)
def list_bank(space_id: str, content: WithContent = False, at: At = None) -> views.FileList:
    """All files of the bank, sorted by path. With `content=true` the answer has the whole bank."""
    found = history.bank(process(), space_id, at=at, content=content)
    return views.FileList(items=[views.FileView.of(file) for file in found])


@api.route(
    "GET",
    "/v1/spaces/{space_id}/bank/{path+}",
    needs="read",
    markdown=markdown.file,
    refuses=TOO_FAR_BACK,
    tag="bank",
    summary="Get a bank file",
)
def get_bank_file(space_id: str, at: At = None, sources: WithSources = False) -> views.FileWithSources:
    """A bank file with its content. With `at` the answer shows the file as it was after an earlier change."""
    file, cited = history.read_file(process(), space_id, api.path_rest(), at=at, sources=sources)
    return views.FileWithSources.of_file(file, cited)


@api.route(
    "GET", "/v1/usage", needs="read", tag="usage", refuses=[HTTPStatus.NOT_FOUND], summary="Get the usage of the LLM"
)
def get_usage(
    space_id: OnlySpace = None, days: Days = usage_report.DAYS_DEFAULT, until: LastDay = None
) -> views.UsageReport:
    """Runs, folded notes, calls and tokens of the LLM by day (UTC), counted from the runs themselves. A run belongs to
    the day on which it was queued. Dry runs and failed runs are included, because they use tokens too. Without a space
    this needs `admin`: then all spaces count that the token may see, also those deleted in the last 31 days.
    """
    return views.UsageReport.of(usage_report.read(process(), api.principal(), space_id, days=days, until=until))


@api.route(
    "GET",
    "/v1/spaces/{space_id}/consolidations",
    needs="read",
    tag="consolidations",
    summary="List the history",
)
def list_consolidations(space_id: str, limit: Limit = limits.PAGE_DEFAULT, cursor: Cursor = None) -> views.ChangePage:
    """Every change of the bank and the rules, newest first: consolidations, corrections by hand, changes of the rules,
    and undos.
    """
    missing: list[str] = []
    before = cursors.decode_number(cursor)
    found, more = history.page(process(), space_id, limit=limit, before=before, missing=missing)
    items = [views.ChangeSummary.of(item) for item in found]
    return views.ChangePage(items=items, next_cursor=cursors.encode(more), unreadable=missing)


@api.route(
    "GET",
    "/v1/spaces/{space_id}/consolidations/{number}",
    needs="read",
    tag="consolidations",
    markdown=markdown.change,
    summary="Get a consolidation",
)
def get_consolidation(space_id: str, number: str) -> views.ChangeDetail:
    """One change of any kind, with the notes that it folded and its effect on each file, as unified diffs."""
    return views.ChangeDetail.of_detail(history.read(process(), space_id, history.check_number(number)))
