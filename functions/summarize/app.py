"""Makes the summaries of conversations: after an S3 put event of a turn, and when it is invoked asynchronously."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import unquote_plus

from aws_lambda_powertools.utilities.data_classes import S3Event
from aws_lambda_powertools.utilities.typing import LambdaContext

from livemem import clock
from livemem.conversations import update
from livemem.conversations.summaries_job import SummariesJob
from livemem.jobs.worker import Worked
from livemem_http import metrics, waiting
from livemem_http.environment import process
from livemem_http.logs import entry, function_logger

logger = function_logger("summarize")


def work(event: dict[str, Any], deadline: datetime, delivery: str) -> Sequence[Worked[SummariesJob]]:
    """Bring up the conversations of an event, or carry out an invocation."""
    if "Records" in event:
        event_keys = [unquote_plus(record.s3.get_object.key) for record in S3Event(event).records]
        return update.hear(process(), event_keys, deadline, delivery, waiting.waited(event))
    return update.carry_out(process(), event, deadline, delivery, waiting.waited(event))


@entry(logger)
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Do what is to be done; raises if the store fails, so that Lambda tries again."""
    deadline = clock.now() + timedelta(milliseconds=context.get_remaining_time_in_millis())
    worked = work(event, deadline, context.aws_request_id)
    metrics.report_summaries("summarize", worked)
    results = [one.outcome for one in worked]
    logger.info("summarised", extra={"results": results})
    return {"results": results}
