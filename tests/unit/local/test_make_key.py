"""The bootstrap key of a deployment: what is kept by a person, and what the stack is given."""

import hashlib
import io

import pytest

from livemem.settings import Settings
from local import admin_key, files, make_key

GOOD = "wHq3-7Yt_0pLmZ8sVbN4xKcR2dFgJ6aE"


def say(monkeypatch: pytest.MonkeyPatch, *arguments: str, stdin: str = "") -> int:
    monkeypatch.setattr("sys.argv", ["make key", *arguments])
    monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
    return make_key.main()


def test_a_new_key_is_good_and_comes_with_its_hash(monkeypatch, capsys):
    assert say(monkeypatch) == 0

    told = dict(line.split() for line in capsys.readouterr().out.splitlines())
    key, digest = told["key"], told["AdminBootstrapKeySha256"]
    assert hashlib.sha256(key.encode()).hexdigest() == digest
    settings = Settings(admin_bootstrap_key=key, admin_bootstrap_key_sha256=digest)
    assert settings.bootstrap_key_problem() is None


def test_of_a_key_that_is_there_the_hash_alone_is_printed(monkeypatch, capsys):
    assert say(monkeypatch, "--existing", stdin=f"{GOOD}\n") == 0

    assert capsys.readouterr().out == f"{hashlib.sha256(GOOD.encode()).hexdigest()}\n"


@pytest.mark.parametrize("key", ["", "short", "changeme" * 5, "a" * 64])
def test_a_weak_key_is_refused_where_it_is_known(monkeypatch, capsys, key):
    assert say(monkeypatch, "--existing", stdin=key) == 1

    said = capsys.readouterr()
    assert said.out == ""
    assert said.err
    assert not key or key not in said.err


def test_what_is_generated_begins_with_a_letter_or_digit_so_that_no_command_line_takes_it_for_an_option(monkeypatch):
    drawn = iter(["-abc", "_abc", "--", "-", "9abc", "zabc"])
    monkeypatch.setattr("secrets.token_urlsafe", lambda count: next(drawn))

    assert [files.new_secret(), files.new_secret()] == ["9abc", "zabc"]


def test_functions_are_told_the_hash_of_whatever_key_was_set():
    digest = admin_key.sha256(GOOD)

    assert admin_key.given_hash({"ADMIN_BOOTSTRAP_KEY": GOOD}) == digest
    assert admin_key.given_hash({"ADMIN_BOOTSTRAP_KEY_SHA256": digest}) == digest
    assert admin_key.given_hash({"ADMIN_BOOTSTRAP_KEY": ""}) is None
