from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from livemem.search.passages import LEAST, LONGEST, OVERLAP, SNIPPET, WORDS, grown, split, split_lines
from livemem.search.words import marks, parse, snippet

TEXT = st.text(st.characters(exclude_categories=()), max_size=300)
MANY = st.lists(st.sampled_from(["word", "x", "longerword", "日本", "a" * 200]), max_size=600).map(" ".join)

LISTED = st.lists(
    st.tuples(st.sampled_from(["- ", "* ", "12. ", "| ", "  ", "\n", "-", ""]), MANY | TEXT), max_size=9
).map(lambda lines: "\n".join(map("".join, lines)))


@given(TEXT | MANY)
def test_passages_hold_every_word_once_or_twice_and_are_bounded(text):
    ranges = split(text)
    assert ranges
    assert all(0 <= start <= end <= len(text) and end - start <= LONGEST for start, end in ranges)
    assert all(left[0] < right[0] < right[1] and left[1] < right[1] for left, right in pairwise(ranges))
    covered = set()
    for start, end in ranges:
        covered.update(range(start, end))
    assert all(at in covered for at, character in enumerate(text) if not character.isspace())


@given(LISTED)
def test_lines_hold_every_word_are_bounded_and_of_some_words_each(text):
    ranges = split_lines(text)
    assert ranges
    assert all(0 <= start <= end <= len(text) and end - start <= LONGEST for start, end in ranges)
    assert all(left[0] < right[0] and left[1] <= right[1] for left, right in pairwise(ranges))
    covered = set()
    for start, end in ranges:
        covered.update(range(start, end))
    assert all(at in covered for at, character in enumerate(text) if not character.isspace())
    # No more passages than words allow: a file of bare dashes costs nothing.
    assert len(ranges) <= len(text.split()) / LEAST + len(text) / (LONGEST - 2 * 64) * 2 + 1


@given(LISTED, st.integers(0, 99), st.integers(1, 400))
def test_a_line_is_shown_whole_with_those_behind_it(text, some, longest):
    ranges = split_lines(text)
    place = some % len(ranges)
    start, end = grown(ranges, place, longest)
    assert (start, end) >= ranges[place]
    assert end - start <= max(longest, ranges[place][1] - ranges[place][0])
    assert start == ranges[place][0]
    assert end in {last for _, last in ranges}


def test_each_item_row_and_paragraph_is_a_passage():
    text = (
        "A list of what we have decided:\n"
        "- Backups run at two in the night.\n  - The bucket of the backups is vault.\n"
        "- The design review is on Thursdays.\n"
        "1. Stop the job with the script.\n\n"
        "A paragraph that has\ntwo lines of text.\n\n"
        "| site | plants | since |\n|---|---|---|\n| Kessel | peppers | May |\n\n\n"
    )
    assert [text[start:end] for start, end in split_lines(text)] == [
        "A list of what we have decided:",
        "- Backups run at two in the night.\n  - The bucket of the backups is vault.",
        "- The design review is on Thursdays.",
        "1. Stop the job with the script.",
        "A paragraph that has\ntwo lines of text.",
        "| site | plants | since |\n|---|---|---|",
        "| Kessel | peppers | May |",
    ]
    assert split_lines("- ship\n- sail\n- the anchor\n") == [(0, 13), (14, 26)]


def test_a_short_text_is_one_passage():
    assert split("one two three") == [(0, 13)]
    assert split(" ".join(["word"] * WORDS)) == [(0, 5 * WORDS - 1)]


def test_a_text_without_a_word_is_one_empty_passage():
    assert split("") == split(" \n ") == [(0, 0)]


def test_passages_of_a_long_text_overlap_a_little():
    text = " ".join(f"w{number}" for number in range(250))
    held = [text[start:end].split() for start, end in split(text)]
    assert [len(one) for one in held] == [WORDS, WORDS, 90]
    assert held[0][-OVERLAP:] == held[1][:OVERLAP]


def test_a_text_without_spaces_is_cut():
    ranges = split("日" * 10_000)
    assert len(ranges) > 6
    assert all(end - start <= LONGEST for start, end in ranges)


def test_a_long_text_is_split_in_linear_time():
    assert len(split("w " * 50_000)) == 625
    assert split_lines("a" + "\n" * 100_000 + "b") == [(0, 1), (100_001, 100_002)]
    assert len(split_lines("- a\n" * 25_000)) == 12_500


@given(MANY | TEXT, st.sampled_from(["word", "longerword x", "nothing", "日本", ""]), st.integers(1, 400))
def test_an_excerpt_is_within_the_text_and_bounded(text, query, longest):
    start, end = snippet(text, parse(query), longest=longest)
    assert 0 <= start <= end <= len(text)
    assert end - start <= longest


def test_an_excerpt_shows_the_words_of_the_query_and_whole_words():
    text = "filler text here " * 60 + "the budget of the project is ten " + "more words follow " * 60
    query = parse("budget project")
    start, end = snippet(text, query)
    assert "budget of the project" in text[start:end]
    assert 200 < end - start <= SNIPPET
    assert text[start - 1].isspace()
    assert text[end].isspace()
    assert len(marks(text[start:end], query)) == 2


def test_an_excerpt_prefers_different_words_to_repeated_ones():
    text = "alpha alpha alpha " + "x " * 400 + "alpha beta " + "x " * 400
    start, end = snippet(text, parse("alpha beta"))
    assert "beta" in text[start:end]


def test_an_excerpt_stays_within_the_passage_that_it_is_asked_of():
    text = "budget " * 100
    start, end = snippet(text, parse("budget"), within=(70, 140))
    assert 70 <= start < end <= 140


def test_the_excerpt_of_a_text_without_the_words_is_its_beginning():
    assert snippet("one two three", parse("four")) == (0, 13)
