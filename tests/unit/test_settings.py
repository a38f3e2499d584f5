"""Settings come from the environment alone; an empty variable is one that is not given."""

import hashlib
import traceback

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from livemem.errors import NotConfigured
from livemem.settings import Settings, problems, settings
from tests.support.cases import each
from tests.support.world import BOOTSTRAP_KEY

NAMES = sorted(Settings.model_fields)


@pytest.fixture(autouse=True)
def _empty_environment(monkeypatch: pytest.MonkeyPatch):
    for name in (*NAMES, "consolidation_timeout"):
        monkeypatch.delenv(name.upper(), raising=False)
    yield
    settings.cache_clear()


def test_an_empty_environment_gives_the_documented_defaults():
    found = Settings()

    assert found.consolidation_threshold == 30
    assert found.consolidation_max_notes == 500
    assert found.bank_chars == 10_000
    assert found.llm_timeout_seconds == 600
    assert found.llmaas_max_tokens is None
    assert found.llmaas_context_tokens == 100_000
    assert found.llmaas_temperature == 0.3
    assert found.llmaas_json_mode == "object"
    assert found.llmaas_model == "qwen3-2507:235b"
    assert found.embeddings_api_url is None
    assert found.embeddings_model == "text-embedding-3-small"
    assert found.embeddings_dimensions is None
    assert found.embeddings_query_prefix == found.embeddings_text_prefix == ""
    assert found.log_level == "INFO"
    assert found.s3_signature == "v4"
    assert found.redact_secrets is False
    assert found.read_cache_mb == 64
    assert found.room_min_relevance == 0.1


def test_consolidation_timeout_is_another_name_of_the_time_of_a_call(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CONSOLIDATION_TIMEOUT", "30")
    alone = Settings().llm_timeout_seconds
    monkeypatch.setenv("LLM_TIMEOUT_SECONDS", "20")

    assert (alone, Settings().llm_timeout_seconds) == (30, 20)


@each("former", ["CONSOLIDATION_TIMEOUT", "consolidation_timeout"])
@each("present", ["LLM_TIMEOUT_SECONDS", "llm_timeout_seconds"])
def test_in_any_case_of_letters_the_present_name_counts(monkeypatch: pytest.MonkeyPatch, former: str, present: str):
    with monkeypatch.context() as patch:
        patch.setenv(present, "20")
        patch.setenv(former, "30")
        assert Settings().llm_timeout_seconds == 20


def test_a_bad_value_under_the_other_name_is_refused_with_its_bounds(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CONSOLIDATION_TIMEOUT", "0")
    settings.cache_clear()

    with pytest.raises(NotConfigured, match=r"LLM_TIMEOUT_SECONDS: is out of bounds \(more than 0\)"):
        settings()


@each("name", [name for name in NAMES if not name.startswith("llmaas_") or name == "llmaas_model"])
def test_an_empty_variable_means_its_default(monkeypatch: pytest.MonkeyPatch, name: str):
    with monkeypatch.context() as patch:
        default = getattr(Settings(), name)
        patch.setenv(name.upper(), "")

        assert getattr(Settings(), name) == default


@each(("name", "left_out"), [("llmaas_temperature", None), ("llmaas_max_tokens", None), ("llmaas_json_mode", "off")])
def test_an_empty_parameter_of_the_llm_is_left_out(monkeypatch: pytest.MonkeyPatch, name: str, left_out: object):
    with monkeypatch.context() as patch:
        patch.setenv(name.upper(), "")

        assert getattr(Settings(), name) == left_out


@each(
    ("name", "value", "read"),
    [
        ("LLMAAS_TEMPERATURE", "0", 0.0),
        ("LLMAAS_MAX_TOKENS", "256", 256),
        ("LLMAAS_JSON_MODE", "object", "object"),
        ("LLMAAS_JSON_MODE", "schema", "schema"),
        ("LLMAAS_JSON_MODE", "OFF", "off"),
        ("LLMAAS_JSON_MODE", "true", "object"),
        ("LLMAAS_JSON_MODE", "True", "object"),
        ("LLMAAS_JSON_MODE", "false", "off"),
        ("EMBEDDINGS_DIMENSIONS", "256", 256),
        ("EMBEDDINGS_DIMENSIONS", "", None),
        ("EMBEDDINGS_QUERY_PREFIX", "query: ", "query: "),
        ("EMBEDDINGS_TEXT_PREFIX", " ", " "),
        ("LOG_LEVEL", "debug", "DEBUG"),
        ("REDACT_SECRETS", "true", True),
        ("REDACT_SECRETS", "false", False),
        ("REDACT_SECRETS", "", False),
        ("CONSOLIDATION_THRESHOLD", "0", 0),
        ("LLM_TIMEOUT_SECONDS", "0.5", 0.5),
        ("LLMAAS_EXTRA", '{"reasoning_effort": "low"}', {"reasoning_effort": "low"}),
        ("LLMAAS_EXTRA", ' {"chat_template_kwargs": {"model": 1}} ', {"chat_template_kwargs": {"model": 1}}),
        ("LLMAAS_EXTRA", "", {}),
        ("S3_SIGNATURE", "hybrid", "hybrid"),
        ("DIGEST_HOURS", "0, 12,23", "0,12,23"),
        ("DIGEST_HOURS", "7", "7"),
        ("DEFAULT_TIMEZONE", "Asia/Kolkata", "Asia/Kolkata"),
        ("S3_ENDPOINT_URL", "http://127.0.0.1:9000", "http://127.0.0.1:9000"),
    ],
)
def test_a_variable_is_read_as_its_type(monkeypatch: pytest.MonkeyPatch, name: str, value: str, read: object):
    with monkeypatch.context() as patch:
        patch.setenv(name, value)

        assert getattr(Settings(), name.lower()) == read


@each(
    ("name", "value"),
    [
        ("LLMAAS_TEMPERATURE", "2.1"),
        ("LLMAAS_TEMPERATURE", "warm"),
        ("LLMAAS_MAX_TOKENS", "255"),
        ("LLMAAS_CONTEXT_TOKENS", "1999"),
        ("LLM_TIMEOUT_SECONDS", "0"),
        ("CONSOLIDATION_MAX_NOTES", "0"),
        ("CONSOLIDATION_MAX_NOTES", "1001"),
        ("CONSOLIDATION_THRESHOLD", "-1"),
        ("BANK_CHARS", "1999"),
        ("BANK_CHARS", "500001"),
        ("LLMAAS_EXTRA", "reasoning_effort=low"),
        ("LLMAAS_EXTRA", "{'reasoning_effort': 'low'}"),
        ("LLMAAS_EXTRA", '["reasoning_effort"]'),
        ("LLMAAS_EXTRA", "null"),
        ("LLMAAS_EXTRA", '{"top_p": NaN}'),
        ("LLMAAS_EXTRA", '{"top_p": 1e999}'),
        ("LLMAAS_EXTRA", '{"stop": "\\ud800"}'),
        ("LLMAAS_EXTRA", '{"a": ' + "[" * 100_000),
        ("LLMAAS_EXTRA", '{"stream": true}'),
        ("LLMAAS_EXTRA", '{"Messages": []}'),
        ("LLMAAS_EXTRA", '{"top_p": 1, "n": 2}'),
        ("S3_SIGNATURE", "v2"),
        ("S3_ENDPOINT_URL", "minio:9000"),
        ("S3_ENDPOINT_URL", "http://minio :9000"),
        ("LLMAAS_TEMPERATURE", "nan"),
        ("LLM_TIMEOUT_SECONDS", "inf"),
        ("LLMAAS_JSON_MODE", "xml"),
        ("EMBEDDINGS_DIMENSIONS", "1"),
        ("EMBEDDINGS_DIMENSIONS", "8193"),
        ("EMBEDDINGS_QUERY_PREFIX", "x" * 501),
        ("LOG_LEVEL", "loud"),
        ("DIGEST_HOURS", "24"),
        ("DIGEST_HOURS", "6,2"),
        ("DIGEST_HOURS", "2,2"),
        ("DIGEST_HOURS", "-1"),
        ("DIGEST_HOURS", "noon"),
        ("DIGEST_HOURS", ","),
        ("DEFAULT_TIMEZONE", "Paris"),
        ("DEFAULT_TIMEZONE", "../etc/localtime"),
    ],
)
def test_a_bad_value_is_refused_when_the_settings_are_read(monkeypatch: pytest.MonkeyPatch, name: str, value: str):
    with monkeypatch.context() as patch:
        patch.setenv(name, value)

        with pytest.raises(ValidationError) as refused:
            Settings()

        assert name.lower() in str(refused.value)


@each(
    ("name", "value", "sentence"),
    [
        ("LLMAAS_TEMPERATURE", "2.1", "LLMAAS_TEMPERATURE: is out of bounds (at least 0, at most 2)"),
        ("LLMAAS_MAX_TOKENS", "255", "LLMAAS_MAX_TOKENS: is out of bounds (at least 256)"),
        ("LLM_TIMEOUT_SECONDS", "0", "LLM_TIMEOUT_SECONDS: is out of bounds (more than 0)"),
        (
            "LLMAAS_MAX_TOKENS",
            "many",
            "LLMAAS_MAX_TOKENS: must be a whole number (at least 256)",
        ),
        ("S3_SIGNATURE", "v2", "S3_SIGNATURE: must be 'v4' or 'hybrid'"),
        ("S3_ENDPOINT_URL", "minio:9000", "S3_ENDPOINT_URL: must be an http or https URL"),
        (
            "LLMAAS_EXTRA",
            "low",
            'LLMAAS_EXTRA: must be a JSON object, such as {"reasoning_effort": "low"}',
        ),
        (
            "LLMAAS_EXTRA",
            '{"tools": [], "max_tokens": 9, "top_p": 1}',
            (
                "LLMAAS_EXTRA: must not have what the service sends itself: max_tokens is LLMAAS_MAX_TOKENS; "
                "tools belongs to the service"
            ),
        ),
        ("LLMAAS_JSON_MODE", "xml", "LLMAAS_JSON_MODE: must be 'object', 'schema' or 'off'"),
        (
            "EMBEDDINGS_DIMENSIONS",
            "all",
            "EMBEDDINGS_DIMENSIONS: must be a whole number (at least 2, at most 8192)",
        ),
        ("EMBEDDINGS_TEXT_PREFIX", "x" * 501, "EMBEDDINGS_TEXT_PREFIX: must have at most 500 characters"),
        ("REDACT_SECRETS", "maybe", "REDACT_SECRETS: must be true or false"),
        ("LOG_LEVEL", "loud", "LOG_LEVEL: must be 'DEBUG', 'INFO', 'WARNING' or 'ERROR'"),
    ],
)
def test_a_bad_variable_is_told_by_its_name_its_problem_and_its_bounds(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, sentence: str
):
    with monkeypatch.context() as patch:
        patch.setenv(name, value)
        settings.cache_clear()

        with pytest.raises(NotConfigured) as refused:
            settings()

        assert refused.value.detail == f"The service is not set up: {sentence}."


def test_all_bad_variables_are_told_at_once(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LLMAAS_TEMPERATURE", "warm")
    monkeypatch.setenv("S3_SIGNATURE", "v2")

    with pytest.raises(ValidationError) as refused:
        Settings()

    assert [sentence.partition(":")[0] for sentence in problems(refused.value)] == [
        "S3_SIGNATURE",
        "LLMAAS_TEMPERATURE",
    ]


@each("name", NAMES)
def test_no_value_is_told_whichever_variable_it_is(monkeypatch: pytest.MonkeyPatch, name: str):
    with monkeypatch.context() as patch:
        # Half a surrogate pair, which the environment may hold, is no text: so even a key can be refused.
        patch.setenv(name.upper(), "hunter2-\udcff")
        settings.cache_clear()

        with pytest.raises(NotConfigured) as refused:
            settings()

        assert name.upper() in refused.value.detail
        assert "hunter2" not in "".join(traceback.format_exception(refused.value))


@each(
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


def test_where_both_the_bootstrap_key_and_its_hash_are_given_they_belong_together():
    digest = hashlib.sha256(BOOTSTRAP_KEY.encode()).hexdigest()
    assert Settings(admin_bootstrap_key_sha256=digest).bootstrap_key_problem() is None
    both = Settings(admin_bootstrap_key=BOOTSTRAP_KEY, admin_bootstrap_key_sha256=digest)
    assert (both.bootstrap_key_problem(), both.bootstrap_hash()) == (None, digest)

    other = Settings(admin_bootstrap_key=f"{BOOTSTRAP_KEY}x", admin_bootstrap_key_sha256=digest)
    assert "not the SHA-256 of" in str(other.bootstrap_key_problem())
    weak = hashlib.sha256(b"short").hexdigest()
    assert "32 characters" in str(
        Settings(admin_bootstrap_key="short", admin_bootstrap_key_sha256=weak).bootstrap_key_problem()
    )


@each("name", ["LLMAAS_API_URL", "EMBEDDINGS_API_URL", "S3_ENDPOINT_URL"])
@each(
    "url", ["not a url", "http://", "ftp://127.0.0.1/v1", "http://127.0.0.1:99999/v1", "http://[broken/v1", "host:9000"]
)
def test_an_address_that_is_none_is_refused_by_its_name(monkeypatch: pytest.MonkeyPatch, name: str, url: str):
    with monkeypatch.context() as patch:
        patch.setenv(name, url)
        settings.cache_clear()

        with pytest.raises(NotConfigured, match=f"{name}: must be an http or https URL"):
            settings()
