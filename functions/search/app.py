"""Finds what is known of something, in one space or in several."""

from http import HTTPStatus
from typing import Annotated, Any

from aws_lambda_powertools.event_handler.openapi.params import Query
from aws_lambda_powertools.utilities.typing import LambdaContext

from livemem.recall import asked, search
from livemem.recall.asked import Asked
from livemem_http.api import Api
from livemem_http.environment import process
from livemem_http.filters import OfAgent, OfCategory, Since, Tagged, Until
from livemem_http.logs import function_logger
from livemem_http.views.search import SearchAnswer, as_markdown

logger = function_logger("search")
api = Api()

Question = Annotated[
    str,
    Query(
        description='What to look for: words or a question. `"a phrase"` must be there, `-word` must not, `begin*` '
        "stands for all words that begin so; everything else is text.",
        examples=["which store do we keep"],
    ),
]
Scope = Annotated[
    str | None,
    Query(
        description="Where to look: some of `live`, `bank` and `archive` (consolidated notes) with commas between "
        "them, or `all`. Without it `live,bank`.",
        examples=["all"],
    ),
]
Most = Annotated[
    int, Query(ge=1, le=asked.LIMIT_MOST, description="How many documents at most.", examples=[asked.LIMIT_DEFAULT])
]
Recency = Annotated[
    float,
    Query(
        ge=0,
        le=3,
        description="How much the newest gains over the oldest, in standard deviations of the score; 0: time does not "
        "count.",
        examples=[0.5],
    ),
]
Explain = Annotated[
    bool, Query(description="Whether each document comes with the parts of its score.", examples=[True])
]
Spaces = Annotated[
    str | None,
    Query(
        description=f"The spaces, up to {search.SPACES}, with commas between them; without it all that the token may "
        "see.",
        examples=["demo"],
    ),
]


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
    limit: Most = asked.LIMIT_DEFAULT,
    author: OfAgent = None,
    category: OfCategory = None,
    tag: Tagged = None,
    since: Since = None,
    until: Until = None,
    recency: Recency = 0.0,
    explain: Explain = False,
) -> SearchAnswer:
    """The live notes, sections of the bank and consolidated notes that fit a question best, by its words and, with an
    embedding model, by its meaning. All filters must fit; what is not a note has no author, category or tag.
    """
    wanted = _wanted(q, scope, limit, author, category, tag, since, until, recency)
    return SearchAnswer.of(search.search(process(), space_id, wanted), explain=explain)


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
    limit: Most = asked.LIMIT_DEFAULT,
    author: OfAgent = None,
    category: OfCategory = None,
    tag: Tagged = None,
    since: Since = None,
    until: Until = None,
    recency: Recency = 0.0,
    explain: Explain = False,
) -> SearchAnswer:
    """The same in several spaces at once: first what is best in each, then what is second. Scores of different spaces
    can't be compared.
    """
    wanted = _wanted(q, scope, limit, author, category, tag, since, until, recency)
    return SearchAnswer.of_several(search.several(process(), api.principal(), spaces, wanted), limit, explain=explain)


def _wanted(
    q: str,
    scope: str | None,
    limit: int,
    author: str | None,
    category: str | None,
    tag: str | None,
    since: str | None,
    until: str | None,
    recency: float,
) -> Asked:
    return Asked.of(
        q,
        scope=scope,
        limit=limit,
        author=author,
        category=category,
        tag=tag,
        since=since,
        until=until,
        recency=recency,
    )


@logger.inject_lambda_context(clear_state=True)
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answer one HTTP API event."""
    return api.handle(event, context)
