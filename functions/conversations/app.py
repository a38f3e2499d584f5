"""Conversations: turns are appended, read and removed, and summaries are read and brought up to date."""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from livemem_http.logs import entry, function_logger
from livemem_http.routes.conversations import api

logger = function_logger("conversations")


@entry(logger)
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answer one HTTP API event."""
    return api.handle(event, context)
