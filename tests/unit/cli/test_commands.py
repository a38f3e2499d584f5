"""The daily commands: what they ask, what they show, and JSON of each."""

import json as jsons
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from live_memory.cli import waiting
from tests.support.cases import each
from tests.support.cli_harness import CliHarness, change, note, run
from tests.support.scripted import problem

READY = {"job": "copy.fork.1", "status": "done", "kind": "fork", "progress": {"done": 42}, "space_id": "copy"}
RUNNING = {"job": "copy.fork.1", "status": "running", "kind": "fork", "space_id": "copy"}
BACKUP = {
    "backup_id": "2026-02-20T02-00-00",
    "space_id": "demo",
    "complete": True,
    "objects": 42,
    "bytes": 61203,
    "trigger": "api",
    "description": "",
}
RECEIPT = {
    "job": "demo.erasure.01KHXE5Q2V8R0M4T6W9YBNCD3F",
    "status": "done",
    "counts": {"live": 1},
    "sections": [{"path": "progress.md", "heading": "## Done"}],
    "not_reached": ["Archives that were downloaded."],
}
IN_SPACES = [part for space in ("demo", "nosuch", "hidden") for part in ("--space-ids", space)]
TOKEN_MADE = {"hash": "sha256:0", "name": "agent", "token": "lm_New", "permissions": ["read"], "revoked": False}
CONNECTION = {
    "connection_id": "7",
    "name": "ann",
    "client_name": "Claude",
    "redirect_host": "claude.ai",
    "permissions": ["read"],
    "space_ids": [],
    "created_at": "2026-02-20T09:00:00Z",
    "expires_at": "2026-05-21T09:00:00Z",
}
DONE = {
    "job": "demo.question.1",
    "kind": "question",
    "status": "done",
    "result": {"message": "Ines.", "sources": [], "session": "s"},
}
SPACE = {
    "space_id": "demo",
    "description": "d",
    "changes": 1,
    "last_consolidation": None,
    "consolidation_threshold": 3,
    "auto_paused": False,
    "consolidation_mode": "review",
    "pending_plan": {"job": "demo.consolidation.01KHXE5Q2V8R0M4T6W9YBNCD3F"},
    "live": {"notes_count": 1, "total_size": 1},
    "bank": {"files_count": 1, "total_size": 1},
}
USED = {"runs": 1, "failed_runs": 0, "notes": 2, "calls": 1, "tokens": 9}
USAGE = {
    "items": [{"date": "2026-02-20", **USED}],
    "total": USED,
    "budget": {"tokens_per_day": 5, "used_today": 9},
    "spaces": [],
}
HEALTH = {"status": "ok", "version": "1", "checks": {"store": "ok"}, "spaces": []}
GARBAGE = {
    "space_id": "demo",
    "old_notes": 7,
    "oldest": None,
    "action": "consolidate",
    "moved": 0,
    "orphans": 0,
    "backups": [],
}

FILE = {"path": "a.md", "size": 1, "last_modified": "2026-02-20T14:05:00Z"}


PAGE_CODE = {"page_code": "x", "path": "/#code=x", "expires_in": 60}


LONG_WORK = {**run("done"), "created_at": "2026-02-20T14:05:00Z"}
WAITING = run("waiting", pending_plan={"planned_at": "2026-02-20T14:05:00Z"})


def page(*items: Any) -> dict[str, Any]:
    return {"items": list(items), "next_cursor": None}


DAILY: list[tuple[tuple[str, ...], dict[str, Any], Any]] = [
    (("note", "x"), {"append_note": note(1)}, note(1)),
    (("remember", "x"), {"store_memory": {"memory_id": "1"}}, {"memory_id": "1"}),
    (
        ("start", "the import", "--max-chars", "2000", "--lang", "fr"),
        {"get_start": {"space_id": "demo"}},
        {"space_id": "demo"},
    ),
    (("read", "rules", "--max-chars", "500", "--cursor", "x"), {"read_by_id": {"text": "r"}}, {"text": "r"}),
    (("show",), {"get_summary": {"space_id": "demo"}}, {"space_id": "demo"}),
    (("bank",), {"list_bank": page(FILE)}, page(FILE)),
    (("bank", "a.md"), {"get_bank_file": {"path": "a.md"}}, {"path": "a.md"}),
    (("bank", "a.md", "--sources"), {"get_bank_file": {"path": "a.md"}}, {"path": "a.md"}),
    (("search", "x"), {"search_space": {"items": [{"id": "1"}]}}, {"items": [{"id": "1"}]}),
    (("search", "x", "--all"), {"search_spaces": {"items": [{"id": "1"}]}}, {"items": [{"id": "1"}]}),
    (("context", "x", "--kinds", "memory"), {"load_context": {"markdown": ""}}, {"markdown": ""}),
    (("context", "x", "--room", "salon"), {"load_context": {"markdown": ""}}, {"markdown": ""}),
    (("context", "x", "--conversation", "1"), {"load_context": {"markdown": ""}}, {"markdown": ""}),
    (("ask", "x"), {"ask_question": DONE}, DONE),
    (("consolidate",), {"start_consolidation": run("queued")}, run("queued")),
    (("history",), {"list_consolidations": page(change(1))}, {"items": [change(1)]}),
    (("diff", "1"), {"get_consolidation": {"changes": [], "sources": []}}, {"changes": [], "sources": []}),
    (("undo", "1", "-y"), {"undo_consolidation": change(2)}, change(2)),
    (("spaces",), {"list_spaces": page(SPACE)}, {"items": [SPACE]}),
    (("space", "show", "demo"), {"get_space": SPACE}, SPACE),
    (("space", "create", "demo"), {"create_space": SPACE}, SPACE),
    (("space", "set", "demo", "--pause"), {"patch_space": SPACE}, SPACE),
    (("space", "rules", "demo"), {"get_rules": {"rules": "r"}}, {"rules": "r"}),
    (("space", "fork", "demo", "copy"), {"create_space": READY}, READY),
    (("space", "delete", "demo", "--confirm", "demo"), {"delete_space": None}, {"deleted": "demo"}),
    (("token", "create", "agent"), {"create_token": TOKEN_MADE}, TOKEN_MADE),
    (("token", "list"), {"list_tokens": page(TOKEN_MADE)}, {"items": [TOKEN_MADE]}),
    (("token", "revoke", "0", "-y"), {"revoke_token": TOKEN_MADE}, TOKEN_MADE),
    (("token", "rotate"), {"rotate_token": TOKEN_MADE}, TOKEN_MADE),
    (("connections",), {"list_connections": page(CONNECTION)}, {"items": [CONNECTION]}),
    (("connections", "end", "7", "-y"), {"end_connection": None}, {"connection_id": "7", "ended": True}),
    (("backup", "create"), {"create_backup": BACKUP}, BACKUP),
    (("backup", "list"), {"list_backups": page(BACKUP)}, {"items": [BACKUP]}),
    (("backup", "list", "--all"), {"list_backups": page(BACKUP)}, {"items": [BACKUP]}),
    (("backup", "show", "1"), {"get_backup": BACKUP}, BACKUP),
    (("backup", "restore", "1", "--as", "copy"), {"create_space": READY}, READY),
    (("backup", "delete", "1", "-y"), {"delete_backup": None}, {"deleted": "1"}),
    (("erase", "1", "2", "-y"), {"erase_items": RECEIPT}, RECEIPT),
    (("erase", "--agent", "ann", "-y"), {"erase_items": RECEIPT}, RECEIPT),
    (("usage",), {"get_usage": USAGE}, USAGE),
    (("usage", "--all"), {"get_usage": USAGE}, USAGE),
    (("health",), {"get_health": HEALTH}, HEALTH),
    (
        ("open", "--print"),
        {"create_page_code": PAGE_CODE},
        {"url": "https://memory.example.org/#code=x", "expires_in": 60, "opened": False},
    ),
    (
        ("jobs", "--kind", "consolidation"),
        {"list_jobs": page(LONG_WORK)},
        {"items": [LONG_WORK]},
    ),
    (
        ("review", "list"),
        {"get_space": SPACE, "get_job": WAITING},
        {"items": [WAITING]},
    ),
]


def test_a_search_names_the_spaces_that_could_not_be_searched(desk: CliHarness):
    failed = {"space_id": "bad", "code": "space_broken", "detail": "It can't be\nread."}
    hit = {"kind": "note", "id": "1", "space_id": "demo", "time": "2026-02-20T14:00:00Z", "snippet": "A store."}
    desk.answers = {"search_spaces": {"items": [hit], "failed_spaces": [failed]}}
    said = desk.say("search", "x", "--all")
    assert said.code == 0
    assert "A store." in said.out
    assert "Not searched: bad (space_broken). It can't be read." in said.err


def test_a_search_of_all_spaces_says_how_it_goes_on(desk: CliHarness):
    desk.answers = {"search_spaces": {"items": [], "next_spaces": "cG9ydA"}}
    said = desk.say("search", "x", "--all")
    assert "Not all spaces were searched. The next ones: --all --cursor cG9ydA" in said.err
    desk.asked.clear()
    desk.say("search", "x", "--all", "--cursor", "cG9ydA")
    assert desk.asked[0][1]["cursor"] == "cG9ydA"


def test_a_search_says_how_much_matches_and_how_it_goes_on(desk: CliHarness):
    hit = {"kind": "note", "id": "1", "space_id": "demo", "time": "2026-02-20T14:00:00Z", "snippet": "A store."}
    desk.answers = {"search_space": {"items": [hit], "total": 45, "next_cursor": "MTA"}}
    assert "45 match. The next ones: --cursor MTA" in desk.say("search", "x").err
    desk.asked.clear()
    desk.say("search", "x", "--cursor", "MTA")
    assert desk.asked[0][1]["cursor"] == "MTA"


def test_a_search_also_tells_why_a_document_was_not_found(desk: CliHarness):
    hit = {"kind": "note", "id": "1", "space_id": "demo", "time": "2026-02-20T14:00:00Z", "snippet": "A store."}
    why = {"id": "4", "reason": "rank", "rank": 12, "behind": ["2", "3"]}
    desk.answers = {"search_space": {"items": [hit], "why_not": why}}
    said = desk.say("search", "x", "--why-not", "4")
    assert said.code == 0
    assert "Why not 4: rank, rank 12, behind 2, 3" in said.err
    assert desk.say("search", "x", "--all", "--why-not", "4").code == 2


@each(("command", "answers", "told"), DAILY, ids=[" ".join(one[0]) for one in DAILY])
def test_json_is_one_document_on_stdout_and_nothing_else(desk: CliHarness, command, answers, told):
    desk.answers = answers
    said = desk.say(*command, "--json")
    assert (said.code, said.err) == (0, "")
    assert said.json == told


@pytest.mark.slow
@each(("command", "answers", "told"), DAILY, ids=[" ".join(one[0]) for one in DAILY])
def test_each_is_shown_to_people_too(desk: CliHarness, command, answers, told):
    full = {"kind": "note", "id": "1", "time": "x", "snippet": "s"}
    answers = {
        name: {"items": [full]} if name.startswith("search_") else "# text" if _is_text(command, name) else answer
        for name, answer in answers.items()
    }
    for desk.terminal in (False, True):
        desk.answers = dict(answers)
        said = desk.say(*command)
        assert said.code == 0
        assert said.out + said.err


def _is_text(command: tuple[str, ...], name: str) -> bool:
    texts = {
        "get_start",
        "read_by_id",
        "get_summary",
        "load_context",
        "get_bank_file",
    }
    return name in texts and "--sources" not in command


def test_a_context_asks_for_what_is_known_of_a_conversation_or_of_a_room(desk: CliHarness):
    for options, asked in (
        (("x", "--kinds", "memory,bank"), {"q": "x", "kinds": "memory,bank"}),
        (("x", "--conversation", "1", "--limit", "3"), {"q": "x", "conversation_id": "1", "limit": "3"}),
        (("--room", "salon", "--lang", "fr"), {"room": "salon", "lang": "fr"}),
    ):
        desk.asked.clear()
        desk.answers = {"load_context": "known"}
        assert desk.say("context", *options).code == 0
        ((operation, fields),) = desk.asked
        assert (operation, {**fields, **asked}) == ("load_context", fields)


def test_a_note_has_all_that_was_said_of_it(desk: CliHarness):
    desk.answers = {"append_note": note(1)}
    said = desk.say(
        "note", "We keep S3.", "-c", "decision", "-t", "a", "-t", "b", "-s", "other", "--idempotency-key", "k1"
    )
    assert said.out == f"{note(1)['note_id']}\n"
    expected = {"space_id": "other", "category": "decision", "content": "We keep S3.", "tags": ["a", "b"]}
    assert desk.asked == [("append_note", expected)]
    assert desk.headers[0]["idempotency-key"] == "k1"


@pytest.mark.parametrize("arguments", [(), ("-",)])
def test_a_note_comes_from_stdin_byte_for_byte(desk: CliHarness, arguments):
    desk.answers = {"append_note": note(1)}
    assert desk.say("note", *arguments, stdin="  two\r\nlines é\n").code == 0
    assert desk.asked[0][1]["content"] == "  two\r\nlines é\n"


def test_an_empty_note_or_one_that_is_no_text_is_not_sent(desk: CliHarness):
    assert desk.say("note", stdin=" \n").code == 2
    assert desk.say("note", stdin=b"\xff\xfe").code == 2
    desk.terminal = True
    assert desk.say("note").code == 2
    assert desk.asked == []


def test_a_batch_is_sent_in_parts_in_its_order_and_says_where_to_go_on_after_a_failure(desk: CliHarness):
    lines = [jsons.dumps({"content": str(number), "category": "todo"}) for number in range(250)]
    answers = [{"items": [note(n) for n in range(100)]}, problem(503, "store_unavailable")]
    desk.answers = {"append_note": answers}

    said = desk.say("note", "--batch", "-t", "all", stdin="\n".join(lines))

    assert said.code == 6
    assert len(said.out.splitlines()) == 100
    assert "100 notes are written. Continue from line 101" in said.err
    sent = [one["content"] for _, arguments in desk.asked for one in arguments["items"]]
    assert sent[:200] == [str(number) for number in range(200)]
    assert desk.asked[0][1]["items"][0] == {"content": "0", "category": "todo", "tags": ["all"]}


def test_each_request_of_a_batch_has_a_key_of_its_own_and_no_batch_has_a_source(desk: CliHarness):
    lines = "\n".join([jsons.dumps({"content": str(number)}) for number in range(101)])
    desk.answers = {"append_note": [{"items": [note(n) for n in range(100)]}, {"items": [note(100)]}]}

    assert desk.say("note", "--batch", "--idempotency-key", "k", stdin=lines).code == 0
    assert [headers["idempotency-key"] for headers in desk.headers] == ["k/0", "k/100"]
    asked = len(desk.asked)
    refused = desk.say("note", "--batch", "--source", "team/x", stdin=lines)
    assert (refused.code, len(desk.asked)) == (2, asked)
    assert "--source" in refused.err


@pytest.mark.parametrize(
    "bad", ["{", "[]", '{"content": 1}', '{"content": "x", "author": "y"}', '{"category": "todo"}']
)
def test_a_batch_with_a_bad_line_is_refused_whole_by_its_number(desk: CliHarness, bad: str):
    said = desk.say("note", "--batch", stdin=f'{{"content": "good"}}\n\n{bad}\n')
    assert (said.code, desk.asked) == (2, [])
    assert "line 3" in said.err


def test_what_was_redacted_is_said(desk: CliHarness):
    desk.answers = {"append_note": note(1, redacted={"aws_key": 1})}
    assert "1 aws_key" in desk.say("note", "x").err


def test_a_dry_run_shows_its_plan(desk: CliHarness):
    plan = {"changes": [{"path": "a.md", "action": "created", "diff": "--- x\n+y\n"}], "synthesis": "All."}
    desk.answers = {"start_consolidation": run("queued"), "get_job": [run("running"), run("done", plan=plan)]}
    said = desk.say("consolidate", "--dry-run")
    assert said.code == 0
    assert "created a.md" in said.out
    assert "+y" in said.out
    assert desk.asked[0][1]["dry_run"] is True


def test_the_warnings_of_a_change_and_of_a_plan_are_shown_and_the_history_counts_them(desk: CliHarness):
    warnings = {"changes": [], "sources": [], "warnings": [{"kind": "lost_line", "text": "A line\nwould go."}]}
    desk.answers = {
        "get_consolidation": warnings,
        "start_consolidation": run("queued"),
        "get_job": run("done", plan=warnings),
        "list_consolidations": page(change(2, metrics={"warnings": 1}), change(1, metrics={"warnings": 0})),
    }

    for command in (("diff", "2"), ("consolidate", "--dry-run")):
        assert "Warning: A line would go." in desk.say(*command).out
    assert desk.say("history").out.count("1 warning") == 1


def test_a_tidy_run_is_started_and_tried_and_shows_the_lines_that_would_go(desk: CliHarness):
    plan = {"changes": [], "sources": [], "removed": [{"file": "a.md", "line": "- The tunnel is closed."}]}
    desk.answers = {"start_consolidation": run("queued"), "get_job": run("done", plan=plan)}

    said = desk.say("consolidate", "--tidy", "--dry-run")

    assert desk.asked[0][1] == {"space_id": "demo", "dry_run": True, "tidy": True}
    assert "a.md: - The tunnel is closed." in said.out


def test_a_space_shows_the_length_of_its_bank_beside_the_one_that_it_should_have(desk: CliHarness):
    tidied = {"run_id": "1", "at": "2026-02-20T14:05:00Z", "chars": 9_000}
    counted = {**SPACE, "bank_chars": 10_000, "bank_length": 12_600, "tidied": tidied, "tidy_paused": True}
    desk.answers = {"get_space": [counted, {**SPACE, "bank_chars": 10_000}, {**SPACE, "bank_chars": 0}]}

    shown = [re.sub(r"\s+", " ", desk.say("space", "show").out) for _ in range(3)]

    assert "12,600 of 10,000 characters, tidy runs are paused (--resume-tidy)" in shown[0]
    assert "last tidy run 2026-02-20 14:05:00" in shown[0]
    assert "not counted yet of 10,000 characters" in shown[1]
    assert "characters" not in shown[2]


def test_a_space_gets_a_length_and_its_tidy_runs_go_on(desk: CliHarness):
    desk.answers = {"create_space": SPACE, "patch_space": SPACE}

    assert desk.say("space", "create", "demo", "--bank-chars", "0").code == 0
    said = desk.say("space", "set", "--bank-chars", "2000", "--resume-tidy")
    assert said.out == "demo: tidy paused off, bank chars 2000\n"

    assert [asked[1].get("bank_chars") for asked in desk.asked] == [0, 2_000]
    assert desk.asked[1][1]["tidy_paused"] is False


def test_rules_and_earlier_notes_are_tried_in_a_dry_run_without_being_told_to(desk: CliHarness, tmp_path: Path):
    rules = tmp_path / "rules.md"
    rules.write_text("Keep two logs.")
    bare = {"changes": [], "synthesis": "s"}
    desk.answers = {"start_consolidation": run("queued"), "get_job": run("done", plan=bare)}

    assert desk.say("consolidate", "--rules", str(rules), "--notes-of", "3").code == 0

    assert desk.asked[0][1] == {"space_id": "demo", "dry_run": True, "rules": "Keep two logs.", "notes_of": 3}


def test_waiting_tells_each_step_once_on_stderr(desk: CliHarness):
    steps = [run("queued"), run("running", step="asking"), run("running", step="asking"), run("done", consolidation=4)]
    desk.answers = {"start_consolidation": run("queued"), "get_job": steps}
    said = desk.say("consolidate", "--wait")
    assert said.err == "consolidation queued\nconsolidation asking\n"
    assert said.out.startswith("Change 4")
    assert len(desk.waited) == 3


def test_waiting_ends_after_an_hour_and_says_that_it_goes_on(desk: CliHarness, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(waiting, "LONGEST_PAUSE", 60.0)
    desk.answers = {"create_backup": {**BACKUP, "complete": False}, "get_backup": {**BACKUP, "complete": False}}
    said = desk.say("backup", "create", "--wait")
    assert said.code == 6
    assert "The work continues" in said.err
    assert 3600 <= sum(desk.waited) < 3700


def test_waiting_on_a_terminal_leaves_the_result_alone_on_stdout(desk: CliHarness):
    desk.terminal = True
    desk.environ["NO_COLOR"] = "1"
    desk.answers = {"start_consolidation": run("queued"), "get_job": [run("running", step="asking"), run("done")]}
    said = desk.say("consolidate", "--wait")
    assert said.code == 0
    assert said.out == "The run is done.\n"
    assert "asking" in said.err


def test_the_sources_of_a_file_are_told_by_section(desk: CliHarness):
    section = {
        "heading": "## Terms",
        "sources": [{"note_id": "20260220T140000_ann_todo_1a2b3c4d", "consolidation": 3}],
        "corrections": [5],
        "omitted": 2,
    }
    desk.answers = {"get_bank_file": {"path": "a.md", "sections": [section]}}
    assert desk.say("bank", "a.md", "--sources").out.splitlines() == [
        "## Terms",
        "  20260220T140000_ann_todo_1a2b3c4d  change 3",
        "  corrected by hand: change 5",
        "  and 2 older notes",
    ]


def test_an_empty_bank_says_what_waits_and_when_it_is_folded(desk: CliHarness):
    waiting = {"notes_count": 2, "next_run": {"why": "session_end"}}
    desk.answers = {"list_bank": page(), "get_space": {**SPACE, "waiting": waiting}}
    assert "2 notes wait to be folded: at the end of a session with 3 notes" in desk.say("bank").err
    assert desk.say("bank", "--json").err == desk.say("bank", "--at", "1").err == ""


def test_a_provisioning_is_waited_for_and_a_failed_one_is_told(desk: CliHarness):
    desk.answers = {"create_space": RUNNING, "get_job": [RUNNING, READY]}
    assert desk.say("space", "fork", "demo", "copy", "--wait").code == 0
    assert desk.asked[-1] == ("get_job", {"job": "copy.fork.1"})

    failed = {**RUNNING, "status": "failed", "error": {"code": "backup_damaged", "detail": "An object is missing."}}
    desk.answers = {"create_space": RUNNING, "get_job": failed}
    said = desk.say("backup", "restore", "1", "--wait")
    assert said.code == 1
    assert "An object is missing." in said.err


def test_jobs_are_those_of_the_space_or_of_all_spaces(desk: CliHarness):
    failed = {**LONG_WORK, "status": "failed", "error": {"code": "not_started", "detail": "x"}}
    desk.answers = {"list_jobs": page(LONG_WORK, failed)}

    said = desk.say("jobs", "--state", "failed", "-n", "2")
    desk.say("jobs", "--all")

    assert "not_started" in said.out
    assert desk.asked == [("list_jobs", {"space_id": "demo", "state": "failed"}), ("list_jobs", {})]


def test_work_of_any_kind_is_waited_for_and_how_it_ended_is_the_exit_code(desk: CliHarness):
    job = {"job": "demo.backup.b", "kind": "backup", "status": "queued", "usage": {"calls": 0}}
    for end, code in (("done", 0), ("failed", 1), ("cancelled", 1)):
        error = {"error": {"code": "not_finished", "detail": "Nobody goes on."}} if end == "failed" else {}
        desk.answers = {"get_job": [job, {**job, "status": "running"}, {**job, "status": end, **error}]}
        said = desk.say("wait", "demo.backup.b")
        assert (said.code, end in said.out) == (code, True)
        assert desk.asked[-1] == ("get_job", {"job": "demo.backup.b"})
        assert ("not_finished: Nobody goes on." in said.err) == bool(error)


def test_an_erasure_names_what_is_to_be_corrected(desk: CliHarness):
    desk.answers = {"erase_items": {**RECEIPT, "status": "running"}, "get_job": {"status": "done", "result": RECEIPT}}
    said = desk.say("erase", "1", "--yes", "--wait")
    assert "progress.md, ## Done" in said.err
    assert desk.asked[0][1]["ids"] == ["1"]


def test_a_preview_of_an_erasure_is_not_confirmed_and_names_what_is_unknown(desk: CliHarness):
    desk.answers = {"erase_items": {**RECEIPT, "status": "preview", "preview": {"states": {"1": "unknown"}}}}
    for words in (("erase", "1", "--preview"), ("api", "erasure", "erase-items", "--ids", "1", "--preview")):
        said = desk.say(*words)
        assert (said.code, "unknown" in said.out) == (0, True), said
    assert [arguments["preview"] for _, arguments in desk.asked] == [True, True]
    assert "Would be erased from: 1 live." in desk.say("erase", "1", "--preview").err


def test_garbage_is_only_looked_at_unless_one_says_so_and_followed_to_its_end(desk: CliHarness):
    nothing_else = {"exports_removed": 0, "tokens_removed": []}
    first = {"spaces": [GARBAGE], "failed": [], "more": True, "after": "demo", **nothing_else}
    last = {"spaces": [], "failed": [], "more": False, "after": None, **nothing_else}
    desk.answers = {"collect_garbage": [first, last]}
    assert desk.say("gc").code == 0
    assert [arguments["dry_run"] for _, arguments in desk.asked] == [True, True]
    assert desk.asked[1][1]["after"] == "demo"

    desk.answers = {"collect_garbage": last}
    assert desk.say("gc", "--really", "-y").code == 7
    assert desk.asked[-1][1]["dry_run"] is False

    desk.answers = {"collect_garbage": {**last, "exports_removed": 2, "tokens_removed": ["0" * 64]}}
    for words, title in ((("gc",), "To be removed"), (("gc", "--really", "-y"), "Removed")):
        said = desk.say(*words)
        assert (said.code, "nothing to do" in said.err) == (0, False)
        assert f"{title}: archives 2." in said.err
        assert f"{title}: tokens 1." in said.err

    desk.answers = {"collect_garbage": {**first, "failed": [{"space_id": "bad", "code": "busy"}]}}
    assert desk.say("gc").code == 1


def test_a_token_is_alone_on_stdout_and_by_default_may_read_and_write(desk: CliHarness):
    desk.answers = {"create_token": TOKEN_MADE}
    said = desk.say("token", "create", "agent", "-s", "demo")
    assert said.out == "lm_New\n"
    assert "livemem login" in said.err
    assert "lm_New" not in said.err
    assert desk.asked[0][1] == {"name": "agent", "permissions": ["read", "write"], "space_ids": ["demo"]}


@pytest.mark.parametrize("json_option", [[], ["--json"]])
@pytest.mark.parametrize(
    ("command", "operation"),
    [
        (["token", "create", "agent", "-s", "demo", "-s", "nosuch", "-s", "hidden"], "create_token"),
        (["api", "tokens", "create", "--name", "agent", "--permissions", "read", *IN_SPACES], "create_token"),
        (["api", "tokens", "patch", "--token-hash", "0123456789abcdef", *IN_SPACES], "patch_token"),
    ],
)
def test_a_token_for_a_space_that_is_not_there_is_made_and_the_name_is_said(
    desk: CliHarness, command: list[str], operation: str, json_option: list[str]
):
    refusals = {"nosuch": problem(404, "space_not_found"), "hidden": problem(403, "forbidden")}
    desk.answers = {
        operation: TOKEN_MADE,
        "get_space": lambda asked: refusals.get(asked["space_id"], {"space_id": asked["space_id"]}),
    }
    said = desk.say(*command, *json_option)
    assert said.code == 0
    assert "There is no space nosuch: the token may use it once somebody has made it." in said.err
    assert "demo" not in said.err
    assert "hidden" not in said.err


def test_a_token_for_all_spaces_asks_for_none(desk: CliHarness):
    desk.answers = {"create_token": TOKEN_MADE}
    desk.say("token", "create", "agent")
    assert [name for name, _ in desk.asked] == ["create_token"]


def test_a_rotated_token_takes_the_place_of_the_kept_one_and_is_not_shown(desk: CliHarness):
    desk.alone().answers = {
        "get_whoami": {"name": "a", "permissions": []},
        "rotate_token": {**TOKEN_MADE, "old_expires_at": "2026-02-20T15:00:00Z"},
    }
    desk.say("login", "--url", "https://memory.example.org", stdin="lm_Old")
    said = desk.say("token", "rotate")
    assert said.code == 0
    assert "lm_New" not in said.out + said.err
    assert "lm_New" in desk.config.read_text()


def test_a_rotated_token_that_cannot_be_kept_is_shown_for_nobody_else_has_it(
    desk: CliHarness, monkeypatch: pytest.MonkeyPatch
):
    def full(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    def rotated(_arguments: Any) -> Any:
        monkeypatch.setattr(Path, "replace", full)
        return TOKEN_MADE

    desk.alone().answers = {"get_whoami": {"name": "a", "permissions": []}, "rotate_token": rotated}
    desk.say("login", "--url", "https://memory.example.org", stdin="lm_Old")
    said = desk.say("token", "rotate")
    assert said.code == 2
    assert "lm_New" in said.out


def test_a_rotation_whose_answer_was_lost_is_asked_for_under_the_same_key_until_a_token_is_kept(desk: CliHarness):
    lost = httpx.ConnectError("cut off")
    desk.alone().answers = {"get_whoami": {"name": "a", "permissions": []}, "rotate_token": lost}
    desk.say("login", "--url", "https://memory.example.org", stdin="lm_Old")
    assert desk.say("token", "rotate", "--grace", "0").code != 0
    assert "lm_Old" in desk.config.read_text()

    desk.answers["rotate_token"] = {**TOKEN_MADE, "old_expires_at": "2026-02-20T15:00:00Z"}
    for _ in range(2):
        assert desk.say("token", "rotate", "--grace", "0").code == 0

    used = [headers["idempotency-key"] for headers in desk.headers if "idempotency-key" in headers]
    assert len(set(used)) == 2
    assert set(used[:-1]) == {used[0]}
    assert "lm_New" in desk.config.read_text()
    assert "rotation" not in desk.config.read_text()


def test_what_ends_with_a_token_is_said_before_and_told_afterwards(desk: CliHarness):
    desk.answers = {"revoke_token": {**TOKEN_MADE, "others": ["sha256:1", "sha256:2"]}}
    said = desk.say("token", "revoke", "0", "-y", "--no-descendants")
    assert said.out == "The token of agent is revoked, and 2 more tokens with it:\nsha256:1\nsha256:2\n"
    assert desk.asked[-1][1] == {"token_hash": "0", "successors": "true", "descendants": "false"}
    assert "the tokens that it made" in desk.say("token", "revoke", "0").err


def test_the_list_of_tokens_names_who_made_them(desk: CliHarness):
    desk.answers = {"list_tokens": page({**TOKEN_MADE, "made_by": {"hash": None, "name": "boss"}})}
    assert desk.say("token", "list").out.rstrip("\n").endswith("\tboss")


def test_the_start_is_asked_for_with_what_it_is_about_and_its_budget(desk: CliHarness):
    desk.answers = {"get_start": "# x\n"}
    assert desk.say("start", "the import", "--max-chars", "2000", "--lang", "fr").out == "# x\n"
    assert desk.say("start").out == "# x\n"
    wanted = {"space_id": "demo", "q": "the import", "max_chars": "2000", "lang": "fr"}
    assert desk.asked == [("get_start", wanted), ("get_start", {"space_id": "demo"})]


def test_a_space_can_be_named_in_two_ways(desk: CliHarness):
    desk.answers = {"get_summary": "# x\n"}
    desk.say("show", "one")
    desk.say("show", "-s", "two")
    assert desk.say("show", "one", "-s", "two").code == 2
    assert [arguments["space_id"] for _, arguments in desk.asked] == ["one", "two"]


def test_tail_follows_until_it_is_interrupted_and_ends_well(desk: CliHarness):
    notes = [note(1, "first")]
    changes: list[dict[str, Any]] = []
    steps = iter(["second", "folded", None, "stop"])

    def go_on() -> None:
        step = next(steps)
        if step == "stop":
            raise KeyboardInterrupt
        if step == "folded":
            changes.insert(0, change(1))
            notes[:] = []
        elif step:
            notes.append(note(2, step))

    desk.on_sleep = go_on
    desk.answers = {
        "list_notes": lambda _: page(*notes),
        "list_consolidations": lambda _: page(*changes),
        "get_consolidation": {"sources": [note(1, "first"), note(2, "second"), note(3, "third")]},
    }
    said = desk.say("tail", "demo", "--json")
    assert (said.code, said.err) == (0, "")
    assert [one["content"] for one in said.lines] == ["first", "second", "third"]
    assert desk.waited[0] == 2.0
    assert desk.waited[-1] <= 10.0


def test_tail_goes_on_when_the_service_was_away(desk: CliHarness):
    count = iter(range(10))

    def go_on() -> None:
        if next(count) > 6:
            raise KeyboardInterrupt

    away = [page(note(1)), page(note(1)), *[httpx.ConnectError("x")] * 8, page(note(1), note(2))]
    desk.on_sleep = go_on
    desk.answers = {"list_notes": away, "list_consolidations": page()}
    said = desk.say("tail")
    assert said.code == 0
    assert said.out.count("ann todo") == 2
    assert said.err.count("Trying again") == 1


def test_tail_ends_where_nothing_is_to_be_hoped_for(desk: CliHarness):
    desk.answers = {"list_notes": problem(403, "forbidden"), "list_consolidations": page()}
    assert desk.say("tail").code == 4


def test_a_space_says_its_mode_and_which_plan_waits(desk: CliHarness):
    desk.answers = {"get_space": SPACE}
    out = desk.say("space", "show", "demo").out
    assert "mode\treview\n" in out
    assert "plan that waits\tdemo.consolidation.01KHXE5Q2V8R0M4T6W9YBNCD3F\n" in out


def test_the_history_says_who_approved(desk: CliHarness):
    desk.answers = {"list_consolidations": page(change(2, author=None, model="big", approved_by="ann"))}
    assert "\tbig, approved by ann\t" in desk.say("history").out


def test_a_change_takes_two_lines_of_a_narrow_terminal_and_no_path_is_split(desk: CliHarness):
    files = [{"action": "updated", "path": f"decisions/of-the-team-{number}.md"} for number in range(9)]
    desk.answers = {"list_consolidations": page(change(12, model="qwen3-2507:235b", files=files, notes_count=30))}
    desk.terminal = True
    desk.environ |= {"NO_COLOR": "1"}
    shown = re.sub(r"\x1b\[\d*m", "", desk.say("history").out)
    first, second = shown.rstrip("\n").split("\n")
    assert first == "  12  2026-02-20 14:05:00  consolidation  30 notes  by qwen3-2507:235b"
    assert second == "      decisions/of-the-team-0.md, decisions/of-the-team-1.md, and 7 more"
    assert len(second) <= 80


@pytest.mark.parametrize("terminal", [False, True])
def test_a_list_of_nothing_says_so_and_is_an_empty_result_for_programs(desk: CliHarness, terminal: bool):
    desk.terminal = terminal
    empty = page()
    lists = ("list_consolidations", "list_backups", "list_connections", "list_jobs", "list_spaces", "list_tokens")
    desk.answers = dict.fromkeys(lists, empty)
    for command in (("history",), ("backup", "list"), ("connections",), ("jobs",), ("spaces",), ("token", "list")):
        told = desk.say(*command)
        assert (told.code, told.out) == (0, "")
        assert told.err.startswith(("There is no ", "No client ", "The bank has no "))
        quiet = desk.say(*command, "--json")
        assert (quiet.json, quiet.err) == ({"items": []}, "")


@pytest.mark.parametrize("group", ["review", "space", "token", "backup"])
def test_a_group_without_a_command_shows_its_commands_each_on_a_line(desk: CliHarness, group: str):
    told = desk.say(group)
    assert told.code == 2
    assert re.search(r"\nCommands:\n  \w+ .*\n  \w+ .*\n", told.err)
    assert desk.say(group, "--json").code == 2
