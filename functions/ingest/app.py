"""Appends live notes, one or a batch."""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from livemem_http.logs import entry, function_logger
from livemem_http.routes.ingest import api

logger = function_logger("ingest")


@entry(logger)
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answer one HTTP API event."""
    return api.handle(event, context)
