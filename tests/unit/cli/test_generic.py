"""Every operation is a command in the group of its kind: `livemem api notes get --note-id ID`."""

import json as jsons
from typing import Any

import pytest

from live_memory.operations import OPERATIONS, Operation
from tests.support.cases import each
from tests.support.cli_harness import CliHarness, note
from tests.support.part import part

VALUES: dict[str, Any] = {
    "string": "x",
    "integer": 7,
    "number": 0.5,
    "boolean": True,
    "array": [{"message_id": "1"}],
    "object": {"a": 1},
}


def command(name: str) -> list[str]:
    """The words that call an operation."""
    return ["api", OPERATIONS[name].tag, OPERATIONS[name].short]


def options(operation: Operation) -> tuple[list[str], dict[str, Any]]:
    """All options of an operation, and what it must be asked for with them."""
    said, meant = [], {}
    for name, field in operation.fields.items():
        value = field.choices[0] if field.choices else ["x"] if field.items == "string" else VALUES[field.type]
        option = f"--{name.replace('_', '-')}"
        meant[name] = value
        if value is True:
            said += [option]
        else:
            text = "x" if value == ["x"] else value if isinstance(value, str) else jsons.dumps(value)
            said += [option, text]
    return said, meant


@pytest.mark.slow
@each("name", part(OPERATIONS, 2))
def test_every_operation_is_asked_for_with_all_its_fields(desk: CliHarness, name: str):
    desk.asked.clear()
    operation = OPERATIONS[name]
    desk.answers = {name: None if operation.answer is None else {"answer": name}}
    said, meant = options(operation)
    done = desk.say(*command(name), *said, "--json")
    if done.code == 2:
        done = desk.say(*command(name), *said, "--json", "--yes")

    assert (done.code, done.err) == (0, "")
    assert done.json == desk.answers[name]
    asked, given = desk.asked[0]
    assert asked == name
    # In a path and a query everything is text.
    plain = {
        key: str(value).lower() if not isinstance(given[key], type(value)) else value for key, value in meant.items()
    }
    assert given == plain


@pytest.mark.slow
def test_every_operation_has_a_help_that_names_all_its_fields(desk: CliHarness):
    for name, operation in OPERATIONS.items():
        told = desk.say(*command(name), "--help")
        assert told.code == 0
        assert all(f"--{field.replace('_', '-')}" in told.out for field in operation.fields), name


def test_the_list_has_all_of_them_and_by_kind(desk: CliHarness):
    assert {one["operation"] for one in desk.say("api", "--json").json} == set(OPERATIONS)
    assert {one["tag"] for one in desk.say("api", "notes", "--json").json} == {"notes"}
    assert desk.say("api").out.count("\n") == len(OPERATIONS)
    assert "notes append\tAppend a note\twrite\n" in desk.say("api", "notes").out


def test_a_kind_and_an_operation_that_there_is_not_are_wrong_usage(desk: CliHarness):
    for words in (["nope"], ["append_note"], ["notes", "nope"], ["notes", "append_note"]):
        assert desk.say("api", *words).code == 2


def test_a_name_may_have_dashes(desk: CliHarness):
    desk.answers = {"get_rules": {"rules": "r"}}
    assert desk.say("api", "spaces", "get-rules").json == {"rules": "r"}


def test_the_space_is_the_usual_one_unless_one_is_named(desk: CliHarness):
    desk.answers = {"get_rules": {"rules": "r"}}
    desk.say("api", "spaces", "get_rules")
    desk.say("api", "spaces", "get_rules", "-s", "other")
    assert [given["space_id"] for _, given in desk.asked] == ["demo", "other"]


def test_what_is_missing_is_named_by_its_options(desk: CliHarness):
    said = desk.say("api", "notes", "append")
    assert (said.code, desk.asked) == (2, [])
    assert "--category, --content" in said.err


def test_a_body_comes_from_an_option_a_file_or_stdin_and_options_win(desk: CliHarness):
    desk.answers = {"append_note": note(1)}
    body = jsons.dumps({"category": "todo", "content": "x"})
    (desk.home / "body.json").write_text(body)
    for said, stdin in [(body, ""), (f"@{desk.home}/body.json", ""), ("-", body)]:
        assert desk.say("api", "notes", "append", "--body", said, "--content", "y", stdin=stdin).code == 0
    assert {jsons.dumps(given) for _, given in desk.asked} == {
        '{"space_id": "demo", "category": "todo", "content": "y"}'
    }


@pytest.mark.parametrize("body", ["[]", "{", '{"unknown": 1}', "@/nowhere", '{"space_id": "other"}'])
def test_a_body_that_is_none_is_refused(desk: CliHarness, body: str):
    said = desk.say("api", "notes", "append", "--category", "todo", "--content", "x", "--body", body)
    assert (said.code, desk.asked) == (2, [])


def test_a_field_that_wants_json_refuses_anything_else(desk: CliHarness):
    assert desk.say("api", "notes", "append", "--items", "x").code == 2
    assert desk.say("api", "notes", "append", "--items", "@/nowhere").code == 2
    assert desk.asked == []


def test_all_pages_are_lines_of_json(desk: CliHarness):
    desk.answers = {
        "list_notes": [{"items": [note(1), note(2)], "next_cursor": "c"}, {"items": [note(3)], "next_cursor": None}]
    }
    assert desk.say("api", "notes", "list", "--all").lines == [note(1), note(2), note(3)]


def test_an_answer_can_be_markdown(desk: CliHarness):
    desk.answers = {"get_summary": "# demo\n"}
    assert desk.say("api", "spaces", "get_summary", "--markdown").out == "# demo\n"
    assert desk.headers[0]["accept"] == "text/markdown"


def test_several_things_take_the_place_of_the_fields_of_one(desk: CliHarness):
    desk.answers = {"append_note": {"items": []}}
    (desk.home / "body").write_text('{"items": [{"category": "todo", "content": "a"}]}')
    for said in (["--items", '[{"category": "todo", "content": "a"}]'], ["--body", f"@{desk.home}/body"]):
        assert desk.say("api", "notes", "append", *said).code == 0
        assert desk.asked[-1][1]["items"] == [{"category": "todo", "content": "a"}]
    assert "needs --category" in desk.say("api", "notes", "append", "--content", "a").err


def test_a_dry_run_of_the_upkeep_is_not_asked_about_and_the_real_one_is(desk: CliHarness):
    desk.answers = {"collect_garbage": {}}
    for name in desk.answers:
        assert desk.say(*command(name)).code == 0
        assert desk.say(*command(name), "--no-dry-run").code == 2
        assert desk.say(*command(name), "--body", '{"dry_run": false}').code == 2
        assert desk.say(*command(name), "--no-dry-run", "--yes").code == 0
