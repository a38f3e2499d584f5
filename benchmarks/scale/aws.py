"""What AWS documents: limits, latencies and delays that the simulated account keeps to. Each is read in November 2026.

A figure that AWS does not document is an assumption, and says so.
"""

from collections.abc import Iterator
from dataclasses import dataclass

_S3 = "https://docs.aws.amazon.com/AmazonS3/latest/userguide/"
_LAMBDA = "https://docs.aws.amazon.com/lambda/latest/dg/"


@dataclass(frozen=True)
class Fact:
    """A figure, its unit, and where it is from. `source` empty: an assumption."""

    name: str
    value: float
    unit: str
    source: str = ""


S3_SECONDS = Fact(
    "a small request to S3", 0.1, "s (100 to 200 ms are documented)", f"{_S3}optimizing-performance-guidelines.html"
)
S3_WRITES = Fact("writes below one prefix", 3_500, "a second", f"{_S3}optimizing-performance.html")
S3_READS = Fact("reads below one prefix", 5_500, "a second", f"{_S3}optimizing-performance.html")
EVENT_SECONDS = Fact("from a write to its put event", 1.0, "s (typically in seconds)", f"{_S3}EventNotifications.html")
CONCURRENCY = Fact("invocations at once in an account", 1_000, "", f"{_LAMBDA}gettingstarted-limits.html")
RAMP = Fact("new environments of a function", 1_000, "in 10 s", f"{_LAMBDA}scaling-behavior.html")
THROTTLED_FIRST = Fact("first pause of a throttled event", 1, "s, doubled each time", f"{_LAMBDA}invocation-async-error-handling.html")  # fmt: skip # noqa: E501
THROTTLED_LONGEST = Fact("longest pause of a throttled event", 300, "s", f"{_LAMBDA}invocation-async-error-handling.html")  # fmt: skip # noqa: E501
FIRST_RETRY = Fact("before the first retry of a failed event", 60, "s", f"{_LAMBDA}invocation-async-error-handling.html")  # fmt: skip # noqa: E501
SECOND_RETRY = Fact("before the second retry", 120, "s", f"{_LAMBDA}invocation-async-error-handling.html")
API_RATE = Fact("requests to HTTP APIs in an account", 10_000, "a second", "https://docs.aws.amazon.com/apigateway/latest/developerguide/limits.html")  # fmt: skip # noqa: E501
WARM_SECONDS = Fact("an environment without work is kept for", 600, "s")
COLD_SECONDS = Fact("a new environment begins after", 1.0, "s")
COMPUTE_SECONDS = Fact("an invocation computes for", 0.02, "s")
REFUSED_SECONDS = Fact("one that refuses a request computes for", 0.005, "s")

FACTS = (
    S3_SECONDS,
    S3_WRITES,
    S3_READS,
    EVENT_SECONDS,
    CONCURRENCY,
    RAMP,
    THROTTLED_FIRST,
    THROTTLED_LONGEST,
    FIRST_RETRY,
    SECOND_RETRY,
    API_RATE,
    WARM_SECONDS,
    COLD_SECONDS,
    COMPUTE_SECONDS,
    REFUSED_SECONDS,
)


def table() -> Iterator[str]:
    """The lines of the table."""
    yield "| figure | value | from |"
    yield "|---|---|---|"
    for fact in FACTS:
        origin = f"[AWS]({fact.source})" if fact.source else "an assumption"
        yield f"| {fact.name} | {fact.value:,g} {fact.unit} | {origin} |"
