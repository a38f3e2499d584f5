"""What others wrote reaches a terminal as text alone, and a program as it is."""

import json
import unicodedata
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from live_memory.cli import texts
from tests.support.cli_harness import CliHarness, change, note
from tests.support.hidden import LEGITIMATE

HOSTILE = "a\x1b[31mred\x1b]0;title\x07\x9b2Jb\x08\r\u202eevil\u2066 [bold]x[/bold] :smile: [link=http://x]y[/link]"
ANYTHING = st.text(st.characters())


@given(ANYTHING)
@example(HOSTILE)
@example("\ud800")
def test_cleaned_text_has_no_control_character_but_newline_and_tab(text: str):
    cleaned = texts.clean(text)
    plain = cleaned.replace("\r\n", "\n")
    assert not [one for one in plain if unicodedata.category(one) in {"Cc", "Cs"} and one not in "\n\t"]
    assert not set(cleaned) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff\u2060")
    assert texts.clean(cleaned) == cleaned


@given(
    st.text(
        st.characters(
            exclude_categories=["Cc", "Cf", "Cn", "Cs", "Mn", "Zl", "Zp"],
            exclude_characters="\u115f\u1160\u3164\uffa0",
        )
    )
)
@example(LEGITIMATE[2])
def test_what_is_harmless_stays_as_it_is(text: str):
    assert texts.clean(text) == text
    assert texts.clean("é\t→\n") == "é\t→\n"


@given(ANYTHING, st.sampled_from([None, 2]))
@example(HOSTILE, 2)
def test_json_says_the_same_and_holds_nothing_that_a_terminal_obeys(text: str, indent: int | None):
    written = texts.as_json({"a": [text]}, indent=indent)
    assert json.loads(written) == {"a": [text]}
    assert texts.clean(written) == written
    assert indent or "\n" not in written


@given(ANYTHING, st.integers(1, 20))
def test_one_line_is_one_and_not_longer_than_it_may_be(text: str, width: int):
    line = texts.one_line(text, width)
    assert len(line) <= width
    assert "\n" not in line


SHOWN: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "show": ({"get_summary": f"# {HOSTILE}\n"}, ("show",)),
    "bank": ({"get_bank_file": HOSTILE}, ("bank", "a.md")),
    "files": ({"list_bank": {"items": [{"path": HOSTILE, "size": 1, "last_modified": "x"}]}}, ("bank",)),
    "search": (
        {"search_space": {"items": [{"kind": "note", "id": "1", "time": "x", "snippet": HOSTILE, "author": HOSTILE}]}},
        ("search", "x"),
    ),
    "diff": (
        {
            "get_consolidation": {
                "changes": [{"path": "a.md", "diff": f"+++ a\n+{HOSTILE}\n"}],
                "sources": [note(1, HOSTILE, tags=[HOSTILE])],
                "warnings": [{"kind": HOSTILE, "text": HOSTILE}],
            }
        },
        ("diff", "1", "--notes"),
    ),
    "history": ({"list_consolidations": {"items": [change(1, author=HOSTILE)], "next_cursor": None}}, ("history",)),
    "ask": (
        {
            "ask_question": {
                "job": "demo.question.1",
                "kind": "question",
                "status": "done",
                "result": {"message": HOSTILE, "sources": [{"kind": "fact", "id": "1", "excerpt": HOSTILE}]},
            }
        },
        ("ask", "x"),
    ),
    "spaces": (
        {
            "list_spaces": {
                "items": [{"space_id": "a", "changes": 1, "last_consolidation": None, "description": HOSTILE}],
                "next_cursor": None,
            }
        },
        ("spaces",),
    ),
    "failed run": (
        {
            "start_consolidation": {"job": "demo.consolidation.1"},
            "get_job": {"status": "failed", "error": {"code": "x", "detail": HOSTILE}, "result": {}},
        },
        ("consolidate", "--wait"),
    ),
    "api": ({"get_rules": {"rules": HOSTILE}}, ("api", "spaces", "get_rules")),
}


@pytest.mark.parametrize("what", SHOWN)
def test_hostile_content_is_shown_and_never_obeyed(desk: CliHarness, what: str, monkeypatch: pytest.MonkeyPatch):
    # Wide enough that no line is cut before its end.
    monkeypatch.setenv("COLUMNS", "300")
    desk.answers, command = SHOWN[what]
    desk.terminal = True
    desk.environ["NO_COLOR"] = "1"
    said = desk.say(*command)
    assert "evil" in said.out
    assert "\x1b[31m" not in said.out
    assert "\x1b]" not in said.out
    assert not set(said.out) & set("\x07\x08\x9b\r\u202e\u2066")
    # Markup, emoji and links of rich are text like any other.
    if what not in {"history", "files", "spaces", "api"}:
        assert "[bold]x[/bold] :smile: [link=http://x]y[/link]" in said.out.replace("\n", " ")
    assert "😄" not in said.out


def test_a_pipe_gets_the_content_byte_for_byte(desk: CliHarness):
    desk.answers = {"get_bank_file": f"{HOSTILE}\n"}
    assert desk.say("bank", "a.md").out == f"{HOSTILE}\n"


def test_there_is_no_escape_sequence_without_a_terminal(desk: CliHarness):
    for what, (answers, command) in SHOWN.items():
        if what in {"show", "bank"}:
            continue
        desk.answers = answers
        said = desk.say(*command)
        assert "\x1b[1m" not in said.out + said.err, what
        assert "\x1b[32m" not in said.out + said.err, what


def test_a_diff_has_colours_on_a_terminal_and_none_with_no_color(desk: CliHarness):
    desk.terminal = True
    desk.answers = {"get_consolidation": {"changes": [{"path": "a", "diff": "--- a\n+++ b\n-x\n+y\n"}], "sources": []}}
    assert "\x1b[32m+y" in desk.say("diff", "1").out
    desk.environ["NO_COLOR"] = "1"
    said = desk.say("diff", "1").out
    assert "32m" not in said
    assert "+y" in said


def test_a_table_for_a_program_has_a_row_a_line_whatever_is_in_it(desk: CliHarness):
    desk.answers = {
        "list_spaces": {
            "items": [
                {"space_id": "a", "changes": 1, "last_consolidation": None, "description": "x\ty\nz"},
                {"space_id": "b", "changes": 2, "last_consolidation": "2026-02-20T14:05:00Z", "description": ""},
            ],
            "next_cursor": None,
        }
    }
    assert desk.say("spaces").out == "a\t1\t\tx y z\nb\t2\t2026-02-20 14:05:00\t\n"
