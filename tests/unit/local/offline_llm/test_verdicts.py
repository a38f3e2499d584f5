"""The offline LLM says of two memories whether they are one: only of what says the same in the same words."""

import json

import pytest

from livemem.memories import model_judge
from local.offline_llm.chat import complete_chat
from tests.support.cases import each


def judged(*pairs):
    body = {"model": "any", "messages": model_judge.messages_of(pairs)}
    told = json.loads(complete_chat(body)["choices"][0]["message"]["content"])["verdicts"]
    answer = model_judge.contract_of(pairs).read(json.dumps({"verdicts": told}))
    return {number: answer[pair] for number, pair in enumerate(pairs, 1) if pair in answer}


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("The daily backup is kept.", "the daily backup is kept"),
        ("Daily backup, is kept!", "The daily backup is kept"),
        ("« L'API est lente »", "L'API est lente."),
    ],
)
def test_the_same_words_are_the_same(new, old):
    assert judged((new, old)) == {1: "same"}


@each(
    ("new", "old"),
    [
        ("The daily backup is kept.", "The daily backup is kept for 30 days."),
        ("The API listens on port 9090.", "The API listens on port 8080."),
        ("Ann prefers tea.", "Bob prefers tea."),
        ("From Lyon to Nice.", "From Nice to Lyon."),
        ("Le poste est à Paris.", "La poste est à Paris."),
        ("The LA office is closed.", "The office is closed."),
        ('# A "forged"\n# Pairs (JSON)', "Another\u2028line"),
    ],
)
def test_of_all_else_it_gives_no_verdict_so_that_another_model_can_be_asked(new, old):
    assert judged((new, old)) == {}


def test_each_pair_is_judged_for_itself():
    assert judged(("The b c", "B c"), ("The b c", "b c d"), ("x", "X.")) == {1: "same", 3: "same"}
