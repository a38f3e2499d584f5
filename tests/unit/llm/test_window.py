"""How many tokens a text takes, and what fits into the model's window."""

from hypothesis import given
from hypothesis import strategies as st

from livemem.llm import window

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


@given(TEXTS, TEXTS)
def test_tokens_count_utf8_so_that_other_scripts_are_not_underestimated(one: str, other: str):
    assert window.tokens(one + other) <= window.tokens(one) + window.tokens(other)
    assert window.tokens(one) * window.BYTES_PER_TOKEN >= len(one.encode())


@given(st.lists(st.integers(0, 50)), st.integers(-5, 200))
def test_the_first_items_fit_and_one_more_would_not(items: list[int], room: int):
    found = window.fitting(items, room, lambda item: item)

    assert list(found) == items[: len(found)]
    assert not found or sum(found) <= room
    assert len(found) == len(items) or sum(items[: len(found) + 1]) > room


@given(st.text(), st.integers(-5, 30))
def test_a_text_that_was_cut_fits_and_can_be_sent(text: str, room: int):
    cut = window.cut(text, room)

    assert window.tokens(cut) <= max(room, 0)
    assert text.encode(errors="replace").startswith(cut.encode())
