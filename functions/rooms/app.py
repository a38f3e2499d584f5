"""Rooms: what is said in them is taken in and read; digests, which make memories of it, are started and told of."""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from livemem_http.logs import function_logger
from livemem_http.routes.rooms import api

logger = function_logger("rooms")


@logger.inject_lambda_context(clear_state=True)
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answer one HTTP API event."""
    return api.handle(event, context)
