"""Sign-in by OAuth: metadata, the page of consent, tokens; and the connections that came of it."""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from livemem_http.environment import process
from livemem_http.logs import entry, function_logger
from livemem_http.oauth import endpoints
from livemem_http.routes.connections import api

logger = function_logger("signin")


@entry(logger)
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answer one HTTP API event."""
    return endpoints.handle(process, event) if endpoints.owns(event) else api.handle(event, context)
