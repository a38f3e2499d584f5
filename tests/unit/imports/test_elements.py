"""A list of any length is cut into its elements with the memory of the largest one."""

import json
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_memory.cli.imports import elements as cutting
from live_memory.cli.imports.elements import elements
from live_memory.cli.imports.unfit import BadSource
from tests.support.cases import each

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
LISTS = st.lists(st.dictionaries(st.text(), VALUES, max_size=3), max_size=4)


def chunked(text: bytes, size: int) -> Iterator[bytes]:
    return (text[at : at + size] for at in range(0, len(text), size))


@given(LISTS, st.integers(1, 40), st.sampled_from([None, 1]), st.booleans())
def test_whatever_the_chunks_are_the_elements_are_those_of_the_list(values, size, indent, plain):
    text = json.dumps(values, indent=indent, ensure_ascii=plain).encode("utf-8", "surrogatepass")
    assert [json.loads(one or b"") for one in elements(chunked(text, size))] == values


@given(st.binary(max_size=200) | st.text('[]{}",\\ a1', max_size=60).map(str.encode), st.integers(1, 9))
def test_of_hostile_text_there_are_elements_or_one_clear_error(text, size):
    refused = ""
    found = []
    try:
        found = [one for one in elements(chunked(text, size)) if one is not None]
    except BadSource as error:
        refused = str(error)
    assert refused in {"", cutting.NO_LIST, cutting.CUT, "has data after its end"}
    assert all(one[:1] == b"{" for one in found)


@given(LISTS.filter(bool), st.data())
def test_a_list_that_was_cut_is_refused_wherever_that_was(values, data):
    text = json.dumps(values).encode()
    end = data.draw(st.integers(0, len(text) - 1))
    with pytest.raises(BadSource):
        list(elements([text[:end]]))


def test_an_element_that_is_too_large_is_left_out_and_the_next_ones_come():
    text = json.dumps([{"a": 1}, {"b": "x" * 500, "c": ['\\"'] * 50}, {"d": 2}]).encode()
    found = list(elements(chunked(text, 16), limit=100))
    assert [json.loads(one) if one else None for one in found] == [{"a": 1}, None, {"d": 2}]


class Counting(bytearray):
    """A text that knows how long it has ever been."""

    most = 0

    def __iadd__(self, more):  # type: ignore[misc]
        made = super().__iadd__(more)
        Counting.most = max(Counting.most, len(self))
        return made


def test_no_more_is_in_memory_than_one_element_and_one_chunk(monkeypatch):
    Counting.most = 0
    monkeypatch.setattr(cutting, "bytearray", Counting, raising=False)
    element = json.dumps({"text": "x" * 2_000}).encode()
    endless = (b'{"text": "' if number == 0 else b"y" * 1_000 for number in range(5_000))
    listed = [b"[", *[element + b","] * 500, *endless, b'"}]']
    assert sum(one is None for one in elements(listed, limit=10_000)) == 1
    assert Counting.most <= 10_000 + 2 * len(element)


def test_brackets_in_brackets_have_a_bound():
    with pytest.raises(BadSource, match="deep"):
        list(elements([b'[{"a":' + b"[" * 100_000]))


@each("text", [b"", b"{}", b"null", b'"a"', b"[1]", b"[[]]", b"PK\x03\x04", b'{"conversations": []}'])
def test_what_is_no_list_of_objects_is_refused(text):
    with pytest.raises(BadSource):
        list(elements([text]))


def test_a_list_may_begin_with_a_byte_order_mark_and_end_with_a_line():
    assert list(elements([b"\xef", b"\xbb\xbf [ {} ,\n{} ]", b"\n"])) == [b"{}", b"{}"]
