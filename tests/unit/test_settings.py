"""Settings come from the environment alone; an empty variable is one that is not given."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from livemem.settings import Settings
from tests.support.world import BOOTSTRAP_KEY

NAMES = sorted(Settings.model_fields)


@pytest.fixture(autouse=True)
def _empty_environment(monkeypatch: pytest.MonkeyPatch):
    for name in NAMES:
        monkeypatch.delenv(name.upper(), raising=False)


def test_an_empty_environment_gives_the_documented_defaults():
    found = Settings()

    assert found.consolidation_threshold == 30
    assert found.consolidation_max_notes == 500
    assert found.consolidation_timeout == 600
    assert found.llmaas_max_tokens == 100_000
    assert found.llmaas_context_tokens == 100_000
    assert found.llmaas_temperature == 0.3
    assert found.llmaas_json_mode is True
    assert found.llmaas_model == "qwen3-2507:235b"
    assert found.keep_uncited_notes is False
    assert found.s3_signature == "v4"


@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith("llmaas_") or name == "llmaas_model"])
def test_an_empty_variable_means_its_default(monkeypatch: pytest.MonkeyPatch, name: str):
    default = getattr(Settings(), name)
    monkeypatch.setenv(name.upper(), "")

    assert getattr(Settings(), name) == default


@pytest.mark.parametrize(
    ("name", "left_out"), [("llmaas_temperature", None), ("llmaas_max_tokens", None), ("llmaas_json_mode", False)]
)
def test_an_empty_parameter_of_the_llm_is_left_out(monkeypatch: pytest.MonkeyPatch, name: str, left_out: object):
    monkeypatch.setenv(name.upper(), "")

    assert getattr(Settings(), name) is left_out


@pytest.mark.parametrize(
    ("name", "value", "read"),
    [
        ("LLMAAS_TEMPERATURE", "0", 0.0),
        ("LLMAAS_MAX_TOKENS", "256", 256),
        ("LLMAAS_JSON_MODE", "false", False),
        ("KEEP_UNCITED_NOTES", "true", True),
        ("CONSOLIDATION_THRESHOLD", "0", 0),
        ("CONSOLIDATION_TIMEOUT", "0.5", 0.5),
        ("S3_SIGNATURE", "hybrid", "hybrid"),
        ("S3_ENDPOINT_URL", "http://127.0.0.1:9000", "http://127.0.0.1:9000"),
    ],
)
def test_a_variable_is_read_as_its_type(monkeypatch: pytest.MonkeyPatch, name: str, value: str, read: object):
    monkeypatch.setenv(name, value)

    assert getattr(Settings(), name.lower()) == read


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LLMAAS_TEMPERATURE", "2.1"),
        ("LLMAAS_TEMPERATURE", "warm"),
        ("LLMAAS_MAX_TOKENS", "255"),
        ("LLMAAS_CONTEXT_TOKENS", "1999"),
        ("CONSOLIDATION_TIMEOUT", "0"),
        ("CONSOLIDATION_MAX_NOTES", "0"),
        ("CONSOLIDATION_MAX_NOTES", "1001"),
        ("CONSOLIDATION_THRESHOLD", "-1"),
        ("S3_SIGNATURE", "v2"),
        ("KEEP_UNCITED_NOTES", "perhaps"),
    ],
)
def test_a_bad_value_is_refused_when_the_settings_are_read(monkeypatch: pytest.MonkeyPatch, name: str, value: str):
    monkeypatch.setenv(name, value)

    with pytest.raises(ValidationError) as refused:
        Settings()

    assert name.lower() in str(refused.value)


@pytest.mark.parametrize(
    "key",
    [
        "",
        "short",
        BOOTSTRAP_KEY[:31],
        "a" * 64,
        "abcd" * 16,
        "changeme" + BOOTSTRAP_KEY,
        "CHANGE-ME-" + BOOTSTRAP_KEY,
        "change_me" + BOOTSTRAP_KEY,
        "change me" + BOOTSTRAP_KEY,
        "password" + BOOTSTRAP_KEY,
        "your-bootstrap-key-of-at-least-32-characters",
        "YOUR_KEY" + BOOTSTRAP_KEY,
        "example" + BOOTSTRAP_KEY,
        "replace-this-" + BOOTSTRAP_KEY,
    ],
)
def test_a_weak_bootstrap_key_is_a_problem_that_names_the_variable_and_not_the_value(key: str):
    problem = Settings(admin_bootstrap_key=key).bootstrap_key_problem()

    assert problem is not None
    assert "ADMIN_BOOTSTRAP_KEY" in problem
    assert not key or key not in problem


@given(st.text(alphabet="0123456789abcdefABCDEF", min_size=32, max_size=200).filter(lambda key: len(set(key)) > 4))
def test_a_long_random_bootstrap_key_is_no_problem(key: str):
    assert Settings(admin_bootstrap_key=key).bootstrap_key_problem() is None
