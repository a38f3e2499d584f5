"""Texts are split into whole sentences, and none is cut in the middle without a sign."""

from hypothesis import given
from hypothesis import strategies as st

from local.offline_llm import sentences
from tests.support.cases import each


@each(
    ("text", "found"),
    [
        ("It fails at 2 a.m. now. See src/a.py. Or not?", ["It fails at 2 a.m. now.", "See src/a.py.", "Or not?"]),
        ("It begins at 2 p.m. Ada comes then.", ["It begins at 2 p.m.", "Ada comes then."]),
        ("Use a queue, e.g. SQS. Dr. Ann agrees.", ["Use a queue, e.g. SQS.", "Dr. Ann agrees."]),
        ("In batches of 100: 1.2. Then v1.3 came.", ["In batches of 100: 1.2.", "Then v1.3 came."]),
        ("all small. it goes on.", ["all small.", "it goes on."]),
        (
            "A sentence that goes\non in a second line. Another.",
            ["A sentence that goes on in a second line.", "Another."],
        ),
        ("- one thing\n- [ ] two things. More.\n\n1. third", ["one thing", "two things.", "More.", "third"]),
        ("# Title\n\nText.\n\n```\ncode. more.\n```\n> quoted\n\n| a. | b |", ["Text."]),
        ("# Only a title", ["# Only a title"]),
        ("遅い。直した。", ["遅い。", "直した。"]),
        ("Il dit « non ». Pourquoi ?", ["Il dit « non ».", "Pourquoi ?"]),
        ("", []),
    ],
)
def test_sentences_end_where_a_reader_ends_them(text: str, found: list[str]) -> None:
    assert sentences.split(text) == found


@given(st.text(max_size=400))
def test_every_word_of_a_line_is_in_one_sentence(text: str) -> None:
    line = " ".join(text.split())
    assert "".join("".join(sentences.split_line(line)).split()) == "".join(line.split())


@given(st.text(st.sampled_from("ab ,;:–.-(`"), max_size=200), st.integers(1, 120))
def test_a_sentence_without_room_keeps_whole_words_and_says_that_some_are_missing(text: str, room: int) -> None:
    line = " ".join(text.split())
    shown = sentences.fitted(line, room)
    assert len(shown) <= room or room == 1
    if len(line) <= room:
        assert shown == line
    else:
        kept = shown.removesuffix("…")
        assert shown.endswith("…")
        assert line.startswith(kept)
        # Behind a word, where the room holds one.
        assert not line[len(kept)].isalpha() or " " not in line[: room - 1].strip()


@each(
    ("sentence", "shown"),
    [
        ("It counts down; the newest is wanted first, always.", "It counts down; the newest is wanted first…"),
        ("It counts and counts and counts and counts and counts.", "It counts and counts and counts and counts and…"),
    ],
)
def test_the_end_of_a_clause_is_preferred(sentence: str, shown: str) -> None:
    assert sentences.fitted(sentence, 48) == shown
