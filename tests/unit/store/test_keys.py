"""Keys are built and parsed in one module, and no name that others chose makes a key of something else."""

import re
from contextlib import suppress
from datetime import UTC, datetime
from string import ascii_letters, digits

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from livemem.errors import InvalidName
from livemem.store import bucket, keys
from livemem.store.bucket import BANK_FILE, BOUNDARY, HEAD, IN_SPACE, NOTE, RECORD, SUMMARY, SUMMARY_VERSIONS, TURN
from tests.support.cases import each

LETTERS = ascii_letters + digits
SPACES = st.builds(str.__add__, st.sampled_from(LETTERS), st.text(LETTERS + "_-", max_size=63))
AGENTS = st.builds(str.__add__, st.sampled_from(LETTERS), st.text(LETTERS + "-", max_size=63))
NAMES = st.builds(
    keys.NoteName,
    timestamp=st.datetimes(timezones=st.just(UTC)).map(lambda moment: moment.replace(microsecond=0)),
    agent=AGENTS,
    category=st.sampled_from(keys.CATEGORIES),
    suffix=st.integers(0, 2**32 - 1).map("{:08x}".format),
)
NOTE_ID = "20260220T140000_ann_todo_0000abcd"


@given(SPACES, NAMES)
def test_a_notes_key_parses_back_to_its_space_and_name(space_id: str, name: keys.NoteName):
    assert keys.parse_note_id(name.note_id) == name
    assert NOTE.parse(NOTE.key(space_id, name.note_id)) == (space_id, name.note_id)


@given(NAMES, NAMES)
def test_note_ids_sort_by_time(one: keys.NoteName, other: keys.NoteName):
    if one.timestamp < other.timestamp:
        assert one.note_id < other.note_id


@given(st.text() | st.from_regex(r"\d{8}T\d{6}_[\w-]+_(todo|progress)_[\da-f]{8}", fullmatch=True))
@example("٢٠٢٦٠٢٢٠T140000_ann_todo_0000abcd")
@example("20260220T140000_ann_todo_0000abcd\n")
@example("20260231T140000_ann_todo_0000abcd")
@example("20260220T140061_ann_todo_0000abcd")
def test_a_note_id_that_parses_is_the_id_of_what_it_parses_to(text: str):
    with suppress(InvalidName):
        assert keys.parse_note_id(text).note_id == text


@given(
    st.text()
    | st.builds("{}/live/{}".format, st.text(), st.sampled_from([NOTE_ID + ".md", NOTE_ID, "a/" + NOTE_ID + ".md"]))
)
@example(f"demo/live/{NOTE_ID}.md/live/{NOTE_ID}.md")
@example(f"_backups/demo/live/{NOTE_ID}.md")
@example(f"_system/live/{NOTE_ID}.md")
@example(f"demo/live/live/{NOTE_ID}.md")
@example(f"demo/live/{NOTE_ID}.MD")
@example("demo/live/.keep")
@example("")
def test_a_key_that_is_taken_for_a_note_is_built_from_what_it_says(key: str):
    parsed = NOTE.parse(key)

    assert parsed is None or NOTE.key(*parsed) == key


@given(st.text() | st.builds("{}/bank/{}".format, st.text(), st.text()).map(lambda key: key + ".md"))
@example("_backups/demo/bank/a.md")
@example("demo/bank/sub/a.md")
@example("demo/bank/.keep")
def test_a_key_that_is_taken_for_a_bank_file_is_built_from_what_it_says(key: str):
    parsed = BANK_FILE.parse(key)

    assert parsed is None or BANK_FILE.key(*parsed) == key
    assert parsed is None or keys.check_space_id(parsed[0])


@given(SPACES, st.integers(0, 10**9), st.lists(NAMES, min_size=1))
def test_a_records_key_parses_back_and_covers_exactly_the_times_between(
    space_id: str, number: int, names: list[keys.NoteName]
):
    times = sorted(keys.compact_time(name.timestamp) for name in names)
    record = keys.RecordName(number, times[0], times[-1])

    assert RECORD.last(RECORD.key(space_id, record)) == record
    assert all(record.covers(name) for name in names)
    outside = keys.NoteName(datetime(2026, 2, 20, 14, tzinfo=UTC), "ann", "todo", "0" * 8)
    assert record.covers(outside) == (times[0] <= "20260220T140000" <= times[-1])


@each(
    "key",
    [
        "demo/_consolidations/",
        "demo/_consolidations/1_20260220T140000_20260220T140000.json",
        "demo/_consolidations/000001_20260220T140000.json",
        "demo/_consolidations/000001_20260220T140000_20260220T140000.json.bak",
        "demo/_consolidations/٠٠٠٠٠١_20260220T140000_20260220T140000.json",
        "demo/_consolidations/sub/000001_20260220T140000_20260220T140000.json",
    ],
)
def test_what_is_no_record_is_not_taken_for_one(key: str):
    assert RECORD.last(key) is None


CHECKS = [
    (keys.check_space_id, re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_-]{0,63}"), "space_id"),
    (keys.check_agent, re.compile(r"[a-zA-Z0-9][a-zA-Z0-9-]{0,63}"), "agent"),
    (keys.check_run_id, re.compile(r"[0-9A-HJKMNP-TV-Z]{26}"), "run_id"),
]
HOSTILE = st.sampled_from(
    [
        "",
        ".",
        "..",
        "../x",
        "/x",
        "x/",
        "_system",
        "_backups",
        "a/b",
        "a b",
        "a\n",
        "a\0",
        "ä",
        "a" * 65,
        "-a",
        "é",
        "١",
        "%2e%2e",
        "a%2fb",
    ]
)


@pytest.mark.parametrize(("check", "allowed", "field"), CHECKS, ids=[field for *_, field in CHECKS])
@given(text=st.text() | HOSTILE | st.from_regex(r"[\w-]{1,70}", fullmatch=True))
def test_a_name_is_taken_exactly_as_it_stands_or_refused(check, allowed, field: str, text: str):
    if allowed.fullmatch(text) and text.isascii():
        assert check(text) == text
    else:
        with pytest.raises(InvalidName) as refused:
            check(text)
        assert refused.value.field == field
        assert refused.value.message


@given(SPACES, AGENTS)
def test_no_space_can_be_one_of_the_services_own_folders(space_id: str, agent: str):
    assert not IN_SPACE.prefix(space_id).startswith(("_system/", "_backups/"))
    assert "_" not in agent


def test_what_is_written_once_is_told_from_what_changes():
    one = "01J00000000000000000000000"
    once = {
        "turn": TURN.key("demo", one, 1),
        "boundary": BOUNDARY.key("demo", one, 2, 1, 3),
        "summary": SUMMARY.key("demo", one, 2, 1, 3, "a" * 64),
    }
    changed = {
        "versions": SUMMARY_VERSIONS.key("demo", one),
        "space record": HEAD.key("demo"),
        "bank file": "demo/bank/log.md",
    }

    assert [name for name, key in once.items() if not bucket.is_immutable(key.partition("/")[2])] == []
    assert [name for name, key in changed.items() if bucket.is_immutable(key.partition("/")[2])] == []
