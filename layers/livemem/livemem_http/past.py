"""Looks back in time, as routes offer them."""

from http import HTTPStatus
from typing import Annotated

from aws_lambda_powertools.event_handler.openapi.params import Query

At = Annotated[
    str | None,
    Query(
        description="The number of a change, or a time in ISO 8601: the answer shows the state after the last change "
        "at or before it.",
        examples=["1"],
    ),
]
TOO_FAR_BACK = [HTTPStatus.CONFLICT]
"""A look back over more changes than time_travel.MOST_CHANGES is refused."""
