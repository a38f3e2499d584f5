"""Backups and the operations that rest on them, by request and by schedule, and work that takes longer than a request
may.
"""

from datetime import timedelta
from typing import Any

from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.typing import LambdaContext

from livemem import clock
from livemem.upkeep import backup_work
from livemem_http.environment import process
from livemem_http.logs import entry, function_logger
from livemem_http.metrics import emitted
from livemem_http.routes.archives import api

logger = function_logger("backup")


def do_work(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Do one piece of work; raises if the store fails, so that Lambda tries again."""
    deadline = clock.now() + timedelta(milliseconds=context.get_remaining_time_in_millis())
    with emitted("backup") as metrics:
        failed = 1
        try:
            done = backup_work.carry_out(process(), event, deadline)
            failed = int(done.get("status") in ("error", "failed"))
        finally:
            metrics.add_metric("WorkFailed", MetricUnit.Count, failed)
        metrics.add_metric("BackupsMade", MetricUnit.Count, int(done.get("status") == "made"))
        # A look at many spaces says how many it found so.
        unchanged = done.get("unchanged", int(done.get("status") == "unchanged"))
        metrics.add_metric("BackupsUnchanged", MetricUnit.Count, unchanged)
    logger.info("work done", extra={"work": event.get("kind") or event.get("do"), "done": done})
    return done


@entry(logger)
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answer an HTTP API event, or do the work of a schedule or an asynchronous invocation."""
    return api.handle(event, context) if "requestContext" in event else do_work(event, context)
