import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from livemem.search import evidence, words
from livemem.search.evidence import Baseline, QuestionTerms, Statement
from tests.support.cases import each

TEAM = [
    "The port of staging is 8080.",
    "The port of production is 9443.",
    "Ann prefers short answers.",
    "Bob prefers long answers.",
    "Ann is allergic to peanuts.",
    "Bob is allergic to shellfish.",
    "Deploys to production happen on Tuesdays.",
    "The certificate belongs to Zoé.",
    "Fastify serves all routes.",
    "Le serveur de recette est à Lille.",
    "Chloé s'occupe des factures.",
    "Previously the queue was RabbitMQ. Replaced by SQS.",
    "Linting was done by TSLint. Historical record only.",
    "The queue is SQS.",
]


def of(text, cosine=None, subjects=()):
    about = frozenset(words.terms(" ".join(subjects)))
    return Statement(text, about.union(words.terms(text)), about, cosine)


def found(question, texts=TEAM, cosines=None, subjects=None):
    """What answers, without regard to the order."""
    asked = QuestionTerms.of(question)
    about = subjects or {}
    near = [None] * len(texts) if cosines is None else cosines
    some = [of(text, cosine, about.get(text, ())) for text, cosine in zip(texts, near, strict=True)]
    known = None if cosines is None else np.array(cosines, np.float32)
    baseline = Baseline.of(asked, [one.terms for one in some], known)
    answers = evidence.answers(asked, baseline, some)
    # None of them is lost where only those with any evidence are judged.
    judged = evidence.worth_judging(asked, baseline, [one.terms for one in some], known)
    few = evidence.answers(asked, baseline, [some[place] for place in judged])
    assert {judged[place] for place in few} == set(answers)
    return [texts[place] for place in sorted(answers)]


@each(
    ("question", "texts"),
    [
        ("Which port does staging have?", ["The port of staging is 8080."]),
        ("What is Ann allergic to?", ["Ann is allergic to peanuts."]),
        ("How does Bob want answers?", ["Bob prefers long answers."]),
        ("fastify?", ["Fastify serves all routes."]),
        # One word of several is chance, and so is a word that many hold.
        ("Which certificate opens the vault of the bank?", []),
        ("Who cooks on Tuesdays for the orchestra?", []),
        # Nobody has said anything of Oslo.
        ("Which port and which certificate does Oslo have?", []),
        # A letter moved, a doubled one left out.
        ("fatsify routes", ["Fastify serves all routes."]),
        ("Is Ann alergic?", ["Ann is allergic to peanuts."]),
        # Two subjects in one line have two answers.
        ("staging port, and is Bob allergic?", [TEAM[0], TEAM[5]]),
        ("S'occupe-t-elle des factures ?", ["Chloé s'occupe des factures."]),
    ],
)  # fmt: skip
def test_what_answers_shares_rare_words_or_names_and_more_of_them_than_others(question, texts):
    assert found(question) == texts


@each(
    ("question", "near", "answers"),
    [
        # One subject shared is no answer to a question for a fact, but to one for what is known of it.
        ("Which shoes does Bob wear?", 0.3, False),
        ("How should one talk to Bob?", 0.3, True),
        ("What did Bob say about long answers?", 0.3, True),
        # Closeness stands for the words that it does not repeat.
        ("Which shoes does Bob wear?", 0.6, True),
        # A fact about somebody else.
        ("What does Ann prefer, long answers?", 0.3, False),
        # An identifier is not its neighbour.
        ("Bob-512", 0.3, False),
    ],
)  # fmt: skip
def test_a_statement_that_shares_only_the_subject_states_another_fact(question, near, answers):
    cosines = [near if text == "Bob prefers long answers." else 0.0 for text in TEAM]

    assert ("Bob prefers long answers." in found(question, cosines=cosines)) is answers


def test_a_question_for_a_fact_is_told_from_one_for_advice_or_for_a_manner():
    facts = [
        "Who owns it?",
        "how tall is it",
        "And at which time?",
        "Depuis quand ?",
        "Combien ?",
        "LRK-512",
        "v2.31.0",
    ]
    others = ["How do we deploy?", "Why?", "When should I throw?", "Comment ?", "Quand devrait-on ?", "frost rule", "?"]

    assert [QuestionTerms.of(text).fact for text in (*facts, *others)] == [True] * len(facts) + [False] * len(others)


def test_a_part_of_a_text_in_which_no_word_says_something_is_no_question_of_its_own():
    assert len(QuestionTerms.all_of("I do not want Express, what should I use instead?")) == 2
    assert len(QuestionTerms.all_of("Who owns billing, and what about the logo?")) == 3


def test_what_no_longer_holds_comes_only_where_a_question_asks_for_the_past():
    assert found("Which queue is SQS?") == ["The queue is SQS."]
    assert found("What did we decide for TSLint linting?") == []
    assert found("What was linting done by, before?") == ["Linting was done by TSLint. Historical record only."]
    # That something is out of use is a fact that holds.
    assert found("Is telnet in use?", [*TEAM, "Telnet is no longer in use."]) == ["Telnet is no longer in use."]
    # It is better than nothing if nothing tells what holds now.
    assert found("RabbitMQ queue", [text for text in TEAM if text != "The queue is SQS."]) == [
        "Previously the queue was RabbitMQ. Replaced by SQS."
    ]


def test_closeness_counts_where_it_is_far_above_that_of_the_others():
    usual = [0.2 + 0.01 * (at % 5) for at in range(len(TEAM))]
    near = [*usual[:-1], 0.6]
    assert found("What carries our messages?", cosines=near) == ["The queue is SQS."]
    # The nearest of all, as the nearest always is. And all are near, as with some models.
    assert found("What carries our messages?", cosines=usual) == []
    assert found("What carries our messages?", cosines=[0.6 + cosine for cosine in usual]) == []
    # Far above the others, and near to none.
    assert found("What carries our messages?", cosines=[0.0] * (len(TEAM) - 1) + [0.2]) == []


def test_among_few_nothing_is_usual_and_the_words_alone_decide():
    few = ["We keep S3 as the only store.", "Ann likes tea."]
    assert found("where is the store", few) == few[:1]
    assert found("where do we keep data?", few, [0.19, 0.05]) == few[:1]
    assert found("vessels in the harbour", few, [0.4, 0.1]) == few[:1]
    assert found("vessels in the harbour", few, [0.2, 0.1]) == []


def test_what_is_about_another_subject_that_the_question_names_is_left_out():
    about = {TEAM[0]: ["staging"], TEAM[1]: ["production"]}
    likely = [0.6, 0.6] + [0.1 + 0.01 * (at % 4) for at in range(len(TEAM) - 2)]
    assert found("port for staging", cosines=likely, subjects=about) == [TEAM[0]]


SOME = "ann bob port staging Ann's 8080 é ??? of the -x \"y z* 漢字"
some_words = st.lists(st.sampled_from(SOME.split()), max_size=12)


@given(some_words.map(" ".join), st.lists(st.tuples(some_words.map(" ".join), st.floats(-1, 1)), max_size=12))
def test_any_question_and_any_statements_give_each_answer_once_and_the_better_ones_first(question, some):
    asked = QuestionTerms.of(question)
    statements = [of(text, cosine) for text, cosine in some]
    cosines = np.array([cosine for _, cosine in some], np.float32)
    baseline = Baseline.of(asked, [one.terms for one in statements], cosines)
    chosen = evidence.answers(asked, baseline, statements)
    assert len(set(chosen)) == len(chosen)
    weighed = [evidence.evidence(asked, baseline, statements[place]) for place in chosen]
    assert all(one.enough for one in weighed)
    assert [one.score for one in weighed] == sorted((one.score for one in weighed), reverse=True)


@given(st.text("abcdefg", min_size=5, max_size=9), st.data())
def test_a_word_with_one_letter_more_fewer_other_or_moved_is_recognised(word, data):
    at = data.draw(st.integers(1, len(word) - 1))
    letter = data.draw(st.sampled_from("xyz"))
    missing = word[:at] + word[at + 1 :]
    moved = word[:at] + word[at + 1 : at + 2] + word[at] + word[at + 2 :]
    for wrong in {word[:at] + letter + word[at:], word[:at] + letter + word[at + 1 :], moved, missing} - {word}:
        if len(wrong) >= evidence.LEAST_SPELLED:
            assert evidence.respelled([wrong], [{word, "unlike"}]) == {wrong: word}
    assert evidence.respelled([f"{word[:2]}xyz{word[2:]}"], [{word}]) == {}


def test_a_long_question_costs_no_more_than_its_first_words():
    asked = QuestionTerms.of(" ".join(f"word{number}" for number in range(4_000)))
    assert len(asked.terms) == evidence.MOST_TERMS
