"""Digests the messages of rooms: every hour those that are due, and when it is invoked asynchronously."""

from datetime import datetime, timedelta
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from livemem import clock
from livemem.jobs.worker import Worked
from livemem.rooms import digest_work
from livemem.rooms.current_digest import CurrentDigest
from livemem.rooms.digest_work import DigestOrder
from livemem_http import metrics
from livemem_http.environment import process
from livemem_http.logs import entry, function_logger

logger = function_logger("digest")


def carry_out(event: dict[str, Any], deadline: datetime, delivery: str) -> dict[str, Any]:
    """Carry out the digests of an invocation, and return their outcomes."""
    worked = digest_work.carry_out(process(), event["space_id"], DigestOrder.of(event, delivery), deadline)
    metrics.report_digests("digest", worked)
    logger.info("digests carried out", extra={"results": [one.outcome for one in worked]})
    return {"results": [_told(one) for one in worked]}


def _told(worked: Worked[CurrentDigest]) -> dict[str, Any]:
    job = worked.job
    error = job.error.code if job and job.error else None
    return {"slot": job.job_id if job else None, "result": worked.outcome, "error": error}


def start_due(deadline: datetime) -> dict[str, Any]:
    """Queue the due digests, and report for how long messages wait."""
    queued = digest_work.start_due(process(), deadline)
    hours = digest_work.longest_wait(process(), deadline)
    metrics.report_waiting("digest", hours)
    logger.info("digests queued", extra={"spaces": len(queued), "hours_since_digest": hours})
    return {"queued": queued, "hours_since_digest": hours}


@entry(logger)
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Do what is to be done; raises if the store fails, so that Lambda tries again."""
    deadline = clock.now() + timedelta(milliseconds=context.get_remaining_time_in_millis())
    return carry_out(event, deadline, context.aws_request_id) if "space_id" in event else start_due(deadline)
