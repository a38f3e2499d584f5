"""The table of the bucket's objects: a key that it builds lies in its folder, parses back, and is of one kind alone."""

import posixpath
import re
from collections.abc import Sequence
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from livemem.bank import paths
from livemem.store import bucket, object_table
from livemem.store.object_table import KeyForm, ObjectKind
from tests.support import hostile

FORMS = [form for form in vars(bucket).values() if isinstance(form, KeyForm)]
KINDS = [form for form in FORMS if isinstance(form, ObjectKind)]


def passes(path: str) -> bool:
    try:
        paths.check_bank_path(path)
    except paths.BankPathError:
        return False
    return True


FREE = {bucket.BACKUP_OBJECT}
"""Kinds in which every object of another kind has a key too."""
PATHS = st.from_regex(r"[a-z.]{1,3}(/[a-z._-]{1,3}){0,3}\.md", fullmatch=True).filter(passes)
"""What `paths.check_bank_path` takes: free text of a key is checked before."""
NAMED = [
    re.compile(re.sub(r"\\{.*?\\}", ".+", re.escape(key)))
    for key in re.findall(r"`([^`\n]*/[^`\n]*)`", Path("docs/bucket.md").read_text("utf-8"))
    if not re.fullmatch(r"\{\w+\}/(\{\w+\}|\.\.\.)", key)
]
"""The keys that docs/bucket.md names, with anything in the place of a field."""
FIELD = re.compile(r"\{(\w+)(?::([\w-]+))?\}")


def keys_of(form: KeyForm) -> st.SearchStrategy[tuple[KeyForm, str]]:
    """Keys of this form, from what its parts read."""
    texts = FIELD.split(form.pattern)[::3]
    parts = [object_table.part_of(part or name).pattern for name, part in FIELD.findall(form.pattern)]
    free = (object_table.part_of("any").pattern, object_table.part_of("path").pattern)
    fields = [PATHS if part in free else st.from_regex(re.compile(part, re.ASCII), fullmatch=True) for part in parts]
    return st.tuples(*fields).map(
        lambda values: (form, "".join(text + value for text, value in zip(texts, (*values, ""), strict=True)))
    )


def any_of(forms: Sequence[KeyForm]) -> st.SearchStrategy[tuple[KeyForm, str]]:
    return st.sampled_from(forms).flatmap(keys_of)


def is_built_from_what_it_says(form: KeyForm, key: str) -> bool:
    """Whether the key is of another form, or the same when it is built again. A hash is not hashed again."""
    fields = form.parse(key)
    if fields is None or ":sha" in form.pattern:
        return True
    return form.key(*fields) == key and all(key.startswith(form.prefix(*fields[:n])) for n in range(len(fields)))


@given(any_of(FORMS))
def test_a_key_that_parses_is_built_from_what_it_says(form_and_key):
    assert is_built_from_what_it_says(*form_and_key)


@given(any_of(FORMS), st.text() | st.sampled_from(hostile.PATHS), st.integers(0, 100))
def test_a_key_with_something_in_it_is_of_another_form_or_built_from_what_it_says(form_and_key, text: str, at: int):
    form, key = form_and_key

    assert is_built_from_what_it_says(form, key[:at] + text + key[at:])


@given(any_of(KINDS))
def test_a_key_stays_below_its_space_and_is_of_one_kind(kind_and_key):
    kind, key = kind_and_key
    also = [other for other in KINDS if other.parse(key) and other is not kind]

    assert posixpath.normpath(f"/bucket/{key}") == f"/bucket/{key}"
    assert key.startswith(kind.pattern.partition("{")[0])
    assert re.fullmatch(r"[A-Za-z0-9._/@-]+", key)
    assert not also or {kind, *also} <= {bucket.BOUNDARY, bucket.BLOCK_BOUNDARY} | FREE


def test_each_kind_of_the_table_has_a_pattern_of_its_own():
    assert len({form.pattern for form in FORMS}) == len(FORMS)


def test_a_key_of_two_kinds_is_of_the_more_exact_one():
    assert bucket.kind_of(f"conversations/{'0' * 26}/v1/boundaries/l1/000001.json") is bucket.BLOCK_BOUNDARY
    assert bucket.kind_of(f"conversations/{'0' * 26}/v1/boundaries/l2/000001.json") is bucket.BOUNDARY


@given(any_of(KINDS))
def test_a_key_is_one_that_the_page_on_the_bucket_names(kind_and_key):
    _, key = kind_and_key
    assert any(named.fullmatch(key) for named in NAMED)
    assert not any(named.fullmatch("demo/_unknown/1.json") for named in NAMED)
