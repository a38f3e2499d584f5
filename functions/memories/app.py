"""Memories: single durable facts are stored, found, corrected, and deleted so that they can be brought back."""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from livemem_http.logs import entry, function_logger
from livemem_http.routes.memories import api

logger = function_logger("memories")


@entry(logger)
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answer one HTTP API event."""
    return api.handle(event, context)
