from hypothesis import given
from hypothesis import strategies as st

from local.store.index import KeyIndex

KEYS = st.sets(st.text("ab/.é", min_size=1, max_size=6), max_size=25)


def listed(keys: set[str], prefix: str, delimiter: str) -> list[str]:
    """Keys and common prefixes, as S3 documents them."""
    found = set()
    for key in keys:
        if key.startswith(prefix):
            cut = key.find(delimiter, len(prefix)) if delimiter else -1
            found.add(key[: cut + len(delimiter)] if cut >= 0 else key)
    return sorted(found)


@given(KEYS, st.text("ab/", max_size=3), st.sampled_from(["", "/", "a", "//"]), st.integers(1, 7))
def test_pages_together_are_what_s3_lists_in_one(keys, prefix, delimiter, limit):
    index, after, found = KeyIndex(keys), "", []
    while True:
        page = index.page(prefix, delimiter, after, limit)
        assert len(page.keys) + len(page.prefixes) <= limit
        found += sorted([*page.keys, *page.prefixes])
        if not page.truncated:
            break
        after = page.last
    assert found == listed(keys, prefix, delimiter)


@given(st.lists(st.tuples(st.booleans(), st.text("ab/", min_size=1, max_size=3))))
def test_an_index_holds_what_was_added_and_not_taken_away(changes):
    index, expected = KeyIndex(), set()
    for adds, key in changes:
        if adds != (key in expected):
            (index.add if adds else index.remove)(key)
            (expected.add if adds else expected.remove)(key)
    assert index.page("", "", "", 1000).keys == sorted(expected)
    assert index.page("", "", "", 0).keys == []
