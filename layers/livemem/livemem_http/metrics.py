"""Metrics of runs, summaries, questions and digests in CloudWatch (EMF): the alarms and the dashboard of template.yaml
use them.

Their namespace is the stack's own, by POWERTOOLS_METRICS_NAMESPACE in template.yaml.

CloudWatch bills each name with each combination of dimensions as a metric of its own, and an alarm can only be set on
one whose dimensions are known. So the numbers carry the service alone, and only the count of runs is split by status.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from aws_lambda_powertools import single_metric
from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit

from livemem.conversations.summaries_job import SummariesJob
from livemem.jobs.run import Run
from livemem.jobs.worker import Worked
from livemem.llm.usage import Usage

if TYPE_CHECKING:
    # They need what a search needs, which other functions don't have.
    from livemem.ask.question import Question
    from livemem.rooms.current_digest import CurrentDigest

UNITS = {"duration_seconds": MetricUnit.Seconds, "synthesis_size": MetricUnit.Bytes}


@contextmanager
def emitted(service: str) -> Iterator[EphemeralMetrics]:
    """Metrics of one piece of work, emitted at its end, also if it fails. All Metrics of Powertools in a process are
    one.
    """
    metrics = EphemeralMetrics(service=service)
    try:
        yield metrics
    finally:
        if metrics.metric_set:
            metrics.flush_metrics()


def report(run: Run | None) -> dict[str, Any]:
    """Emit the run's numbers and its code or status (`ignored` for None); returns what the invocation answers."""
    status = run.state if run else "ignored"
    with single_metric("runs", MetricUnit.Count, 1) as by_status:
        by_status.add_dimension("service", "consolidate")
        by_status.add_dimension("status", status)
    with emitted("consolidate") as metrics:
        metrics.add_metric("runs", MetricUnit.Count, 1)
        for name, value in run.metrics.items() if run else ():
            if isinstance(value, (int, float)):
                metrics.add_metric(name, UNITS.get(name, MetricUnit.Count), value)
    if run is None:
        return {"status": status}
    return {"status": status, "run_id": run.job_id, "metrics": run.metrics}


def report_summaries(service: str, worked: Sequence[Worked[SummariesJob]]) -> None:
    """Emit the summaries that one invocation made and their cost. Emit nothing if it did nothing.

    Calls and tokens have the names that a consolidation's have, so that one alarm can add them up.
    """
    counts = sum((Counter(one.counts) for one in worked), Counter[str]())
    failures = counts["failed"] or len([one for one in worked if one.outcome in ("failed", "waiting")])
    if not (counts or failures):
        return
    used = sum((one.used for one in worked), Usage())
    with emitted(service) as metrics:
        metrics.add_metric("SummariesMade", MetricUnit.Count, counts["made"])
        metrics.add_metric("SummariesFailed", MetricUnit.Count, failures)
        for name, value in (used.to_metrics() | {"llm_tokens_used": used.tokens}).items():
            metrics.add_metric(name, MetricUnit.Count, value)


def report_question(service: str, worked: "Worked[Question]") -> None:
    """Emit the work of one request or invocation on a question, and its use of the LLM.

    Calls and tokens have the names that a consolidation's have, so that one alarm can add them up.
    """
    with emitted(service) as metrics:
        for name, result in (("QuestionsAnswered", "done"), ("QuestionsFailed", "failed")):
            metrics.add_metric(name, MetricUnit.Count, int(worked.outcome == result))
        for name, value in (worked.used.to_metrics() | {"llm_tokens_used": worked.used.tokens}).items():
            metrics.add_metric(name, MetricUnit.Count, value)


def report_digests(service: str, worked: Sequence["Worked[CurrentDigest]"]) -> None:
    """Emit the digests that one invocation made and their cost, under the names of a consolidation's metrics."""
    used = sum((one.used for one in worked), Usage())
    with emitted(service) as metrics:
        metrics.add_metric("DigestsDone", MetricUnit.Count, len([one for one in worked if one.outcome == "done"]))
        metrics.add_metric("DigestsWaiting", MetricUnit.Count, len([one for one in worked if one.outcome == "waiting"]))
        metrics.add_metric("DeadLetters", MetricUnit.Count, sum(one.counts.get("dead_letters", 0) for one in worked))
        for name, value in (used.to_metrics() | {"llm_tokens_used": used.tokens}).items():
            metrics.add_metric(name, MetricUnit.Count, value)


def report_waiting(service: str, hours: float) -> None:
    """Emit for how many hours messages have waited for a digest, in the space where they wait longest."""
    with emitted(service) as metrics:
        metrics.add_metric("HoursSinceDigest", MetricUnit.Count, hours)
