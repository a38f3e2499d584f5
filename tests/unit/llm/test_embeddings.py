"""Texts are cut into batches that a provider takes, and each model has a name of its own in keys."""

import re

from hypothesis import given
from hypothesis import strategies as st

from livemem.llm import embeddings
from livemem.llm.embeddings import batches, prepare
from livemem.settings import Settings
from tests.support.cases import each

MODELS = st.text(min_size=1, max_size=80) | st.from_regex(r"[a-zA-Z0-9./:_-]{1,70}", fullmatch=True)


def name(model: str) -> str:
    return embeddings.name(Settings(embeddings_model=model))


@each(
    ("model", "slug"),
    [
        ("text-embedding-3-small", "text-embedding-3-small"),
        ("bge-small-en-v1.5", "bge-small-en-v1.5"),
        ("BAAI/bge-m3", "baai-bge-m3-d790e737"),
        ("nomic-embed-text:latest", "nomic-embed-text-latest-10886753"),
        ("Text-Embedding-3-Small", "text-embedding-3-small-90caa079"),
        ("bge-m3-0a1b2c3d", "bge-m3-0a1b2c3d-de75b014"),
        ("..", "model-5ec1f7e7"),
        ("模型", "model-c98e118e"),
    ],
)
def test_a_models_name_stays_readable_and_gets_a_hash_where_it_could_be_anothers(model: str, slug: str):
    assert name(model) == slug


@given(MODELS, MODELS)
def test_two_models_never_share_a_name_and_each_fits_into_a_key(one: str, other: str):
    assert re.fullmatch(r"[a-z0-9][a-z0-9.-]{0,79}", name(one))
    assert (name(one) == name(other)) == (one == other)


@given(MODELS)
def test_a_model_called_like_the_name_of_another_is_told_from_it(model: str):
    assert name(model) == model or name(name(model)) != name(model)


@given(st.lists(st.integers(0, 70_000), max_size=300))
def test_batches_hold_all_texts_in_order_and_none_is_too_large_or_empty(sizes: list[int]):
    texts = [prepare("x" * size) for size in sizes]

    made = list(batches(texts))

    assert [text for batch in made for text in batch] == texts
    assert all(1 <= len(batch) <= 128 and sum(map(len, batch)) <= 200_000 for batch in made)


@given(st.text(max_size=300) | st.text(st.characters(categories=["Cs", "Zs", "Cc"]), max_size=50))
def test_whatever_the_text_what_is_sent_is_text_and_not_blank(text: str):
    sent = prepare(text)

    assert sent.strip()
    assert sent.encode().decode() == sent
