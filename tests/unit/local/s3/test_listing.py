from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from moto.s3.models import FakeKey, S3Backend

from local.s3.listing import KeyIndex, Listed, render_listing
from local.s3.operations import S3Error
from tests.support.cases import each

KEYS = st.sets(st.text("ab/.é", min_size=1, max_size=6), max_size=25)
NAMESPACE = "{http://s3.amazonaws.com/doc/2006-03-01/}"


class Bucket:
    """What moto's listing looks at."""

    def __init__(self, keys):
        self.keys = {k: FakeKey(k, b"", "1", "us-east-1") for k in keys}


def list_by_moto(keys, prefix, delimiter):
    backend: Any = S3Backend("us-east-1", "1")
    found, _, _ = backend.list_objects_v2(Bucket(keys), prefix, delimiter, None, None, 10_000)
    return [k.name if isinstance(k, FakeKey) else k for k in found]


@given(KEYS, st.text("ab/", max_size=3), st.sampled_from(["", "/", "a", "//"]), st.integers(1, 7))
def test_pages_together_are_what_moto_lists_in_one(keys, prefix, delimiter, limit):
    index, after, found = KeyIndex(keys), "", []
    while True:
        page = index.page(prefix, delimiter, after, limit)
        assert len(page.keys) + len(page.prefixes) <= limit
        found += sorted([*page.keys, *page.prefixes])
        if not page.truncated:
            break
        after = page.last
    assert found == list_by_moto(keys, prefix, delimiter)


@given(st.lists(st.tuples(st.booleans(), st.text("ab/", min_size=1, max_size=3))))
def test_an_index_holds_what_was_added_and_not_taken_away(changes):
    index, expected = KeyIndex(), set()
    for adds, key in changes:
        (index.add if adds else index.discard)(key)
        (expected.add if adds else expected.discard)(key)
    assert index.page("", "", "", 1000).keys == sorted(expected)
    assert len(index) == len(expected)


def render(keys, **query) -> dict[str, list[str]]:
    names = {name.replace("_", "-"): str(value) for name, value in query.items()}
    body = render_listing(
        "bkt", names, KeyIndex(keys), lambda key: Listed("2026-11-21T00:00:00Z", '"e"', len(key), "CRC32")
    )
    found: dict[str, list[str]] = {}
    for element in ElementTree.fromstring(body).iter():
        found.setdefault(element.tag.removeprefix(NAMESPACE), []).append(element.text or "")
    return found


def test_a_listing_goes_on_at_its_token():
    keys = [f"k{i}" for i in range(5)]
    first = render(keys, list_type=2, max_keys=2)
    assert first["Key"] == ["k0", "k1"]
    assert first["IsTruncated"] == ["true"]
    second = render(keys[3:], list_type=2, max_keys=2, continuation_token=first["NextContinuationToken"][0])
    assert second["Key"] == ["k3", "k4"]  # k2 was deleted in between
    assert second["IsTruncated"] == ["false"]


def test_the_older_listing_goes_on_at_its_marker():
    first = render(["a/1", "a/2", "b"], max_keys=1, delimiter="/")
    assert (first["NextMarker"], first["Prefix"]) == (["a/"], ["", "a/"])
    second = render(["a/1", "a/2", "b"], max_keys=1, delimiter="/", marker="a/")
    assert second["Key"] == ["b"]


def test_odd_keys_survive_both_encodings():
    key = "a&<b> é+%.md"
    assert render([key], list_type=2)["Key"] == [key]
    assert render([key], list_type=2, encoding_type="url")["Key"] == ["a%26%3Cb%3E%20%C3%A9%2B%25.md"]


def test_no_keys_at_all_can_be_asked_for():
    found = render(["a"], list_type=2, max_keys=0)
    assert (found["KeyCount"], found["IsTruncated"]) == (["0"], ["false"])


@each(
    "query",
    [
        {"max_keys": "x"},
        {"max_keys": "-1"},
        {"encoding_type": "xml"},
        {"continuation_token": "%"},
        {"continuation_token": ""},
    ],
)
def test_a_wrong_parameter_is_a_400(query):
    with pytest.raises(S3Error) as error:
        render(["a"], list_type=2, **query)
    assert (error.value.status, error.value.code) == (400, "InvalidArgument")
