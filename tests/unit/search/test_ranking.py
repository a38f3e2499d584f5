import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from livemem.search import ranking
from livemem.search.ranking import ASSISTANT, NO_ROLE, USER, corpus, rank
from livemem.search.traits import traits
from livemem.search.words import parse, terms

WORDS = ["alpha", "beta", "gamma", "delta", "epsilon"]
DAY = 86_400.0
TEXTS = st.lists(st.lists(st.sampled_from([*WORDS, "why?"]), max_size=8).map(" ".join), min_size=1, max_size=12)


class Held:
    """A few documents as the view holds them; a text may be a list of passages."""

    def __init__(self, texts, groups=None, roles=None, times=None, told=None, derived=None, lists=None):
        cut = [
            (at, passage) for at, text in enumerate(texts) for passage in (text if isinstance(text, list) else [text])
        ]
        whole = [" ".join(text) if isinstance(text, list) else text for text in texts]
        found = [traits(text) for text in whole]
        self.texts = [terms(passage) for _, passage in cut]
        self.owner = [at for at, _ in cut]
        self.group = groups or [0] * len(texts)
        self.corpus = corpus(
            np.array(self.owner, np.int32),
            np.array([len(text) for text in self.texts], np.int32),
            np.array(self.group, np.int32),
            np.array(roles or [NO_ROLE] * len(texts), np.int8),
            np.array(times or [math.nan] * len(texts)),
            np.array([one.asks for one in found], np.bool_),
            np.array([one.tells for one in found], np.bool_),
            np.array([one.holds for one in found], np.int8),
            np.array(told or [False] * len(texts), np.bool_),
            np.array(derived or [False] * len(texts), np.bool_),
            np.array(lists or [False] * len(texts), np.bool_),
        )

    def instances(self, term):
        places = [(p, o) for p, text in enumerate(self.texts) for o, word in enumerate(text) if word == term]
        return np.array([p for p, _ in places], np.int32), np.array([o for _, o in places], np.int32)

    def rank(self, text, cosines=None, **options):
        query = parse(text)
        found = [self.instances(term) for term in query.words]
        values = None if cosines is None else np.array(cosines, np.float32)
        return rank(self.corpus, query, found, values, **options)


def flags(*values):
    return np.array(values, np.bool_)


def best(ranked):
    return int(ranked.scores.argmax())


def naive_words(held, query):
    """The part `words` as one would write it down: for each document and word, over all its neighbours."""
    count = len(held.group)
    passages = [held.owner.count(at) for at in range(count)]
    mean = [
        max(1, sum(len(t) for o, t in zip(held.owner, held.texts, strict=True) if o == at) / passages[at])
        for at in range(count)
    ]

    def near(values, at):
        return sum(
            ranking.DECAY ** abs(at - other) * values[other]
            for other in range(count)
            if abs(at - other) <= ranking.REACH and held.group[other] == held.group[at]
        )

    lengths = [near(mean, at) for at in range(count)]
    average = sum(lengths) / count
    total = [0.0] * count
    for term in parse(query).words:
        density = [
            sum(t.count(term) for o, t in zip(held.owner, held.texts, strict=True) if o == at) / passages[at]
            for at in range(count)
        ]
        holding = sum(value > 0 for value in density)
        rarity = math.log(1 + (count - holding + 0.5) / (holding + 0.5))
        for at in range(count):
            tf = near(density, at)
            total[at] += (
                rarity * tf * (ranking.K1 + 1) / (tf + ranking.K1 * (1 - ranking.B + ranking.B * lengths[at] / average))
            )
    middle = sum(total) / count
    spread = math.sqrt(sum((value - middle) ** 2 for value in total) / count)
    return [(value - middle) / spread if spread > 1e-6 else 0.0 for value in total]


@given(TEXTS, st.data())
def test_the_words_of_neighbours_are_summed_as_the_plain_formula_says(texts, data):
    groups = sorted(data.draw(st.lists(st.integers(0, 2), min_size=len(texts), max_size=len(texts))))
    held = Held([[text, text + " beta"] if len(text) % 2 else text for text in texts], groups)
    expected = naive_words(held, "alpha beta gamma")
    found = held.rank("alpha beta gamma", weights={"words": 1.0}).parts.get("words", np.zeros(len(texts)))
    assert found == pytest.approx(expected, abs=2e-3)


@given(TEXTS, st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join), st.data())
def test_scores_are_finite_for_candidates_and_below_all_for_others(texts, query, data):
    count = len(texts)
    draw = lambda one: data.draw(st.lists(one, min_size=count, max_size=count))  # noqa: E731
    held = Held(texts, sorted(draw(st.integers(0, 2))), draw(st.sampled_from([NO_ROLE, USER, ASSISTANT])))
    cosines = draw(st.sampled_from([math.nan, -1.0, 0.0, 0.3, 1.0]))
    allowed = np.array(draw(st.booleans()), np.bool_)
    found = held.rank(query, cosines, candidates=allowed, recency=0.5)
    assert np.isfinite(found.scores[allowed]).all()
    assert np.isneginf(found.scores[~allowed]).all()
    assert not found.matched[~allowed].any()
    assert all(np.isfinite(part).all() for part in found.parts.values())


@given(TEXTS, TEXTS, st.data())
def test_what_says_again_what_others_say_changes_no_score_of_theirs(texts, summaries, data):
    """Neither how rare a word or a year is, nor the mean lengths, wherever their groups stand in the order."""
    count, more = len(texts), len(summaries)
    group = sorted(data.draw(st.lists(st.integers(1, 3), min_size=count, max_size=count)))
    query = data.draw(st.sampled_from(["alpha beta gamma", "alpha 2024 beta"]))
    alone = Held(texts, group, times=[1.7e9] * count).rank(query).scores
    for place, those in ((0, [0] * more + group), (count, [*group, *[4] * more])):
        derived = np.insert(np.zeros(count, np.bool_), place, [True] * more)
        all_of_them = texts[:place] + summaries + texts[place:]
        held = Held(all_of_them, those, times=[1.7e9] * (count + more), derived=derived.tolist())
        assert held.rank(query, candidates=~derived).scores[~derived] == pytest.approx(alone, abs=1e-4)


def test_where_all_say_again_what_others_say_each_counts():
    texts = ["alpha alpha", "alpha beta", "gamma"]
    found = [Held(texts, derived=[same] * 3).rank("alpha beta").scores for same in (True, False)]
    assert found[0].tolist() == found[1].tolist()
    assert np.isfinite(found[0]).all()


@given(TEXTS)
def test_the_order_of_a_query_s_words_changes_nothing_but_pairs(texts):
    held = Held(texts)
    weights = {name: weight for name, weight in ranking.WEIGHTS.items() if name != "pairs"}
    one, other = (held.rank(query, weights=weights).scores for query in ("alpha beta gamma", "gamma alpha beta"))
    assert one == pytest.approx(other, abs=1e-3)


@given(TEXTS, st.lists(st.booleans(), min_size=12, max_size=12))
def test_a_score_is_relative_to_the_candidates_and_their_order_is_not(texts, allowed):
    held = Held(texts)
    among = np.array(allowed[: len(texts)], np.bool_)
    weights = {"words": 1.0}
    everyone, some = (
        held.rank("alpha beta", weights=weights),
        held.rank("alpha beta", weights=weights, candidates=among),
    )
    if "words" in some.parts:
        places = np.flatnonzero(among)
        assert np.corrcoef(everyone.scores[places], some.scores[places])[0, 1] == pytest.approx(1, abs=1e-3)


def test_groups_know_nothing_of_each_other():
    held = Held(["alpha", "x", "y", "z"], [0, 0, 1, 1])
    found = held.rank("alpha", weights={"words": 1.0}).scores
    assert found[0] > found[1] > found[2] == found[3]


def test_no_document_and_a_query_without_a_known_word_are_no_error():
    empty = Held([])
    assert len(empty.rank("alpha").scores) == 0
    assert len(empty.rank("alpha in May 2023", [], recency=1.0).scores) == 0
    found = Held(["one", "two"]).rank("unheard")
    assert not found.matched.any()
    assert np.isfinite(found.scores).all()


def test_a_single_document_is_a_hit_when_it_holds_a_word():
    found = Held(["alpha"]).rank("alpha")
    assert found.scores.tolist() == [0.0]
    assert found.matched.tolist() == [True]


def test_without_vectors_only_documents_with_a_word_are_hits():
    found = Held(["alpha", "beta", "alpha beta"]).rank("alpha")
    assert found.matched.tolist() == [True, False, True]


def test_with_vectors_every_document_that_has_one_is_a_hit():
    found = Held(["alpha", "beta", "gamma"]).rank("alpha", [math.nan, 0.4, math.nan])
    assert found.matched.tolist() == [True, True, False]


def test_a_document_without_a_vector_is_neither_raised_nor_lowered_by_cosines():
    found = Held(["x", "y", "z"], [0, 1, 2]).rank("unheard", [0.9, math.nan, 0.1])
    assert found.parts["cosine"][1] == pytest.approx(0, abs=1e-6)
    assert best(found) == 0


def test_a_long_document_has_the_mean_of_its_passages_cosines():
    found = Held([["a", "b"], "c"], [0, 1]).rank("unheard", [0.8, 0.2, 0.6], weights={"cosine": 1.0})
    assert best(found) == 1


def test_an_answer_follows_a_question_among_documents_without_roles():
    texts = ["x y", "how did you get luna?", "from the shelter", "x y z"]
    answered = Held(texts).rank("get luna", weights={"answers": 1.0})
    assert best(answered) == 2
    assert not Held(texts, roles=[USER, ASSISTANT] * 2).rank("get luna", weights={"answers": 1.0}).parts


def test_what_a_person_said_comes_before_what_a_model_answered():
    found = Held(["alpha", "alpha"], roles=[ASSISTANT, USER])
    assert best(found.rank("alpha")) == 1


@given(st.integers(1, 60), st.integers(1, 3), st.integers(0, 2))
def test_what_is_said_is_neither_better_nor_worse_than_a_note_for_being_said(notes, said, answered):
    """A trait of a few messages does not count the more the more notes lie beside them."""
    texts = ["alpha"] * notes + ["I beta"] * said + ["gamma"] * answered
    told = [False] * notes + [True] * (said + answered)
    roles = [NO_ROLE] * notes + [USER] * said + [ASSISTANT] * answered
    parts = Held(texts, list(range(len(texts))), roles=roles, told=told).rank("alpha").parts
    for name in ("role", "tells"):
        found = parts.get(name, np.zeros(len(texts)))
        assert np.ptp(found) <= ranking.WEIGHTS[name] / 0.5 + 1e-3
        whole = found[notes:]
        assert np.allclose(found[:notes], whole.mean(), atol=1e-3)


def test_the_named_author_comes_first():
    held = Held(["alpha", "alpha"])
    assert best(held.rank("alpha", by_author=flags(False, True))) == 1


def test_what_the_question_asks_for_comes_first():
    texts = ["the party is at the lake", "the party was last week", "the party of 40 people", "the party of Zoé"]
    held = Held(texts, [0, 1, 2, 3])
    assert best(held.rank("when is the party")) == 1
    assert best(held.rank("how many came to the party")) == 2
    assert best(held.rank("who gives the party")) == 3
    assert "sought" not in held.rank("party").parts


def test_the_only_text_with_a_number_is_not_the_answer_to_every_how_many():
    held = Held(["keys and more keys", *["x"] * 400, "40"], list(range(402)))
    found = held.rank("how many keys")
    assert found.parts["sought"].max() == pytest.approx(ranking.WEIGHTS["sought"] * ranking.SOUGHT)
    assert best(found) == 0


def test_a_written_text_that_begins_with_yes_or_no_answers_a_question_of_that_kind():
    texts = ["The oven is on.", "Yes, the oven is on."]
    assert best(Held(texts, [0, 1]).rank("is the oven on?")) == 1
    # In a talk it answers somebody else.
    assert "sought" not in Held(texts, [0, 1], told=[True, True]).rank("is the oven on?").parts


def test_what_the_model_said_comes_first_where_that_is_asked():
    held = Held(["the oven by Bosch", "the oven by Bosch"], [0, 1], roles=[USER, ASSISTANT])
    assert best(held.rank("which oven did I mention?")) == 0
    assert best(held.rank("which oven did you recommend?")) == 1


def test_a_long_text_is_about_what_stands_at_its_beginning():
    early, late = "alpha beta " + "x " * 200, "x " * 200 + "alpha beta "
    assert best(Held([late, early], [0, 1]).rank("alpha beta")) == 1
    assert "lead" not in Held([late, early], [0, 1], told=[True, True]).rank("alpha beta").parts


@given(TEXTS)
def test_of_texts_of_one_sentence_no_word_is_early(texts):
    # Eight words at most.
    assert "lead" not in Held(texts).rank("alpha beta gamma").parts


@given(st.lists(st.integers(0, 120), min_size=2, max_size=8))
def test_the_beginning_counts_as_the_plain_formula_says(places):
    texts = ["x " * place + "alpha " + "x " * (120 - place) for place in places]
    found = Held([*texts, "x"], list(range(len(texts) + 1))).rank("alpha", weights={"lead": 1.0}).parts.get("lead")
    early = [place < ranking.LEAD for place in places]
    if found is None:
        assert len(set(early)) == 1
    else:
        assert (found[:-1] > found[-1]).tolist() == early


def test_comment_asks_at_the_beginning_of_a_french_question_and_tells_elsewhere():
    held = Held(["comment", "beta", "x"], [0, 1, 2])
    assert best(held.rank("comment beta", weights={"words": 1.0})) == 1
    equal = held.rank("beta comment", weights={"words": 1.0}).scores
    assert equal[0] == pytest.approx(equal[1])


def test_two_words_side_by_side_count_more_than_apart():
    held = Held(["alpha beta " + "x " * 9, "alpha " + "x " * 9 + "beta"], [0, 1])
    assert best(held.rank("alpha beta", weights={"pairs": 1.0})) == 0


def test_words_that_ask_weigh_less_than_words_that_tell():
    held = Held(["kind", "beta", "x"], [0, 1, 2])
    assert best(held.rank("which kind of beta", weights={"words": 1.0})) == 1


def test_documents_of_a_named_date_come_first_and_those_soon_after_next():
    may = 19_478 * DAY  # 1 May 2023
    held = Held(["x"] * 4, [0, 1, 2, 3], times=[may - 90 * DAY, may + 3 * DAY, may + 35 * DAY, math.nan])
    found = held.rank("what happened in May 2023")
    assert found.scores.argsort()[::-1].tolist()[:2] == [1, 2]
    assert found.matched.tolist() == [False, True, False, False]


def test_a_date_without_a_year_is_of_any_year_of_the_documents():
    held = Held(["x"] * 3, [0, 1, 2], times=[19_478 * DAY, 19_844 * DAY, 19_900 * DAY])
    assert held.rank("what about 1 May").matched.tolist() == [True, True, False]
    assert not held.rank("what about 31 February").matched.any()


def test_recency_is_an_option():
    held = Held(["alpha"] * 3, [0, 1, 2], times=[1 * DAY, math.nan, 9 * DAY])
    assert "recency" not in held.rank("alpha").parts
    assert held.rank("alpha", recency=1.0).scores.argsort().tolist() == [0, 1, 2]


def test_the_parts_add_up_to_the_score():
    held = Held(["alpha beta", "beta I", "why?"], roles=[NO_ROLE, USER, ASSISTANT])
    found = held.rank("alpha beta", [0.1, 0.2, 0.3])
    assert np.sum(list(found.parts.values()), axis=0) == pytest.approx(found.scores, abs=1e-5)


@settings(max_examples=20)
@given(st.permutations(range(4)))
def test_the_order_of_groups_changes_no_score(order):
    texts = ["alpha beta", "beta", "alpha gamma", "delta"]
    one = Held(texts, [0, 1, 2, 3]).rank("alpha beta").scores
    other = Held([texts[at] for at in order], [0, 1, 2, 3]).rank("alpha beta").scores
    assert other == pytest.approx(one[list(order)], abs=1e-4)


def test_a_note_with_the_words_of_a_question_stands_before_a_message_without_them():
    notes = ["flag", *(f"beta{number}" for number in range(60))]
    texts = [*notes, "I call Yann on Friday", "Noted"]
    roles = [NO_ROLE] * len(notes) + [USER, ASSISTANT]
    held = Held(texts, [*range(len(notes)), 99, 99], roles=roles, told=[False] * len(notes) + [True, True])
    assert best(held.rank("switch on a feature flag", [0.3] + [0.1] * 60 + [0.3, 0.1])) == 0


def test_what_few_documents_have_in_common_does_not_outweigh_the_rest_in_a_large_space():
    texts = ["alpha"] * 3 + ["x"] * 4 * ranking.POOL
    cosines = [0.5, 0.9, 0.1] + [0.4] * 4 * ranking.POOL
    found = Held(texts, list(range(len(texts)))).rank("alpha", cosines)
    assert found.scores.argsort()[::-1].tolist()[0] == 1
    assert all(np.abs(part).max() <= abs(ranking.WEIGHTS[name]) * ranking.HIGHEST for name, part in found.parts.items())


def test_the_pool_is_taken_from_candidates_alone():
    count = 3 * ranking.POOL
    held = Held(["alpha beta"] * ranking.POOL + ["alpha"] + ["x"] * (count - ranking.POOL - 1), list(range(count)))
    allowed = np.arange(count) >= ranking.POOL
    found = held.rank("alpha beta", candidates=allowed)
    assert best(found) == ranking.POOL
    assert np.isfinite(found.scores[allowed]).all()


def test_a_stray_word_of_a_question_in_other_words_counts_less_than_meaning():
    # Half of all words hold `alpha`; nothing else of the question is known.
    held = Held(["alpha beta", "gamma delta", "epsilon beta", "alpha gamma"], groups=[0, 1, 2, 3])
    cosines = [0.2, 0.5, 0.2, 0.2]

    assert best(held.rank("alpha unheard unseen unknown untold", cosines)) == 1
    parts = held.rank("alpha unheard unseen unknown untold", cosines).parts
    assert abs(parts["words"]).max() < abs(held.rank("alpha", cosines).parts["words"]).max()


def test_by_words_alone_no_word_counts_less_for_what_is_unknown_beside_it():
    held = Held(["alpha beta", "gamma delta", "epsilon beta", "alpha gamma"])

    known, more = held.rank("alpha"), held.rank("alpha unheard unseen")

    assert (known.parts["words"] == more.parts["words"]).all()


def test_where_few_documents_have_a_vector_yet_the_best_of_those_few_does_not_outrank_the_words():
    texts = [f"filler{number} text" for number in range(60)]
    texts[7] = "alpha beta gamma"
    held = Held(texts, groups=list(range(60)))
    cosines = [math.nan] * 60
    cosines[50:] = [0.1, 0.1, 0.1, 0.9, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]

    few, all_of_them = held.rank("alpha beta", cosines), [0.0 if math.isnan(one) else one for one in cosines]

    assert best(few) == 7
    # The part weighs as much as the share of documents that have a vector.
    full = held.rank("alpha beta", all_of_them).parts["cosine"]
    assert few.parts["cosine"][53] < full[53] / 3


def test_the_nearest_line_ranks_a_list_and_the_mean_of_its_passages_any_other_text():
    texts = [["alpha", "beta", "gamma"], ["delta"], ["epsilon"]]
    near = [0.9, -0.3, -0.3, 0.5, 0.0]

    assert [leads(Held(texts, groups=[0, 1, 2], lists=lists).rank("zeta", near)) for lists in (
        [True, False, False], [False, False, False],
    )] == [0, 1]  # fmt: skip


@given(TEXTS, st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join))
def test_the_words_of_a_list_count_as_those_of_one_text(texts, query):
    apart = [words.split() or [""] for words in texts]
    whole = Held(texts, groups=range(len(texts))).rank(query)
    listed = Held(apart, groups=range(len(texts)), lists=[True] * len(texts)).rank(query)

    for part in ("words", "cover", "group"):
        assert listed.parts.get(part, 0) == pytest.approx(whole.parts.get(part, 0), abs=1e-5)


def leads(ranking):
    return int(ranking.scores.argmax())
