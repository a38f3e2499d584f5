"""The numbers of a running service, as Prometheus reads them (text format 0.0.4): `GET /metrics`.

The functions report theirs as on AWS, in lines of CloudWatch's embedded metric format (livemem_http/metrics.py and the
handlers). An environment hands them over with its answer, so there is no second list of them here: each number gets the
name that CloudWatch shows, in snake case. The runtime adds what CloudWatch knows by itself there: invocations, waiting
work, HTTP requests by route. No series names a space, a token or a text, so their number is bounded.

Counters begin at 0 with the process, which Prometheus expects. What an environment reported in the invocation in which
it was killed is lost.
"""

import hmac
import re
import threading
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from itertools import accumulate
from typing import Any

PATH = "/metrics"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
"""Upper bounds of the buckets of durations: from a cached answer to a consolidation."""
GAUGES = frozenset(
    {"OldestPendingNoteSeconds", "HoursSinceLastBackup", "HoursSinceDigest", "notes_remaining", "synthesis_size"}
)
"""Metrics of the functions that say how something is. All others say how much was done, and are added up."""
_SPLIT = {"runs": "status"}
"""Metrics that are reported twice, with and without a dimension: only the lines with it count."""

Labels = tuple[tuple[str, str], ...]

_HELP = {
    "livemem_http_requests_total": "Requests by route and status.",
    "livemem_http_request_seconds": "Time until the answer, by function.",
    "livemem_invocations_total": "Invocations of functions, by status.",
    "livemem_invocation_seconds": "Duration of invocations.",
    "livemem_running": "Invocations of a function at work.",
    "livemem_waiting": "Invocations that wait for others to end, by kind.",
    "livemem_dead_letters": "Asynchronous events that were given up since the data folder was made.",
}


class Metrics:
    """All series of one service. Safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._families: dict[tuple[str, str], dict[Labels, list[float]]] = {}

    def add(self, name: str, value: float = 1.0, **labels: str) -> None:
        """Add to a counter."""
        with self._lock:
            self._found(name, "counter", labels)[0] += value

    def set(self, name: str, value: float, **labels: str) -> None:
        """Set a gauge."""
        with self._lock:
            self._found(name, "gauge", labels)[0] = value

    def observe(self, name: str, seconds: float, **labels: str) -> None:
        """Add a duration to a histogram."""
        with self._lock:
            # One count for each bucket and one for what is longer, then the sum.
            found = self._found(name, "histogram", labels, len(SECONDS) + 2)
            found[bisect_left(SECONDS, seconds)] += 1
            found[-1] += seconds

    def _found(self, name: str, kind: str, labels: Mapping[str, str], size: int = 1) -> list[float]:
        series = self._families.setdefault((name, kind), {})
        return series.setdefault(tuple(sorted(labels.items())), [0.0] * size)

    def take(self, lines: Iterable[Mapping[str, Any]]) -> None:
        """Take the lines of metrics that a function has written. A line that is not as documented is left out."""
        for line in lines:
            for name, value, labels in _numbers(line):
                known = f"livemem_{_snake(name)}"
                if name in GAUGES:
                    self.set(known, value, **labels)
                elif _SPLIT.get(name) is None or _SPLIT[name] in labels:
                    self.add(f"{known}_total", value, **labels)

    def render(self) -> str:
        """All series as text."""
        lines = []
        with self._lock:
            for (name, kind), series in sorted(self._families.items()):
                lines += [f"# HELP {name} {_HELP[name]}"] if name in _HELP else []
                lines.append(f"# TYPE {name} {kind}")
                for labels, found in sorted(series.items()):
                    value = [f"{name}{_shown(labels)} {found[0]!r}"]
                    lines += _buckets(name, labels, found) if kind == "histogram" else value
        return "\n".join([*lines, ""])


def may_read(authorization: str | None, key: str) -> bool:
    """Whether a request's Authorization header has the key; takes as long for any wrong one of its length."""
    return hmac.compare_digest((authorization or "").removeprefix("Bearer ").encode(), key.encode())


def _numbers(line: Mapping[str, Any]) -> Iterable[tuple[str, float, dict[str, str]]]:
    """The name, value and dimensions of each metric of a line of the embedded metric format."""
    about = line.get("_aws")
    groups = about.get("CloudWatchMetrics", []) if isinstance(about, dict) else []
    for group in groups:
        dimensions = {name for names in group.get("Dimensions", []) for name in names}
        labels = {_snake(name): str(line[name]) for name in dimensions if name in line}
        for metric in group.get("Metrics", []):
            values = line.get(metric["Name"], [])
            for value in values if isinstance(values, list) else [values]:
                yield metric["Name"], float(value), labels


def _snake(name: str) -> str:
    return re.sub(r"[^a-z0-9_]", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower())


def _buckets(name: str, labels: Labels, found: list[float]) -> list[str]:
    bounds, counts = [*map(str, SECONDS), "+Inf"], [f"{count:g}" for count in accumulate(found[:-1])]
    lines = [f"{name}_bucket{_shown((*labels, ('le', at)))} {n}" for at, n in zip(bounds, counts, strict=True)]
    return [*lines, f"{name}_sum{_shown(labels)} {found[-1]!r}", f"{name}_count{_shown(labels)} {counts[-1]}"]


def _shown(labels: Labels) -> str:
    if not labels:
        return ""
    escaped = ((name, value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")) for name, value in labels)
    return "{" + ",".join(f'{name}="{value}"' for name, value in escaped) + "}"
