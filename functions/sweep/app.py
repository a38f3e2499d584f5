"""Every 15 minutes: finishes what was interrupted, restarts missed triggers, reports stale notes."""

from dataclasses import asdict
from typing import Any

from aws_lambda_powertools import Metrics
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.typing import LambdaContext

from livemem import clock, sweep
from livemem_http.environment import start_run, store
from livemem_http.logs import function_logger

logger = function_logger("sweep")
metrics = Metrics(service="sweep")


@logger.inject_lambda_context(clear_state=True)
@metrics.log_metrics
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Sweep all spaces once and return what was found and done."""
    report = sweep.sweep(
        store(),
        clock=clock.now,
        new_id=clock.new_id,
        start=start_run,
        time_left=lambda: context.get_remaining_time_in_millis() / 1_000,
    )
    metrics.add_metric("OldestPendingNoteSeconds", MetricUnit.Seconds, report.oldest_pending_note_seconds)
    metrics.add_metric("SpacesRecovered", MetricUnit.Count, len(report.recovered))
    metrics.add_metric("SpacesFailed", MetricUnit.Count, len(report.failed))
    logger.info("swept", extra={"report": asdict(report)})
    return asdict(report)
