"""The pairs by which French and identifiers are measured are what they are said to be."""

import re
import unicodedata
from collections import Counter

from tests.support.cases import each
from tests.support.search_pairs import NOTES, PAIRS, Pair

PROBES = [pair for pair in PAIRS if pair.kind == "probe"]
# Identifiers that are asked for as they stand, not by their parts.
WHOLE = [pair for pair in PAIRS if pair.kind == "identifier" and " " not in pair.query]


def words(text: str) -> set[str]:
    """Words of at least five letters by their beginnings, without accents: those that carry a meaning."""
    plain = "".join(sign for sign in unicodedata.normalize("NFD", text.lower()) if not unicodedata.combining(sign))
    return {word[:6] for word in re.findall(r"[a-z]{5,}", plain)}


def test_there_are_enough_of_each_kind():
    kinds = Counter(pair.kind for pair in PAIRS)

    assert len(NOTES) >= 40
    assert len(PAIRS) >= 60
    assert kinds["french"] + kinds["probe"] >= 30
    assert kinds["probe"] >= 10
    assert kinds["identifier"] >= 20
    assert kinds["mixed"] >= 10


def test_no_two_notes_and_no_two_questions_are_the_same():
    assert len(set(NOTES.values())) == len(NOTES)
    assert len({pair.query.casefold() for pair in PAIRS}) == len(PAIRS)


def test_every_question_has_its_note_and_every_note_is_asked_for():
    assert {pair.note for pair in PAIRS} == NOTES.keys()


@each("pair", PROBES, ids=lambda pair: pair.note)
def test_a_probe_shares_no_word_that_carries_a_meaning_with_its_note(pair: Pair):
    assert words(pair.query) & words(NOTES[pair.note]) == set()


@each("pair", WHOLE, ids=lambda pair: pair.query)
def test_an_identifier_stands_as_a_whole_in_its_note_alone(pair: Pair):
    whole = re.compile(rf"(?<!\w){re.escape(pair.query)}(?!\w)")

    assert [name for name, text in NOTES.items() if whole.search(text)] == [pair.note]


@each("pair", [pair for pair in PAIRS if pair.kind in ("french", "mixed")], ids=lambda pair: pair.query)
def test_other_questions_share_a_word_with_their_note(pair: Pair):
    loose = re.compile(r"\w{3,}")

    plain = {word[:5] for word in words(pair.query) | set(loose.findall(pair.query.lower()))}
    assert plain & {word[:5] for word in words(NOTES[pair.note]) | set(loose.findall(NOTES[pair.note].lower()))}
