"""Which embedding model the functions get: the caller's, the offline one, or none."""

import pytest

from local.config import read_config
from local.embeddings import Embeddings, describe, provide, read_embeddings, tell
from tests.support.cases import each

URL = "http://127.0.0.1:11434/v1"
OFFLINE = "http://127.0.0.1:4711/v1"


@each(
    ("variables", "chosen"),
    [
        ({}, Embeddings()),
        ({"EMBEDDINGS_API_URL": ""}, Embeddings()),
        ({"EMBEDDINGS_API_URL": URL}, Embeddings(URL)),
        ({"EMBEDDINGS_API_URL": "off"}, Embeddings(off=True)),
        ({"EMBEDDINGS_API_URL": " OFF "}, Embeddings(off=True)),
    ],
)
def test_an_address_is_the_callers_own_off_is_none_and_nothing_is_the_offline_one(variables, chosen):
    assert read_config(variables).embeddings == read_embeddings(dict(variables)) == chosen


def test_the_functions_never_see_the_word_off():
    assert read_config({"EMBEDDINGS_API_URL": "off"}).outer["EMBEDDINGS_API_URL"] == ""


def test_the_offline_model_takes_no_dimensions_and_prefixes_of_another():
    given = provide(Embeddings(), {"EMBEDDINGS_DIMENSIONS": "256", "EMBEDDINGS_QUERY_PREFIX": "query: "}, OFFLINE)

    assert (given["EMBEDDINGS_API_URL"], given["EMBEDDINGS_MODEL"]) == (OFFLINE, "offline-fuse")
    assert given["EMBEDDINGS_DIMENSIONS"] == given["EMBEDDINGS_QUERY_PREFIX"] == given["EMBEDDINGS_TEXT_PREFIX"] == ""


@pytest.mark.parametrize("chosen", [Embeddings(URL), Embeddings(off=True)])
def test_of_another_model_only_the_address_and_the_key_are_decided(chosen):
    given = provide(chosen, {"EMBEDDINGS_API_KEY": "mine"}, OFFLINE)

    assert given == {"EMBEDDINGS_API_URL": chosen.url or "", "EMBEDDINGS_API_KEY": "mine"}


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        (Embeddings(), f"{OFFLINE}  (offline: a small model of 16 languages; EMBEDDINGS_API_URL sets another, or off)"),
        (Embeddings(URL), URL),
        (Embeddings(off=True), "none: search goes by words alone"),
    ],
)
def test_the_choice_is_told_at_the_start(chosen, said):
    assert describe(tell(chosen, OFFLINE)) == said
