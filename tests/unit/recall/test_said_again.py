"""What says again what stands above it, and what does not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livemem.search import words
from livemem.search.documents import Document
from livemem.search.sayings import Saying

LINE = "Code freeze before a release: four hours."


def document(kind, text, *, title="", author="", tags=()):
    return Document("x", kind, text, "group", "1", title=title, author=author, tags=tags)


def saying(kind, text, **fields):
    return Saying(document(kind, text, **fields), lists=kind == "bank")


def holds(section, note, *, title="deploy.md > Release", tags=()):
    return saying("bank", section, title=title).holds(saying("archive", note, author="ann", tags=tags))


@pytest.mark.parametrize(
    ("section", "note"),
    [
        (f"- {LINE}", "The code freeze before a release is four hours."),
        ("- Logs: Loki.\n- Billing code: Samir, since May.", "Samir has the billing code."),
        ("- Freeze: four hours.", "The freeze of a release is four hours."),
    ],
)
def test_a_note_says_again_what_a_line_of_a_section_says_in_its_words(section, note):
    assert holds(section, note)


@pytest.mark.parametrize(
    ("section", "note"),
    [
        (f"- {LINE}", "The code freeze before a release is two hours."),
        ("- Limits: 600 requests.", "Limits: 60 requests."),
        ("- We deploy from main.", "We do not deploy from main."),
        ("- We do not deploy from main.", "We deploy from main."),
        ("- Meilisearch replaces Elasticsearch.", "Elasticsearch replaces Meilisearch."),
        ("- On call: Jonas odd weeks, Mira even weeks.", "On call: Mira odd weeks, Jonas even weeks."),
        ("- The export waits 90 seconds, the import 30.", "The export waits 30 seconds."),
        ("- The port is 8081.\n- The admin page listens.", "The admin page listens on port 8081."),
        ("- Do we deploy from main?", "We deploy from main."),
        ("- We deploy from main.", "Do we deploy from main?"),
    ],
)
def test_another_value_a_denial_another_order_and_a_question_say_something_of_their_own(section, note):
    assert not holds(section, note)


def test_the_same_words_of_two_environments_say_two_things():
    assert holds("- The port is 8081.", "The port is 8081.", title="deploy.md > Staging", tags=("staging",))
    assert not holds("- The port is 8081.", "The port is 8081.", title="deploy.md > Staging", tags=("production",))
    one, other = (saying("memory", "The port is 8081.", tags=(name,)) for name in ("staging", "production"))
    assert not one.holds(other)
    one, other = (saying("note", "The port is 8081.", author=name) for name in ("staging-agent", "production-agent"))
    assert not one.holds(other)


WORDS = ("Port", "8081", "8181", "not", "staging", "is", "the", "admin", "page", "\n", "?")
TEXTS = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)


@given(TEXTS, TEXTS)
def test_what_is_said_again_has_no_word_of_its_own(one, other):
    if saying("bank", one).holds(saying("note", other)):
        assert set(words.terms(other)) - words.stop_terms() <= set(words.terms(one))
        assert ("not" in one.split()) or ("not" not in other.split())
