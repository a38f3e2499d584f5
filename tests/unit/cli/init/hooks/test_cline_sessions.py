"""Cline's command line: the input of its hooks, and its document of a session (fields as 3.0.65 writes them)."""

import json
import os
import subprocess
import time

import pytest

from live_memory import LiveMemoryError
from live_memory.cli.agent_tokens import agent_name
from live_memory.cli.init.hooks import cline_sessions, events
from live_memory.cli.init.hooks.running import Hook
from live_memory.cli.init.hooks.state import Files
from tests.support.cases import each
from tests.unit.cli.init.hooks.support import START, Machine
from tests.unit.cli.init.support import desk

SESSION = "1795886830356_8ix9r"


@pytest.fixture
def machine(tmp_path, monkeypatch):
    monkeypatch.setattr(cline_sessions, "PAUSE_SECONDS", 0)
    return Machine(tmp_path)


def payload(hook_name, **more):
    told = {"clineVersion": "", "hookName": hook_name, "taskId": "conv_1", "workspaceRoots": ["/home/ann/ferry"]}
    return json.dumps({**told, "sessionContext": {"rootSessionId": SESSION}, "parent_agent_id": None, **more})


def run(machine, event, hook_name, *, starts=False, **more):
    hook = Hook(
        lambda _: machine.memory,
        machine.folder / "state",
        machine.log.append,
        starts=starts,
        environ={"CLINE_DATA_DIR": str(machine.folder / "cline")},
    )
    return json.loads(hook.run("cline", event, "demo", payload(hook_name, **more)))


def user(name, text, **more):
    content = [{"type": "text", "text": f'<user_input mode="act">{text}</user_input>'}]
    return {"id": name, "role": "user", "content": content, "ts": 1795886832086, **more}


def agent(name, text):
    call = {"type": "tool_use", "id": "c", "name": "read_files", "input": {"files": ["a"]}}
    return {"id": name, "role": "assistant", "content": [{"type": "text", "text": text}, call], "ts": 1795886832816}


TOOL = {
    "id": "t",
    "role": "user",
    "content": [{"type": "tool_result", "tool_use_id": "c", "content": [{"result": "a whole file"}]}],
    "ts": 1795886832871,
}
HOOKS = user("h", "<hook_context>MEMORY</hook_context>", metadata={"displayRole": "system"})


def wrote(machine, *messages):
    folder = machine.folder / "cline/sessions" / SESSION
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{SESSION}.messages.json"
    path.write_text(json.dumps({"version": 1, "sessionId": SESSION, "messages": list(messages)}, indent=2))
    return path


def test_each_answer_of_a_session_is_recorded_once_with_the_words_of_the_user_and_nothing_of_tools_or_hooks(machine):
    first = [user("1", "Where is the queue?"), agent("2", "I look."), TOOL, HOOKS, agent("3", "In eu-west-1.")]
    wrote(machine, *first)
    assert run(machine, "TaskComplete", "agent_end", turn={"outputText": "In eu-west-1."}) == {"cancel": False}
    run(machine, "TaskComplete", "agent_end")
    wrote(machine, *first, user("4", "No: <b>eu-west-3</b>."), agent("5", "Moved."))
    run(machine, "TaskComplete", "agent_end")

    assert machine.memory.turns == [
        "Where is the queue?\n\nI look.\n\nIn eu-west-1.",
        "No: <b>eu-west-3</b>.\n\nMoved.",
    ]
    (conversation,) = machine.memory.conversations.values()
    assert conversation["title"] == f"Where is the queue? (cline session {SESSION})"
    assert machine.memory.closed == [], "an answer is no end of a session"


def test_an_answer_that_is_written_a_moment_after_its_hook_began_is_waited_for(machine):
    path = wrote(machine, user("1", "Why?"))
    files = Files.of(machine.folder / "state", "cline", "demo", SESSION)
    cline_sessions.keep(path, files, machine.log.append, lambda _: wrote(machine, user("1", "Why?"), agent("2", "So.")))
    assert files.kept_names() == {"1", "2"}


def test_what_looks_like_a_secret_is_not_even_kept(machine):
    wrote(machine, user("1", "PASSWORD=hunter2-of-the-harbour"), agent("2", "Done."))
    run(machine, "TaskComplete", "agent_end")
    kept = Files.of(machine.folder / "state", "cline", "demo", SESSION).kept
    assert "hunter2" not in kept.read_text() + str(machine.memory.turns)
    assert any("look like secrets" in line for line in machine.log)


def test_a_session_that_is_interrupted_or_could_not_be_sent_comes_with_a_later_hook(machine):
    wrote(machine, user("1", "Why?"), agent("2", "So."))
    machine.memory.fail = lambda _: LiveMemoryError("no_connection", "Nobody answers.")
    run(machine, "TaskCancel", "agent_abort")
    machine.memory.fail = lambda _: None
    machine.hook("claude-code", "Stop", session_id="s2", transcript_path=machine.transcript())
    assert machine.memory.turns == ["Why?\n\nSo."]


def test_what_is_said_after_the_last_hook_is_not_sent_from_the_list(machine):
    messages = [user("1", "Why?"), agent("2", "So.")]
    wrote(machine, *messages)
    machine.memory.fail = lambda _: LiveMemoryError("no_connection", "Nobody answers.")
    run(machine, "TaskComplete", "agent_end")
    machine.memory.fail = lambda _: None
    in_an_hour = (time.time() + 3_600) * 1_000
    wrote(machine, *messages, user("3", "A private word.", ts=in_an_hour), {**agent("4", "Yes."), "ts": in_an_hour})
    machine.hook("claude-code", "Stop", session_id="s2", transcript_path=machine.transcript())
    assert machine.memory.turns == ["Why?\n\nSo."]


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"{",
        b"[]",
        b'{"messages": {}}',
        b'{"messages": [1, null, {"id": 5, "role": "user", "content": "x"}, {"id": "a", "role": "user"}]}',
        b'{"messages": [{"id": "a", "role": "user", "content": [null, {"type": "text", "text": 5}], "ts": "x"}]}',
        b'{"messages": [{"id": "a", "role": "tool", "content": "x", "ts": 1e400}]}',
    ],
)
def test_a_document_that_is_not_understood_records_nothing_and_lets_the_task_go_on(machine, document):
    wrote(machine).write_bytes(document)
    assert run(machine, "TaskComplete", "agent_end") == {"cancel": False}
    assert machine.memory.turns == []


@each("session", ["../../etc/passwd", "a/b", "", ".", "..", "a\0b", "x" * 300])
def test_the_name_of_a_session_leads_to_no_other_file(session):
    assert cline_sessions.path_of({}, session) is None


@each(
    ("environ", "folder"),
    [
        ({"HOME": "/home/ann"}, "/home/ann/.cline/data/sessions"),
        ({"HOME": "/home/ann", "CLINE_DIR": "/c"}, "/c/data/sessions"),
        ({"CLINE_DIR": "/c", "CLINE_DATA_DIR": "/d"}, "/d/sessions"),
        ({"CLINE_DATA_DIR": "/d", "CLINE_SESSION_DATA_DIR": "/s"}, "/s"),
    ],
)
def test_sessions_are_looked_for_where_cline_keeps_them(environ, folder):
    assert str(cline_sessions.path_of(environ, "s1")) == f"{folder}/s1/s1.messages.json"


def test_the_memory_comes_at_the_first_call_of_a_tool_once_in_a_session_and_not_to_sub_agents(machine):
    assert run(machine, "PreToolUse", "tool_call", parent_agent_id="agent_1") == {"cancel": False}
    assert START in run(machine, "PreToolUse", "tool_call")["contextModification"]
    assert run(machine, "PreToolUse", "tool_call") == {"cancel": False}
    # What is said at the start of a task reaches nobody there, so nothing is asked for it.
    assert run(machine, "TaskStart", "agent_start") == {"cancel": False}
    assert machine.memory.calls == ["get_start"]
    # Resumed, it is another task of the same session.
    assert START in run(machine, "PreToolUse", "tool_call", taskId="conv_2")["contextModification"]


def test_the_memory_comes_at_the_first_call_after_its_service_has_started(machine):
    machine.memory.fail = lambda _: LiveMemoryError("no_connection", "Nobody listens.")
    assert "is starting now" in run(machine, "PreToolUse", "tool_call", starts=True)["contextModification"]
    machine.memory.fail = lambda _: None
    assert START in run(machine, "PreToolUse", "tool_call")["contextModification"]
    assert run(machine, "PreToolUse", "tool_call") == {"cancel": False}


def test_in_the_editor_the_memory_comes_at_the_start_of_a_task_alone(machine):
    told = {"clineVersion": "3.50", "taskId": "t1"}
    assert START in machine.hook("cline", "TaskStart", hookName="TaskStart", **told)["contextModification"]
    assert machine.hook("cline", "PreToolUse", hookName="PreToolUse", **told) == {"cancel": False}
    assert events.read("claude-code", "PreToolUse", "{}") is None


@pytest.mark.process
@pytest.mark.parametrize(("hook_name", "called"), [("tool_call", True), ("PreToolUse", False)])
def test_the_hook_of_tools_runs_livemem_for_the_command_line_alone(tmp_path, hook_name, called):
    with desk() as there:
        there.init("cline")
        script = there.project / ".clinerules/hooks/PreToolUse"
        fake = tmp_path / "livemem"
        fake.write_text('#!/bin/sh\ncat > "$OUT"\necho "$@" >> "$OUT"\necho \'{"contextModification": "M"}\'\n')
        fake.chmod(0o755)
        text = json.dumps({"hookName": hook_name, "input": "a\\b % 'c' $(d)\n"}, separators=(",", ":"))
        environ = {"PATH": f"{tmp_path}{os.pathsep}/usr/bin:/bin", "OUT": str(tmp_path / "out")}
        done = subprocess.run(["/bin/sh", script], input=text.encode(), env=environ, capture_output=True, check=True)
    if called:
        assert done.stdout == b'{"contextModification": "M"}\n'
        assert (tmp_path / "out").read_text() == f"{text}hook cline PreToolUse --space demo\n"
    else:
        assert done.stdout == b'{"cancel": false}\n'
        assert not (tmp_path / "out").exists()


def test_tools_and_hooks_bear_one_name():
    # How the MCP client of 3.0.65 calls itself.
    assert agent_name("@cline/core") == "cline"
