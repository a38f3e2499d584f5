import re
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from livemem.search import words
from livemem.search.dates import Date
from livemem.search.words import Query, marks, names, parse, terms
from tests.support.cases import each

ANY = st.text(st.characters(exclude_categories=()), max_size=200)
"""Lone surrogates too."""
HOSTILE = [
    "\x00",
    "\ud800",
    "\u202eabc",
    "\u0301" * 500,
    "a" * 10_000,
    "日" * 3_000,
    "a'" * 3_000,
    "a-" * 3_000,
    "_" * 5_000,
    "﷽ ½ ℀ ﬁ",
]
TERM = re.compile(r"[a-z0-9\u0080-\U0010ffff]+")


@given(ANY)
def test_any_text_gives_terms_that_an_ascii_tokenizer_keeps_whole(text):
    for term in terms(text):
        assert TERM.fullmatch(term)
        assert len(term) <= words.LONGEST
        term.encode()


@each("text", HOSTILE)
def test_hostile_texts_give_terms_too(text):
    assert all(TERM.fullmatch(term) and len(term) <= words.LONGEST for term in terms(text))
    parse(text)
    assert marks(text, parse(text)) is not None


@given(ANY, ANY)
def test_texts_that_stand_apart_have_the_terms_of_both(left, right):
    assert terms(f"{left}\n{right}") == terms(left) + terms(right)


def test_case_accents_and_forms_of_characters_do_not_matter():
    assert terms("ÉTÉ Straße ﬁne Ｆｕｌｌ") == terms("été strasse fine full")
    assert terms("e\u0301te\u0301") == terms("\u00e9t\u00e9") == terms("ete")


@each(
    "forms",
    [
        "running runs run",
        "meetings meeting",
        "décision décisions decision",
        "décider décidé décidée décidés",
        "utilisateur utilisateurs utilisation utiliser utilisé",
        "réunion réunions reunion",
        "authentification authentifications",
        "déployer déployé déployée",
        "problème problèmes probleme",
        "erreur erreurs",
        "général généraux",
    ],
)
def test_forms_of_a_word_in_english_and_french_are_one_term(forms):
    assert len(set(terms(forms))) <= (2 if forms == "général généraux" else 1)


@each(
    ("text", "found"),
    [
        ("l'auth", ["l", "auth"]),
        ("L\u2019équipe d'abord", ["l", "equip", "d", "abord"]),
        ("qu'il jusqu'ici", ["qu", "il", "jusqu", "ici"]),
        ("aujourd'hui", ["aujourdhui"]),
        ("Caroline's they're don't", ["carolin", "they", "dont"]),
    ],
)
def test_elisions_are_split_and_contractions_are_not(text, found):
    assert terms(text) == found


@each(
    ("text", "parts"),
    [
        ("read_file", "read file"),
        ("tokenBudget", "token budget"),
        ("HTTPServer", "http server"),
        ("src/app/main.py", "src app main py"),
        ("--dry-run", "dry run"),
        ("v1.3.1", "v1 3 1"),
        ("550e8400-e29b-41d4-a716-446655440000", "550e8400 e29b 41d4 a716 446655440000"),
        ("joe@example.com", "joe example com"),
    ],
)
def test_a_name_with_joints_is_found_by_its_parts_and_whole(text, parts):
    found = terms(text)
    assert set(terms(parts)) <= set(found)
    assert found[-1] not in terms(parts)
    assert found[-1] in parse(text).words


def test_a_name_is_the_same_however_its_parts_are_joined():
    assert len({terms(text)[-1] for text in ("read_file", "readFile", "read-file", "read.file", "READ_FILE")}) == 1
    assert terms("v1.3.1")[-1] != terms("v13.1")[-1]


def test_scripts_without_spaces_give_pairs_and_an_emoji_gives_itself():
    assert terms("東京都") == ["東京", "京都"]
    assert terms("京") == ["京"]
    assert terms("done 🎉ok") == ["don", "🎉", "ok"]
    assert terms("नमस्ते привет") == ["नमस्ते", "привет"]


def test_a_long_word_keeps_its_beginning_and_stays_itself():
    first, second = terms("a" * 100 + " " + "a" * 101)
    assert first != second
    assert first.startswith("a" * 40)


def test_a_long_joined_word_gives_a_bounded_number_of_terms():
    for unit in ("a-", "a'", "aB", "é_", "a/", "a::"):
        assert len(terms(unit * 2_000)) <= 3 * 2_000 + 2


def test_stop_words_rank_only_where_a_query_has_nothing_else():
    assert parse("what is the deadline of the project").words == ("deadlin", "project")
    assert parse("quel est le budget du projet").words == ("budget", "projet")
    assert parse("to be or not to be").words == ("to", "be", "or", "not")


def test_a_query_may_hold_phrases_exclusions_and_prefixes():
    query = parse('"token budget" -draft -"old plan" deploy* limits')
    assert query.words == ("token", "budget", "lim")
    assert query.phrases == (("token", "budget"),)
    assert query.excluded == (("draft",), ("old", "plan"))
    assert query.prefixes == ("deploy",)


@each("text", ['x "y', "a - b", "-- x", "-5 degrees", "a* b*", "AND OR NOT (", "x:y ^2", '"" *', "--flag"])
def test_all_else_in_a_query_is_text(text):
    query = parse(text)
    assert not query.phrases
    assert not query.excluded
    assert not query.prefixes


def test_a_prefix_that_is_longer_than_its_stem_still_finds_it():
    (prefix,) = parse("configuration*").prefixes
    assert terms("configuration")[0].startswith(prefix)


@given(ANY)
def test_any_query_is_one(text):
    query = parse(text)
    assert len(set(query.words)) == len(query.words)
    assert all(all(held) for held in (*query.phrases, *query.excluded))


@given(ANY, ANY)
def test_marks_are_sorted_apart_and_inside_the_text(text, query):
    found = marks(text, parse(query))
    assert all(0 <= start < end <= len(text) for start, end in found)
    assert all(left[1] < right[0] for left, right in pairwise(found))


def test_marks_show_the_words_that_match():
    text = "Le déploiement de read_file: budget, tokenBudget."
    query = parse("déploiements budget read_file")
    assert [text[start:end] for start, end in marks(text, query)] == ["déploiement", "read_file", "budget", "Budget"]
    assert marks("nothing here", parse("elsewhere")) == []
    assert [("configured"[a:b]) for a, b in marks("configured", parse("conf*"))] == ["configured"]


def test_a_query_names_an_author_by_a_word_of_the_name():
    query = parse("What did Caroline decide?")
    assert names(query, "Caroline Martin")
    assert not names(query, "Melanie")
    assert not names(parse("what did the agent do"), "the")


@each(
    ("text", "found"),
    [
        ("What happened in May 2023?", [Date(2023, 5, None)]),
        ("on 8 May, 2023", [Date(2023, 5, 8)]),
        ("on May 8th", [Date(None, 5, 8)]),
        ("le 3 août 2024", [Date(2024, 8, 3)]),
        ("since 2022", [Date(2022, None, None)]),
        ("the log of 2024-03-15", [Date(2024, 3, 15)]),
        ("in March or April, both in 2021", [Date(2021, 3, None), Date(2021, 4, None)]),
        ("may I march on?", []),
        ("port 8080, 13 items", []),
    ],
)
def test_the_dates_of_a_question_are_known(text, found):
    assert sorted(parse(text).dates, key=str) == sorted(found, key=str)


def test_an_empty_query_is_empty():
    assert parse("") == parse(" \x00 - ") == Query()
    assert parse("x") != Query()
