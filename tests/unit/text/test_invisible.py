"""Letters that nobody sees are shown at every door, and what people write stays readable."""

import json
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from livemem.text import invisible
from livemem.text.invisible import has_controls, json_escaped, visible, visible_values
from tests.support.cases import each
from tests.support.hidden import HIDDEN, LEGITIMATE


@each("text", LEGITIMATE)
def test_what_people_write_stays_as_it_is(text: str):
    assert visible(text) == text
    assert json_escaped(json.dumps(text, ensure_ascii=False)) == json.dumps(text, ensure_ascii=False)


@each("character", HIDDEN)
def test_a_letter_that_nobody_sees_is_shown_wherever_it_stands(character: str):
    shown = f"\\u{{{ord(character):X}}}"
    for place in ("{}", "a{}", "{}b", "a{}\nb", "\U0001f600 {}x", "שלום {}", "ไทย {}"):
        assert visible(place.format(character)) == place.format(shown)
    # Two of them are a message, whatever they stand beside.
    for beside in ("a{}{}b", "\U0001f468{}{}\U0001f469", "ی{}{}ک", "葛{}{}"):
        assert character not in visible(beside.format(character, character)).removeprefix(beside[0] + character)


def test_each_letter_of_a_hidden_message_is_shown():
    tags = "".join(chr(0xE0000 + ord(letter)) for letter in "obey")
    selectors = "".join(chr(0xE0100 + ord(letter)) for letter in "obey")
    for hidden in (tags, selectors, "\u200b\u200c\u200d\u2060" * 4, "\u200e\u200f" * 4, f"\U0001f3f4{tags}\U000e007f"):
        shown = visible(f"Hello{hidden}.")
        assert not [one for one in shown if unicodedata.category(one) in ("Cf", "Cc", "Mn")], hidden


TEXTS = st.lists(
    st.one_of(
        st.sampled_from(
            [*HIDDEN, *LEGITIMATE, "\r", "\n", "\r\n", "\U0001f468", "\u200d", "\ufe0f", "a", "ی", "葛", "ไ"]
        ),
        st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    ),
    max_size=12,
).map("".join)


@given(TEXTS)
def test_what_is_shown_stays_shown_and_no_control_gets_through(text: str):
    shown = visible(text)

    assert visible(shown) == shown
    assert not [one for one in shown if unicodedata.category(one) == "Cc" and one not in "\t\r\n"]
    assert not set(shown) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029\ufeff\u2060")
    assert "\r" not in shown.replace("\r\n", "")


@given(TEXTS)
def test_json_says_the_same_and_shows_what_it_says(text: str):
    spelt = json_escaped(json.dumps({text: [text]}, ensure_ascii=False))

    assert json.loads(spelt) == {text: [text]}
    assert visible(spelt) == spelt
    assert visible_values({text: [text, 1]}) == {visible(text): [visible(text), 1]}


@each("text", ["a\u0000", "\x1b[31m", "a\tb", "a\nb", "\x9b", "\u2028", "\x7f"])
def test_a_name_with_a_control_is_none(text: str):
    assert has_controls(text)
    assert not has_controls("Zoé \U0001f468\u200d\U0001f469 שלום")


def test_a_long_text_of_any_of_them_is_read_in_one_go():
    for unit in ("\u200d", "\U0001f468\u200d", "\U0001f3f4", "\ufe0f", "ی\u200c", "\U000e0041", "a", "\r"):
        assert len(visible(unit * 20_000)) >= 20_000
    assert invisible.CONTROLS
