"""Newer statements before older ones of nearly the same."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livemem.notes import appending
from livemem.notes.appending import NoteDraft
from livemem.recall.hit_list import newer_first
from livemem.search import words
from livemem.search.documents import Document
from livemem.search.engine import Hit
from tests.support.searching import find, searching_world, texts

SAYINGS = (
    "The export waits 30 seconds for an answer.",
    "The export waits 90 seconds for an answer, the archive is slow at night.",
    "The admin page listens on port 8081.",
    "The admin page listens on port 8181.",
    "Export",
    "The office dog is called Pixel.",
)
TIMES = ("1969-07-20T20:17:00Z", "2026-01-01T08:00:00Z", "2026-01-01T08:00:01Z", "2026-03-05T08:00:00Z", "")
KINDS = ("note", "archive", "memory", "bank", "turn", "summary", "message")
SOME = st.lists(st.tuples(st.sampled_from(KINDS), st.sampled_from(SAYINGS), st.sampled_from(TIMES)), max_size=25)


def hits(*some):
    """Hits of these kinds, texts and times, the best first."""
    return [
        Hit(Document(f"d{place}", kind, text, "group", f"{place:03}", time=time), 10.0 - place, line=(0, len(text)))
        for place, (kind, text, time) in enumerate(some)
    ]


def ordered(question, *some):
    """The places that the hits had before, in their new order."""
    return [int(hit.document.id[1:]) for hit in newer_first(hits(*some), words.parse(question))]


def notes(*said):
    return [("note", text, f"2026-03-{day:02}T08:00:00Z") for text, day in said]


@given(SOME)
def test_each_hit_stays_and_no_score_rises_down_the_list(some):
    found = newer_first(hits(*some), words.parse("how long does the export wait on the admin page"))
    assert sorted(hit.document.id for hit in found) == sorted(hit.document.id for hit in hits(*some))
    assert all(one.score >= two.score for one, two in pairwise(found))
    assert all(hit.score == pytest.approx(10.0 - int(hit.document.id[1:]) + sum(hit.parts.values())) for hit in found)


@given(SOME)
def test_no_statement_stands_before_a_newer_one_with_the_same_words(some):
    found = newer_first(hits(*some), words.parse("anything about ports"))
    said = [hit.document for hit in found if hit.document.kind in ("note", "archive", "memory") and hit.document.time]
    for text in set(SAYINGS) - {"Export"}:
        times = [document.time for document in said if document.text == text]
        assert times == sorted(times, reverse=True)


@given(SOME)
def test_sections_and_what_was_said_in_talks_keep_their_order(some):
    others = [place for place, (kind, _, _) in enumerate(some) if kind in ("bank", "turn", "summary", "message")]
    assert [place for place in ordered("export seconds", *some) if place in others] == others


def test_a_value_that_differs_by_a_digit_gives_way_to_the_newer_one_and_so_does_one_that_came_back():
    ports = [
        ("The admin page listens on port 8181.", 9),
        ("The admin page listens on port 8081.", 2),
        ("The admin page listens on port 8081 again.", 16),
    ]
    assert ordered("which port has the admin page", *notes(*ports)) == [2, 0, 1]


def test_two_values_of_one_second_keep_their_ranks():
    assert ordered("port of the admin page", *notes((SAYINGS[3], 4), (SAYINGS[2], 4))) == [0, 1]


def test_what_is_newer_about_another_environment_does_not_displace_the_one_that_is_asked_for():
    ports = [
        ("The broker on production listens on port 8883.", 3),
        ("The broker on staging listens on port 1883.", 8),
    ]
    assert ordered("which port has the broker on production", *notes(*ports)) == [0, 1]
    assert ordered("which port has the broker", *notes(*ports)) == [1, 0]


def test_a_few_words_are_no_new_value_of_a_sentence_and_a_long_text_is_none_either():
    long = "The export waits 90 seconds for an answer. " * 30
    assert ordered("export", *notes((SAYINGS[1], 1), ("Export: answer?", 9), (long, 12))) == [0, 1, 2]


@pytest.mark.parametrize(
    "question",
    [
        "which port had the admin page before?",
        "the former port of the admin page",
        "quel était l'ancien port de la page admin ?",
        "the port of the admin page on 2 March 2026",
    ],
)
def test_who_asks_for_the_past_gets_what_fits_best(question):
    assert ordered(question, *notes((SAYINGS[2], 2), (SAYINGS[3], 9))) == [0, 1]


def test_what_is_done_before_something_is_no_past():
    freezes = [
        ("The code freeze before a release is two days.", 5),
        ("The code freeze before a release is 4 hours.", 22),
    ]
    assert ordered("how long is the code freeze before a release?", *notes(*freezes)) == [1, 0]


def test_a_live_note_stands_before_the_section_whose_line_has_the_former_value():
    section = ("bank", "- Admin page: port 8081.", "2026-03-20T08:00:00Z")
    live = ("note", "The admin page listens on port 8181 now.", "2026-03-09T08:00:00Z")
    repeated = ("note", "Admin page: port 8081!", "2026-03-09T08:00:00Z")
    folded = ("archive", "The admin page listens on port 8081.", "2026-03-15T08:00:00Z")

    assert ordered("which port has the admin page", section, live) == [1, 0]
    # It is said after another one, which the section has by now.
    assert ordered("which port has the admin page", section, live, folded) == [0, 2, 1]
    assert ordered("which port has the admin page", section, repeated) == [0, 1]
    assert ordered("which port has the admin page", section, (*folded[:2], "2026-04-01T08:00:00Z")) == [0, 1]


def test_a_time_ahead_of_the_clock_is_now_and_one_before_1970_is_the_oldest():
    world, _ = searching_world()
    world.create_space()
    colours = {"2026-01-05T08:00:00Z": "blue", "2999-01-01T00:00:00Z": "red", "1969-07-20T20:17:00Z": "green"}
    for moment, colour in colours.items():
        draft = NoteDraft("observation", f"The lamp of pier nine is {colour}.", said_at=moment)
        appending.append(world.process, "demo", "ann", draft)

    found = texts(find(world.process, "Which colour has the lamp of pier nine?"))

    assert [text.split()[-1] for text in found] == ["red.", "blue.", "green."]
