import json
import os
import stat
import tomllib
from itertools import product

import pytest

from live_memory.cli.exits import Refused
from live_memory.cli.init import clients, files, plan
from tests.support.part import part
from tests.unit.cli.init.support import CLIENTS, URL, desk

MCP_URL = f"{URL}/mcp?space=demo&structured=false"


@pytest.fixture
def there():
    with desk() as made:
        yield made


# What is written


def test_claude_code_gets_its_server_its_rules_and_hooks_that_load_and_keep(there):
    there.init("claude-code")
    assert there.json(".mcp.json") == {
        "mcpServers": {
            "livemem": {
                "type": "http",
                "url": MCP_URL,
                "headersHelper": "livemem mcp-headers",
                "alwaysLoad": True,
            }
        }
    }
    hooks = there.json(".claude/settings.json")["hooks"]
    assert list(hooks) == ["SessionStart", "UserPromptSubmit", "PreCompact", "Stop", "SessionEnd"]
    command = "livemem hook claude-code Stop --space demo ; exit 0 # || exit 0"
    assert hooks["Stop"] == [{"hooks": [{"type": "command", "command": command, "timeout": 10}]}]
    assert "the space `demo`" in there.read(".claude/rules/livemem.md")


def test_every_client_gets_a_server_that_needs_no_token_where_the_service_is_that_of_this_machine(there):
    started = {"command": "livemem", "args": ["mcp", "--space", "demo"]}
    settings = there.home / ".cline/data/settings/cline_mcp_settings.json"
    for client in CLIENTS:
        assert not clients.fitting(client, there.setup(local=True)).by_hand
        there.init(client, local=True)
    assert there.json(".mcp.json")["mcpServers"]["livemem"] == {"type": "stdio", **started, "alwaysLoad": True}
    assert there.json(".cursor/mcp.json")["mcpServers"]["livemem"] == {"type": "stdio", **started}
    assert there.json(".vscode/mcp.json") == {"servers": {"livemem": {"type": "stdio", **started}}}
    assert json.loads(settings.read_text("utf-8")) == {"mcpServers": {"livemem": started}}
    table = tomllib.loads(there.read(".codex/config.toml"))["mcp_servers"]["livemem"]
    assert table == {**started, "startup_timeout_sec": 60}
    assert not any("oken" in text.read_text() for text in there.home.rglob("*mcp*.json"))

    for client in CLIENTS:
        there.undo(client, local=True)
    assert set(there.tree()) == {"ferry"}


def test_a_hook_that_an_earlier_version_wrote_is_replaced_and_not_doubled(there):
    there.init("claude-code")
    now = there.read(".claude/settings.json")
    former = now.replace("livemem hook", "command -v livemem >/dev/null 2>&1 || exit 0; livemem hook")
    there.write(".claude/settings.json", former.replace(" ; exit 0 # || exit 0", ""))
    there.init("claude-code")
    assert there.json(".claude/settings.json") == json.loads(now)
    there.undo("claude-code")
    assert not (there.project / ".claude/settings.json").exists()


def test_codex_gets_a_table_rules_in_agents_md_and_hooks(there):
    there.init("codex")
    assert there.read(".codex/config.toml") == (
        "# livemem:begin\n[mcp_servers.livemem]\n"
        f'url = "{MCP_URL}"\nbearer_token_env_var = "LIVEMEM_TOKEN"\n# livemem:end\n'
    )
    assert "start_session" in there.read("AGENTS.md")
    assert list(there.json(".codex/hooks.json")["hooks"]) == ["SessionStart", "UserPromptSubmit", "PreCompact", "Stop"]


def test_cursor_gets_a_rule_that_always_applies_and_hooks_of_its_own_form(there):
    there.init("cursor")
    server = there.json(".cursor/mcp.json")["mcpServers"]["livemem"]
    assert server["headers"] == {"Authorization": "Bearer ${env:LIVEMEM_TOKEN}"}
    assert there.read(".cursor/rules/livemem.mdc").startswith("---\ndescription: ")
    assert "\nalwaysApply: true\n---\n" in there.read(".cursor/rules/livemem.mdc")
    found = there.json(".cursor/hooks.json")
    assert found["version"] == 1
    assert found["hooks"]["stop"] == [{"command": "livemem hook cursor stop --space demo ; exit 0 # || exit 0"}]


def test_vs_code_asks_for_the_token_itself(there):
    there.init("vscode")
    found = there.json(".vscode/mcp.json")
    assert found["servers"]["livemem"]["headers"] == {"Authorization": "Bearer ${input:livemem-token}"}
    (asked,) = found["inputs"]
    assert (asked["id"], asked["password"]) == ("livemem-token", True)
    assert there.json(".github/mcp.json")["mcpServers"]["livemem"]["command"] == "livemem"
    assert "start_session" in there.read(".github/copilot-instructions.md")


def test_cline_gets_hooks_that_can_be_run_and_let_go_on_whatever_happens(there):
    there.init("cline")
    script = there.project / ".clinerules/hooks/TaskStart"
    assert stat.S_IMODE(script.stat().st_mode) == 0o755
    assert there.read(".clinerules/hooks/TaskStart").startswith("#!/bin/sh\n# livemem:begin\n")
    # When livemem is not installed, the script still says that the task may go on.
    answer = os.popen(f"PATH=/usr/bin:/bin sh '{script}' </dev/null").read()
    assert answer == '{"cancel": false}\n'


def test_gemini_cli_gets_hooks_whose_limit_is_in_milliseconds(there):
    there.init("gemini-cli")
    (hook,) = there.json(".gemini/settings.json")["hooks"]["BeforeAgent"][0]["hooks"]
    assert hook["timeout"] == 10_000
    assert "start_session" in there.read("GEMINI.md")


@pytest.mark.parametrize(
    ("client", "variable", "file"),
    [("gemini-cli", "GEMINI_CLI_HOME", ".gemini/settings.json"), ("opencode", "XDG_CONFIG_HOME", "opencode/AGENTS.md")],
)
def test_the_users_own_files_are_where_a_variable_of_the_client_says(there, client, variable, file):
    there.environ[variable] = str(there.root / "moved")
    there.init(client, scope="user")
    assert (there.root / "moved" / file).is_file()
    there.undo(client, scope="user")
    assert not (there.root / "moved").exists() or not list((there.root / "moved").rglob("*.*"))


def test_no_file_of_a_project_holds_the_token_and_cline_is_told_what_to_do(there):
    fitted = clients.fitting("cline", there.setup())
    there.init("cline")
    assert not any("Bearer" in path.read_text() for path in there.home.rglob("*") if path.is_file())
    (by_hand,) = fitted.by_hand
    assert by_hand.shown == str(there.home / ".cline/data/settings/cline_mcp_settings.json")
    assert "PUT-YOUR-TOKEN-HERE" in by_hand.snippet


def test_a_token_that_cline_must_have_lies_in_a_file_that_only_its_owner_reads(there):
    there.init("cline", token="lm_secret")
    path = there.home / ".cline/data/settings/cline_mcp_settings.json"
    assert "Bearer lm_secret" in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    drawn = there.undo("cline")
    assert not path.exists()
    shown = "\n".join(line for step in drawn.steps for line in plan.diff(step))
    assert "Bearer ***" in shown
    assert "lm_secret" not in shown


def test_a_token_in_a_file_of_the_project_is_kept_out_of_git_and_its_mode_comes_back(there):
    there.environ["CLINE_MCP_SETTINGS_PATH"] = str(there.project / "cline/mcp.json")
    path = there.write("cline/mcp.json", '{"mcpServers": {}}')
    path.chmod(0o644)
    there.write(".gitignore", "/build")
    there.init("cline", token="lm_secret")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert there.read(".gitignore") == "/build\n\n# livemem:begin\n/cline/mcp.json\n# livemem:end\n"
    there.undo("cline")
    assert there.read("cline/mcp.json") == '{"mcpServers": {}}'
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert there.read(".gitignore") == "/build"


@pytest.mark.parametrize("recall", [True, False])
def test_without_recording_there_are_only_the_hooks_that_give_the_memory(there, recall):
    there.init("claude-code", record=False, recall=recall)
    assert list(there.json(".claude/settings.json")["hooks"]) == ["SessionStart", "UserPromptSubmit"][: 1 + recall]


@pytest.mark.slow
@pytest.mark.parametrize(("client", "scope"), part(product(CLIENTS, ("project", "user")), 3))
def test_no_record_after_an_init_is_no_record_from_the_first_and_undo_gives_back_what_was_before_both(
    there, client, scope
):
    theirs = '{"hooks" : {"Stop":[ {"hooks":[{"type":"command","command":"mine"}]} ],"SessionEnd": [ ]}}'
    there.write(".claude/settings.json", theirs)
    there.write(".cursor/hooks.json", '{"version":1,"hooks":{"stop":[{"command":"mine"} ]}}')
    there.write(".clinerules/hooks/PreToolUse", "#!/bin/sh\nexit 0\n")
    before = there.tree()
    there.init(client, scope=scope, record=False)
    without = there.tree()
    there.undo(client, scope=scope)

    there.init(client, scope=scope)
    recording = there.tree()
    assert without != recording
    there.init(client, scope=scope, record=False)
    assert there.tree() == without
    assert there.init(client, scope=scope, record=False).steps == ()
    there.init(client, scope=scope)
    assert there.tree() == recording
    there.init(client, scope=scope, record=False, space="other")
    there.undo(client, scope=scope)
    assert there.tree() == before


def test_no_record_in_a_file_that_was_edited_since_takes_our_hooks_alone_at_whatever_event_they_stand(there):
    there.init("claude-code")
    theirs = {"type": "command", "command": "mine"}
    settings = there.json(".claude/settings.json")
    settings["hooks"]["Stop"][0]["hooks"].insert(0, theirs)
    settings["hooks"]["SubagentStop"] = [{"hooks": [{"type": "command", "command": "livemem hook claude-code Stop"}]}]
    settings["hooks"]["Notification"] = []
    there.write(".claude/settings.json", json.dumps(settings, indent=4))
    there.init("claude-code", record=False)
    hooks = there.json(".claude/settings.json")["hooks"]
    assert list(hooks) == ["SessionStart", "UserPromptSubmit", "Stop", "Notification"]
    assert hooks["Stop"] == [{"hooks": [theirs]}]


def test_no_record_where_another_machine_has_the_record_takes_the_hooks_all_the_same(there):
    for client in CLIENTS:
        there.init(client)
    there.forget()
    there.write(".clinerules/hooks/TaskCancel", there.read(".clinerules/hooks/TaskCancel") + "echo mine\n")
    for client in CLIENTS:
        there.init(client, record=False)
    left = [path.name for path in there.project.rglob("*") if path.is_file() and "livemem hook" in path.read_text()]
    of_cline = ["PreToolUse", "TaskResume", "TaskStart"]
    of_json = ["hooks.json", "hooks.json", "livemem.json", "settings.json", "settings.json"]
    assert sorted(left) == [*of_cline, *of_json[:2], "livemem.js", *of_json[2:]]
    assert there.read(".clinerules/hooks/TaskCancel") == "#!/bin/sh\necho mine\n"
    assert list(there.json(".cursor/hooks.json")["hooks"]) == ["sessionStart"]
    assert list(there.json(".codex/hooks.json")["hooks"]) == ["SessionStart", "UserPromptSubmit"]
    assert list(there.json(".github/hooks/livemem.json")["hooks"]) == ["SessionStart", "UserPromptSubmit"]
    assert list(there.json(".gemini/settings.json")["hooks"]) == ["SessionStart", "BeforeAgent"]
    assert "opencode UserPromptSubmit" in there.read(".opencode/plugin/livemem.js")


@pytest.mark.parametrize("client", CLIENTS)
def test_the_files_of_the_user_are_other_ones_than_those_of_a_project(there, client):
    drawn = there.init(client, scope="user")
    assert drawn.steps
    assert there.project not in {parent for step in drawn.steps for parent in step.path.parents}
    there.undo(client, scope="user")
    assert set(there.tree()) == {"ferry"}


def test_the_settings_of_cline_in_the_editor_are_those_that_are_there(there):
    folder = there.home / ".config/Code/User/globalStorage/saoudrizwan.claude-dev/settings"
    folder.mkdir(parents=True)
    (folder / "cline_mcp_settings.json").write_text("{}")
    there.init("cline", token="x")
    assert "livemem" in (folder / "cline_mcp_settings.json").read_text()


def test_codex_home_is_where_codex_looks(there):
    there.environ["CODEX_HOME"] = str(there.root / "codex")
    there.init("codex", scope="user")
    assert (there.root / "codex/config.toml").exists()
    there.undo("codex", scope="user")
    assert not (there.root / "codex").exists()


# What was there before


def test_a_server_of_that_name_that_was_there_before_comes_back(there):
    before = '{"mcpServers": {"livemem": {"command": "mine"}, "other": {}}}'
    there.write(".mcp.json", before)
    there.init("claude-code")
    assert there.json(".mcp.json")["mcpServers"]["livemem"]["url"] == MCP_URL
    there.write(".mcp.json", there.read(".mcp.json").replace("other", "edited"))
    there.undo("claude-code")
    assert there.read(".mcp.json") == before.replace("other", "edited")


def test_hooks_of_others_stay_also_in_one_group_with_ours(there):
    there.init("claude-code", record=False)
    settings = there.json(".claude/settings.json")
    settings["hooks"]["SessionStart"][0]["hooks"].insert(0, {"type": "command", "command": "mine"})
    settings["hooks"]["Stop"] = [{"hooks": [{"type": "command", "command": "livemem-like but mine"}]}]
    there.write(".claude/settings.json", str(settings).replace("'", '"'))
    there.undo("claude-code")
    assert there.json(".claude/settings.json") == {
        "hooks": {
            "SessionStart": [{"hooks": [{"type": "command", "command": "mine"}]}],
            "Stop": [{"hooks": [{"type": "command", "command": "livemem-like but mine"}]}],
        }
    }


def test_the_version_of_a_hook_file_stays_for_hooks_that_came_afterwards_and_goes_with_ours_else(there):
    there.write(".cursor/hooks.json", '{"hooks": {}}')
    there.init("cursor")
    there.write(".cursor/hooks.json", there.read(".cursor/hooks.json").replace("{", '{"mine": 1, ', 1))
    there.undo("cursor")
    assert there.json(".cursor/hooks.json") == {"mine": 1, "hooks": {}}
    there.init("cursor")
    there.write(".cursor/hooks.json", there.read(".cursor/hooks.json").replace("livemem hook cursor stop", "mine"))
    there.undo("cursor")
    left = there.json(".cursor/hooks.json")
    assert (left["version"], list(left["hooks"])) == (1, ["stop"])


def test_another_space_replaces_the_first_and_undoing_gives_back_what_was_before_both(there):
    there.write("AGENTS.md", "# Ours\n")
    there.write(".codex/hooks.json", '{"hooks": {}}')
    before = there.tree()
    there.init("codex")
    there.init("codex", space="other")
    assert "demo" not in there.read("AGENTS.md") + there.read(".codex/config.toml") + there.read(".codex/hooks.json")
    there.undo("codex")
    assert there.tree() == before


def test_what_was_edited_between_two_inits_stays(there):
    there.write("AGENTS.md", "# Ours\n")
    there.init("codex")
    there.write("AGENTS.md", there.read("AGENTS.md").replace("# Ours", "# Edited"))
    there.init("codex", space="other")
    there.undo("codex")
    assert there.read("AGENTS.md") == "# Edited\n"


def test_a_file_with_comments_is_left_alone_and_its_owner_gets_the_snippet(there):
    before = '{\n  // our servers\n  "servers": {}\n}\n'
    there.write(".vscode/mcp.json", before)
    drawn = there.init("vscode")
    assert there.read(".vscode/mcp.json") == before
    (by_hand,) = drawn.by_hand
    assert "comments" in by_hand.reason
    assert '"livemem"' in by_hand.snippet


def test_a_table_of_the_users_own_is_not_replaced(there):
    there.write(".codex/config.toml", '[mcp_servers.livemem]\nurl = "mine"\n')
    (by_hand,) = there.init("codex").by_hand
    assert "its own table [mcp_servers.livemem]" in by_hand.reason


def test_a_program_of_the_users_own_is_not_extended(there):
    there.write(".clinerules/hooks/TaskStart", "#!/bin/sh\nexit 1\n")
    (by_hand,) = there.init("cline").by_hand
    assert "livemem did not write it" in by_hand.reason
    assert there.read(".clinerules/hooks/TaskStart") == "#!/bin/sh\nexit 1\n"


def test_folders_that_init_made_go_and_those_that_hold_something_stay(there):
    there.init("cursor")
    there.write(".cursor/rules/mine.mdc", "x")
    there.undo("cursor")
    assert set(there.tree()) == {"ferry", "ferry/.cursor", "ferry/.cursor/rules", "ferry/.cursor/rules/mine.mdc"}


# What is in the way


@pytest.mark.parametrize("linked", [".claude", ".claude/settings.json", ".mcp.json"])
def test_a_link_that_leads_out_of_the_project_is_not_followed(there, linked):
    outside = there.home / "outside"
    outside.mkdir()
    link = there.project / linked
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(outside if linked == ".claude" else outside / "file.json")
    before = there.tree()
    with pytest.raises(Refused, match="changes nothing outside"):
        there.init("claude-code")
    assert there.tree() == before


def test_a_link_within_the_project_is_followed_and_stays_a_link(there):
    real = there.write("config/mcp.json", "{}\n")
    (there.project / ".mcp.json").symlink_to(real)
    there.init("claude-code")
    assert (there.project / ".mcp.json").is_symlink()
    assert "livemem" in real.read_text()


def test_a_pipe_or_bytes_that_are_no_text_are_refused_and_nothing_is_written(there):
    os.mkfifo(there.project / ".mcp.json")
    with pytest.raises(Refused, match="not a regular file"):
        there.init("claude-code")
    (there.project / "AGENTS.md").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(Refused, match="not UTF-8"):
        there.init("codex")
    assert set(there.tree()) == {"ferry", "ferry/.mcp.json", "ferry/AGENTS.md"}


def test_who_changes_a_file_between_diff_and_answer_is_not_overwritten(there):
    setup = there.setup()
    drawn = plan.draw_up(clients.fitting("codex", setup).places, {})
    there.write("AGENTS.md", "written meanwhile")
    with pytest.raises(Refused, match="changed by another program"):
        plan.carry_out(drawn, there.kept("codex", setup))
    assert there.read("AGENTS.md") == "written meanwhile"


@pytest.mark.slow
@pytest.mark.parametrize(("after", "client"), part(product(range(1, 6), CLIENTS), 2))
def test_an_init_that_dies_after_any_file_is_taken_back_as_a_whole(there, monkeypatch, client, after):
    there.write("AGENTS.md", "# Ours")
    before = there.tree()
    written = []
    write = files.write

    def dying(path, text, mode=None):
        if len(written) == after:
            raise KeyboardInterrupt
        written.append(path)
        write(path, text, mode)

    monkeypatch.setattr(files, "write", dying)
    try:
        there.init(client)
    except KeyboardInterrupt:
        assert len(written) == after
    monkeypatch.undo()
    there.undo(client)
    assert there.tree() == before
