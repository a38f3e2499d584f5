"""Keeps a space ready to be searched: a snapshot of what is in it, and vectors of its texts."""

from datetime import timedelta
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from livemem import clock
from livemem.recall import indexing
from livemem_http.environment import process
from livemem_http.logs import entry, function_logger

logger = function_logger("indexer")


@entry(logger)
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Index the space `space_id`; raises if the store fails, so that Lambda tries again."""
    deadline = clock.now() + timedelta(milliseconds=context.get_remaining_time_in_millis())
    return indexing.index(process(), event["space_id"], deadline, context.aws_request_id)
