"""Exit codes mean something, and errors say what to do."""

import json

import httpx
import pytest

from tests.support.cases import each
from tests.support.cli_harness import CliHarness, note, run
from tests.support.scripted import problem


@each(
    ("answer", "code"),
    [
        (problem(500, "internal_error"), 1),
        (problem(503, "space_broken"), 1),
        (problem(503, "not_configured"), 1),
        (problem(400, "malformed_body"), 2),
        (problem(413, "too_large"), 2),
        (problem(422, "invalid_request"), 2),
        (httpx.Response(301, headers={"location": "https://x"}), 2),
        (problem(404, "space_not_found"), 3),
        (problem(401, "unauthenticated"), 4),
        (problem(403, "forbidden"), 4),
        (problem(409, "busy"), 5),
        (problem(409, "precondition_lost"), 5),
        (problem(429, "cooldown", retry_after=3600), 6),
        (problem(503, "store_unavailable"), 6),
        (httpx.ConnectError("refused"), 6),
        (httpx.ReadTimeout("late"), 6),
        (httpx.Response(404, text="<html>"), 6),
        (httpx.Response(502, text="<html>"), 6),
        (httpx.Response(200, text="<html>"), 1),
    ],
)
def test_an_error_of_the_service_has_its_exit_code_and_is_told_on_stderr(desk: CliHarness, answer, code):
    desk.answers = {"get_space": answer}

    said = desk.say("space", "show", "demo")
    assert (said.code, said.out) == (code, "")
    assert said.err.startswith("livemem: ")

    said = desk.say("space", "show", "demo", "--json")
    assert (said.code, said.out) == (code, "")
    assert json.loads(said.err)["code"]


def test_the_problem_document_of_an_error_is_the_services(desk: CliHarness):
    body = {
        "status": 422,
        "code": "invalid_request",
        "detail": "scope: unknown",
        "request_id": "r-7",
        "errors": [{"field": "scope", "message": "unknown"}],
    }
    desk.answers = {"search_space": httpx.Response(422, json=body, headers={"retry-after": "5"})}
    told = json.loads(desk.say("search", "x", "--json").err)
    assert told == {**body, "title": "Error", "retry_after": 5}


def test_what_the_command_line_refuses_itself_is_json_too(desk: CliHarness):
    desk.alone()
    said = desk.say("show", "--json")
    assert (said.code, said.out) == (2, "")
    assert "livemem login" in json.loads(said.err)["detail"]


def test_without_a_token_there_is_no_access(desk: CliHarness):
    del desk.environ["LIVEMEM_TOKEN"]
    assert desk.say("whoami").code == 4


def test_wrong_usage_ends_with_2(desk: CliHarness):
    assert desk.say("nothing").code == 2
    assert desk.say("diff", "one").code == 2
    assert desk.asked == []


@pytest.mark.parametrize(
    ("status", "why", "code"),
    [
        ("done", None, 0),
        ("waiting", "awaiting_approval", 0),
        ("failed", None, 1),
        ("failed", "busy", 5),
        ("cancelled", "superseded", 5),
        ("done", "nothing_to_do", 7),
    ],
)
def test_how_a_run_ended_is_the_exit_code(desk: CliHarness, status: str, why: str | None, code: int):
    desk.answers = {"start_consolidation": run("queued"), "get_job": [run("running"), run(status, code=why)]}
    assert desk.say("consolidate", "--wait").code == code
    desk.answers = {"start_consolidation": run("queued"), "get_job": run(status, code=why)}
    said = desk.say("consolidate", "--wait", "--json")
    assert (said.code, said.json["status"]) == (code, status)


def test_a_search_that_found_nothing_names_the_scopes_that_have_it(desk: CliHarness):
    desk.answers = {"search_space": {"items": [], "nothing": "elsewhere", "elsewhere": ["rooms", "tools"]}}
    said = desk.say("search", "x", "--everything")
    assert (said.code, said.err) == (7, "Nothing was found. Look with --scope rooms,tools.\n")
    assert desk.asked[-1][1]["everything"] == "true"


def test_nothing_found_is_7_as_for_grep(desk: CliHarness):
    commands = {
        "search_space": ("search", "x"),
        "search_spaces": ("search", "x", "--all"),
        "search_memories": ("api", "memories", "search", "--q", "x"),
    }
    for operation, command in commands.items():
        desk.answers = {operation: {"items": [], "nothing": "below_floor"}}
        said = desk.say(*command)
        assert (said.code, said.err) == (7, "Nothing was found.\n"), operation
        said = desk.say(*command, "--json")
        assert (said.code, said.json) == (7, desk.answers[operation]), operation
    # The newest memories are no search, however few there are.
    desk.answers = {"search_memories": {"items": [], "ranking": "newest"}}
    assert desk.say("api", "memories", "search").code == 0


def test_help_tells_all_exit_codes(desk: CliHarness):
    told = desk.say("--help").out
    assert all(f"{code}: " in told for code in range(8))


def test_what_cannot_be_taken_back_is_asked_and_nothing_is_done_without_a_yes(desk: CliHarness):
    commands = [
        ("undo", "1"),
        ("erase", "20260220T140000_ann_todo_1a2b3c4d"),
        ("erase", "--agent", "ann"),
        ("space", "delete", "demo"),
        ("backup", "delete", "2026-02-20T02-00-00"),
        ("token", "revoke", "0123"),
        ("gc", "--really"),
        ("api", "memories", "delete", "--memory-id", "01KHXE5Q2V8R0M4T6W9YBNCD3F", "--reason", "old"),
        ("api", "tokens", "revoke", "--token-hash", "0123"),
    ]
    for command in commands:
        said = desk.say(*command)
        assert said.code == 2, command
        assert "--yes" in said.err or "--confirm demo" in said.err
    desk.terminal = True
    for command in commands:
        if command[:2] != ("space", "delete"):
            said = desk.say(*command, stdin="n\n")
            assert (said.code, said.err.endswith("Stopped: nothing was done.\n")) == (1, True), command
    assert desk.asked == []

    desk.answers = {"undo_consolidation": {"number": 2, "notes_count": 3}}
    assert desk.say("undo", "1", stdin="y\n").code == 0


def test_who_deletes_a_space_is_told_what_goes_and_types_its_id(desk: CliHarness):
    desk.terminal = True
    there = {"live": {"notes_count": 3}, "bank": {"files_count": 1}}
    desk.answers = {"get_space": there, "list_backups": {"items": [], "next_cursor": None}, "delete_space": None}

    for typed in ("y\n", "\n", "other\n"):
        said = desk.say("space", "delete", "demo", stdin=typed)
        assert said.code == 1, typed
        assert "3 live notes and 1 bank file" in said.err
        assert "NO backup" in said.err
    assert "delete_space" not in [name for name, _ in desk.asked]

    desk.answers = {
        **desk.answers,
        "list_backups": {"items": [{"backup_id": "b7", "complete": True}], "next_cursor": None},
    }
    said = desk.say("space", "delete", "demo", stdin="demo\n")
    assert said.code == 0
    assert "newest backup is b7" in said.err
    assert desk.asked[-1] == ("delete_space", {"space_id": "demo", "confirm": "demo"})


def test_a_restore_that_waits_comes_again_when_the_id_is_free(desk: CliHarness):
    refused = httpx.Response(
        409, json={"status": 409, "code": "conflict", "detail": "Free at 12:21."}, headers={"Retry-After": "90"}
    )
    arrived = {
        "status": "done",
        "kind": "restore",
        "progress": {"done": 4},
        "space_id": "demo",
        "job": "demo.restore.1",
    }
    desk.answers = {"create_space": [refused, refused, arrived]}

    said = desk.say("backup", "restore", "2026-02-20T02-00-00", "--wait")

    assert (said.code, said.out) == (0, "demo\n")
    assert "Free at 12:21." in said.err
    assert sum(desk.waited) == 120
    desk.answers = {"create_space": refused}
    assert desk.say("backup", "restore", "2026-02-20T02-00-00").code == 5
    taken = httpx.Response(409, json={"status": 409, "code": "space_exists", "detail": "It is there."})
    desk.answers = {"create_space": taken}
    assert desk.say("backup", "restore", "2026-02-20T02-00-00", "--wait").code == 5


def test_a_message_of_the_service_reaches_no_terminal_raw(desk: CliHarness):
    desk.terminal = True
    body = {"status": 404, "code": "x", "detail": "no \x1b]0;owned\x07 space", "request_id": "r"}
    desk.answers = {"append_note": httpx.Response(404, json=body)}
    said = desk.say("note", note(1)["content"])
    assert "\x1b]" not in said.err
    assert "\x07" not in said.err
    assert "owned" in said.err


def test_a_gateway_that_finds_a_request_too_large_is_not_asked_again_later(desk: CliHarness):
    desk.answers = {"append_note": httpx.Response(413, text="Request Entity Too Large")}
    assert desk.say("note", "x").code == 2
