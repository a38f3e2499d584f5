"""Cursors go out and come back; what this service did not give out is refused as a field, never as an exception."""

import base64

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from livemem.errors import InvalidRequest
from livemem.store import cursors, keys
from tests.support.cases import each
from tests.unit.store.test_keys import NAMES, SPACES


@given(NAMES)
def test_a_note_cursor_comes_back(name: keys.NoteName):
    cursor = cursors.encode(name.note_id)

    assert cursor is not None
    assert cursors.decode_note(cursor) == name.note_id
    # It travels in a query string without escapes.
    assert cursor.replace("-", "").replace("_", "").isalnum()


@given(SPACES)
def test_a_space_cursor_comes_back(space_id: str):
    assert cursors.decode_name(cursors.encode(space_id)) == space_id


@given(st.integers(0, 10**12))
def test_a_number_cursor_comes_back(number: int):
    assert cursors.decode_number(cursors.encode(number)) == number


@each("decode", [cursors.decode_note, cursors.decode_name, cursors.decode_number])
def test_no_cursor_is_the_first_page_and_no_next_page_is_no_cursor(decode):
    assert decode(None) is None
    assert cursors.encode(None) is None


FORGED = st.text() | st.text().map(lambda text: base64.urlsafe_b64encode(text.encode(errors="replace")).decode())


@pytest.mark.parametrize("decode", [cursors.decode_note, cursors.decode_name, cursors.decode_number])
@given(cursor=FORGED)
@example(cursor="")
@example(cursor="=")
@example(cursor="\ud800")
@example(cursor="é")
@example(cursor=base64.urlsafe_b64encode(b"9" * 5_000).decode())
@example(cursor=base64.urlsafe_b64encode(b"../_system/tokens").decode())
@example(cursor=base64.urlsafe_b64encode(b"\xff\xfe").decode())
def test_a_cursor_that_this_service_did_not_give_out_is_refused_or_harmless(decode, cursor: str):
    try:
        found = decode(cursor)
    except InvalidRequest as error:
        named = [field.field for field in error.fields]
    else:
        named = ["cursor"]
        if decode is cursors.decode_note:
            keys.parse_note_id(found)
        elif decode is cursors.decode_name:
            keys.check_space_id(found)
        else:
            assert isinstance(found, int)
    assert named == ["cursor"]


@each(
    ("decode", "text"),
    [(cursors.decode_note, "demo"), (cursors.decode_name, "../x"), (cursors.decode_number, "one")],
)
def test_a_cursor_of_another_list_is_refused(decode, text: str):
    with pytest.raises(InvalidRequest):
        decode(cursors.encode(text))
