"""What whoever deploys may set."""

import hashlib
import json
import re
from pathlib import Path

import pytest

from livemem.settings import PREFIX_CHARACTERS, Settings

ROOT = Path(__file__).resolve().parents[2]

# What the guide writes in the same way, but is a name of the metrics, of SAM or of the template itself.
NOT_OURS = {"LiveMemory/<stack>", "Parameters", "Capabilities", "BucketSizeBytes"} | {
    "AdminBootstrapKey",
    "STACK",
    "BUCKET",
    "ARCHITECTURE",
}
"""Of CloudWatch and samconfig.toml, a parameter of older versions, and variables of `make deploy`."""


def test_every_parameter_is_described_and_constrained(source):
    for name, parameter in source["Parameters"].items():
        assert parameter.get("Description"), name
        assert {"AllowedValues", "AllowedPattern", "MinValue", "MinLength"} & set(parameter), name


def test_every_parameter_is_used_and_stands_in_a_group_of_the_console(source):
    used = json.dumps({part: source[part] for part in ("Conditions", "Globals", "Resources")})
    groups = source["Metadata"]["AWS::CloudFormation::Interface"]["ParameterGroups"]
    grouped = [name for group in groups for name in group["Parameters"]]

    assert sorted(grouped) == sorted(source["Parameters"])
    for name in source["Parameters"]:
        assert f'{{"Ref": "{name}"}}' in used or f"${{{name}}}" in used, name


def test_the_stack_is_given_the_hash_of_the_bootstrap_key_and_never_the_key(source):
    digest = source["Parameters"]["AdminBootstrapKeySha256"]
    key = "wHq3-7Yt_0pLmZ8sVbN4xKcR2dFgJ6aE"

    assert not [name for name in source["Parameters"] if "BootstrapKey" in name and name != "AdminBootstrapKeySha256"]
    assert digest["NoEcho"] is True
    assert "Default" not in digest
    assert re.search(digest["AllowedPattern"], hashlib.sha256(key.encode()).hexdigest())
    for wrong in (key, "", "A" * 64, "a" * 63, "a" * 65, "sha256:" + "a" * 64):
        assert not re.search(digest["AllowedPattern"], wrong)


def test_the_defaults_are_those_of_the_contract(source):
    defaults = {name: parameter.get("Default") for name, parameter in source["Parameters"].items()}

    assert defaults["LlmModel"] == "qwen3-2507:235b"
    assert defaults["LlmMaxTokens"] == ""
    assert defaults["LlmJsonMode"] == "object"
    assert defaults["LlmContextTokens"] == 100_000
    assert defaults["LlmTemperature"] == "0.3"
    assert defaults["EmbeddingsApiUrl"] == defaults["EmbeddingsApiKeyParameter"] == ""
    assert defaults["EmbeddingsModel"] == Settings.model_fields["embeddings_model"].default
    assert defaults["EmbeddingsDimensions"] == defaults["EmbeddingsQueryPrefix"] == ""
    assert defaults["LlmTimeoutSeconds"] == 600
    assert defaults["ConsolidationMaxNotes"] == 500
    assert defaults["ConsolidationThreshold"] == 30
    assert defaults["BankChars"] == str(Settings.model_fields["bank_chars"].default)
    assert defaults["BackupRetentionDays"] == 30
    assert defaults["BackupKeepLast"] == 7
    assert defaults["Architecture"] == "arm64"
    assert defaults["RedactSecrets"] == "false"
    assert defaults["ReadCacheMb"] == 64
    assert defaults["RoomMinRelevance"] == 0.1


def test_the_temperature_may_be_left_out(source):
    pattern = source["Parameters"]["LlmTemperature"]["AllowedPattern"]

    assert all(re.search(pattern, value) for value in ("", "0", "0.3", "1", "2", "2.0"))
    assert not any(re.search(pattern, value) for value in ("-1", "3", "2.5", "warm", "0.3 "))


def test_the_longest_answer_may_be_left_out_and_is_what_the_setting_takes(source):
    pattern = source["Parameters"]["LlmMaxTokens"]["AllowedPattern"]

    assert all(re.search(pattern, value) for value in ("", "256", "260", "300", "999", "1000", "100000"))
    assert not any(re.search(pattern, value) for value in ("0", "99", "100", "255", "-256", "1e5", "0256"))


def test_the_length_of_a_bank_is_what_the_setting_takes(source):
    pattern = source["Parameters"]["BankChars"]["AllowedPattern"]

    assert all(re.search(pattern, str(Settings(bank_chars=number).bank_chars)) for number in (0, 2_000, 9_999, 500_000))
    assert not any(re.search(pattern, value) for value in ("", "1999", "500001", "-2000", "02000", "1e4", "2000.5"))


def test_the_dimensions_may_be_left_out_and_are_what_the_setting_takes(source):
    pattern = source["Parameters"]["EmbeddingsDimensions"]["AllowedPattern"]

    taken = {number for number in range(10_000) if re.search(pattern, str(number))}
    assert re.search(pattern, "")
    assert not any(re.search(pattern, value) for value in ("-2", "1e3", "0256", "12.5", "81920"))
    assert taken == set(range(2, 8_193))
    assert all(Settings(embeddings_dimensions=number) for number in (2, 8_192))


@pytest.mark.parametrize("name", ["EmbeddingsQueryPrefix", "EmbeddingsTextPrefix"])
def test_a_prefix_may_end_in_a_blank_and_have_lines_and_be_as_long_as_the_setting_takes(source, name):
    parameter = source["Parameters"][name]

    assert all(re.search(parameter["AllowedPattern"], value) for value in ("", "query: ", "Instruct: x\nQuery: "))
    assert parameter["MaxLength"] == PREFIX_CHARACTERS


def test_every_json_mode_of_the_template_is_one_of_the_settings(source):
    for value in source["Parameters"]["LlmJsonMode"]["AllowedValues"]:
        Settings(llmaas_json_mode=value)
    assert {"object", "schema", "off"} <= set(source["Parameters"]["LlmJsonMode"]["AllowedValues"])


def test_whether_secrets_are_redacted_is_what_the_setting_takes(source):
    values = source["Parameters"]["RedactSecrets"]["AllowedValues"]

    assert [Settings(redact_secrets=value).redact_secrets for value in values] == [True, False]


def test_every_output_is_described(source):
    assert all(output.get("Description") for output in source["Outputs"].values())


ARN = "arn:aws:{}:eu-west-1:123456789012:{}"
CERTIFICATE = "certificate/0a1b-2c3d"


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        (
            "DomainName",
            ["", "memory.example.org", "a.io"],
            ["example", "https://a.io", "Example.org", "-a.io", "a..io"],
        ),
        ("CertificateArn", ["", ARN.format("acm", CERTIFICATE)], [CERTIFICATE, ARN.format("iam", CERTIFICATE)]),
        ("AlarmTopicArn", ["", ARN.format("sns", "alarms")], ["alarms", ARN.format("sqs", "alarms")]),
        ("BucketName", ["live-memory-4711"], ["Live", "a_b", "-ab", "ab"]),
        ("LlmApiUrl", ["https://api.openai.com/v1", "http://10.0.0.1:8000/v1"], ["api.openai.com", "https:// x"]),
        ("LlmApiKeyParameter", ["/live-memory/llm-api-key"], ["sk-123", "live-memory/key", "/"]),
        ("EmbeddingsApiUrl", ["", "https://api.openai.com/v1"], ["api.openai.com", "https:// x"]),
        ("EmbeddingsApiKeyParameter", ["", "/live-memory/embeddings-api-key"], ["sk-123", "live-memory/key", "/"]),
        ("OidcClientSecretParameter", ["", "/live-memory/oidc-secret"], ["s3cret", "live-memory/oidc", "/"]),
        (
            "OidcIssuer",
            ["", "https://login.example/tenant/v2.0"],
            ["http://login.example", "https://a@b.c", "login.example"],
        ),
        ("OidcScope", ["openid", "openid email groups"], ["", "email", "openid  email"]),
    ],
)
def test_a_parameter_takes_what_is_right_and_refuses_what_would_fail_later(source, name, good, bad):
    pattern = source["Parameters"][name]["AllowedPattern"]

    assert all(re.search(pattern, value) for value in good)
    assert not any(re.search(pattern, value) for value in bad)


@pytest.fixture(scope="module")
def named_in_the_guide():
    """What docs/deploy.md writes as `Name`."""
    return set(re.findall(r"`([A-Z][A-Za-z0-9]+)`", (ROOT / "docs" / "deploy.md").read_text()))


def test_what_has_no_default_and_what_is_switched_on_by_a_value_is_explained_in_the_guide(source, named_in_the_guide):
    to_decide = {name for name, parameter in source["Parameters"].items() if parameter.get("Default", "") == ""}

    assert to_decide - named_in_the_guide == set()


def test_whatever_the_guide_calls_by_a_name_of_the_template_is_in_the_template(source, named_in_the_guide):
    known = set(source["Parameters"]) | set(source["Outputs"])

    assert named_in_the_guide - known - NOT_OURS == set()
