"""Answers everything that only reads: spaces, notes, bank, synthesis, history, runs, health."""

from dataclasses import asdict
from typing import Annotated, Any, Literal

from aws_lambda_powertools.event_handler.openapi.params import Query
from aws_lambda_powertools.utilities.typing import LambdaContext

from livemem import limits
from livemem.bank import history
from livemem.notes import pages
from livemem.recall import summary
from livemem.runs import run as runs
from livemem.spaces import contents, directory, rules
from livemem.store import cursors
from livemem.upkeep import about
from livemem_http import views
from livemem_http.api import Api
from livemem_http.environment import process
from livemem_http.logs import function_logger
from livemem_http.status import look_at_health

logger = function_logger("reads")
api = Api()

Limit = Annotated[int, Query(ge=1, le=limits.PAGE_ITEMS)]
Cursor = Annotated[str | None, Query()]
At = Annotated[
    str | None,
    Query(description="The number of a change, or a time in ISO 8601: the state after the last change at or before it"),
]


@api.route("GET", "/v1/health", needs="nothing", summary="Health")
def get_health() -> views.HealthView:
    caller = api.caller()
    return views.HealthView.of(look_at_health(caller), with_spaces=caller is not None)


@api.route("GET", "/v1/whoami", needs="any", summary="Who am I")
def get_whoami() -> views.WhoAmI:
    return views.WhoAmI.of(api.principal())


@api.route("GET", "/v1/about", needs="any", summary="About the service")
def get_about() -> views.About:
    return views.About.model_validate(asdict(about.about(process())))


@api.route("GET", "/v1/spaces", needs="read", summary="List spaces")
def list_spaces(limit: Limit = limits.PAGE_DEFAULT, cursor: Cursor = None) -> views.SpacePage:
    found, more = directory.page(process(), api.principal(), limit=limit, after=cursors.decode_name(cursor))
    return views.SpacePage(items=[views.SpaceView.of(meta) for meta in found], next_cursor=cursors.encode(more))


@api.route("GET", "/v1/spaces/{space_id}", needs="read", summary="Get a space")
def get_space(space_id: str) -> views.SpaceInfo:
    return views.SpaceInfo.of_info(contents.info(process(), space_id))


@api.route("GET", "/v1/spaces/{space_id}/rules", needs="read", summary="Get the rules")
def get_rules(space_id: str) -> views.Rules:
    return views.Rules(rules=rules.read(process(), space_id))


@api.route("GET", "/v1/spaces/{space_id}/summary", needs="read", summary="Get all that an agent loads at its start")
def get_summary(
    space_id: str,
    at: At = None,
    with_rules: Annotated[bool, Query(alias="rules")] = True,
) -> views.SpaceSummary:
    return views.SpaceSummary.of_summary(summary.summary(process(), space_id, at=at, with_rules=with_rules))


@api.route("GET", "/v1/spaces/{space_id}/synthesis", needs="read", summary="Get the synthesis")
def get_synthesis(space_id: str, at: At = None) -> views.SynthesisView:
    return views.SynthesisView.model_validate(asdict(history.synthesis(process(), space_id, at=at)))


@api.route("GET", "/v1/spaces/{space_id}/notes", needs="read", summary="List live notes")
def list_notes(
    space_id: str,
    limit: Limit = limits.PAGE_DEFAULT,
    cursor: Cursor = None,
    order: Annotated[Literal["asc", "desc"], Query()] = "desc",
    category: Annotated[views.Category | None, Query()] = None,
    agent: Annotated[views.Agent | None, Query()] = None,
    tag: Annotated[str | None, Query()] = None,
    since: Annotated[views.Moment | None, Query()] = None,
    until: Annotated[views.Moment | None, Query()] = None,
) -> views.NotePage:
    wanted = pages.Filter.of(category=category, agent=agent, tag=tag, since=since, until=until)
    page = pages.page(
        process(), space_id, wanted, limit=limit, after=cursors.decode_note(cursor), oldest_first=order == "asc"
    )
    return views.NotePage(
        items=[views.NoteView.of(note) for note in page.items], next_cursor=cursors.encode(page.next_after)
    )


@api.route("GET", "/v1/spaces/{space_id}/notes/{note_id}", needs="read", summary="Get a note")
def get_note(space_id: str, note_id: str) -> views.NoteView:
    return views.NoteView.of(pages.get(process(), space_id, note_id))


@api.route("GET", "/v1/spaces/{space_id}/bank", needs="read", summary="List the bank files")
def list_bank(space_id: str, content: Annotated[bool, Query()] = False, at: At = None) -> views.FileList:
    found = history.bank(process(), space_id, at=at, content=content)
    return views.FileList(items=[views.FileView.of(file) for file in found])


@api.route(
    "GET",
    "/v1/spaces/{space_id}/bank/{path+}",
    needs="read",
    markdown=views.FileView.markdown,
    summary="Get a bank file",
)
def get_bank_file(space_id: str, at: At = None, sources: Annotated[bool, Query()] = False) -> views.FileWithSources:
    file, cited = history.read_file(process(), space_id, api.path_rest(), at=at, sources=sources)
    return views.FileWithSources.of_file(file, cited)


@api.route("GET", "/v1/runs", needs="read", summary="List the runs of a space by its name")
def list_runs_of(
    space_id: Annotated[views.SpaceId, Query()], limit: Limit = limits.PAGE_DEFAULT, cursor: Cursor = None
) -> views.RunPage:
    return list_runs(space_id, limit, cursor)


@api.route("GET", "/v1/spaces/{space_id}/runs", needs="read", summary="List runs")
def list_runs(space_id: str, limit: Limit = limits.PAGE_DEFAULT, cursor: Cursor = None) -> views.RunPage:
    before = cursors.decode_run(cursor)
    found, more = runs.page(process(), api.principal(), space_id, limit=limit, before=before)
    return views.RunPage(items=[views.RunView.of(run) for run in found], next_cursor=cursors.encode(more))


@api.route("GET", "/v1/spaces/{space_id}/runs/{run_id}", needs="read", summary="Get a run")
def get_run(space_id: str, run_id: str) -> views.RunView:
    return views.RunView.of(runs.view(process(), space_id, run_id))


@api.route("GET", "/v1/spaces/{space_id}/consolidations", needs="read", summary="List the history")
def list_consolidations(space_id: str, limit: Limit = limits.PAGE_DEFAULT, cursor: Cursor = None) -> views.ChangePage:
    found, more = history.page(process(), space_id, limit=limit, before=cursors.decode_number(cursor))
    return views.ChangePage(items=[views.ChangeSummary.of(item) for item in found], next_cursor=cursors.encode(more))


@api.route("GET", "/v1/spaces/{space_id}/consolidations/{number}", needs="read", summary="Get a consolidation")
def get_consolidation(space_id: str, number: str) -> views.ChangeDetail:
    return views.ChangeDetail.of_detail(history.read(process(), space_id, history.check_number(number)))


@logger.inject_lambda_context(clear_state=True)
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answer one HTTP API event."""
    return api.handle(event, context)
