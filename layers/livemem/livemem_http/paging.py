"""The query parameters that every list takes."""

from typing import Annotated

from aws_lambda_powertools.event_handler.openapi.params import Query

from livemem import limits

Limit = Annotated[
    int, Query(ge=1, le=limits.PAGE_ITEMS, description="Maximum number of items in the page.", examples=[20])
]
Cursor = Annotated[str | None, Query(description="The `next_cursor` of the previous page. Default: the first page.")]
