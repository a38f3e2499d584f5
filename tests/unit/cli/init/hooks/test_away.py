"""A service that gives no answer is asked again after five minutes, and at the end of a session."""

import time
from pathlib import Path

import pytest

from live_memory import LiveMemoryError
from live_memory.cli.init.hooks.away import SECONDS, Away
from tests.unit.cli.init.hooks.support import Machine, claude

NO_ANSWER = LiveMemoryError("no_answer", "There was no answer.")
REFUSED = LiveMemoryError("no_connection", "Nobody listens.")


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path, away=Away.of(tmp_path / "state", "https://memory.example.org", near=False))


def later(machine: Machine, seconds: float) -> None:
    now = time.time() + seconds
    machine.away = Away(machine.away.file, machine.away.near, lambda: now)


def test_a_service_without_an_answer_is_asked_by_no_further_hook_for_five_minutes_and_nothing_is_lost(machine):
    machine.memory.fail = lambda _: NO_ANSWER
    machine.hook("claude-code", "SessionStart")
    machine.memory.fail = lambda _: None
    transcript = machine.transcript(claude("user", "Tabs stay."), claude("assistant", "Yes."))

    machine.hook("claude-code", "Stop", transcript_path=transcript)
    told = machine.hook("claude-code", "SessionStart")["hookSpecificOutput"]["additionalContext"]
    assert machine.memory.calls == ["get_start"]
    assert "asked again in 5 min" in told

    later(machine, SECONDS + 1)
    machine.hook("claude-code", "Stop", transcript_path=transcript)
    assert machine.memory.said == ["Tabs stay.", "Yes."]


def test_the_end_of_a_session_is_sent_all_the_same(machine):
    machine.away.learn(NO_ANSWER)
    transcript = machine.transcript(claude("user", "Tabs stay."))
    machine.hook("claude-code", "SessionEnd", transcript_path=transcript)

    assert machine.memory.said == ["Tabs stay."]


def test_only_a_service_that_gives_no_answer_is_left_alone(tmp_path):
    def left(problem, *, near):
        away = Away.of(tmp_path, f"{problem!r}{near}", near=near)
        away.learn(problem)
        return away.seconds_left() > 0

    assert left(NO_ANSWER, near=False)
    assert left(NO_ANSWER, near=True)
    assert left(REFUSED, near=False)
    assert not left(REFUSED, near=True), "it may start at any moment"
    assert not left(LiveMemoryError("unauthorized", "No.", status=401), near=False)
    assert not left(ValueError(), near=False)


def test_a_clock_that_was_set_back_keeps_no_memory_away(machine):
    machine.away.learn(NO_ANSWER)
    later(machine, -3_600)

    assert machine.away.seconds_left() == 0
    assert not Path(machine.away.file).read_bytes()
