"""Alarms and dashboard: what they watch exists, is emitted by the code under that name, and can be told to somebody."""

import ast
import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import get_args

import pytest

from livemem.jobs.run import RunCode
from livemem.jobs.worker import Worked
from livemem.llm.usage import Usage
from livemem_http import metrics as run_metrics
from tests.support.world import World

ROOT = Path(__file__).resolve().parents[2]
TOPIC = {"Fn::If": ["HasAlarmTopic", [{"Ref": "AlarmTopicArn"}], {"Ref": "AWS::NoValue"}]}
SEARCHING = {"SearchFunction", "IndexerFunction"}
TALKING = {"ConversationsFunction", "SummarizeFunction"}
SIGN_IN = {"SigninFunction"}
AGENTS = {"McpFunction", *SIGN_IN}
PAGE = {"PageFunction"}
REMEMBERING = {f"{name}Function" for name in ("Memories", "Rooms", "Digest", "Questions", "Ask")}
EVERYTHING = (
    SEARCHING
    | TALKING
    | AGENTS
    | PAGE
    | REMEMBERING
    | {
        f"{name}Function"
        for name in ("Ingest", "Reads", "Admin", "Start", "Archives", "Backup", "Counter", "Consolidate", "Sweep")
    }
)
RESERVED = {f"{name}Function" for name in ("Consolidate", "Backup", "Summarize", "Digest", "Ask")}
OURS = "LiveMemory/StackName"
"""The namespace of our own metrics, as `plain` reads it."""

# What AWS itself reports, as its documentation of Lambda, of API Gateway's HTTP APIs and of SQS names it.
OF_AWS = {
    "AWS/Lambda": {"Errors", "Throttles", "Duration", "AsyncEventAge"},
    "AWS/ApiGateway": {"Count", "4xx", "5xx", "Latency"},
    "AWS/SQS": {"ApproximateNumberOfMessagesVisible"},
}


@pytest.fixture(scope="session")
def alarms(of_type):
    return of_type("AWS::CloudWatch::Alarm")


def watched(alarm):
    """(namespace, metric, dimensions) of each metric of an alarm; dimensions as a sorted tuple of pairs."""
    parts = [query["MetricStat"]["Metric"] for query in alarm.get("Metrics", []) if "MetricStat" in query] or [alarm]
    return [(plain(part["Namespace"]), part["MetricName"], pairs(part["Dimensions"])) for part in parts]


def plain(text):
    """A text of the template with each placeholder as its own name."""
    return re.sub(r"\$\{(?:AWS::)?(\w+)(\.\w+)?\}", r"\1", text["Fn::Sub"] if isinstance(text, dict) else text)


def pairs(dimensions):
    return tuple(sorted((dimension["Name"], name_of(dimension["Value"])) for dimension in dimensions))


def name_of(value):
    """The logical id that a dimension refers to, or its own text."""
    if isinstance(value, str):
        return value
    (target,) = value.values()
    return target if isinstance(target, str) else target[0]


@pytest.fixture(scope="session")
def dashboard(source):
    """The dashboard's body as JSON, with each placeholder as its own name (numbers as 0)."""
    body = source["Resources"]["Dashboard"]["Properties"]["DashboardBody"]["Fn::Sub"]
    return json.loads(plain(re.sub(r": \$\{\w+\}", ": 0", body)))


def drawn(dashboard):
    """(namespace, metric, dimensions) of each line of the dashboard."""
    rows = [row for widget in dashboard["widgets"] for row in widget["properties"].get("metrics", [])]
    plain = [[part for part in row if isinstance(part, str)] for row in rows]
    return [(row[0], row[1], tuple(sorted(zip(row[2::2], row[3::2], strict=True)))) for row in plain]


@pytest.fixture(scope="module")
def emitted():
    """(namespace, metric, dimensions) of all that the code reports: of runs in each status, the sweep and backups."""
    world = World()
    world.create_space(threshold=2)
    world.note("first")
    world.note("second")
    finished = world.consolidate()
    runs = [
        None,
        finished,
        *(finished.model_copy(update={"code": code, "metrics": {}}) for code in get_args(RunCode)),
        finished.model_copy(update={"status": "failed", "metrics": {}}),
    ]
    found = set()
    for run in runs:
        found |= told(partial(run_metrics.report, run))
    for service in ("summarize", "conversations"):
        made = [Worked("unfinished", used=Usage(1, 100, 20), counts={"made": 1, "failed": 0})]
        found |= told(partial(run_metrics.report_summaries, service, made))
    found |= told(partial(run_metrics.report_digests, "digest", [Worked("ended")]))
    found |= told(partial(run_metrics.report_waiting, "digest", 3.5))
    for service in ("questions", "ask"):
        found |= told(partial(run_metrics.report_question, service, Worked("nothing")))
    return found | {
        (OURS, name, (("service", function),)) for function in ("sweep", "backup") for name in written_in(function)
    }


def written_in(function: str) -> list[str]:
    """The names of the metrics that the code of a function emits."""
    code = ast.parse((ROOT / "functions" / function / "app.py").read_text())
    calls = [node for node in ast.walk(code) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]
    return [ast.literal_eval(call.args[0]) for call in calls if ast.unparse(call.func).endswith(".add_metric")]


def told(tell: Callable[[], object]):
    """What this prints for CloudWatch, read as CloudWatch reads it."""
    lines = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("builtins.print", lambda line, *_, **__: lines.append(line))
        patch.setenv("POWERTOOLS_METRICS_NAMESPACE", OURS)
        tell()
    return {
        (directive["Namespace"], metric["Name"], tuple(sorted((name, line[name]) for name in dimensions)))
        for line in map(json.loads, lines)
        for directive in line["_aws"]["CloudWatchMetrics"]
        for dimensions in directive["Dimensions"]
        for metric in directive["Metrics"]
    }


def test_each_stack_has_a_namespace_of_its_own(source):
    variables = source["Globals"]["Function"]["Environment"]["Variables"]

    assert plain(variables["POWERTOOLS_METRICS_NAMESPACE"]) == OURS


def test_every_metric_of_our_own_that_is_watched_is_emitted_with_those_dimensions(alarms, dashboard, emitted):
    ours = {seen for alarm in alarms.values() for seen in watched(alarm)} | set(drawn(dashboard))

    assert {seen for seen in ours if seen[0] == OURS} - emitted == set()


def test_every_other_metric_that_is_watched_is_one_that_aws_reports(alarms, dashboard):
    seen = [seen for alarm in alarms.values() for seen in watched(alarm)] + drawn(dashboard)

    assert [part for part in seen if part[0] != OURS and part[1] not in OF_AWS[part[0]]] == []


def test_every_state_that_a_run_can_end_with_is_drawn(dashboard):
    statuses = {dict(dimensions)["status"] for _, name, dimensions in drawn(dashboard) if name == "runs"}

    # Of these two people decide, and no invocation.
    assert statuses == {"done", "failed", *get_args(RunCode)} - {"refused", "superseded"}


def test_only_the_count_of_runs_is_split_by_status_because_each_split_is_billed(emitted):
    assert {name for _, name, dimensions in emitted if "status" in dict(dimensions)} == {"runs"}


def test_every_alarm_tells_the_topic_if_there_is_one(alarms):
    assert {name: alarm["AlarmActions"] for name, alarm in alarms.items()} == dict.fromkeys(alarms, TOPIC)


def test_every_alarm_is_named_after_the_stack_says_what_it_means_and_decides_about_missing_data(alarms):
    for name, alarm in alarms.items():
        assert alarm["AlarmName"]["Fn::Sub"].startswith("${AWS::StackName}-"), name
        assert alarm["AlarmDescription"], name
        assert alarm["TreatMissingData"] in {"notBreaching", "missing"}, name


def test_an_alarm_takes_no_more_metrics_than_cloudwatch_does(alarms):
    assert all(len(alarm.get("Metrics", [])) <= 10 for alarm in alarms.values())


def of_functions(alarm, metric):
    return {dict(dimensions)["FunctionName"] for _, name, dimensions in watched(alarm) if name == metric}


def test_an_error_of_any_function_raises_an_alarm(alarms):
    assert of_functions(alarms["ErrorsAlarm"], "Errors") == (
        EVERYTHING - SEARCHING - TALKING - AGENTS - REMEMBERING - PAGE
    )
    assert of_functions(alarms["SearchErrorsAlarm"], "Errors") == SEARCHING
    assert of_functions(alarms["ConversationErrorsAlarm"], "Errors") == TALKING
    assert of_functions(alarms["McpErrorsAlarm"], "Errors") == AGENTS
    assert of_functions(alarms["PageErrorsAlarm"], "Errors") == PAGE
    assert of_functions(alarms["MemoryErrorsAlarm"], "Errors") == REMEMBERING
    kinds = ("", "Search", "Conversation", "Mcp", "Memory", "Page")
    assert {alarms[f"{name}ErrorsAlarm"]["Threshold"] for name in kinds} == {1}


def test_throttles_raise_an_alarm_but_not_where_the_reserved_concurrency_makes_events_wait(alarms):
    refused = of_functions(alarms["ThrottlesAlarm"], "Throttles")
    refused |= of_functions(alarms["ConversationErrorsAlarm"], "Throttles")
    refused |= of_functions(alarms["McpErrorsAlarm"], "Throttles")
    refused |= of_functions(alarms["PageErrorsAlarm"], "Throttles")
    refused |= of_functions(alarms["MemoryErrorsAlarm"], "Throttles")
    assert refused == EVERYTHING - {
        f"{name}Function" for name in ("Consolidate", "Backup", "Summarize", "Digest", "Ask")
    }
    assert watched(alarms["WaitingAlarm"]) == [
        ("AWS/Lambda", "AsyncEventAge", (("FunctionName", "ConsolidateFunction"),))
    ]


def test_waiting_consolidations_are_told_before_lambda_gives_them_up(alarms, source):
    kept = source["Resources"]["ConsolidateFunction"]["Properties"]["EventInvokeConfig"]["MaximumEventAgeInSeconds"]

    assert alarms["WaitingAlarm"]["Threshold"] == kept * 1000 / 2


def test_an_event_in_the_failure_queue_raises_an_alarm(alarms):
    assert watched(alarms["FailuresAlarm"]) == [
        ("AWS/SQS", "ApproximateNumberOfMessagesVisible", (("QueueName", "FailureQueue"),))
    ]
    assert alarms["FailuresAlarm"]["Threshold"] == 1


@pytest.mark.parametrize(
    ("alarm", "names"),
    [
        (
            "SlowAlarm",
            {
                f"{name}Function"
                for name in ("Ingest", "Reads", "Admin", "Start", "Archives", "Counter", "Conversations")
            },
        ),
        ("SlowMemoryAlarm", {f"{name}Function" for name in ("Memories", "Rooms", "Questions", "Mcp", "Signin")}),
        ("SlowBackupAlarm", {"BackupFunction"}),
        ("SlowConsolidationAlarm", {"ConsolidateFunction"}),
        ("SlowSweepAlarm", {"SweepFunction"}),
    ],
)
def test_the_slowest_invocations_raise_an_alarm_at_80_percent_of_their_timeout(alarms, functions, alarm, names):
    found = alarms[alarm]
    statistics = {query["MetricStat"]["Stat"] for query in found.get("Metrics", []) if "MetricStat" in query}

    assert of_functions(found, "Duration") == names
    assert (statistics or {found["ExtendedStatistic"]}) == {"p99"}
    assert {functions[name]["Timeout"] * 800 for name in names} == {found["Threshold"]}


def test_a_note_that_waits_too_long_raises_an_alarm_and_so_does_a_sweep_that_is_silent(alarms):
    alarm = alarms["PendingNotesAlarm"]

    assert watched(alarm) == [(OURS, "OldestPendingNoteSeconds", (("service", "sweep"),))]
    assert (alarm["Statistic"], alarm["Threshold"]) == ("Maximum", {"Ref": "PendingNoteLimit"})
    assert (alarm["TreatMissingData"], alarm["InsufficientDataActions"]) == ("missing", TOPIC)


def test_the_tokens_of_all_runs_within_a_day_raise_an_alarm_at_the_limit(alarms):
    alarm = alarms["TokensAlarm"]

    # One metric over all statuses: a sum over several would miss a status that is added later.
    asking = ("consolidate", "summarize", "conversations", "digest", "questions", "ask")
    assert watched(alarm) == [(OURS, "llm_tokens_used", (("service", one),)) for one in asking]
    whole, *parts = alarm["Metrics"]
    assert whole["Expression"] == "SUM(METRICS())"
    assert {(part["MetricStat"]["Stat"], part["MetricStat"]["Period"]) for part in parts} == {("Sum", 86_400)}
    assert alarm["EvaluationPeriods"] == 1
    assert alarm["Threshold"] == {"Ref": "DailyTokenLimit"}


def test_runs_that_fail_again_and_again_raise_an_alarm(alarms):
    assert watched(alarms["FailedRunsAlarm"]) == [(OURS, "runs", (("service", "consolidate"), ("status", "failed")))]


def test_summaries_that_can_not_be_made_again_and_again_raise_an_alarm(alarms):
    assert watched(alarms["FailedSummariesAlarm"]) == [(OURS, "SummariesFailed", (("service", "summarize"),))]


@pytest.mark.parametrize(
    ("alarm", "metric", "threshold"),
    [
        ("DigestAgeAlarm", "HoursSinceDigest", 8),
        ("FailedDigestsAlarm", "DigestsWaiting", 3),
        ("DeadLettersAlarm", "DeadLetters", 1),
    ],
)
def test_digests_that_are_missing_or_give_up_raise_an_alarm(alarms, alarm, metric, threshold):
    assert watched(alarms[alarm]) == [(OURS, metric, (("service", "digest"),))]
    assert alarms[alarm]["Threshold"] == threshold


def test_questions_that_can_not_be_answered_again_and_again_raise_an_alarm(alarms):
    failed = [(OURS, "QuestionsFailed", (("service", service),)) for service in ("questions", "ask")]
    assert watched(alarms["FailedQuestionsAlarm"]) == failed


def test_a_space_that_the_sweep_cannot_look_after_raises_an_alarm(alarms):
    assert watched(alarms["SweepFailuresAlarm"]) == [(OURS, "SpacesFailed", (("service", "sweep"),))]


def test_a_space_without_a_fresh_backup_raises_an_alarm(alarms):
    alarm = alarms["BackupAgeAlarm"]

    assert watched(alarm) == [(OURS, "HoursSinceLastBackup", (("service", "sweep"),))]
    assert (alarm["Statistic"], alarm["Threshold"]) == ("Maximum", {"Ref": "BackupAgeLimit"})
    # The sweep of all spaces tells it, once a day.
    assert alarm["Period"] == 86_400


def test_work_that_fails_again_and_again_raises_an_alarm(alarms):
    assert watched(alarms["FailedBackupsAlarm"]) == [(OURS, "WorkFailed", (("service", "backup"),))]


def test_answers_of_5xx_raise_an_alarm(alarms):
    assert watched(alarms["ServerErrorsAlarm"]) == [("AWS/ApiGateway", "5xx", (("ApiId", "HttpApi"),))]


def test_a_flood_of_requests_raises_an_alarm_long_before_the_rate_of_the_api_is_reached(alarms, source):
    alarm, parameters = alarms["RequestsAlarm"], source["Parameters"]

    assert watched(alarm) == [("AWS/ApiGateway", "Count", (("ApiId", "HttpApi"),))]
    assert alarm["Threshold"] == {"Ref": "RequestLimit"}
    assert parameters["RequestLimit"]["Default"] / alarm["Period"] < parameters["ApiRateLimit"]["Default"] / 10


def test_the_dashboard_shows_every_alarm_and_every_function(dashboard, alarms):
    assert set(dashboard["widgets"][0]["properties"]["alarms"]) == set(alarms)
    # Fifty metrics are free: throttles are shown of all at once, and durations of what nobody waits for are left to the
    # alarms, as are errors of the page.
    unheard = RESERVED | {f"{name}Function" for name in ("Indexer", "Counter", "Sweep", "Page")}
    others = {f"{name}Function" for name in ("Start", "Admin", "Archives", "Questions", "Rooms")}
    others |= {f"{name}Function" for name in ("Conversations", "Memories")}
    assert [dimensions for _, name, dimensions in drawn(dashboard) if name == "Throttles"] == [()]
    left_out = {"Errors": PAGE | SIGN_IN, "Duration": unheard | others | SIGN_IN}
    for metric, hidden in left_out.items():
        shown = {dict(dimensions)["FunctionName"] for _, name, dimensions in drawn(dashboard) if name == metric}
        assert shown == EVERYTHING - hidden, metric


def test_the_dashboard_is_small_enough_to_be_one_of_the_three_free_ones(dashboard):
    assert len(set(drawn(dashboard))) <= 50


def test_no_widget_of_the_dashboard_covers_another(dashboard):
    covered = [
        (x, y)
        for widget in dashboard["widgets"]
        for x in range(widget["x"], widget["x"] + widget["width"])
        for y in range(widget["y"], widget["y"] + widget["height"])
    ]

    assert len(covered) == len(set(covered))
    assert max(x for x, _ in covered) == 23


def test_every_alarm_is_explained_in_the_operators_guide(alarms):
    guide = (ROOT / "docs" / "deploy.md").read_text()

    for alarm in alarms.values():
        assert f"`{alarm['AlarmName']['Fn::Sub'].removeprefix('${AWS::StackName}-')}`" in guide


def test_the_guide_counts_the_metrics_that_alarms_are_billed_by(alarms):
    guide = (ROOT / "docs" / "deploy.md").read_text()

    assert f"| {sum(len(watched(alarm)) for alarm in alarms.values())} alarm metrics " in guide
