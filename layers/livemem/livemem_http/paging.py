"""The query parameters that every list takes."""

from typing import Annotated

from aws_lambda_powertools.event_handler.openapi.params import Query

from livemem import limits

Limit = Annotated[
    int, Query(ge=1, le=limits.PAGE_ITEMS, description="The most items that the page may hold.", examples=[20])
]
Cursor = Annotated[
    str | None, Query(description="The `next_cursor` of the page before; without it the first page is given.")
]
