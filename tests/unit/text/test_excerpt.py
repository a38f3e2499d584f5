"""What a provider says is shown short, on one line and without secrets."""

import json

from hypothesis import given
from hypothesis import strategies as st

from livemem.text.excerpt import CHARACTERS, excerpt
from tests.support.cases import each

KEY = "sk-proj-Zx81kQ-secret"


def said(message: str, key: str = KEY) -> str:
    return excerpt({"message": message}, key)


@each(
    ("message", "shown"),
    [
        ("The model `Qwen/Qwen3-235B-A22B-Instruct-2507-FP8` does not exist.", None),
        ("This model's maximum context length is 32768 tokens. You requested 41200.", None),
        ("'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", None),
        ("A bearer token is missing. Basic authentication is off.", None),
        ("api_error: key_not_found, see https://example.org/docs/errors#api-keys", None),
        (f"Incorrect API key provided: {KEY}.", "Incorrect API key provided: [removed]."),
        ("Incorrect API key provided: sk-proj-********cret", "Incorrect API key provided: [removed]"),
        ("Authorization: Bearer abcdefghijklmnopqrst", "Authorization: [removed]"),
        ("Authorization: bearer\tx1y2z3", "Authorization: [removed]"),
        ("Basic dXNlcjpwYXNzd29yZA==", "[removed]"),
        ("token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx.c2ln", "token [removed]"),
        ("hash 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b", "hash [removed]"),
        ("see http://user:pass@proxy:8080/x", "see http://[removed]proxy:8080/x"),
        ("two\nlines\r\n\tand \x1b[31mcolour\x00\u2028\u202e", "two lines and [31mcolour"),
        ("  ", ""),
        ("<!DOCTYPE html><title>502</title>", ""),
    ],
)
def test_a_message_is_kept_and_what_looks_like_a_credential_is_not(message: str, shown: str | None):
    assert said(message) == (message if shown is None else shown)


@each("body", [None, 7, [], {}, {"message": None}, {"message": 3}, {"error": {"code": 1}}, [{"a": 1}]])
def test_a_body_without_a_message_says_nothing(body: object):
    assert excerpt(body, KEY) == ""


def test_a_short_key_is_a_word_and_no_secret():
    assert said("None of the models is loaded: none", "none") == "None of the models is loaded: none"


@given(st.text(max_size=3_000), st.text(max_size=3_000))
def test_an_excerpt_is_one_short_line_without_the_key_wherever_it_stands(before: str, after: str):
    shown = said(before + KEY + after)

    assert len(shown) <= CHARACTERS
    assert KEY not in shown
    assert shown.isprintable()
    assert json.loads(json.dumps(shown).encode()) == shown


def test_the_work_is_bounded_by_what_is_shown():
    assert said("x1" * 4_000_000) == "[removed]"
