from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from local.functions.expressions import Cron, Rate
from local.functions.template import PutTrigger, Schedule, TemplateError, read_template
from tests.support.cases import each

TEMPLATE = """
Parameters:
  Threshold: {Type: Number, Default: 30}
  Secret: {Type: String}
Globals:
  Function:
    Handler: app.handler
    Timeout: 28
    Environment:
      Variables:
        THRESHOLD: !Ref Threshold
        OVERRIDDEN: "global"
Resources:
  Bucket: {Type: AWS::S3::Bucket}
  FirstFunction:
    Type: AWS::Serverless::Function
    Properties:
      FunctionName: !Sub ${AWS::StackName}-first
      CodeUri: first
      Timeout: 900
      MemorySize: 512
      ReservedConcurrentExecutions: 2
      EventInvokeConfig: {MaximumRetryAttempts: 1}
      Environment:
        Variables:
          OVERRIDDEN: own
          FLAG: true
          KEY: !Ref Secret
          OTHER: !Ref SecondFunction
          ARN: !GetAtt Bucket.Arn
          NAME: !Sub ${AWS::StackName}-second
          UNKNOWN: !Sub ${Bucket.Arn}/x
      Events:
        Get: {Type: HttpApi, Properties: {Path: "/v1/{a}/x/{rest+}", Method: get}}
        Any: {Type: HttpApi, Properties: {Path: $default, Method: "*"}}
  SecondFunction:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: second
      Events:
        Written:
          Type: S3
          Properties:
            Bucket: !Ref Bucket
            Events: s3:ObjectCreated:Put
            Filter: {S3Key: {Rules: [{Name: suffix, Value: .md}, {Name: Prefix, Value: a/}]}}
        Often: {Type: Schedule, Properties: {Schedule: rate(15 minutes)}}
        Daily: {Type: ScheduleV2, Properties: {ScheduleExpression: rate(1 day), Input: '{"a": 1}'}}
        Never: {Type: Schedule, Properties: {Schedule: rate(1 hour), Enabled: false}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    return tmp_path


def read(folder: Path, text: str):
    path = folder / "template.yaml"
    path.write_text(text)
    return read_template(path)


def function_with(events: str, extra: str = "") -> str:
    return f"""
Resources:
  F:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: first
      Handler: app.handler
      {extra}
      Events:
        E: {events}
"""


def test_a_function_has_its_own_settings_and_those_of_globals(folder):
    first = read(folder, TEMPLATE).functions[0]
    assert (first.logical_id, first.name, first.handler) == ("FirstFunction", "live-memory-first", "app.handler")
    assert (first.timeout, first.memory, first.retries, first.reserved_concurrency) == (900, 512, 1, 2)
    assert first.code == folder / "first"


def test_what_neither_sets_is_lambdas_default(folder):
    text = function_with("{Type: HttpApi, Properties: {Path: /a, Method: GET}}")
    function = read(folder, text).functions[0]
    assert (function.timeout, function.memory, function.retries, function.reserved_concurrency) == (3, 128, 2, None)
    assert function.name == "F"


def test_variables_are_resolved_as_far_as_a_template_can_tell(folder):
    assert read(folder, TEMPLATE).functions[0].environment == {
        "THRESHOLD": "30",
        "OVERRIDDEN": "own",
        "FLAG": "true",
        "KEY": None,
        "OTHER": "SecondFunction",
        "ARN": None,
        "NAME": "live-memory-second",
        "UNKNOWN": None,
    }


def test_routes_triggers_and_schedules_are_read(folder):
    first, second = read(folder, TEMPLATE).functions
    assert [(r.method, r.path) for r in first.routes] == [("GET", "/v1/{a}/x/{rest+}"), ("ANY", "/$default")]
    assert second.triggers == (PutTrigger("Written", prefix="a/", suffix=".md"),)
    assert second.schedules == (
        Schedule("Often", Rate(900)),
        Schedule("Daily", Rate(86400), '{"a": 1}'),
    )


@pytest.mark.parametrize(
    "name", ["FirstFunction", "live-memory-first", "arn:aws:lambda:us-east-1:123456789012:function:live-memory-first"]
)
def test_a_function_is_found_by_every_name_that_it_has(folder, name):
    found = read(folder, TEMPLATE).find(name)
    assert found is not None
    assert found.logical_id == "FirstFunction"
    assert read(folder, TEMPLATE).find("Nothing") is None


@each(
    ("event", "word"),
    [
        ("{Type: Schedule, Properties: {Schedule: 'cron(0 25 * * ? *)'}}", "out of range"),
        ("{Type: Schedule, Properties: {Schedule: 'cron(0 25 * * ? *)', Enabled: false}}", "out of range"),
        ("{Type: ScheduleV2, Properties: {ScheduleExpression: at(2026-11-21T04:05:06)}}", "neither rate"),
        ("{Type: ScheduleV2, Properties: {}}", "neither rate"),
        ("{Type: ScheduleV2, Properties: {ScheduleExpression: !GetAtt A.B}}", "only a deployment knows"),
        ("{Type: ScheduleV2, Properties: {ScheduleExpression: !Ref Unknown}}", "only a deployment knows"),
        (
            "{Type: ScheduleV2, Properties: {ScheduleExpression: rate(1 day), ScheduleExpressionTimezone: Paris}}",
            "time zone",
        ),
        ("{Type: ScheduleV2, Properties: {ScheduleExpression: rate(1 day), StartDate: 2027-01-01}}", "StartDate"),
        ("{Type: Schedule, Properties: {Schedule: rate(1 day), ScheduleExpressionTimezone: UTC}}", "Timezone"),
        ("{Type: ScheduleV2, Properties: {ScheduleExpression: rate(1 day), Input: !GetAtt A.B}}", "only a deployment"),
        ("{Type: Schedule, Properties: {Schedule: rate(0 minutes)}}", "rate"),
        ("{Type: Schedule, Properties: {Schedule: rate(1 hour), Input: not json}}", "Expecting value"),
        ("{Type: SQS, Properties: {Queue: q}}", "SQS"),
        ("{Type: S3, Properties: {Events: 's3:ObjectCreated:*'}}", "ObjectCreated"),
    ],
)
def test_what_the_runtime_does_not_do_is_an_error_that_names_the_place(folder, event, word):
    with pytest.raises(TemplateError, match=word) as error:
        read(folder, function_with(event))
    assert "F.Events.E" in str(error.value)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("a: [", "YAML"),
        ("Resources: 3", "Resources"),
        (function_with("{Type: HttpApi, Properties: {Path: /a, Method: GET}}").replace("first", "nowhere"), "nowhere"),
    ],
)
def test_a_broken_template_is_an_error_in_words(folder, text, word):
    with pytest.raises(TemplateError, match=word):
        read(folder, text)


def test_what_aliases_and_merge_keys_share_is_read_where_it_is_used(folder):
    text = """
Resources:
  F: {Type: AWS::Serverless::Function, Properties: {<<: &Usual {CodeUri: first, Handler: app.handler, Timeout: 9}}}
  G: {Type: AWS::Serverless::Function, Properties: {<<: *Usual, CodeUri: second}}
"""
    first, second = read(folder, text).functions

    assert (first.code, second.code) == (folder / "first", folder / "second")
    assert (first.timeout, second.timeout) == (9, 9)


def test_a_missing_template_is_an_error_in_words(folder):
    with pytest.raises(TemplateError, match="No such file"):
        read_template(folder / "none.yaml")


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ("{C: !Not [!Equals [!Ref Slots, 0]]}", 5),
        ("{C: !Equals [!Ref Slots, 0]}", None),
        ("{C: !Not [!Equals [!Ref OnlyADeploymentKnows, 0]]}", None),
        ("{C: !Or [!Equals [!Ref Slots, 0], !Equals [!Ref Slots, 5]]}", None),
        ("{}", None),
    ],
)
def test_a_value_under_a_condition_is_that_of_the_parameters_defaults(folder, conditions, expected):
    text = function_with(
        "{Type: HttpApi, Properties: {Path: /a, Method: GET}}",
        "ReservedConcurrentExecutions: !If [C, !Ref Slots, !Ref AWS::NoValue]",
    )
    text += f"Parameters: {{Slots: {{Type: Number, Default: 5}}}}\nConditions: {conditions}\n"
    assert read(folder, text).functions[0].reserved_concurrency == expected


NIGHTLY = """
Parameters:
  When: {Type: String, Default: "cron(0 2 * * ? *)"}
  Zone: {Type: String, Default: Europe/Paris}
  State: {Type: String, Default: ENABLED}
  Hour: {Type: Number, Default: 3}
Resources:
  F:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: first
      Handler: app.handler
      Events:
        Nightly:
          Type: ScheduleV2
          Properties:
            ScheduleExpression: !Ref When
            ScheduleExpressionTimezone: !Ref Zone
            State: !Ref State
            Input: !Sub '{"zone": "${Zone}"}'
        Rule: {Type: Schedule, Properties: {Schedule: !Sub "cron(0 ${Hour} * * ? *)", State: !Ref State}}
"""


def nightly(folder: Path, **parameters: str) -> tuple[Schedule, ...]:
    (folder / "template.yaml").write_text(NIGHTLY)
    return read_template(folder / "template.yaml", parameters).functions[0].schedules


def test_a_schedule_at_times_of_the_day_is_read_through_the_parameters_defaults(folder):
    assert nightly(folder) == (
        Schedule("Nightly", Cron("0 2 * * * 0 *", ZoneInfo("Europe/Paris")), '{"zone": "Europe/Paris"}'),
        Schedule("Rule", Cron("0 3 * * * 0 *", ZoneInfo("UTC"))),
    )


def test_a_given_value_of_a_parameter_replaces_its_default(folder):
    found = nightly(folder, When="rate(2 hours)", Zone="Asia/Tokyo", Unknown="x")
    assert found[0] == Schedule("Nightly", Rate(7200), '{"zone": "Asia/Tokyo"}')
    assert nightly(folder, State="DISABLED") == ()


def test_a_given_value_that_is_wrong_is_an_error_that_names_the_place(folder):
    with pytest.raises(TemplateError, match=r"F\.Events\.Nightly: .* exactly one has to be \?"):
        nightly(folder, When="cron(0 2 * * * *)")
    with pytest.raises(TemplateError, match=r"F\.Events\.Nightly: 'Mars/Olympus' is no time zone"):
        nightly(folder, Zone="Mars/Olympus")


def test_the_template_of_the_project_can_be_read():
    template = read_template(Path(__file__).resolve().parents[4] / "template.yaml")
    assert {"IngestFunction", "ConsolidateFunction"} <= {f.logical_id for f in template.functions}
    assert template.find("ConsolidateFunction").reserved_concurrency == 5
