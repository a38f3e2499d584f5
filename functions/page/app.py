"""Serves the page on which people see the memory: static files, which call the API from the browser."""

from functools import lru_cache
from pathlib import Path
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from livemem_http.logs import entry, function_logger
from livemem_http.site import Site

logger = function_logger("page")


@lru_cache(maxsize=1)
def site() -> Site:
    """The files, read once."""
    return Site(Path(__file__).parent / "static")


@entry(logger)
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answer one HTTP API event."""
    return site().answer(event)
