"""Former sessions of Codex: files that it wrote, and files as users of other versions report them."""

import json
import os
import shutil
from pathlib import Path

import pytest

from live_memory.cli.imports import talks
from live_memory.cli.imports.chats import Chat, Turn
from live_memory.cli.imports.detection import look
from live_memory.cli.imports.recorded import Recorded
from live_memory.cli.imports.talks import Wanted
from live_memory.cli.imports.unfit import BadSource
from live_memory.cli.transcripts.entries import UNKNOWN
from tests.unit.cli.init.hooks.support import FakeMemory, Machine

WRITTEN = Path(__file__).parents[2] / "support/transcripts/codex-0.171.0"
NIGHT, ANSWER = "Why does the import fail at night?", "Port Kiel answers 503."
BEGAN = "2025-11-20T10:00:00.000Z"


def rollout(folder, name, *entries):
    path = folder / f"2025/11/20/rollout-2025-11-20T10-00-00-{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(each) + "\n" for each in entries))
    return path


def line(of, **payload):
    return {"timestamp": BEGAN, "type": of, "payload": payload}


def meta(name, **more):
    return line("session_meta", id=name, cwd="/home/ann/ferry", cli_version="0.60.1", **more)


def message(role, text):
    kind = "input_text" if role == "user" else "output_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def item(role, text):
    return line("response_item", **message(role, text))


def chats_in(source):
    return [chat for chat in talks.read(look(source)) if isinstance(chat, Chat)]


def said(chat):
    return [(turn.user, turn.assistant) for turn in chat.turns]


@pytest.fixture
def sessions(tmp_path):
    """Those that the real Codex wrote."""
    folder = tmp_path / "sessions/2026/11/28"
    folder.mkdir(parents=True)
    for name in ("compacted", "exec", "typed", "fork"):
        shutil.copy(WRITTEN / f"{name}.jsonl", folder / f"rollout-2026-11-28T18-00-00-{name}.jsonl")
    return tmp_path / "sessions"


def hooked(folder, path, name):
    machine = Machine(folder)
    machine.hook("codex", "Stop", transcript_path=str(path), session_id=name, cwd="/home/dev/project")
    return machine.memory


def carried_out(memory, source):
    wanted = Wanted("demo")
    return talks.carry_out(memory, look(source), wanted, talks.plan(look(source), wanted))


def test_of_sessions_of_codex_an_import_takes_what_its_hooks_take(tmp_path, sessions):
    for path in sorted(sessions.rglob("*.jsonl")):
        (chat,) = chats_in(path)
        turns = [f"{turn.user}\n\n{turn.assistant}" for turn in chat.turns]
        assert turns == hooked(tmp_path / path.stem, path, chat.chat_id).turns
        assert all(turn.timestamp and turn.timestamp.startswith("2026-11-28T18:") for turn in chat.turns)
    assert chat.title == "Which berth does the ferry use?SLEEP now"
    assert len(chats_in(sessions)) == 4


def test_a_session_that_hooks_recorded_gets_only_what_they_missed_and_a_repeat_brings_nothing(tmp_path, sessions):
    (whole,) = sessions.rglob("*typed.jsonl")
    (chat,) = chats_in(whole)
    rows = whole.read_bytes().splitlines(keepends=True)
    begun = tmp_path / "begun.jsonl"
    begun.write_bytes(b"".join(rows[: len(rows) // 2]))
    memory = hooked(tmp_path, begun, chat.chat_id)
    recorded = list(memory.turns)
    assert 0 < len(recorded) < len(chat.turns)

    report = carried_out(memory, whole)
    assert (report.begun, report.repeated) == (0, len(recorded))
    assert memory.turns == [f"{turn.user}\n\n{turn.assistant}" for turn in chat.turns]
    calls = len(memory.calls)
    assert carried_out(memory, whole).imported == 0
    assert memory.calls[calls:] == ["list_conversations", "list_turns"]


def missed(memory, chat):
    return Recorded(memory, "demo").without("C0", chat).turns


def test_turns_that_came_in_parts_are_known_and_so_are_those_behind_the_first_page():
    keys = [f"k{at}" for at in range(150)]
    memory = FakeMemory()
    memory.messages["C0"] = dict.fromkeys(["codex-long/1", "codex-long/2", *(f"codex-{key}" for key in keys)], "")
    chat = Chat("codex", "s", "", None, [Turn("", key=key) for key in ("long", *keys, "new")])
    assert [turn.key for turn in missed(memory, chat)] == ["new"]


def test_hooks_that_find_a_session_which_an_import_completed_bring_nothing_twice(tmp_path, sessions):
    (whole,) = sessions.rglob("*exec.jsonl")
    (chat,) = chats_in(whole)
    memory = FakeMemory()
    machine = Machine(tmp_path, memory)
    place = {"transcript_path": str(whole), "session_id": chat.chat_id, "cwd": "/home/dev/project"}
    machine.hook("codex", "Stop", **place)
    first = list(memory.turns)
    shutil.rmtree(tmp_path / "state")
    carried_out(memory, whole)
    machine.hook("codex", "Stop", **place)
    assert memory.turns == first


def test_a_fork_of_an_older_version_brings_what_was_said_in_it_alone(tmp_path):
    old = [item("user", NIGHT), item("assistant", ANSWER)]
    rollout(tmp_path, "0a", meta("0a"), *old, item("user", "And by day?"))
    rollout(tmp_path, "0b", meta("0b", forked_from_id="0a"), meta("0a"), *old, item("user", "In the fork?"))
    # Its origin is not there: all that it holds is new.
    rollout(tmp_path, "0c", meta("0c", forked_from_id="gone"), *old)
    # The same words in another session are no copy.
    rollout(tmp_path, "0d", meta("0d"), *old)

    assert [said(chat) for chat in chats_in(tmp_path)] == [
        [(NIGHT, ANSWER), ("And by day?", "")],
        [("In the fork?", "")],
        [(NIGHT, ANSWER)],
        [(NIGHT, ANSWER)],
    ]


def test_of_a_version_that_wrote_events_the_words_of_the_user_come_from_them(tmp_path):
    injected = item("user", "Text that Codex added in a form that nobody knows.")
    path = rollout(
        tmp_path,
        "0a",
        meta("0a"),
        injected,
        item("user", NIGHT),
        line("event_msg", type="user_message", message=NIGHT, kind="plain"),
        item("assistant", ANSWER),
    )
    (chat,) = chats_in(path)
    assert said(chat) == [(NIGHT, ANSWER)]


def test_the_oldest_files_have_items_without_an_entry_and_one_time(tmp_path):
    path = rollout(
        tmp_path,
        "0a",
        {"id": "0a", "timestamp": "2025-08-01T10:00:00.000Z", "instructions": "Use tabs.", "git": {}},
        message("user", "<environment_context>\n<cwd>/x</cwd>\n</environment_context>"),
        {"record_type": "state"},
        message("user", NIGHT),
        {"type": "reasoning", "summary": [], "content": None},
        {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c"},
        {"type": "function_call_output", "call_id": "c", "output": "text"},
        message("assistant", ANSWER),
    )
    (chat,) = chats_in(path)
    assert said(chat) == [(NIGHT, ANSWER)]
    assert (chat.chat_id, chat.updated_at) == ("0a", "2025-08-01T10:00:00.000Z")
    assert not any(UNKNOWN in kind for kind in chat.left_out)


def test_sessions_of_sub_agents_are_counted_and_not_taken(tmp_path):
    rollout(tmp_path, "0a", meta("0a", source="cli"), item("user", NIGHT))
    rollout(tmp_path, "0b", meta("0b", source={"subagent": {"thread_spawn": {"depth": 1}}}), item("user", "Look."))
    rollout(tmp_path, "0c", meta("0c", source={"subagent": "review"}), item("user", "Look."))
    rollout(tmp_path, "0d", meta("0d", thread_source="subagent"), item("user", "Look."))
    rollout(tmp_path, "0e", meta("0e", source={"custom": "editor"}), item("user", "By day?"))

    report = talks.plan(look(tmp_path), Wanted("demo"))
    assert (report.conversations, report.skipped) == (2, 3)
    assert report.not_taken["messages of sessions of sub-agents"] == 3


def test_files_that_are_compressed_cut_linked_or_of_others_are_named_and_keep_none_away(tmp_path):
    path = rollout(tmp_path, "0a", meta("0a"), item("user", NIGHT), item("assistant", ANSWER))
    folder = path.parent
    with path.open("a") as file:
        file.write('{"timestamp": "2025-11-20T10:00:00.000Z", "type": "response_item", "payload": {"type": "mess')
    (folder / "rollout-2025-11-20T10-00-01-0b.jsonl.zst").write_bytes(b"\x28\xb5\x2f\xfd")
    (folder / "rollout-2025-11-20T10-00-02-0c.jsonl").symlink_to("/etc/passwd")
    (folder / "rollout-2025-11-20T10-00-03-0d.jsonl").write_text("[1]\nno JSON\n\0\n")
    rollout(tmp_path, "0e", meta("0a"), item("user", "The id of another one."))
    rollout(tmp_path, "0f", meta("\x1b[2J"), item("user", "An id that is none."))
    os.mkfifo(folder / "rollout-pipe.jsonl")

    report = talks.plan(look(tmp_path), Wanted("demo"))
    assert (report.conversations, report.turns) == (1, 1)
    assert [" ".join(one.split()[1:5]) for one in report.left_out] == [
        "is a symbolic link,",
        "is neither a file",
        "is compressed. Unpack it",
        "has the name of",
        "has a session without",
        "is no session of",
    ]
    with pytest.raises(BadSource, match="compressed"):
        look(folder / "rollout-2025-11-20T10-00-01-0b.jsonl.zst")
