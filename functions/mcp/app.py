"""Answers MCP requests: the same operations as tools, for agents."""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from livemem_http.environment import process
from livemem_http.logs import entry, function_logger
from livemem_mcp import elsewhere, http

logger = function_logger("mcp")


@entry(logger)
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answer one HTTP API event."""
    return http.handle(process(), event, elsewhere.invoke)
