"""Sign-in by OAuth: metadata, the page of consent, tokens."""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from livemem_http.environment import process
from livemem_http.logs import entry, function_logger
from livemem_http.oauth import endpoints

logger = function_logger("signin")


@entry(logger)
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answer one HTTP API event."""
    return endpoints.handle(process, event)
