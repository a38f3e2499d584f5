"""`make deploy` and `make undeploy`: the SAM CLI itself, against moto's CloudFormation, S3, SSM, STS and Lambda.

moto expands no SAM template. So the stack there has the template's plain resources (bucket, queue) and all its
parameters, but no functions: what is shown is that nothing asks, and what is kept, told and left. The expanded template
is checked by cfn-lint and by tests/template.
"""

import hashlib
import os
import shutil
from pathlib import Path

import boto3
import pytest
import yaml
from moto.server import ThreadedMotoServer

from scripts import deploy
from tests.support.template import read_template

ROOT = Path(__file__).resolve().parents[2]
SAM = Path(os.environ.get("SAM", ROOT / ".venv-sam/bin/sam"))
MODEL = {"LLMAAS_API_URL": "https://llm.example/v1", "LLMAAS_MODEL": "big", "LLMAAS_API_KEY": "sk-1"}


@pytest.fixture
def aws(monkeypatch, tmp_path):
    """A new account: moto's, and no other."""
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    _, port = server.get_host_and_port()  # moto finds an uploaded template by this name of the host alone
    given = {
        "AWS_ENDPOINT_URL": f"http://localhost:{port}",
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_REGION": "eu-west-1",
        "AWS_DEFAULT_REGION": "eu-west-1",
        "HOME": str(tmp_path),
        "SAM_CLI_TELEMETRY": "0",
    }
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    for name in ("XDG_DATA_HOME", "AWS_PROFILE", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    boto3.DEFAULT_SESSION = None
    yield boto3
    server.stop()
    boto3.DEFAULT_SESSION = None


@pytest.fixture
def project(aws, tmp_path, monkeypatch):
    """The template as `sam build` leaves it, with small folders in the place of functions and layers."""
    if not SAM.exists() and not os.environ.get("SAM_REQUIRED"):
        pytest.skip("make setup-sam")
    folder = tmp_path / "project"
    (folder / "code").mkdir(parents=True)
    (folder / "code" / "app.py").write_text("def handler(event, context):\n    return {}\n")
    source = read_template()
    # moto makes no alarms, and refuses a dashboard that names them.
    watching = [name for name, one in source["Resources"].items() if one["Type"].startswith("AWS::CloudWatch")]
    for name in watching:
        del source["Resources"][name]
    del source["Outputs"]["DashboardUrl"]
    for resource in source["Resources"].values():
        for name in ("CodeUri", "ContentUri"):
            if name in resource.get("Properties", {}):
                resource["Properties"][name] = "code"
    (folder / "template.yaml").write_text(yaml.safe_dump(source, sort_keys=False))
    # SAM uploads what the metadata for its repository names.
    for name in ("LICENSE", "README.md"):
        shutil.copy(ROOT / name, folder)
    # SAM's own bucket is a stack whose tags moto does not show.
    settings = (ROOT / "samconfig.toml").read_text()
    (folder / "samconfig.toml").write_text(settings.replace("resolve_s3 = true", 's3_bucket = "artifacts"'))
    boto3.client("s3").create_bucket(Bucket="artifacts", CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
    monkeypatch.chdir(folder)
    return folder


def parameters(aws):
    [stack] = aws.client("cloudformation").describe_stacks(StackName="live-memory")["Stacks"]
    return {one["ParameterKey"]: one["ParameterValue"] for one in stack["Parameters"]}


def run(variables, *overrides):
    return deploy.deploy({"HOME": os.environ["HOME"], **variables}, overrides, [str(SAM)])


def test_a_new_account_is_deployed_updated_and_taken_down_without_a_question_and_the_bucket_stays(
    aws, project, tmp_path, capfd
):
    assert run({}) == 1
    assert "A new stack needs a model" in capfd.readouterr().err

    assert run(MODEL) == 0
    key_file = tmp_path / ".local/share/livemem/stacks/live-memory.key"
    assert key_file.stat().st_mode & 0o777 == 0o600
    key = key_file.read_text().strip()
    first = parameters(aws)
    assert first["AdminBootstrapKeySha256"] in {hashlib.sha256(key.encode()).hexdigest(), "****"}
    assert first["BucketName"] == "live-memory-123456789012-eu-west-1"
    secret = aws.client("ssm").get_parameter(Name="/live-memory/llm-api-key", WithDecryption=True)["Parameter"]
    assert (secret["Type"], secret["Value"]) == ("SecureString", "sk-1")

    assert run({}, "DigestHours=6,18") == 0
    said = capfd.readouterr().out
    assert key not in said
    changed = parameters(aws)
    assert changed["DigestHours"] == "6,18"
    kept = ("AdminBootstrapKeySha256", "BucketName", "LlmApiUrl", "LlmModel", "LlmApiKeyParameter", *deploy.RESERVED)
    assert {name: changed[name] for name in kept} == {name: first[name] for name in kept}
    assert key_file.read_text().strip() == key

    assert deploy.undeploy({}, [str(SAM)]) == 0
    assert "stays" in capfd.readouterr().out
    assert first["BucketName"] in [one["Name"] for one in aws.client("s3").list_buckets()["Buckets"]]
    assert deploy.look("live-memory").parameters is None


def test_the_outputs_end_in_the_three_commands_for_an_agent(tmp_path):
    # moto shows no outputs of a stack that a change set made.
    told = read_template()["Outputs"]
    url = {"Fn::If": ["HasDomain", *told["ApiUrl"]["Value"]["Fn::If"][1:]]}
    assert told["Login"]["Value"] == {"Fn::Sub": ["livemem login --url ${Url}", {"Url": url}]}
    assert told["ApiUrl"]["Value"] == url

    shown = {name: told[name]["Value"] for name in ("MakeToken", "ConnectAgent")}
    said = deploy.tell({"Login": "livemem login --url https://api", "ApiUrl": "https://api", **shown}, tmp_path / "key")
    assert said.splitlines()[-3:] == [
        f"  livemem login --url https://api < {tmp_path / 'key'}",
        "  livemem token create agent-one",
        "  claude mcp add --scope user memory -- livemem mcp",
    ]


def test_an_account_with_the_starting_quota_reserves_no_concurrency():
    small, usual = (deploy.Account("1", "eu-west-1", quota, None) for quota in (10, 1_000))
    wanted = deploy.plan(MODEL, small, "0" * 64)
    assert {name: wanted[name] for name in deploy.RESERVED} == dict.fromkeys(deploy.RESERVED, "0")
    assert not deploy.plan(MODEL, usual, "0" * 64).keys() & deploy.RESERVED.keys()
    source = (ROOT / "template.yaml").read_text()
    for name in deploy.RESERVED:
        assert f"  {name}:\n    Type: Number\n    Default: 5\n" in source, "RESERVED has the template's defaults"
