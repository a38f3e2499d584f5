"""The checks of names refuse what is hostile, and what passes stays below its space."""

import posixpath
import re
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from livemem.bank import paths
from livemem.errors import InvalidName
from livemem.store import keys
from tests.support import hostile
from tests.support.cases import each

ANY = st.text() | st.text("./\\%2eE-_aZ9~ \x00\n\u2024\uff0e", max_size=12) | st.sampled_from(hostile.PATHS)


def passes(check: Callable[[str], object], text: str) -> bool:
    try:
        check(text)
    except (InvalidName, paths.BankPathError):
        return False
    return True


@each("text", hostile.NAMES, ids=lambda text: ascii(text[:20]))
def test_a_hostile_name_passes_no_check(text: str):
    for check in (
        keys.check_space_id,
        keys.check_agent,
        keys.check_run_id,
        keys.check_backup_id,
        keys.check_request_id,
        keys.parse_note_id,
        paths.check_bank_path,
        keys.check_conversation_id,
        keys.check_index,
        keys.check_level,
        keys.check_number,
    ):
        assert not passes(check, text)


def test_the_moment_of_a_note_is_no_place_for_a_path():
    for moment in (datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)):
        assert re.fullmatch(r"[0-9]{8}T[0-9]{6}", keys.compact_time(moment))


@given(ANY | st.text("./a-_\x00\n", max_size=8))
@example("bank/a//b.md")
@example("conversations/")
def test_a_name_that_passes_stays_below_its_space_in_a_bucket_and_in_a_file_system(name: str):
    assume(passes(keys.check_object_name, name))

    assert posixpath.normpath(f"/bucket/demo/{name}").startswith("/bucket/demo/")
    assert 1 <= len(name.encode()) <= keys.OBJECT_NAME_BYTES
    assert not re.search(r"[\x00-\x1f\x7f]", name)


@each("name", ["", "/a", "a/../b", "..", "./a", "a/.", "a\x00", "a\nb", "x" * 901, "\ud800"])
def test_a_name_that_would_not_is_refused(name: str):
    with pytest.raises(InvalidName):
        keys.check_object_name(name)
