"""What a session could not send is sent with the next hook of any session, once."""

import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_memory import LiveMemoryError
from live_memory.cli.init.hooks import running, unsent
from live_memory.cli.init.hooks.events import Event
from live_memory.cli.init.hooks.running import Hook
from live_memory.cli.init.hooks.state import Files
from live_memory.cli.init.hooks.unsent import Unsent
from tests.unit.cli.init.hooks.support import Machine, claude


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def down(_number):
    return LiveMemoryError("no_connection", "Nobody answers.")


def up(_number):
    return None


def list_of(machine):
    return Unsent(machine.folder / "state", machine.log.append)


def ended(machine, session, *said, client="claude-code", event="SessionEnd", folder="/home/ann/ferry"):
    """A session that ended while the service was down; gives its transcript."""
    path = machine.folder / f"{session}.jsonl"
    path.write_text("".join(json.dumps(claude("user", text, uuid=text)) + "\n" for text in said))
    machine.memory.fail = down
    machine.hook(client, event, session_id=session, transcript_path=str(path), cwd=folder)
    machine.memory.fail = up
    return path


def next_hook(machine, event="Stop", session="s9"):
    path = machine.folder / "empty.jsonl"
    path.touch()
    machine.memory.calls.clear()
    return machine.hook("claude-code", event, session_id=session, transcript_path=str(path))


def waits(machine):
    return sorted(entry.session for entry in list_of(machine).waiting(""))


def test_a_session_that_ended_while_the_service_was_down_is_sent_with_the_next_hook_of_another_once(machine):
    ended(machine, "s1", "Why?", "And?")
    assert waits(machine) == ["s1"]
    next_hook(machine)
    next_hook(machine)
    assert machine.memory.said == ["Why?", "And?"]
    assert machine.memory.calls == []
    assert machine.memory.closed == [("C0", 2)]
    assert [one["title"] for one in machine.memory.conversations.values()] == ["Why? (claude-code session s1)"]
    assert waits(machine) == []
    assert not (machine.folder / "state/unsent").exists()


@pytest.mark.parametrize(
    ("client", "event"), [("claude-code", "Stop"), ("claude-code", "PreCompact"), ("claude-code", "SessionEnd")]
)
def test_a_hook_that_is_killed_while_it_sends_leaves_its_session_to_the_next_one(machine, client, event):
    class Killed(BaseException):
        pass

    path = machine.folder / "s1.jsonl"
    path.write_text(json.dumps(claude("user", "Why?")) + "\n")
    machine.memory.fail = lambda number: Killed() if number == 2 else None
    with pytest.raises(Killed):
        machine.hook(client, event, session_id="s1", transcript_path=str(path))
    machine.memory.fail = up
    next_hook(machine)
    assert machine.memory.said == ["Why?"]
    assert waits(machine) == []


def test_the_messages_that_a_client_hands_to_hooks_one_by_one_wait_too(machine):
    machine.memory.fail = down
    machine.hook("cursor", "beforeSubmitPrompt", conversation_id="s1", prompt="Why?", cursor_version="3")
    machine.hook("cursor", "sessionEnd", conversation_id="s1", cursor_version="3")
    machine.memory.fail = up
    next_hook(machine)
    assert machine.memory.said == ["Why?"]


def test_at_the_start_of_a_session_it_is_sent_after_the_answer(machine):
    ended(machine, "s1", "Why?")
    later = []
    hook = Hook(lambda _: machine.memory, machine.folder / "state", machine.log.append, later=later)
    assert "S3 is the only store" in hook.run("claude-code", "SessionStart", "demo", '{"session_id": "s2"}')
    assert (machine.memory.said, later) == ([], [running.SEND])
    hook.send_unsent(hook.clock() + 5)
    assert machine.memory.said == ["Why?"]


def test_a_session_goes_to_the_service_that_it_was_for_and_to_no_other_one(machine):
    ended(machine, "s1", "Why?")
    other = Hook(lambda _: machine.memory, machine.folder / "state", machine.log.append, service="default https://b")
    other.send_unsent(other.clock() + 5)
    assert machine.memory.calls == ["list_conversations"]  # the attempt that failed
    assert waits(machine) == ["s1"]


def test_each_client_sends_with_its_own_token(machine):
    ended(machine, "s1", "Why?")
    clients = []

    def memory(client):
        clients.append(client)
        return machine.memory

    hook = Hook(memory, machine.folder / "state", machine.log.append)
    hook.send_unsent(hook.clock() + 5)
    assert clients == ["claude-code"]


def test_a_session_that_is_resumed_meanwhile_is_sent_by_its_own_hook_and_not_twice(machine):
    path = ended(machine, "s1", "Why?")
    with path.open("a") as file:
        file.write(json.dumps(claude("user", "And?", uuid="And?")) + "\n")
    machine.hook("claude-code", "Stop", session_id="s1", transcript_path=str(path))
    assert waits(machine) == []
    next_hook(machine)
    assert machine.memory.said == ["Why?", "And?"]


def test_what_was_said_since_without_a_hook_is_not_sent_from_the_list(machine):
    path = ended(machine, "s1", "Why?", "And?")
    with path.open("a") as file:
        file.write(json.dumps(claude("user", "A private word.")) + "\n")
    next_hook(machine)
    assert machine.memory.said == ["Why?", "And?"]
    assert machine.memory.closed == [("C0", 2)]
    assert waits(machine) == []
    # The session's own next hook goes on from there.
    machine.hook("claude-code", "Stop", session_id="s1", transcript_path=str(path))
    assert machine.memory.said == ["Why?", "And?", "A private word."]


def test_a_line_that_was_half_written_at_the_end_is_not_sent_from_the_list_and_ends_the_wait(machine):
    path = machine.folder / "s1.jsonl"
    line = json.dumps(claude("user", "Half of it is private."))
    path.write_text(json.dumps(claude("user", "Why?")) + "\n" + line[:20])
    machine.memory.fail = down
    machine.hook("claude-code", "SessionEnd", session_id="s1", transcript_path=str(path))
    machine.memory.fail = up
    path.write_text(json.dumps(claude("user", "Why?")) + "\n" + line + "\n")
    next_hook(machine)
    assert machine.memory.said == ["Why?"]
    assert waits(machine) == []


def test_two_hooks_at_once_send_it_once(machine):
    ended(machine, "s1", "Why?")
    inner = []

    def meanwhile(number):
        if not inner:
            inner.append(number)
            hook = Hook(lambda _: machine.memory, machine.folder / "state", machine.log.append)
            hook.send_unsent(hook.clock() + 5)

    machine.memory.calls.clear()
    machine.memory.fail = meanwhile
    machine.hook("claude-code", "Stop", session_id="s2", transcript_path=str(machine.folder / "none"))
    next_hook(machine)
    assert machine.memory.said == ["Why?"]
    assert waits(machine) == []


def test_what_comes_while_its_session_is_sent_stays_in_the_list(machine):
    path = ended(machine, "s1", "Why?")
    waiting = list_of(machine)
    (entry,) = waiting.waiting("")
    later = Event("claude-code", "SessionEnd", "close", "s1", None, path, "user", "")
    waiting.add("", "demo", later)
    waiting.done(entry)
    assert waits(machine) == ["s1"]


def test_a_transcript_that_is_gone_or_no_file_is_left_out_with_a_word_in_the_log(machine):
    ended(machine, "s1", "Why?").unlink()
    directory = ended(machine, "s2", "Why?")
    directory.unlink()
    directory.mkdir()
    pipe = ended(machine, "s3", "Why?")
    pipe.unlink()
    os.mkfifo(pipe)
    machine.log.clear()
    next_hook(machine)
    assert (machine.memory.said, waits(machine)) == ([], [])
    assert len([line for line in machine.log if "its transcript is gone" in line]) == 3


def test_a_transcript_that_was_begun_again_is_read_from_its_start(machine):
    path = machine.folder / "s1.jsonl"
    path.write_text("".join(json.dumps(claude("user", text, uuid=text)) + "\n" for text in ("Why?", "And?")))
    machine.hook("claude-code", "Stop", session_id="s1", transcript_path=str(path))
    ended(machine, "s1", "Other")
    # It was not even sent: the connection failed first.
    del machine.memory.messages["C0"][next(reversed(machine.memory.messages["C0"]))]
    next_hook(machine)
    assert machine.memory.said == ["Why?", "And?", "Other"]


@pytest.mark.parametrize("code", ["space_not_found", "permission_denied", "rate_limited"])
def test_a_session_that_is_refused_is_left_alone_for_an_hour_and_others_are_sent(machine, code):
    for session in ("s1", "s2", "s3", "s4"):
        ended(machine, session, session)
    machine.memory.fail = lambda _: LiveMemoryError(code, "No.", status=403)
    next_hook(machine)
    assert len(machine.memory.calls) == unsent.AT_ONCE
    machine.memory.fail = up
    (other,) = waits(machine)
    next_hook(machine)
    assert machine.memory.said == [other]
    next_hook(machine)
    assert machine.memory.calls == []

    for path in (machine.folder / "state/unsent").iterdir():
        os.utime(path, (path.stat().st_mtime - unsent.REFUSED_SECONDS,) * 2)
    next_hook(machine)
    assert sorted(machine.memory.said) == ["s1", "s2", "s3", "s4"]


def test_a_service_that_is_still_down_is_asked_once_and_all_stays(machine):
    for session in ("s1", "s2"):
        ended(machine, session, session)
    machine.memory.fail = down
    next_hook(machine)
    assert len(machine.memory.calls) == 1
    assert waits(machine) == ["s1", "s2"]


def test_no_more_time_is_spent_than_a_hook_has(machine):
    ended(machine, "s1", "Why?")
    machine.memory.calls.clear()
    hook = Hook(lambda _: machine.memory, machine.folder / "state", machine.log.append)
    hook.send_unsent(hook.clock())
    assert machine.memory.calls == []
    assert waits(machine) == ["s1"]


def test_the_list_is_bounded_in_number_and_age_and_says_what_it_leaves_out(machine):
    now = [1_000.0]
    waiting = Unsent(machine.folder / "state", machine.log.append, lambda: now[0])
    for number in range(unsent.MOST + 3):
        event = Event("claude-code", "Stop", "send", f"s{number}", None, machine.folder / "t", "user", "")
        waiting.add("", "demo", event)
    assert len(list((machine.folder / "state/unsent").iterdir())) == unsent.MOST
    assert len(machine.log) == 3
    now[0] += unsent.SECONDS + 1
    assert waiting.waiting("") == []
    assert not (machine.folder / "state/unsent").exists()
    assert len(machine.log) == 3 + unsent.MOST


def test_a_session_that_fails_again_and_again_does_not_get_younger(machine):
    now = [1_000.0]
    waiting = Unsent(machine.folder / "state", machine.log.append, lambda: now[0])
    event = Event("claude-code", "Stop", "send", "s1", None, machine.folder / "t", "user", "")
    waiting.add("", "demo", event)
    now[0] += unsent.SECONDS - 1
    waiting.add("", "demo", event)
    assert len(waiting.waiting("")) == 1
    now[0] += 2
    assert waiting.waiting("") == []


@given(st.binary(max_size=60) | st.sampled_from([b"", b"[]", b"{", b"\0" * 40_000, b'{"service": ""}', b"[" * 9_000]))
def test_a_file_of_the_list_that_is_damaged_is_left_out_and_the_others_are_sent(tmp_path_factory, damage):
    machine = Machine(tmp_path_factory.mktemp("m"))
    ended(machine, "s1", "Why?")
    ended(machine, "s2", "And?")
    Files.of(machine.folder / "state/unsent", "claude-code", "demo", "s1").state.write_bytes(damage)
    (machine.folder / "state/unsent/odd.json").write_text('{"service": ""}')
    next_hook(machine)
    assert machine.memory.said == ["And?"]
    assert waits(machine) == []


@pytest.mark.parametrize("in_the_way", ["a file", "a folder in place of the file"])
def test_a_list_that_can_not_be_written_does_not_stop_a_session_from_being_sent(machine, in_the_way):
    (machine.folder / "state").mkdir()
    if in_the_way == "a file":
        (machine.folder / "state/unsent").write_text("x")
    else:
        Files.of(machine.folder / "state/unsent", "claude-code", "demo", "s1").state.mkdir(parents=True)
    path = machine.transcript(claude("user", "Why?"))
    machine.hook("claude-code", "SessionEnd", transcript_path=path)
    next_hook(machine)
    assert machine.memory.said == ["Why?"]


def test_where_nothing_is_recorded_any_more_what_waits_is_forgotten_and_what_others_said_is_not(machine):
    ended(machine, "s1", "Mine", folder="/home/ann/ferry/docs")
    ended(machine, "s2", "Elsewhere", folder="/home/ann/other")
    ended(machine, "s3", "Folder unknown", folder="\x1b")
    machine.memory.fail = down
    rollout = machine.folder / "s4.jsonl"
    item = {"type": "message", "role": "user", "content": "Codex"}
    rollout.write_text(json.dumps({"type": "response_item", "payload": item}) + "\n")
    machine.hook("codex", "Stop", session_id="s4", transcript_path=str(rollout))
    machine.memory.fail = up
    list_of(machine).forget("claude-code", machine.folder.__class__("/home/ann/ferry"))
    assert sorted(entry.session for entry in list_of(machine).waiting("")) == ["s2", "s4"]
    list_of(machine).forget("codex", None)
    next_hook(machine)
    assert machine.memory.said == ["Elsewhere"]
