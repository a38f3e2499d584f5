"""A run's metrics as CloudWatch metrics (EMF): what the alarms and the dashboard of template.yaml rest on.

Their namespace is the stack's own, by POWERTOOLS_METRICS_NAMESPACE in template.yaml.

CloudWatch bills each name with each combination of dimensions as a metric of its own, and an alarm can only be set on
one whose dimensions are known. So the numbers carry the service alone, and only the count of runs is split by status.
"""

from typing import Any

from aws_lambda_powertools import Metrics, single_metric
from aws_lambda_powertools.metrics import MetricUnit

from livemem.runs.run import Run

UNITS = {"duration_seconds": MetricUnit.Seconds, "synthesis_size": MetricUnit.Bytes}


def report(metrics: Metrics, run: Run | None) -> dict[str, Any]:
    """Emit the run's numbers and its status (`ignored` for None); returns what the invocation answers."""
    status = run.status if run else "ignored"
    with single_metric("runs", MetricUnit.Count, 1) as by_status:
        by_status.add_dimension("service", "consolidate")
        by_status.add_dimension("status", status)
    metrics.add_metric("runs", MetricUnit.Count, 1)
    if run is None:
        return {"status": status}
    for name, value in run.metrics.items():
        if isinstance(value, (int, float)):
            metrics.add_metric(name, UNITS.get(name, MetricUnit.Count), value)
    return {"status": status, "run_id": run.run_id, "metrics": run.metrics}
