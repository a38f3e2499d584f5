"""Looks at a space's live notes after an S3 put event and starts a consolidation at the threshold."""

from typing import Any
from urllib.parse import unquote_plus

from aws_lambda_powertools.utilities.data_classes import S3Event, event_source
from aws_lambda_powertools.utilities.typing import LambdaContext

from livemem.jobs import counter
from livemem_http.environment import process
from livemem_http.logs import entry, function_logger

logger = function_logger("counter")


@entry(logger)
@event_source(data_class=S3Event)
def handler(event: S3Event, context: LambdaContext) -> dict[str, Any]:
    """Count once per space that the event's keys belong to. Keys that are no live notes are ignored."""
    written = [unquote_plus(record.s3.get_object.key) for record in event.records]
    outcomes = counter.notice(process(), written)
    logger.info("counted", extra={"keys": written, "outcomes": outcomes})
    return outcomes
