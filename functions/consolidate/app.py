"""Starts a consolidation over HTTP, and does one when it is invoked asynchronously."""

from datetime import timedelta
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from livemem import clock
from livemem.consolidation import pipeline as consolidation
from livemem_http import metrics
from livemem_http.environment import process
from livemem_http.logs import entry, function_logger
from livemem_http.routes.consolidations import api

logger = function_logger("consolidate")


def work(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Work off one queued run; raises if the store fails, so that Lambda tries again."""
    deadline = clock.now() + timedelta(milliseconds=context.get_remaining_time_in_millis())
    run = consolidation.consolidate(process(), event["space_id"], event["job_id"], deadline=deadline)
    return metrics.report(run)


@entry(logger)
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answer an HTTP API event, or do the work of an asynchronous invocation."""
    return api.handle(event, context) if "requestContext" in event else work(event, context)
