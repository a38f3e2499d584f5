"""Taking the words of a note out of other texts."""

import json
import re

from hypothesis import given
from hypothesis import strategies as st

from livemem.erasure.scrubbing import ERASED, occurs, pieces_of, scrub
from tests.support.cases import each

WORDS = st.sampled_from(
    ["Alice", "lives", "in", "Paris", "with", "cats", "[erased]", "two", "a@b.eu", "パリに住む", "x"]
)
TEXTS = st.lists(WORDS, max_size=12).map(" ".join)
LINES = st.lists(TEXTS, max_size=4).map("\n".join)


@given(st.lists(LINES, max_size=4), LINES)
def test_after_scrubbing_no_piece_is_left_and_a_second_time_changes_nothing(contents, text):
    pieces = pieces_of(contents)

    scrubbed = scrub(text, pieces)

    assert not occurs(scrubbed, pieces)
    for piece in pieces.all:
        assert not re.search(rf"(?<!\w){re.escape(piece)}(?!\w)", scrubbed)
    assert scrub(scrubbed, pieces) == scrubbed


@given(st.lists(LINES, max_size=3), st.text(max_size=60))
def test_a_text_in_which_no_piece_stands_stays_as_it_is(contents, text):
    pieces = pieces_of(contents)

    assert occurs(text, pieces) or scrub(text, pieces) == text


@given(LINES, LINES, LINES)
def test_a_note_goes_from_wherever_it_is_quoted_as_a_whole(content, before, after):
    pieces = pieces_of([content])
    whole = max(pieces.all, key=len, default=None)

    if whole is not None:
        assert whole not in scrub(f"{before}\n\n{whole}\n\n{after}", pieces)


@given(st.integers(min_value=0, max_value=3))
def test_many_pieces_are_found_as_few_are(extra):
    few = [f"Number {number} lives in Paris" for number in range(5)]
    many = [*few, *(f"Somebody {number} lives elsewhere" for number in range(200 + extra))]
    text = "He said: Number 3 lives in Paris. And Number 31 lives in Paris."

    assert scrub(text, pieces_of(few)) == scrub(text, pieces_of(many))
    assert scrub(text, pieces_of(few)) == f"He said: {ERASED}. And Number 31 lives in Paris."


@each(
    ("content", "text", "expected"),
    [
        ("Alice lives in Paris.", "- Alice lives in Paris. (2026)", "- [erased]. (2026)"),
        ("- **Alice lives in Paris**", "_Alice lives in Paris_", "_[erased]_"),
        ("art is long", "smart is longer; art is long", "smart is longer; [erased]"),
        ("too short", "This is too short here.", "This is [erased] here."),
        ("two w", "two w", "two w"),
        ("Donaudampfschifffahrt", "Donaudampfschifffahrt", "Donaudampfschifffahrt"),
        ("## Decisions of the week\n\nx", "## Decisions of the week", "## Decisions of the week"),
        ("https://example.com/a/long/path", "https://example.com/a/long/path", "https://example.com/a/long/path"),
        ("alice.doe@example.com", "Mail: alice.doe@example.com!", "Mail: [erased]!"),
        ("彼女はパリに住んでいます", "話では彼女はパリに住んでいますそうです", "話では[erased]そうです"),
        ("1. She has two cats there\n2. short", "She has two cats there", "[erased]"),
        ("one two three\nfour five six", "x one two three\nfour five six y", "x [erased] y"),
    ],
)
def test_what_is_taken_out_and_what_stays(content, text, expected):
    assert scrub(text, pieces_of([content])) == expected


def test_pieces_that_overlap_go_as_one():
    pieces = pieces_of(["Alice lives in Paris now", "in Paris now with two cats"])

    assert scrub("So Alice lives in Paris now with two cats.", pieces) == "So [erased]."


def test_of_pieces_that_begin_alike_the_longest_goes():
    pieces = pieces_of(["Alice lives in", "Alice lives in Paris with cats"])

    assert scrub("Alice lives in Paris with cats, Alice lives in Rome", pieces) == "[erased], [erased] Rome"


def test_a_tools_result_stays_json_and_markdown_keeps_its_backslashes():
    secret = 'Alice said "two cats\\dogs" in Paris'
    pieces = pieces_of([secret])
    result = {"out": f"12:\t{secret} \u20ac\n", "cmd": 'grep "x" C:\\temp', "tail": [secret]}

    for dumped in (json.dumps(result), json.dumps(result, ensure_ascii=False)):
        assert json.loads(scrub(dumped, pieces)) == {**result, "out": f"12:\t{ERASED} \u20ac\n", "tail": [ERASED]}
        around = f"`\\bfoo\\b` in C:\\temp\n```json\n{dumped[:-1]}"
        assert scrub(around, pieces) == f"`\\bfoo\\b` in C:\\temp\n```json\n{scrub(dumped, pieces)[:-1]}"
