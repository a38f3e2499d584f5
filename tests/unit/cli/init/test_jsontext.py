import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_memory.cli.init import jsontext
from live_memory.cli.init.problems import NotPlain
from tests.support.cases import each
from tests.unit.cli.init.support import OBJECTS, VALUES, json_texts

PATHS = st.lists(st.sampled_from(["mcpServers", "livemem", "hooks", "new", "é"]), min_size=1, max_size=3)


def changed(document, path, value):
    """The document with a value at a path, as it were with plain dictionaries; None if something is in the way."""
    if not isinstance(document, dict):
        return None
    if len(path) == 1:
        return {**document, path[0]: value}
    inner = changed(document.get(path[0], {}), path[1:], value)
    return None if inner is None else {**document, path[0]: inner}


@given(json_texts(), PATHS, VALUES)
def test_a_value_is_put_at_its_path_and_all_else_means_what_it_meant(text, path, value):
    wanted = changed(jsontext.parse(text), path, value)
    if wanted is None:
        with pytest.raises(NotPlain):
            jsontext.put(text, path, value)
        return
    after = jsontext.put(text, path, value)
    assert jsontext.parse(after) == wanted
    assert list(jsontext.parse(after)) == list(wanted)


@given(json_texts(), VALUES)
def test_a_new_member_changes_no_byte_of_the_others_and_leaves_none_when_it_is_removed(text, value):
    document = jsontext.parse(text)
    if "new" in document:
        return
    after = jsontext.put(text, ["new"], value)
    without = jsontext.remove(after, ["new"])
    if document:
        assert without == text
    else:
        # The space inside of empty braces is all that may go.
        assert "".join(without.split()) == "".join(text.split())


@given(OBJECTS, st.lists(VALUES, max_size=3), VALUES, st.sampled_from([None, 2, "\t"]))
def test_an_element_is_added_at_the_end_of_an_array_and_can_be_taken_out_again(document, array, value, indent):
    text = json.dumps({**document, "list": array}, indent=indent)
    after = jsontext.append(text, ["list"], value)
    assert json.loads(after) == {**document, "list": [*array, value]}
    assert json.loads(jsontext.remove(after, ["list", len(array)])) == json.loads(text)


@given(json_texts(), st.data())
def test_what_is_removed_is_all_that_goes(text, data):
    document = jsontext.parse(text)
    if not document:
        return
    key = data.draw(st.sampled_from(sorted(document)))
    after = jsontext.remove(text, [key])
    assert jsontext.parse(after) == {name: value for name, value in document.items() if name != key}


def test_numbers_escapes_and_keys_that_stand_twice_stay_as_they_were_written():
    text = '{"big": 123456789012345678901234567890.10, "esc": "\\u00e9\\/", "a": 1, "a": 2}'
    assert jsontext.put(text, ["n"], 0) == text[:-1] + ', "n": 0}'


def test_a_new_member_is_indented_as_its_neighbours():
    text = '{\r\n\t"a": {\r\n\t\t"b": 1\r\n\t}\r\n}\r\n'
    assert jsontext.put(text, ["a", "c"], {"d": []}) == (
        '{\r\n\t"a": {\r\n\t\t"b": 1,\r\n\t\t"c": {\r\n\t\t\t"d": []\r\n\t\t}\r\n\t}\r\n}\r\n'
    )


def test_nothing_but_space_is_an_object_without_members():
    assert jsontext.put("", ["a"], 1) == '{\n  "a": 1\n}\n'
    assert jsontext.parse(" \n") == {}


@each(
    ("text", "reason"),
    [
        ('{\n// why\n"a": 1}', "comments"),
        ('{"a": 1 // why\n}', "comments"),
        ('{/* x */ "a": 1}', "not valid JSON"),
        ('{"a": 1,}', "not valid JSON"),
        ("{", "not valid JSON"),
        ("[]", "not have a JSON object"),
        ('"a"', "not have a JSON object"),
        ("null", "not have a JSON object"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a":' * 100_000, "nested too deeply"),
    ],
)
def test_what_can_not_be_changed_without_loss_is_refused_with_the_reason(text, reason):
    with pytest.raises(NotPlain, match=reason):
        jsontext.put(text, ["b"], 1)


def test_a_path_through_something_that_is_no_object_is_refused():
    with pytest.raises(NotPlain, match="`a` is not an object"):
        jsontext.put('{"a": [1]}', ["a", "b"], 1)
    with pytest.raises(NotPlain, match="`a` is not an array"):
        jsontext.append('{"a": {}}', ["a"], 1)
