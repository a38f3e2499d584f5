"""Searches one space or several, and gives an agent the context that it needs at its start."""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from livemem_http.logs import entry, function_logger
from livemem_http.routes.search import api

logger = function_logger("search")


@entry(logger)
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answer one HTTP API event."""
    return api.handle(event, context)
