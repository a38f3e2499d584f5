"""Answers questions over HTTP. Invoked asynchronously, it continues those that take longer than the API allows."""

from datetime import timedelta
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from livemem import clock
from livemem.ask import question_work
from livemem.jobs.shares import IN_LINE, Waited
from livemem_http import metrics, waiting
from livemem_http.environment import process
from livemem_http.logs import entry, function_logger
from livemem_http.routes.questions import api

logger = function_logger("ask")


def carry_on(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Continue a question. Raises if the store fails or the user is busy, so that Lambda tries again."""
    deadline = clock.now() + timedelta(milliseconds=context.get_remaining_time_in_millis())
    waited = Waited(waiting.waited(event), in_line=bool(event.get(IN_LINE)))
    worked = question_work.carry_on(process(), event["space_id"], event["job_id"], deadline, waited=waited)
    metrics.report_question("ask", worked)
    logger.info("went on", extra={"result": worked.outcome})
    return {"result": worked.outcome}


@entry(logger)
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answer an HTTP API event, or do the work of an asynchronous invocation."""
    return api.handle(event, context) if "requestContext" in event else carry_on(event, context)
