"""Which texts say the same in the same words, so that no model is asked."""

from hypothesis import example, given
from hypothesis import strategies as st

from livemem.text import similarity, wording
from tests.support.cases import each

TEXTS = st.text(alphabet="abthe lcd.,'’?-5 ", max_size=40)


@each(
    ("one", "other"),
    [
        ("The port is 8080.", "the PORT is 8080"),
        ("Port of staging: 8080", "The port of the staging 8080!"),
        ("« L'API est lente »", "l’API est lente"),
        ("At night, the backup runs.", "The backup runs at night"),
        ("Le vendredi, on livre.", "On livre le vendredi !"),
        ("Was it Ann ?", "Was it Ann?"),
        ("From Lyon to Nice", "to Nice from Lyon"),
        ("THE PORT IS 8080", "Port is 8080"),
        ('The key is "abc".', "The key is abc"),
    ],
)
def test_case_punctuation_articles_and_a_moved_phrase_make_no_difference(one, other):
    assert wording.same(one, other)
    assert wording.same(other, one)


@each(
    ("one", "other"),
    [
        ("Lyon to Nice", "Nice to Lyon"),
        ("Ann leads Bob.", "Bob leads Ann."),
        ("Le poste est fermé.", "La poste est fermée."),
        ("Le poste est à Dijon", "La poste est à Dijon"),
        ("Des tests échouent", "Les tests échouent"),
        ("The LA office is closed", "The office is closed"),
        ("Plan A is approved", "Plan is approved"),
        ("She has hepatitis a", "She has hepatitis"),
        ("Ann is here?", "Ann is here"),
        ("It costs 3.5 euros", "It costs 35 euros"),
        ("The limit is -5", "The limit is 5"),
        ("We use C++", "We use C"),
        ("It reads .env", "It reads env"),
        ('The 5" board is sold', "The 5' board is sold"),
        ("Build, test, deploy", "Deploy, test, build"),
        ("The port is 8080", "The port is 8081"),
        ("...", "!!!x"),
    ],
)
def test_everything_else_does(one, other):
    assert not wording.same(one, other)
    assert not wording.same(other, one)


@given(TEXTS, TEXTS)
def test_it_is_the_same_both_ways_and_what_is_the_same_has_the_same_bag(one, other):
    assert wording.same(one, other) == wording.same(other, one)
    if wording.same(one, other):
        assert wording.bag(one) == wording.bag(other)


@given(st.text(max_size=60))
@example("-")
@example("• *")
def test_a_text_is_the_same_as_itself_in_another_dress(text):
    assert wording.same(text, f" {similarity.normalised(text)} . ")
