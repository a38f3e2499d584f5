"""Two hundred pairs of facts: no two facts become one without a model, and with one that is right all that are."""

from array import array

import pytest

from benchmarks import dedup
from livemem.memories import log, storing
from livemem.memories.memory import MemoryDraft
from livemem.text import wording
from local.offline_llm import encoder
from tests.support.fact_pairs import RightJudge, fact_pairs
from tests.support.memories import URL, contents, store
from tests.support.part import part
from tests.support.searching import ENCODER
from tests.support.world import World

PAIRS = fact_pairs()
BY_LETTERS = [pair for pair in PAIRS if pair.lang != "fr-en"]
"""Letters don't tell that two languages say the same: such a pair is no candidate."""


@pytest.fixture(scope="module")
def model():
    """The embedding model of the local runtime, each text once."""
    known = {}

    def embed(texts, *, query, timeout):
        new = [text for text in dict.fromkeys(texts) if text not in known]
        known.update(zip(new, ENCODER.encode(new), strict=True))
        return [array("f", known[text]) for text in texts]

    return embed


def space(judge=None, embed=None, **settings):
    """A space in which nothing was said but what is far from the pairs, and many things that are not."""
    if embed:
        settings |= {"embeddings_api_url": URL, "embeddings_model": encoder.MODEL}
    world = World(**settings)
    world.create_space()
    world.llm.judge = judge
    if embed:
        world.process = world.with_parts(embed=embed)
    return world


def tell(world, texts):
    for start in range(0, len(texts), storing.BATCH):
        drafts = [MemoryDraft(text) for text in texts[start : start + storing.BATCH]]
        assert all(one.memory for one in storing.store_all(world.process, "demo", "ann", drafts))


def pairs_of(lang, by):
    """Those of a language. By meaning every ninth: the model takes long, and what it finds is benchmarks/dedup.py's."""
    found = [pair for pair in PAIRS if pair.lang == lang]
    return found[::9] if by == "meaning" else part(found, 3)


def crowd(lang):
    """What else a space of this language may hold: the older texts of another set of pairs, but for what both have."""
    bags = {wording.bag(text) for pair in PAIRS for text in (pair.one, pair.other)}
    return [pair.one for pair in dedup.read() if pair.lang == lang and wording.bag(pair.one) not in bags]


def test_the_set_is_what_it_says():
    assert len(PAIRS) == 200
    assert {label: sum(pair.label == label for pair in PAIRS) for label in ("different", "contradicts", "same")} == {
        "different": 90,
        "contradicts": 40,
        "same": 70,
    }
    assert len({text for pair in PAIRS for text in (pair.one, pair.other)}) == 400


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lang", "by"), [("en", "letters"), ("fr", "letters"), ("fr-en", "letters"), ("en", "meaning")]
)
def test_without_a_model_nothing_becomes_one_but_the_same_words(lang, by, model):
    some = pairs_of(lang, by)
    world = space(embed=model if by == "meaning" else None, llmaas_api_url=None)
    tell(world, [pair.one for pair in some])
    tell(world, [pair.other for pair in some])

    there = contents(world.process)
    same_words = [pair for pair in some if wording.same(pair.one, pair.other)]
    assert all(pair.label == "same" for pair in same_words)
    assert len(there) == 2 * len(some) - len(same_words)
    assert all(pair.one in there and pair.other in there for pair in some if pair.label != "same")
    assert world.llm.prompts == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lang", "by", "alone"),
    [
        ("en", "letters", True),
        ("fr", "letters", False),
        ("fr", "meaning", False),
        ("fr-en", "meaning", True),
    ],
)
def test_with_a_model_that_is_right_no_two_facts_become_one_and_all_that_are_one_do(lang, by, alone, model):
    some = pairs_of(lang, by)
    judge = RightJudge(some)
    world = space(judge, embed=model if by == "meaning" else None)
    others = crowd(lang)[:: 9 if by == "meaning" else 3]
    tell(world, others)
    before = len(contents(world.process))
    tell(world, [pair.one for pair in some])
    if alone:
        for pair in some:
            store(world.process, pair.other)
    else:
        tell(world, [pair.other for pair in some])

    memories = log.load(world.process, "demo", "fact").alive(world.clock())
    by_text = {text: one for one in memories for text in [one.content, *(former.content for former in one.history)]}
    assert len(memories) - before == sum(2 if pair.label == "different" else 1 for pair in some)
    for pair in some:
        if wording.same(pair.one, pair.other):
            continue
        one, other = by_text[pair.one], by_text[pair.other]
        assert (one.memory_id == other.memory_id) == (pair.label != "different"), pair
        if pair.label == "contradicts":
            assert (one.content, one.history[0].content) == (pair.other, pair.one)
    if not alone:
        assert world.llm.judged <= len(others) // 10 + 2 * len(some) // 10 + 5
