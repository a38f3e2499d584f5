"""What calls the functions: routes, bucket events, the schedule, asynchronous invocations."""

import json
import re
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import get_args

from livemem.process import Function
from livemem.settings import Settings
from livemem.store import timing
from livemem_http import site
from livemem_http.oauth import endpoints
from livemem_http.routes import connections
from scripts.openapi import load
from tests.support.cases import each

ROOT = Path(__file__).resolve().parents[2]

CATCH_ALL = "ANY $default"
ROUTES = {
    "PageFunction": {
        f"{method} {path}" for method in ("GET", "HEAD") for path in ("/", "/docs", "/assets/{version}/{path+}")
    },
    "IngestFunction": {
        "POST /v1/spaces/{space_id}/notes",
    },
    "ReadsFunction": {
        CATCH_ALL,
        "GET /v1/health",
        "GET /v1/whoami",
        "GET /v1/about",
        "GET /v1/spaces",
        "GET /v1/spaces/{space_id}",
        "GET /v1/spaces/{space_id}/rules",
        "GET /v1/spaces/{space_id}/summary",
        "GET /v1/spaces/{space_id}/synthesis",
        "GET /v1/spaces/{space_id}/notes",
        "GET /v1/spaces/{space_id}/notes/{note_id}",
        "GET /v1/spaces/{space_id}/bank",
        "GET /v1/spaces/{space_id}/bank/{path+}",
        "GET /v1/usage",
        "GET /v1/spaces/{space_id}/consolidations",
        "GET /v1/spaces/{space_id}/consolidations/{number}",
    },
    "SearchFunction": {
        "GET /v1/spaces/{space_id}/search",
        "GET /v1/search",
        "GET /v1/spaces/{space_id}/context",
        "GET /v1/spaces/{space_id}/start",
        "GET /v1/spaces/{space_id}/read",
        "GET /v1/spaces/{space_id}/stale",
    },
    "AdminFunction": {
        "PATCH /v1/spaces/{space_id}",
        "DELETE /v1/spaces/{space_id}",
        "PUT /v1/spaces/{space_id}/rules",
        "PUT /v1/spaces/{space_id}/bank/{path+}",
        "PATCH /v1/spaces/{space_id}/bank/{path+}",
        "DELETE /v1/spaces/{space_id}/bank/{path+}",
        "POST /v1/spaces/{space_id}/consolidations/{number}/undo",
        "POST /v1/spaces/{space_id}/plan/approve",
        "POST /v1/spaces/{space_id}/plan/refuse",
        "POST /v1/tokens",
        "GET /v1/tokens",
        "PATCH /v1/tokens/{token_hash}",
        "DELETE /v1/tokens/{token_hash}",
        "POST /v1/tokens/self/rotate",
        "POST /v1/page-codes",
        "POST /v1/page-codes/exchange",
    },
    "ArchivesFunction": {
        "POST /v1/spaces/{space_id}/backups",
        "GET /v1/jobs/{job}",
        "GET /v1/jobs",
        "GET /v1/backups",
        "GET /v1/spaces/{space_id}/backups/{backup_id}",
        "DELETE /v1/spaces/{space_id}/backups/{backup_id}",
        "POST /v1/spaces/{space_id}/exports",
        "POST /v1/spaces",
        "POST /v1/uploads",
        "GET /v1/spaces/{space_id}/invariants",
        "POST /v1/spaces/{space_id}/erasures",
        "POST /v1/admin/gc",
    },
    "StartFunction": {
        "POST /v1/spaces/{space_id}/consolidations",
        "POST /v1/jobs/{job}/answer",
    },
    "ConversationsFunction": {
        "POST /v1/spaces/{space_id}/conversations",
        "GET /v1/spaces/{space_id}/conversations",
        "GET /v1/spaces/{space_id}/conversations/{conversation_id}",
        "DELETE /v1/spaces/{space_id}/conversations/{conversation_id}",
        "POST /v1/spaces/{space_id}/conversations/{conversation_id}/turns",
        "POST /v1/spaces/{space_id}/conversations/{conversation_id}/messages",
        "POST /v1/spaces/{space_id}/conversations/{conversation_id}/close",
        "GET /v1/spaces/{space_id}/conversations/{conversation_id}/turns",
        "GET /v1/spaces/{space_id}/conversations/{conversation_id}/turns/{turn_index}",
        "GET /v1/spaces/{space_id}/conversations/{conversation_id}/summaries",
        "POST /v1/spaces/{space_id}/conversations/{conversation_id}/summaries/update",
    },
    "MemoriesFunction": {
        "POST /v1/spaces/{space_id}/memories",
        "GET /v1/spaces/{space_id}/memories",
        "GET /v1/spaces/{space_id}/memories/changes",
        "GET /v1/spaces/{space_id}/memories/{memory_id}",
        "PATCH /v1/spaces/{space_id}/memories/{memory_id}",
        "DELETE /v1/spaces/{space_id}/memories/{memory_id}",
        "POST /v1/spaces/{space_id}/memories/{memory_id}/restore",
        "POST /v1/spaces/{space_id}/memories/{memory_id}/split",
    },
    "RoomsFunction": {
        "POST /v1/spaces/{space_id}/rooms/{room}/messages",
        "GET /v1/spaces/{space_id}/rooms",
        "GET /v1/spaces/{space_id}/rooms/{room}/messages",
        "POST /v1/spaces/{space_id}/digests",
    },
    "QuestionsFunction": {
        "POST /v1/spaces/{space_id}/ask",
    },
    "McpFunction": {"ANY /mcp"},
    "SigninFunction": {
        "GET /.well-known/oauth-protected-resource",
        "GET /.well-known/oauth-protected-resource/mcp",
        "GET /.well-known/oauth-authorization-server",
        "GET /.well-known/oauth-authorization-server/mcp",
        "GET /oauth/authorize",
        "POST /oauth/authorize",
        "POST /oauth/oidc",
        "GET /oauth/callback",
        "POST /oauth/token",
        "POST /token",
        "POST /oauth/revoke",
        "POST /oauth/register",
        "GET /v1/connections",
        "DELETE /v1/connections/{connection_id}",
    },
}
NO_TABLE = {"McpFunction", "SigninFunction"}
"""What has no table of routes of the API in its code."""


def events(function, kind):
    return [event["Properties"] for event in function.get("Events", {}).values() if event["Type"] == kind]


def routes(function):
    return [f"{event['Method']} {event['Path']}" for event in events(function, "HttpApi")]


def test_each_function_has_exactly_its_routes(functions):
    found = {name: set(routes(function)) for name, function in functions.items() if routes(function)}

    assert found == ROUTES


def test_no_route_has_two_functions(functions):
    counted = Counter(route for function in functions.values() for route in routes(function))

    assert [route for route, times in counted.items() if times > 1] == []


@each("name", sorted(ROUTES.keys() - NO_TABLE))
def test_a_function_is_sent_exactly_the_routes_that_its_code_declares(functions, name):
    code = load(functions[name]["CodeUri"].removeprefix("functions/"))

    declared = site.ROUTES if name == "PageFunction" else code.api.needs
    assert set(declared) == set(routes(functions[name])) - {CATCH_ALL}


def test_sign_in_is_sent_exactly_the_routes_that_its_code_has(functions):
    assert {*endpoints.ROUTES, *connections.api.needs} == set(routes(functions["SigninFunction"]))


def test_every_route_is_part_of_the_one_api_in_payload_version_2(functions, of_type):
    assert {str(event["ApiId"]) for function in functions.values() for event in events(function, "HttpApi")} == {
        str({"Ref": "HttpApi"})
    }

    (api,) = of_type("AWS::ApiGatewayV2::Api").values()
    operations = [operation for path in api["Body"]["paths"].values() for operation in path.values()]
    assert len(operations) == sum(len(paths) for paths in ROUTES.values())
    assert {operation["x-amazon-apigateway-integration"]["payloadFormatVersion"] for operation in operations} == {"2.0"}


def test_what_no_route_matches_goes_to_the_function_that_may_change_nothing(of_type):
    (api,) = of_type("AWS::ApiGatewayV2::Api").values()

    (operation,) = api["Body"]["paths"]["/$default"].values()
    assert operation["isDefaultRoute"] is True
    assert "ReadsFunction" in str(operation["x-amazon-apigateway-integration"]["uri"])


def test_the_api_is_throttled_and_logs_each_request(of_type):
    (stage,) = of_type("AWS::ApiGatewayV2::Stage").values()

    assert set(stage["DefaultRouteSettings"]) == {"ThrottlingRateLimit", "ThrottlingBurstLimit"}
    assert "$context.status" in stage["AccessLogSettings"]["Format"]
    assert "authorization" not in stage["AccessLogSettings"]["Format"].lower()


def test_notes_are_told_to_the_counter_and_turns_to_what_summarises_and_nothing_else_to_anybody(functions, of_type):
    told = {"CounterFunction": ".md", "SummarizeFunction": ".turn.json"}
    assert {name for name, function in functions.items() if events(function, "S3")} == set(told)

    (bucket,) = of_type("AWS::S3::Bucket").values()
    found = bucket["NotificationConfiguration"]["LambdaConfigurations"]
    assert sorted(found, key=str) == sorted(
        (
            {
                "Event": "s3:ObjectCreated:Put",
                "Function": {"Fn::GetAtt": [name, "Arn"]},
                "Filter": {"S3Key": {"Rules": [{"Name": "suffix", "Value": suffix}]}},
            }
            for name, suffix in told.items()
        ),
        key=str,
    )
    # S3 refuses filters of which one key could pass two.
    assert not any(one.endswith(other) for one in told.values() for other in told.values() if one != other)


def test_the_sweep_looks_at_the_marked_spaces_every_quarter_of_an_hour_and_at_all_once_a_day(functions):
    assert {
        name: {event["Schedule"]: event.get("Input") for event in events(function, "Schedule")}
        for name, function in functions.items()
        if events(function, "Schedule")
    } == {"SweepFunction": {"rate(15 minutes)": None, "rate(1 day)": '{"spaces": "all"}'}}


@each(
    ("name", "retries", "age"),
    # The sweep's next run is its retry.
    [
        ("CounterFunction", len(timing.RETRIES), timing.DELIVERED),
        ("ConsolidateFunction", len(timing.RETRIES), timing.DELIVERED),
        ("BackupFunction", len(timing.RETRIES), timing.BACKUP_DELIVERED),
        ("SweepFunction", 0, timing.SWEEPS),
        ("IndexerFunction", len(timing.RETRIES), timing.DELIVERED),
        ("SummarizeFunction", len(timing.RETRIES), timing.DELIVERED),
        ("AskFunction", len(timing.RETRIES), timing.DELIVERED),
        ("DigestFunction", len(timing.RETRIES), timing.DELIVERED),
    ],
)
def test_what_is_invoked_asynchronously_is_retried_and_then_kept_in_the_failure_queue(of_type, name, retries, age):
    configs = {config["FunctionName"]["Ref"]: config for config in of_type("AWS::Lambda::EventInvokeConfig").values()}

    assert set(configs) == {
        f"{one}Function" for one in "Counter Consolidate Backup Sweep Indexer Summarize Ask Digest".split()
    }
    assert configs[name]["MaximumRetryAttempts"] == retries
    assert configs[name]["MaximumEventAgeInSeconds"] == age.total_seconds()
    assert configs[name]["DestinationConfig"] == {"OnFailure": {"Destination": {"Fn::GetAtt": ["FailureQueue", "Arn"]}}}


def test_functions_live_for_no_longer_than_the_domain_reckons_with(functions):
    workers = {f"{name.capitalize()}Function" for name in get_args(Function)}
    assert workers <= set(functions)
    most = dict.fromkeys(functions, timing.ANSWER) | dict.fromkeys(workers, timing.INVOCATION)
    most["SweepFunction"] = timing.SWEEPING

    late = {name: one["Timeout"] for name, one in functions.items() if one["Timeout"] > most[name].total_seconds()}
    assert not late
    (schedule,) = (one for one in events(functions["SweepFunction"], "Schedule") if not one.get("Input"))
    assert schedule["Schedule"] == f"rate({timing.SWEEPS // timedelta(minutes=1)} minutes)"


def test_the_failure_queue_is_encrypted_and_keeps_events_for_14_days(source):
    queue = source["Resources"]["FailureQueue"]["Properties"]

    assert queue["SqsManagedSseEnabled"] is True
    assert queue["MessageRetentionPeriod"] == 14 * 86_400


def test_the_calls_to_the_llm_in_flight_are_capped_and_requests_to_start_one_are_not(functions, source):
    assert functions["ConsolidateFunction"]["ReservedConcurrentExecutions"] == {
        "Fn::If": ["ReserveConcurrency", {"Ref": "ConsolidationConcurrency"}, {"Ref": "AWS::NoValue"}]
    }
    assert functions["SummarizeFunction"]["ReservedConcurrentExecutions"] == {
        "Fn::If": ["ReserveSummaryConcurrency", {"Ref": "SummaryConcurrency"}, {"Ref": "AWS::NoValue"}]
    }
    for name in ("AskFunction", "DigestFunction"):
        assert functions[name]["ReservedConcurrentExecutions"] == {
            "Fn::If": ["ReserveMemoryConcurrency", {"Ref": "MemoryConcurrency"}, {"Ref": "AWS::NoValue"}]
        }
    for name in ("ConsolidationConcurrency", "SummaryConcurrency", "MemoryConcurrency"):
        assert source["Parameters"][name]["Default"] > 0
    # Reads may be capped, so that they take no concurrency from what writes, and are not by default.
    assert functions["ReadsFunction"]["ReservedConcurrentExecutions"] == {
        "Fn::If": ["ReserveReadsConcurrency", {"Ref": "ReadsConcurrency"}, {"Ref": "AWS::NoValue"}]
    }
    assert source["Parameters"]["ReadsConcurrency"]["Default"] == 0
    capped = {name for name in functions if "ReservedConcurrentExecutions" in functions[name]} - {"ReadsFunction"}
    assert capped == {"ConsolidateFunction", "BackupFunction", "SummarizeFunction", "AskFunction", "DigestFunction"}
    assert not any(routes(functions[name]) for name in capped)


def test_all_spaces_are_backed_up_by_night_in_the_time_zone_of_the_parameters(functions, source):
    (night,) = events(functions["BackupFunction"], "ScheduleV2")

    assert night["ScheduleExpression"] == {"Ref": "BackupSchedule"}
    assert night["ScheduleExpressionTimezone"] == {"Ref": "BackupTimezone"}
    assert night["State"] == {"Ref": "BackupScheduleState"}
    assert json.loads(night["Input"]) == {"do": "nightly"}
    defaults = {name: source["Parameters"][name]["Default"] for name in ("BackupSchedule", "BackupTimezone")}
    assert defaults == {"BackupSchedule": "cron(0 2 * * ? *)", "BackupTimezone": "UTC"}


def test_rooms_are_looked_at_every_hour_at_the_full_hour_of_the_default_time_zone(functions, source):
    (hourly,) = events(functions["DigestFunction"], "ScheduleV2")

    # Zones may be half an hour off: at their full hours digests are due.
    assert hourly["ScheduleExpression"] == "cron(0 * * * ? *)"
    assert hourly["ScheduleExpressionTimezone"] == {"Ref": "DefaultTimezone"}
    assert source["Parameters"]["DefaultTimezone"]["Default"] == Settings.model_fields["default_timezone"].default
    assert source["Parameters"]["DigestHours"]["Default"] == Settings.model_fields["digest_hours"].default


def test_the_api_has_a_domain_only_if_one_is_asked_for_and_then_in_front_of_its_stage(compiled):
    domain, mapping = compiled["Resources"]["Domain"], compiled["Resources"]["DomainMapping"]

    assert domain["Condition"] == mapping["Condition"] == "HasDomain"
    assert compiled["Conditions"]["HasDomain"] == {"Fn::Not": [{"Fn::Equals": [{"Ref": "DomainName"}, ""]}]}
    (configuration,) = domain["Properties"]["DomainNameConfigurations"]
    assert configuration["SecurityPolicy"] == "TLS_1_2"
    assert mapping["Properties"]["Stage"] == {"Ref": "HttpApiApiGatewayDefaultStage"}
    assert compiled["Resources"]["HttpApiApiGatewayDefaultStage"]["Properties"]["StageName"] == "$default"


def test_a_domain_without_a_certificate_is_refused_before_anything_is_made(source):
    rule = source["Rules"]["DomainWithCertificate"]

    assert rule["RuleCondition"] == {"Fn::Not": [{"Fn::Equals": [{"Ref": "DomainName"}, ""]}]}
    assert rule["Assertions"][0]["Assert"] == {"Fn::Not": [{"Fn::Equals": [{"Ref": "CertificateArn"}, ""]}]}


def test_the_guide_says_about_how_often_sam_asks_about_authentication():
    guide = (ROOT / "docs" / "deploy.md").read_text()

    (told,) = re.findall(r"the more than (\d+)\sroutes", guide)
    # A round number, since each new route would change an exact one.
    assert int(told) <= sum(len(paths) for paths in ROUTES.values()) < int(told) + 30


def test_routes_with_a_rate_of_their_own_are_routes_of_the_api(source, of_type):
    (stage,) = of_type("AWS::ApiGatewayV2::Stage").values()
    events = [
        event["Properties"]
        for resource in source["Resources"].values()
        for event in resource.get("Properties", {}).get("Events", {}).values()
        if event["Type"] == "HttpApi"
    ]

    # CloudFormation refuses a stage that names another one.
    assert set(stage["RouteSettings"]) <= {f"{one['Method']} {one['Path']}" for one in events}
    assert "POST /v1/spaces/{space_id}/notes" in stage["RouteSettings"]
