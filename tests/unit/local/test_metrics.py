"""Metrics of functions as Prometheus reads them."""

import json
import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from livemem.jobs.worker import Worked
from livemem.llm.usage import Usage
from livemem_http import metrics as reported
from local.metrics import GAUGES, SECONDS, Metrics, may_read

ROOT = Path(__file__).resolve().parents[3]


def written(capsys):
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_what_the_functions_log_is_added_up_and_a_gauge_shows_the_last_value(capsys, monkeypatch):
    monkeypatch.setenv("POWERTOOLS_METRICS_NAMESPACE", "n")
    metrics = Metrics()
    for hours in (9.0, 2.0):
        reported.report_waiting("digest", hours)
        reported.report_question("ask", Worked("nothing", used=Usage(calls=1, prompt_tokens=10)))
    metrics.take(written(capsys))

    lines = metrics.render().splitlines()
    assert 'livemem_hours_since_digest{service="digest"} 2.0' in lines
    assert 'livemem_questions_answered_total{service="ask"} 0.0' in lines
    assert 'livemem_llm_tokens_used_total{service="ask"} 20.0' in lines
    assert lines.count("# TYPE livemem_llm_tokens_used_total counter") == 1


def test_a_run_counts_once_though_it_is_reported_with_and_without_its_status(capsys, monkeypatch):
    monkeypatch.setenv("POWERTOOLS_METRICS_NAMESPACE", "n")
    reported.report(None)
    metrics = Metrics()
    metrics.take(written(capsys))

    runs = [line for line in metrics.render().splitlines() if line.startswith("livemem_runs_total")]
    assert runs == ['livemem_runs_total{service="consolidate",status="ignored"} 1.0']


def test_each_gauge_is_a_metric_that_a_function_reports():
    layer = ROOT / "layers/livemem"
    reporting = (layer / "livemem/consolidation/outcome.py", layer / "livemem_http/metrics.py")
    sources = [*reporting, *ROOT.glob("functions/*/app.py")]
    named = "".join(source.read_text() for source in sources)
    assert [name for name in sorted(GAUGES) if f'"{name}"' not in named] == []


def test_the_buckets_of_a_histogram_are_cumulative_and_end_with_all():
    metrics = Metrics()
    for seconds in (SECONDS[0], 0.3, 10_000.0):
        metrics.observe("x", seconds, function="F")
    counts = [float(n) for n in re.findall(r"x_bucket\{.*\} (\S+)", metrics.render())]
    assert (counts[0], counts[-2], counts[-1]) == (1, 2, 3)
    assert counts == sorted(counts)
    assert 'x_bucket{function="F",le="+Inf"} 3' in metrics.render()
    assert 'x_count{function="F"} 3' in metrics.render()


LINES = st.lists(st.dictionaries(st.sampled_from(["_aws", "service", "x"]), st.none() | st.text() | st.integers()))


@given(LINES, st.text())
def test_no_text_of_a_line_or_label_breaks_the_format(lines, label):
    metrics = Metrics()
    metrics.take(lines)
    metrics.add("livemem_x_total", route=label)
    text = metrics.render().removesuffix("\n")
    [shown] = [line for line in text.split("\n") if not line.startswith("#")]
    assert re.fullmatch(r'livemem_x_total\{route="(\\[\\n"]|[^\\"\n])*"\} 1\.0', shown)


def test_only_the_whole_key_opens_the_metrics():
    assert may_read("Bearer secret", "secret")
    assert not any(may_read(given, "secret") for given in (None, "", "Bearer", "Bearer secre", "Bearer secret2"))
