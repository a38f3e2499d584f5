"""Sizes count in bytes of UTF-8, at the limit exactly, and an error names the field."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livemem import limits
from livemem.errors import InvalidRequest, TooLarge
from tests.support.cases import each


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip))
def test_a_text_of_exactly_the_limit_passes_and_one_byte_more_does_not(text: str):
    size = len(text.encode())

    assert limits.check_text("content", text, size) == text
    with pytest.raises(TooLarge) as refused:
        limits.check_text("content", text, size - 1)
    assert [field.field for field in refused.value.fields] == ["content"]
    assert str(size) in refused.value.detail


@each("text", ["", " ", "\n\t\r\n", "\u2003"])
def test_blank_text_is_refused_unless_it_may_be_blank(text: str):
    with pytest.raises(InvalidRequest) as refused:
        limits.check_text("content", text, 100)

    assert [field.field for field in refused.value.fields] == ["content"]
    assert limits.check_text("description", text, 100, blank=True) == text


@given(st.text(), st.text())
def test_half_a_surrogate_pair_is_refused_and_not_stored(before: str, after: str):
    with pytest.raises(InvalidRequest):
        limits.check_text("content", f"{before}\ud83d{after}", 10_000)
