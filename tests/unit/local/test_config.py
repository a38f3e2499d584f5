from pathlib import Path
from unittest.mock import Mock
from zoneinfo import ZoneInfoNotFoundError

import pytest

from local.config import ConfigError, read_config, zone_of_machine
from tests.support.cases import each


def test_variables_choose_everything_and_nothing_is_needed():
    config = read_config({})
    assert (config.host, config.port, config.bucket, config.s3_url) == ("127.0.0.1", 3000, "live-memory", None)
    config = read_config({"PORT": "0", "LIVEMEM_DATA_DIR": "x", "S3_ENDPOINT_URL": "", "LIVEMEM_SWEEP_SECONDS": "2.5"})
    assert (config.port, config.data, config.s3_url, config.sweep_seconds) == (0, Path.cwd() / "x", None, 2.5)


def test_what_failed_is_tried_again_when_lambda_would_unless_somebody_says_otherwise():
    assert read_config({}).retry_seconds == (60, 120)
    assert read_config({"LIVEMEM_RETRY_SECONDS": "0.5, 2"}).retry_seconds == (0.5, 2)


@each(
    ("variables", "embedded", "aws"),
    [
        ({}, True, False),
        ({"S3_BUCKET_NAME": "memory"}, True, False),
        ({"S3_SIGNATURE": "hybrid"}, True, False),
        ({"AWS_PROFILE": "prod", "AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "real"}, True, False),
        ({"S3_ENDPOINT_URL": "", "S3_REGION_NAME": "", "S3_ACCESS_KEY_ID": ""}, True, False),
        ({"S3_REGION_NAME": "eu-west-1"}, False, True),
        ({"S3_ACCESS_KEY_ID": "a", "S3_SECRET_ACCESS_KEY": "b", "S3_BUCKET_NAME": "memory"}, False, True),
        ({"S3_ENDPOINT_URL": "http://127.0.0.1:9000"}, False, False),
        ({"S3_ENDPOINT_URL": "http://127.0.0.1:9000", "S3_REGION_NAME": "x", "S3_ACCESS_KEY_ID": "a"}, False, False),
    ],
)
def test_a_region_or_a_key_of_a_store_without_an_endpoint_means_aws(variables, embedded, aws):
    config = read_config(variables)
    assert (config.embedded, config.aws) == (embedded, aws)


def test_the_region_is_that_of_the_store_or_else_aws_own():
    assert read_config({"S3_ACCESS_KEY_ID": "a"}).region == "us-east-1"
    assert read_config({"S3_ACCESS_KEY_ID": "a", "AWS_REGION": "eu-west-1"}).region == "eu-west-1"
    assert read_config({"S3_REGION_NAME": "eu-north-1", "AWS_REGION": "eu-west-1"}).region == "eu-north-1"


@each(
    ("name", "value", "says"),
    [
        ("PORT", "x", "PORT is 'x'; it takes a number from 0 (any free port) to 65535."),
        ("PORT", "70000", "from 0 (any free port) to 65535"),
        ("PORT", "\u0663\u0660", "from 0 (any free port) to 65535"),
        ("LIVEMEM_SWEEP_SECONDS", "0", "a number of seconds from 0.1"),
        ("LIVEMEM_SWEEP_SECONDS", "soon", "a number of seconds from 0.1"),
        ("LIVEMEM_SWEEP_SECONDS", "nan", "a number of seconds from 0.1"),
        ("LIVEMEM_RETRY_SECONDS", "soon", "numbers of seconds with commas, like 60,120."),
        ("LIVEMEM_RETRY_SECONDS", "1,-2", "numbers of seconds with commas, like 60,120."),
        ("BACKUP_SCHEDULE", "0 2 * * *", "takes an expression like cron(0 2 * * ? *) or rate(1 day)"),
        ("BACKUP_SCHEDULE", "cron(0 2 * * * *)", "exactly one has to be ?"),
        ("BACKUP_TIMEZONE", "Paris", "takes an IANA name, like Europe/Paris."),
        ("BACKUP_SCHEDULE_STATE", "off", "takes ENABLED or DISABLED."),
        ("LIVEMEM_INVOKE_FROM", "lan", "networks like 172.17.0.0/16"),
        ("LIVEMEM_SHARED", "yes", "true or false."),
        ("LIVEMEM_METRICS_KEY", "hunter2", "fewer than 32 characters"),
        ("LIVEMEM_ENVIRONMENTS", "1", "a number from 2 to 256."),
        ("LIVEMEM_LOGS", "syslog", "files or stdout."),
        ("S3_ENDPOINT_URL", "127.0.0.1:9000", "must be an http or https URL."),
        ("LLMAAS_API_URL", "api.openai.com/v1", "must be an http or https URL."),
        ("LLMAAS_API_URL", "http://[::1", "must be an http or https URL."),
        ("CONSOLIDATION_THRESHOLD", "abc", "must be a whole number (at least 0)."),
        ("CONSOLIDATION_MAX_NOTES", "5000", "is out of bounds (at least 1, at most 1000)."),
        ("LLM_TIMEOUT_SECONDS", "0", "is out of bounds (more than 0)."),
        ("LLMAAS_TEMPERATURE", "9", "is out of bounds (at least 0, at most 2)."),
        ("LLMAAS_CONTEXT_TOKENS", "1e9x", "must be a whole number (at least 2000)."),
        ("S3_SIGNATURE", "v5", "must be 'v4' or 'hybrid'."),
        ("ADMIN_BOOTSTRAP_KEY", "hunter2", "fewer than 32 characters"),
    ],
)
def test_a_wrong_variable_is_one_sentence_with_its_name_and_its_bounds(name, value, says):
    with pytest.raises(ConfigError) as error:
        read_config({name: value})
    sentence = str(error.value)
    assert sentence.startswith((f"{name} ", f"{name}: "))
    assert says in sentence
    assert "\n" not in sentence


def test_all_wrong_variables_are_told_at_once():
    wrong = {"PORT": "x", "LLMAAS_TEMPERATURE": "9", "CONSOLIDATION_THRESHOLD": "abc", "LIVEMEM_INVOKE_FROM": "-"}
    with pytest.raises(ConfigError) as error:
        read_config(wrong)
    assert sorted(line.split()[0].rstrip(":") for line in str(error.value).splitlines()) == sorted(wrong)


def test_the_value_of_a_secret_is_never_told():
    with pytest.raises(ConfigError) as error:
        read_config({"ADMIN_BOOTSTRAP_KEY": "hunter2", "S3_ENDPOINT_URL": "ftp://me:hunter2@store"})
    assert "hunter2" not in str(error.value)


@each("name", ["CONSOLIDATION_THRESHOLD", "BACKUP_SCHEDULE", "BACKUP_TIMEZONE", "BACKUP_SCHEDULE_STATE"])
def test_a_long_value_is_told_in_short(name):
    with pytest.raises(ConfigError) as error:
        read_config({name: "9" * 5_000 + "x"})
    assert len(str(error.value)) < 200


def test_when_backups_run_is_a_matter_of_the_templates_parameters():
    given = {
        "DEFAULT_TIMEZONE": "Europe/Paris",
        "BACKUP_SCHEDULE": "cron(30 3 ? * SUN *)",
        "BACKUP_TIMEZONE": "Europe/Paris",
        "BACKUP_SCHEDULE_STATE": "DISABLED",
    }
    assert read_config(given).parameters == {
        "BackupSchedule": "cron(30 3 ? * SUN *)",
        "BackupTimezone": "Europe/Paris",
        "BackupScheduleState": "DISABLED",
    }


@pytest.mark.parametrize(
    ("variables", "of_system", "zone"),
    [
        ({"TZ": "Asia/Tokyo"}, "Europe/Lisbon", "Asia/Tokyo"),
        ({"TZ": ":Asia/Tokyo"}, "Europe/Lisbon", "Asia/Tokyo"),
        ({"TZ": "CET-1CEST"}, "Europe/Lisbon", "Europe/Lisbon"),
        ({"TZ": "/etc/passwd"}, None, "UTC"),
        ({"TZ": "Europe"}, "local", "UTC"),
        ({}, ZoneInfoNotFoundError("Multiple conflicting time zone configurations found"), "UTC"),
    ],
)
def test_spaces_that_name_no_time_zone_have_that_of_the_machine_unless_one_is_given(
    monkeypatch, variables, of_system, zone
):
    monkeypatch.setattr("tzlocal.get_localzone_name", Mock(side_effect=[of_system]))
    assert zone_of_machine(variables) == zone


def test_a_time_zone_of_spaces_takes_the_place_of_the_machines():
    assert read_config({"TZ": "Asia/Tokyo", "BACKUP_SCHEDULE": ""}).parameters == {"DefaultTimezone": "Asia/Tokyo"}
    assert read_config({"TZ": "Asia/Tokyo", "DEFAULT_TIMEZONE": "Europe/Rome"}).parameters == {}


def test_what_has_a_meaning_when_it_is_empty_may_be_empty():
    names = ("LLMAAS_TEMPERATURE", "LLMAAS_MAX_TOKENS", "LLMAAS_JSON_MODE", "CONSOLIDATION_THRESHOLD", "PORT")
    assert read_config(dict.fromkeys(names, "")).port == 3000
