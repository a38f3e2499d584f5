"""A secret of the settings is itself, or what the parameter holds that the setting names."""

import pytest

from livemem.outbound import secret_parameter
from livemem.outbound.secret_parameter import SecretUnreadable, read
from tests.support.cases import each


class Parameters:
    """A parameter store with one parameter."""

    def get(self, name: str, **how: object) -> str:
        assert how == {"max_age": 300, "decrypt": True}
        return {"/live-memory/secret": "of the parameter\n", "/live-memory/empty": " \n"}[name]


@pytest.fixture(autouse=True)
def store(monkeypatch):
    monkeypatch.setattr(secret_parameter, "parameter_provider", Parameters)


@each(
    ("setting", "secret"),
    [("s3cret", "s3cret"), ("s3cret\n", "s3cret"), ("", ""), ("/live-memory/secret", "of the parameter")],
)
def test_a_secret_is(setting, secret):
    assert read(setting, "key") == secret


@each("setting", ["s\u00e9cret", "s3\ncret", "s\x00", "/live-memory/empty"])
def test_no_secret_is(setting):
    with pytest.raises(SecretUnreadable, match="The key is empty, or has characters") as refused:
        read(setting, "key")

    assert "cret" not in str(refused.value)
