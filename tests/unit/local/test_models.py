"""Which embedding model the functions get: the caller's, the offline one, or none."""

import pytest

from local.config import read_config
from local.models import describe, provide, read_embeddings, tell
from tests.support.cases import each

URL = "http://127.0.0.1:11434/v1"
OFFLINE = "http://127.0.0.1:4711/v1"


@each(
    ("variables", "chosen"),
    [
        ({}, None),
        ({"EMBEDDINGS_API_URL": ""}, None),
        ({"EMBEDDINGS_API_URL": URL}, URL),
        ({"EMBEDDINGS_API_URL": "off"}, ""),
        ({"EMBEDDINGS_API_URL": " OFF "}, ""),
    ],
)
def test_an_address_is_the_callers_own_off_is_none_and_nothing_is_the_offline_one(variables, chosen):
    assert read_config(variables).embeddings_url == read_embeddings(dict(variables)) == chosen


def test_the_functions_never_see_the_word_off():
    assert read_config({"EMBEDDINGS_API_URL": "off"}).outer["EMBEDDINGS_API_URL"] == ""


def test_the_offline_model_takes_no_dimensions_and_prefixes_of_another():
    given = provide(read_config({"EMBEDDINGS_DIMENSIONS": "256", "EMBEDDINGS_QUERY_PREFIX": "query: "}), OFFLINE)

    assert (given["EMBEDDINGS_API_URL"], given["EMBEDDINGS_MODEL"]) == (OFFLINE, "offline-fuse")
    assert given["EMBEDDINGS_DIMENSIONS"] == given["EMBEDDINGS_QUERY_PREFIX"] == given["EMBEDDINGS_TEXT_PREFIX"] == ""
    assert (given["LLMAAS_API_URL"], given["LLMAAS_MODEL"], given["LLMAAS_API_KEY"]) == (
        OFFLINE,
        "offline-rules",
        "offline",
    )


@pytest.mark.parametrize("chosen", [URL, "off"])
def test_of_other_models_only_the_address_and_the_key_are_decided(chosen):
    variables = {"LLMAAS_API_URL": URL, "EMBEDDINGS_API_URL": chosen, "EMBEDDINGS_API_KEY": "mine"}
    given = provide(read_config(variables), OFFLINE)

    assert given == {
        "LLMAAS_API_URL": URL,
        "LLMAAS_API_KEY": "",
        "EMBEDDINGS_API_URL": "" if chosen == "off" else URL,
        "EMBEDDINGS_API_KEY": "mine",
    }


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ("", f"{OFFLINE}  (offline: a small model of 16 languages; EMBEDDINGS_API_URL sets another, or off)"),
        (URL, URL),
        ("off", "none: search goes by words alone"),
    ],
)
def test_the_choice_is_told_at_the_start(chosen, said):
    told = describe(tell(read_config({"EMBEDDINGS_API_URL": chosen}), OFFLINE))

    assert told["Embeddings"] == said
    assert told["LLM"].startswith(f"{OFFLINE}  (offline stand-in")
