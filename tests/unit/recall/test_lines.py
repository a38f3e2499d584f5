"""Sections of the bank are found by their lines, also in another language than the question's."""

import pytest

from livemem.recall.relevance import UNLIKELY, UNLIKELY_FOUND, RelevanceFloor
from livemem.search import words
from livemem.search.documents import Document
from livemem.search.engine import Hit
from livemem.search.evidence import LIKELY, LIKELY_ACROSS
from livemem.store.bucket import BANK_FILE
from tests.support.searching import find, run_indexer, searching_world

SUBJECTS = "ferry crane pier buoy sluice tug lighthouse harbour rudder anchor".split()
LINES = [f"- The {subject} of the {subject} yard is seen to by crew {n}." for n, subject in enumerate(SUBJECTS)]


def bank_of(lines: list[str]):
    world, embedder = searching_world()
    world.create_space()
    world.store.put(BANK_FILE.key("demo", "port.md"), f"# Port\n\n## Crews\n\n{chr(10).join(lines)}\n".encode())
    run_indexer(world)
    return world, embedder


def shown(hit: Hit) -> str:
    return hit.document.text[slice(*hit.snippet)]


def test_a_line_is_found_by_its_meaning_among_many_and_the_snippet_begins_with_it():
    world, _ = bank_of([*LINES[:5], "- The automobile is in the garage.", *LINES[5:]])

    (hit,) = find(world.process, "car", scope="bank").hits

    assert (hit.relevance or 0) > LIKELY
    assert shown(hit).startswith("- The automobile is in the garage.\n- The tug")


def test_the_words_of_the_question_choose_the_line_first():
    world, _ = bank_of(LINES)

    assert shown(find(world.process, "who sees to the lighthouse?", scope="bank").hits[0]).startswith(LINES[6])


def test_a_word_of_the_heading_speaks_for_no_line():
    world, _ = bank_of(["- A lamp is lit at night.", "- The automobile is in the garage.", *LINES])

    hit = find(world.process, "port car", scope="bank", everything=True).hits[0]

    assert shown(hit).startswith("- The automobile")


def test_only_the_lines_that_changed_are_embedded_again():
    world, embedder = bank_of(LINES)
    embedder.calls.clear()
    changed = [*LINES[:3], "- The buoy is gone since Monday morning.", *LINES[4:]]
    world.store.put(BANK_FILE.key("demo", "port.md"), f"# Port\n\n## Crews\n\n{chr(10).join(changed)}\n".encode())

    assert run_indexer(world)["embedded"] == 1
    assert [texts for texts, _ in embedder.calls if texts != ["."]] == [["Crews\n" + changed[3]]]


@pytest.mark.parametrize(
    ("question", "text", "cosine", "passes"),
    [
        ("À quelle heure tournent les sauvegardes ?", "The backups run at two in the night.", LIKELY_ACROSS, True),
        ("When do the backups run?", "Les copies de secours tournent dans la nuit.", LIKELY_ACROSS, True),
        ("À quelle heure tournent les sauvegardes ?", "The backups run at two in the night.", UNLIKELY, False),
        ("Quand tournent les sauvegardes Borg ?", "The backups of Borg run at two in the night.", UNLIKELY, True),
        ("When do the dumps start?", "The backups run at two in the night.", LIKELY_ACROSS, False),
        ("À quelle heure tournent les sauvegardes ?", "When do the backups run?", LIKELY_ACROSS, False),
        ("À quelle heure tournent les sauvegardes ?", "pgBackRest 2.50", LIKELY_ACROSS, False),
        ("pgBackRest", "The backups run at two in the night.", LIKELY_ACROSS, False),
    ],
)
def test_a_text_in_another_language_needs_no_word_of_the_question(question, text, cosine, passes):
    floor = RelevanceFloor.of_search(question, words.parse(question))
    assert floor

    hit = Hit(Document("n", "note", text, "notes", "1"), 1.0, relevance=cosine)

    assert floor.is_passed([hit], {"n"}) is passes
    # A context goes into a prompt unread.
    assert not RelevanceFloor.of(question).language


@pytest.mark.parametrize(
    ("question", "passes"), [("Où sont rangés les secrets ?", True), ("Where are the secrets kept?", False)]
)
def test_a_text_in_another_language_need_not_hold_more_than_the_subject_of_a_question(question, passes):
    floor = RelevanceFloor.of_search(question, words.parse(question))
    assert floor

    hit = Hit(Document("n", "note", "The secrets are in the vault.", "notes", "1"), 1.0, relevance=UNLIKELY_FOUND)

    assert floor.admits_hit(hit)
    assert floor.is_passed([hit], ()) is passes


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Où sont rangés les secrets ?", "fr"),
        ("Qui fabrique les passerelles ?", "fr"),
        ("Where are the secrets?", "en"),
        ("It's mine, don't you see?", "en"),
        ("Combien de temps par mois ?", "fr"),
        ("pgBackRest 02:40 UTC", None),
        ("", None),
    ],
)
def test_the_language_of_a_text_is_told_by_its_small_words(text, language):
    assert words.language(text) == language
