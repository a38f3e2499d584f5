"""Answers all requests that only read: spaces, notes, bank, synthesis, history, runs, health."""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from livemem_http.logs import function_logger
from livemem_http.routes.reads import api

logger = function_logger("reads")


@logger.inject_lambda_context(clear_state=True)
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answer one HTTP API event."""
    return api.handle(event, context)
