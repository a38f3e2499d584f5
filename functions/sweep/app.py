"""Every 15 minutes, and once a day for all spaces: finishes interrupted work, restarts missed triggers, reports stale
notes.
"""

from dataclasses import asdict
from datetime import timedelta
from typing import Any

from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.typing import LambdaContext

from livemem import clock
from livemem.jobs.package import OLDEST
from livemem.upkeep import sweep
from livemem_http.environment import process
from livemem_http.logs import entry, function_logger
from livemem_http.metrics import emitted

BACKUP_AGE = "backup_age_hours"

logger = function_logger("sweep")


@entry(logger)
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Sweep the marked spaces, or all with `{"spaces": "all"}`, and return what was found and done."""
    deadline = clock.now() + timedelta(milliseconds=context.get_remaining_time_in_millis())
    report = sweep.sweep(process(), deadline=deadline, everything=event.get("spaces") == "all")
    with emitted("sweep") as metrics:
        metrics.add_metric("OldestPendingNoteSeconds", MetricUnit.Seconds, report.most(OLDEST))
        metrics.add_metric("SpacesRecovered", MetricUnit.Count, len(report.did("recovered")))
        metrics.add_metric("SpacesFailed", MetricUnit.Count, len(report.failed))
        if report.did(BACKUP_AGE):
            metrics.add_metric("HoursSinceLastBackup", MetricUnit.Count, report.most(BACKUP_AGE))
    logger.info("swept", extra={"report": asdict(report)})
    return asdict(report)
