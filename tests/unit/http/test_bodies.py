"""Bodies are measured before they are parsed, and are JSON objects in the strict sense."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livemem.errors import MalformedBody, TooLarge
from livemem_http import bodies
from livemem_http.views import NewNotes
from tests.support.cases import each

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=30,
)


def count(value):
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(count(part) for part in parts)


def depth(value):
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if parts is None else 1 + max((depth(part) for part in parts), default=0)


@given(st.dictionaries(st.text(), JSON), st.booleans(), st.sampled_from([None, 1]))
def test_values_and_depth_are_counted_exactly_in_any_spelling(value, ascii_only, indent):
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bodies, "BODY_VALUES", count(value))
        patch.setattr(bodies, "BODY_DEPTH", depth(value))
        assert bodies.parse(text) == value
        patch.setattr(bodies, "BODY_VALUES", count(value) - 1)
        with pytest.raises(TooLarge):
            bodies.parse(text)
        patch.setattr(bodies, "BODY_VALUES", count(value))
        patch.setattr(bodies, "BODY_DEPTH", depth(value) - 1)
        with pytest.raises(MalformedBody):
            bodies.parse(text)


@given(st.text(alphabet='{}[]",:\\ \n\ud800u0a1eE-.NaItrfslyn', max_size=60))
def test_any_text_is_an_object_or_refused_as_malformed(text):
    with contextlib.suppress(MalformedBody):
        assert isinstance(bodies.parse(text), dict)


@pytest.mark.parametrize(
    "text",
    [
        '{"notes": [' + "{}," * 340_000 + "{}]}",
        '{"notes": [' + "[]," * 340_000 + "[]]}",
        "[" + "0," * 500_000 + "0]",
        "{" + ",".join(f'"{index}":0' for index in range(90_000)) + "}",
        "," * 1_000_000,
    ],
)
def test_a_body_of_too_many_values_is_refused_before_it_is_parsed(monkeypatch, text):
    monkeypatch.setattr(json, "loads", lambda *_, **__: pytest.fail("parsed"))

    with pytest.raises(TooLarge) as refused:
        bodies.parse(text)

    assert refused.value.fields[0].field == "body"


@each(
    "text",
    [
        '{"a":' * 1_000 + "1" + "}" * 1_000,
        "[" * 1_000_000,
        '{"a": ' + "[" * 22 + "]" * 22 + "}",
        '{"a": NaN}',
        '{"a": -Infinity}',
        '{"a": ' + "1" * 1_000_000 + "}",
        '{"a": 0.' + "1" * 1_000_000 + "}",
        '{"a": 1, "a": 2}',
        '{"a": {"b": 1, "b": 1}}',
        '"' + '\\"' * 500_000,
        '"' + "\\" * 999_999,
        "\ufeff{}",
        "]" * 1_000_000,
        "{'a': 1}",
    ],
)
def test_what_is_no_json_object_or_not_plainly_one_is_malformed(text):
    with pytest.raises(MalformedBody):
        bodies.parse(text)


@each("text", ['{"a": ' + "[" * 21 + "]" * 21 + "}", '{"a": "[[[[[[[[[[[[[[[[[[[[[[[[,,,"}', '{"a": 1e400}', "{}"])
def test_brackets_in_texts_and_depth_up_to_the_limit_are_allowed(text):
    assert bodies.parse(text) == json.loads(text)


def test_a_batch_over_its_limit_is_refused_before_a_note_is_looked_at():
    with pytest.raises(TooLarge) as refused:
        NewNotes.model_validate({"items": [{}] * 101})

    assert refused.value.fields[0].message == "101 notes, but at most 100 are allowed"
