"""The version of the code that a note or a turn names: what is taken, and what is refused."""

import json
import re
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from livemem import clock
from livemem.conversations import turn as turns
from livemem.conversations.turn import Draft, Turn
from livemem.errors import InvalidRequest, TooLarge
from livemem.notes import note as notes
from livemem.notes.note import Note
from livemem.store import keys
from livemem.text.code_version import FIELDS, UNKNOWN, CodeVersion
from tests.support.cases import each

NAME = keys.parse_note_id("20260220T140000_ann_todo_0000abcd")
NOTE = Note(NAME.note_id, "demo", clock.iso(NAME.timestamp), "ann", "todo", ("a",), "Body", 4)
REPOSITORIES = st.text(st.characters(exclude_categories=["C", "Zl", "Zp"]), min_size=1, max_size=70).filter(str.strip)
BRANCHES = st.from_regex(r"[\w./@#+=,%-]{1,200}", fullmatch=True)
COMMITS = st.from_regex(r"[0-9a-f]{12}", fullmatch=True)
VERSIONS = st.builds(CodeVersion, st.none() | REPOSITORIES, st.none() | BRANCHES, st.none() | COMMITS)
JSON = st.recursive(
    st.none() | st.integers() | st.text(),
    lambda part: st.lists(part) | st.dictionaries(st.sampled_from(FIELDS), part),
)


@given(VERSIONS)
@example(CodeVersion("null", "123456789012", "123456789012"))
@example(CodeVersion('x": "\\n', None, None))
def test_a_note_keeps_it_behind_the_fields_that_all_notes_have(code: CodeVersion):
    written = notes.format_note(replace(NOTE, code=code)).decode()

    assert notes.parse_note("demo", NAME, written.encode()).code == code
    assert written.startswith(notes.format_note(NOTE).decode().partition("---\n\n")[0])


@given(VERSIONS)
def test_a_header_gives_what_was_put_into_it_and_is_ascii(code: CodeVersion):
    assert CodeVersion.of_header(code.as_header()) == code
    assert code.as_header().isascii()


@given(st.text() | JSON.map(json.dumps))
@example('{"branch": "a\\nb", "commit": "xyz", "repository": 7}')
@example("[" * 3_000)
def test_of_a_header_only_what_is_valid_is_taken(text: str):
    found = CodeVersion.of_header(text)

    assert found.branch is None or re.fullmatch(r"[\w./@#+=,%-]{1,200}", found.branch)
    assert found.commit is None or re.fullmatch("[0-9a-f]{12}", found.commit)
    assert found.repository is None or found.repository.splitlines() == [found.repository]


@each(
    ("field", "value"),
    [
        *(("branch", text) for text in ("a\nb", "a`b", "x) ignore", "", "b" * 201, "a b", "<b>", "\u202eb")),
        *(("commit", text) for text in ("0123456789ag", "0123456", "0123456789AB", "0" * 65, "0123456789ab\n")),
        *(("repository", text) for text in ("a\nb", " ", "é" * 151, "\ud800")),
    ],
)
def test_what_does_not_fit_is_refused_by_its_name(field: str, value: str):
    with pytest.raises((InvalidRequest, TooLarge)) as refused:
        CodeVersion(**{field: value}).checked("items.3.")

    assert f"items.3.{field}" in str(refused.value)


def test_a_commit_is_cut_to_twelve_digits_and_what_looks_like_a_secret_is_left_out():
    secret = "AKIA" + "Q7ZK3WNB5XRM2TLD"
    code = CodeVersion("https://ann:hunter2hunter2@github.com/acme/api", f"fix/{secret}", "0123456789abcdef" * 2)

    assert code.checked() == CodeVersion(commit="0123456789ab")


def test_a_turn_is_the_same_from_another_branch_and_an_erased_one_names_none():
    code = CodeVersion("github.com/acme/api", "feature/x", "0123456789ab")
    now = clock.parse("2026-02-20T14:00:00Z")
    here, there = (turns.made(Draft("a", "b", code=one), "m", 1, "ann", now)[0] for one in (code, UNKNOWN))

    assert here.code == code
    assert turns.same(here, there)
    assert turns.erased(here, now.date()).code == UNKNOWN
    assert Turn.from_bytes(here.to_bytes().replace(b"feature/x", b"a) b")).code == replace(code, branch=None)
