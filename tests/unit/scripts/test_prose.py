"""What the check of pages and texts counts as a sentence, and what it reports."""

import re
from dataclasses import replace

import pytest

from scripts import prose
from scripts.prose import (
    Rules,
    pages,
    problems,
    prose_of,
    sentences_of,
    strings,
    text_problems,
)
from tests.support.part import part

RULES = Rules(
    {"words_per_sentence": 5, "semicolons_per_hundred_sentences": 2, "readme_words": 8, "agents_words": 8},
    [(re.compile("gone on with"), "resume")],
    frozenset(),
    frozenset(),
)


def test_a_sentence_ends_at_its_stop_and_not_at_an_abbreviation_or_a_number():
    assert sentences_of("It costs 1.5 s, e.g. here. Then it stops! `x` is next.") == [
        "It costs 1.5 s, eg here.",
        "Then it stops!",
        "`x` is next.",
    ]


def test_headings_tables_code_and_quotations_are_no_prose():
    page = "# A; b\n\nOne `a;b` word.\n\n| a; | b |\n|---|---|\n| c; | d |\n\n> q; q\n\n```sh\nx; y\n```\n\n- Item.\n"

    prose = prose_of(page)

    assert [sentence for _, sentence in prose.sentences] == ["One code word.", "Item."]
    assert (prose.words, prose.semicolons) == (2, 0)


def test_a_page_above_each_limit_is_told_with_the_line_of_a_riddle():
    page = "# T\n\nIt is gone on with by the next one; it is so.\n\nA long sentence of many words is here.\n"

    told = problems("README.md", page, RULES)

    assert [one.split(": ")[0] for one in told] == ["README.md", "README.md", "README.md", "README.md:3"]
    assert "words a sentence" in told[0]
    assert "semicolons" in told[1]
    assert "22 words" in told[2]
    assert "resume" in told[3]


def test_a_plain_page_has_no_problem():
    assert problems("docs/x.md", "# T\n\nOne short sentence.\n", RULES) == []


def test_every_page_that_the_rules_name_is_there():
    rules = Rules.read()

    assert rules.unedited <= set(pages())


def test_a_string_is_a_text_unless_it_is_a_docstring_or_a_pattern():
    code = '"""A docstring of four words."""\n\nfail(f"No {file} in `a b c`. " "Try it again.", r"\\d+ of a pattern")\n'

    assert list(strings(code)) == [(3, "No value in code."), (3, "Try it again.")]


@pytest.mark.slow
def test_a_text_with_a_long_sentence_or_a_riddle_is_told_wherever_texts_are_written(monkeypatch):
    named = "client/live_memory/_answers.py", "scripts/openapi.py"
    monkeypatch.setattr(
        prose, "_files", lambda patterns, of=prose._files: sorted({*part(of(patterns), 8), *named} & {*of(patterns)})
    )
    rules = Rules.read()
    strict = replace(rules, limits={"words_in_a_text": 9}, riddles=[(re.compile("backup"), "copy")], of_texts=())
    places = (
        *("livemem/copies/", "livemem_http/routes/", "livemem_http/views/"),
        *("live_memory/cli/", "live_memory/_answers.py", "scripts/openapi.py", "words.toml: tools."),
    )

    told = text_problems(strict)

    long, riddles = ([one for one in told if says in one] for says in ("at most 9", "write: copy"))
    assert [place for place in places if not any(place in one for one in long)] == []
    assert len(riddles) > 5
    assert [one for one in told if one.startswith(tuple(rules.data))] == []
