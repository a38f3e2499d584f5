"""`livemem import`: what it says, what it sends, and its exit codes."""

import json
from pathlib import Path

import httpx
import pytest

from livemem.copies import archive
from tests.support.archives import downloads, export_now, exported, lived_in
from tests.support.cli_harness import CliHarness
from tests.support.scripted import problem
from tests.support.sources import OLD_SPACE, chat_zip, claude_chat, old_bucket, write
from tests.unit.cli.test_repository import cloned, git

DONE = {"job": "alpha.import.1", "space_id": "alpha", "status": "done", "kind": "import", "progress": {"done": 12}}
UPLOAD = {
    "upload_id": "01K",
    "url": "https://store.example.org/_uploads/01K?signed",
    "expires_at": "2026-02-20T14:15:00Z",
}


@pytest.fixture
def puts():
    """What was put to the store's URL."""
    return []


@pytest.fixture
def desk(tmp_path, puts):
    def put(request: httpx.Request) -> httpx.Response:
        puts.append(request.read())
        return httpx.Response(200)

    made = CliHarness(tmp_path / "home", store=put)
    made.answers = {"get_whoami": {"name": "ann"}, "create_upload": UPLOAD, "create_space": DONE}
    return made


@pytest.fixture
def bucket(tmp_path) -> Path:
    return old_bucket(tmp_path / "bucket")


@pytest.fixture
def talk(tmp_path) -> Path:
    return chat_zip(tmp_path / "export.zip", [claude_chat()])


def names(desk):
    return [name for name, _ in desk.asked]


def test_a_dry_run_says_what_would_be_done_and_asks_nobody(desk, bucket, talk):
    desk.environ.pop("LIVEMEM_TOKEN")
    told = desk.say("import", str(bucket), "--dry-run")
    assert told.code == 0
    assert "alpha: would be imported: 2 notes, 2 bank files, 10 objects, rules, synthesis" in told.out
    assert "agents: claude-code, cline-dev" in told.out
    told = desk.say("import", str(talk), "--dry-run", "--json")
    (report,) = told.json["reports"]
    assert (told.code, told.json["kind"], report["conversations"], report["turns"]) == (0, "chats", 1, 2)
    assert desk.asked == []


def test_spaces_of_a_bucket_are_sent_one_after_the_other_and_told(desk, bucket, puts):
    told = desk.say("import", str(bucket), "--json")
    assert told.code == 0
    assert [report["outcome"] for report in told.json["reports"]] == ["imported", "imported"]
    assert names(desk) == ["get_whoami", "create_upload", "create_space", "create_upload", "create_space"]
    assert [arguments["space_id"] for name, arguments in desk.asked if name == "create_space"] == ["alpha", "beta"]
    assert len(puts) == 2


def test_an_export_is_sent_as_it_is(desk, tmp_path, puts):
    body = exported(lived_in())
    path = tmp_path / "demo.tar.gz"
    path.write_bytes(body)
    told = desk.say("import", str(path), "--space", "copy", "--description", "A copy")
    assert (told.code, puts) == (0, [body])
    assert desk.asked[-1][1] == {"space_id": "copy", "from": {"archive": "01K"}, "description": "A copy"}


def test_numbered_archives_beside_the_first_are_sent_in_their_order(desk, tmp_path, puts, monkeypatch):
    monkeypatch.setattr(archive, "ARCHIVE_OBJECTS", 4)
    world = lived_in()
    export_now(world)
    world.settle()
    bodies = downloads(world, export_now(world))
    names = ["demo.tar.gz", "demo.2.tar.gz", "demo.3.tar.gz"]
    for name, body in zip(names, bodies, strict=True):
        (tmp_path / name).write_bytes(body)
    assert desk.say("import", str(tmp_path / "demo.tar.gz"), "--space", "copy").code == 0
    assert puts == bodies
    assert desk.asked[-1][1] == {"space_id": "copy", "from": {"archive": ["01K"] * 3}}
    (tmp_path / "demo.2.tar.gz").unlink()
    told = desk.say("import", str(tmp_path / "demo.tar.gz"))
    assert told.code != 0
    assert "3 archives. demo.2.tar.gz is missing" in told.err


def test_conversations_go_into_the_space_of_the_profile(desk, talk):
    listed = [{"items": []}, {"items": [{"conversation_id": "01A"}]}]
    desk.answers |= {"list_conversations": listed, "create_conversation": {"conversation_id": "01A"}}
    desk.answers["append_turn"] = {"imported": 2, "repeated": 0, "last_turn": 2, "left": 0}
    desk.answers["close_conversation"] = {"turn_index": 2}
    told = desk.say("import", str(talk))
    assert told.code == 0
    assert "imported into demo: 1 new conversation, 2 new turns" in told.out
    begun = dict(desk.asked)["create_conversation"]
    place = {"cwd": "/imported/claude.ai/c-1", "host": "claude.ai", "profile": "windows", "title": "The import"}
    assert begun == {"space_id": "demo", **place}
    # All has come, so the last turns are summarised, too.
    assert desk.asked[-1] == ("close_conversation", {"space_id": "demo", "conversation_id": "01A"})


def test_where_the_service_fails_it_is_told_how_far_it_is_and_what_goes_on(desk, talk):
    desk.answers["list_conversations"] = problem(503, "store_unavailable")
    told = desk.say("import", str(talk))
    assert told.code == 6
    assert "Run the same command again to continue." in told.err


def test_only_conversations_that_went_on_since_a_day_are_taken(desk, talk):
    told = desk.say("import", str(talk), "--since", "2026-02-21", "--dry-run", "--json")
    assert (told.json["reports"][0]["conversations"], told.json["reports"][0]["skipped"]) == (0, 1)
    told = desk.say("import", str(talk), "--since", "2026-02-20", "--dry-run", "--json")
    assert told.json["reports"][0]["conversations"] == 1


def session_in(folder: Path, projects: Path) -> None:
    said: dict[str, object] = {"type": "user", "uuid": f"u-{folder.name}", "sessionId": folder.name, "cwd": str(folder)}
    said |= {"timestamp": "2026-02-20T14:05:00.000Z", "message": {"role": "user", "content": "Keep the quay free."}}
    write(projects / folder.name, {f"{folder.name}.jsonl": json.dumps(said) + "\n"})


def test_of_the_sessions_of_several_projects_only_this_repository_s_come_unless_a_space_is_named(
    desk, tmp_path, monkeypatch
):
    projects, ferry = tmp_path / "projects", tmp_path / "ferry"
    cloned(ferry, "git@example.org:ann/ferry.git")
    git(ferry, "commit", "-q", "--allow-empty", "-m", "Begin")
    git(ferry, "worktree", "add", "-q", str(tmp_path / "tree"))
    for folder in (ferry / "deck", tmp_path / "tree", tmp_path / "quay", Path("gone"), Path("/old")):
        session_in(folder, projects)
    monkeypatch.chdir(ferry)

    def counted(*options: str, source: Path = projects) -> tuple[int, int]:
        (report,) = desk.say("import", str(source), "--dry-run", "--json", *options).json["reports"]
        return report["conversations"], report["others"]

    assert counted() == (2, 3)
    assert counted("--space", "demo") == (5, 0)
    assert counted(source=projects / "quay") == (1, 0), "The folder of one project was chosen."
    said = desk.say("import", str(projects), "--dry-run").out
    assert "of other projects: 3 conversations. `--space SPACE` takes all" in said

    here = {"items": [{"conversation_id": "01A"}]}
    desk.answers["list_conversations"] = lambda asked: here if "host" in asked else {"items": []}
    desk.answers["append_turn"] = {"imported": 1, "repeated": 0, "last_turn": 1, "left": 0}
    desk.answers["close_conversation"] = {"turn_index": 1}
    (report,) = desk.say("import", str(projects), "--json").json["reports"]
    assert (report["imported"], names(desk).count("append_turn")) == (2, 2)


def test_what_is_left_out_ends_in_exit_code_1(desk, tmp_path):
    path = chat_zip(tmp_path / "bad.zip", [claude_chat(), {"mapping": 7, "id": "x"}])
    told = desk.say("import", str(path), "--dry-run")
    assert told.code == 1
    assert "left out: conversations.json, conversation 2 has no tree of messages." in told.out


def test_of_several_spaces_one_that_is_there_already_is_told_and_the_others_come(desk, bucket):
    desk.answers["create_space"] = lambda asked: problem(409, "space_exists") if asked["space_id"] == "alpha" else DONE
    desk.answers["list_jobs"] = {"items": []}
    told = desk.say("import", str(bucket), "--json")
    assert told.code == 1
    assert [report["outcome"] for report in told.json["reports"]] == ["exists_already", "imported"]


def test_one_space_that_is_there_already_is_a_conflict(desk, tmp_path):
    desk.answers |= {"create_space": problem(409, "space_exists"), "list_jobs": {"items": []}}
    assert desk.say("import", str(write(tmp_path / "alpha", OLD_SPACE))).code == 5


def test_an_import_that_fails_on_the_way_is_told(desk, tmp_path):
    failed = {"status": "failed", "error": {"code": "invalid_archive", "detail": "It is damaged."}}
    desk.answers |= {"create_space": {**DONE, "status": "running"}, "get_job": {**DONE, **failed}}
    told = desk.say("import", str(write(tmp_path / "alpha", OLD_SPACE)))
    assert (told.code, "It is damaged." in told.out) == (1, True)


HOSTILE = {
    "nothing": b"hello",
    "conversations.json": b'{"a": 1}',
    "deep.json": b'[{"a":' + b"[" * 100_000,
    "empty.json": b"[]",
    "foreign.json": json.dumps([{"messages": []}]).encode(),
    "cut.json": b'[{"mapping": {',
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("options", [[], ["--dry-run"], ["--space", "demo", "--json"]])
def test_what_can_not_be_imported_is_refused_with_exit_code_2_before_anybody_is_asked(desk, tmp_path, name, options):
    path = tmp_path / name
    path.write_bytes(HOSTILE[name])
    told = desk.say("import", str(path), *options)
    assert (told.code, told.out, desk.asked) == (2, "", [])
    assert told.err


@pytest.mark.parametrize(
    "options",
    [
        ["--rules-template", "standard"],
        ["--space", "a/b"],
        ["--space", "one"],
        ["--since", "yesterday"],
        ["--cut", "slices"],
        ["--rules", "/nowhere"],
        ["--threshold", "-1"],
    ],
)
def test_options_that_do_not_fit_are_refused_before_anything_is_sent(desk, bucket, options):
    told = desk.say("import", str(bucket), *options)
    assert told.code == 2
    assert set(names(desk)) <= {"get_whoami"}


def test_markdown_needs_the_name_of_a_new_space(desk, tmp_path):
    path = write(tmp_path / "bank", {"a.md": "# A\n"})
    told = desk.say("import", str(path))
    assert (told.code, "--space" in told.err) == (2, True)
    rules = tmp_path / "rules.txt"
    rules.write_text("Keep it short.")
    assert desk.say("import", str(path), "--space", "fresh", "--rules", str(rules)).code == 0
    assert desk.asked[-1][1] == {"space_id": "fresh", "from": {"archive": "01K"}, "rules": "Keep it short."}


def test_nothing_heavy_is_loaded_for_its_help(desk):
    told = desk.say("import", "--help")
    assert told.code == 0
    assert "Import what others keep." in told.out
