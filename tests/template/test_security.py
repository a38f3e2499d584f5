"""Line 13 of the security checklist, and what lines 9 and 12 ask of AWS: what no other test of the template says."""

import json
import re

import pytest

from tests.support.policy import as_list

SECRET = re.compile(r"KEY|SECRET|TOKEN|PASSWORD|CREDENTIAL")
# Names of variables that look like it, and hold none.
NO_SECRETS = {
    "LLMAAS_MAX_TOKENS",
    "LLMAAS_CONTEXT_TOKENS",
    "LLMAAS_API_KEY",
    "EMBEDDINGS_API_KEY",
    "OIDC_CLIENT_SECRET",
    "REDACT_SECRETS",
    "LLM_DAILY_TOKEN_BUDGET",
    "LLM_DAILY_TOKEN_BUDGET_PER_SPACE",
    "SPACES_PER_TOKEN_PER_DAY",
    "CONVERSATIONS_PER_TOKEN_PER_DAY",
    "UPLOADS_PER_TOKEN_PER_DAY",
    "ASKS_AT_ONCE_PER_TOKEN",
    "REQUESTS_PER_TOKEN_PER_SECOND",
}
LOGGED = {
    "requestId",
    "requestTimeEpoch",
    "identity.sourceIp",
    "httpMethod",
    "routeKey",
    "path",
    "status",
    "responseLatency",
    "responseLength",
    "integrationErrorMessage",
}
"""What the access log may hold: no header, no query, no body."""


def test_13_the_bucket_is_encrypted_by_s3_whatever_a_client_says(source):
    encryption = source["Resources"]["Bucket"]["Properties"]["BucketEncryption"]
    (rule,) = encryption["ServerSideEncryptionConfiguration"]

    assert rule["ServerSideEncryptionByDefault"]["SSEAlgorithm"] in ("AES256", "aws:kms")


def test_13_plain_http_is_refused_for_the_bucket_and_for_every_object(source):
    (statement,) = source["Resources"]["BucketPolicy"]["Properties"]["PolicyDocument"]["Statement"]

    assert statement["Resource"] == [{"Fn::GetAtt": ["Bucket", "Arn"]}, {"Fn::Sub": "${Bucket.Arn}/*"}]


def test_13_there_is_one_bucket_and_nobody_else_is_given_a_part_in_it(of_type):
    assert len(of_type("AWS::S3::Bucket")) == 1
    (policy,) = of_type("AWS::S3::BucketPolicy").values()
    assert {statement["Effect"] for statement in policy["PolicyDocument"]["Statement"]} == {"Deny"}
    assert not of_type("AWS::S3::AccessPoint")
    (bucket,) = of_type("AWS::S3::Bucket").values()
    assert not {"WebsiteConfiguration", "CorsConfiguration", "AccessControl"} & set(bucket)


def test_13_a_role_is_taken_by_lambda_and_the_schedule_alone(of_type):
    for name, role in of_type("AWS::IAM::Role").items():
        (statement,) = role["AssumeRolePolicyDocument"]["Statement"]
        # The night's backup is started by a schedule, which needs a role of its own to do so.
        service = "lambda" if name.endswith("FunctionRole") else "scheduler"
        assert as_list(statement["Principal"]["Service"]) == [f"{service}.amazonaws.com"], name
        assert as_list(statement["Action"]) == ["sts:AssumeRole"], name


def test_13_no_role_may_change_who_may_do_what_or_the_bucket_itself(of_type):
    actions = {
        action
        for role in of_type("AWS::IAM::Role").values()
        for policy in role.get("Policies", [])
        for statement in as_list(policy["PolicyDocument"]["Statement"])
        for action in as_list(statement["Action"])
    }

    assert actions == {
        "s3:ListBucket",
        "s3:GetObject",
        "s3:PutObject",
        "s3:DeleteObject",
        "s3:ListBucketVersions",
        "s3:GetObjectVersion",
        "s3:DeleteObjectVersion",
        "lambda:InvokeFunction",
        "ssm:GetParameter",
        "kms:Decrypt",
        "sqs:SendMessage",
    }


def test_13_a_function_is_called_by_the_own_api_bucket_and_schedule_alone(of_type):
    permissions = of_type("AWS::Lambda::Permission")

    assert permissions
    for name, permission in permissions.items():
        assert permission["Principal"] in {"apigateway.amazonaws.com", "s3.amazonaws.com", "events.amazonaws.com"}, name
        # Else any account's API, bucket or rule could call it.
        assert {"SourceArn", "SourceAccount"} & set(permission), name
    assert not of_type("AWS::Lambda::Url")


@pytest.mark.parametrize("name", ["ApiRateLimit", "ApiBurstLimit"])
def test_13_throttling_can_be_set_but_not_switched_off(source, of_type, name):
    (stage,) = of_type("AWS::ApiGatewayV2::Stage").values()

    assert {"Ref": name} in stage["DefaultRouteSettings"].values()
    # Rates of single routes are the same: one that is not set would be 0.
    assert all(own == stage["DefaultRouteSettings"] for own in stage["RouteSettings"].values())
    assert source["Parameters"][name]["MinValue"] >= 1
    assert source["Parameters"][name]["Default"] <= 2_000


def test_9_the_access_log_holds_no_header_no_query_and_no_body(of_type):
    (stage,) = of_type("AWS::ApiGatewayV2::Stage").values()
    log = stage["AccessLogSettings"]["Format"]

    assert set(re.findall(r"\$context\.([\w.]+)", log)) == LOGGED
    assert log.count("$") == len(LOGGED)
    assert json.loads(log)


def test_13_no_secret_stands_in_the_template(source, functions):
    for name, function in functions.items():
        for variable, value in function["Environment"]["Variables"].items():
            if SECRET.search(variable) and variable not in NO_SECRETS:
                assert value == "" or hidden(source, value), (name, variable)
    for name, parameter in source["Parameters"].items():
        if parameter.get("NoEcho"):
            assert "Default" not in parameter, name


def hidden(source, value):
    return isinstance(value, dict) and source["Parameters"].get(value.get("Ref"), {}).get("NoEcho") is True


def test_13_no_output_and_no_tag_tells_a_hidden_parameter(source, compiled):
    told = json.dumps([source["Outputs"], compiled["Resources"]["HttpApi"], source["Resources"]["Dashboard"]])
    secret = [name for name, parameter in source["Parameters"].items() if parameter.get("NoEcho")]

    assert secret
    assert not [name for name in secret if name in told]


def test_12_the_api_lets_no_page_of_another_origin_in(source, of_type):
    (api,) = of_type("AWS::ApiGatewayV2::Api").values()

    assert "CorsConfiguration" not in source["Resources"]["HttpApi"]["Properties"]
    assert "CorsConfiguration" not in api
    assert "cors" not in json.dumps(api["Body"]).lower()
