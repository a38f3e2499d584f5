"""Two agents that have nothing but the hooks of `livemem init` know on their third day what they decided before."""

import os
import subprocess
import sys
import uuid

import pytest

from tests.e2e.spaces import fresh_space
from tests.e2e.stack import ROOT
from tests.support.hooked_agent import DECIDED, ON_DAY, HookedAgent, check, context_of, live_two_days


def process(agent: HookedAgent, event: str) -> str:
    """The answer of the installed command, run by a shell as Claude Code runs it."""
    bin_folder = agent.home / "bin"
    bin_folder.mkdir()
    program = bin_folder / "livemem"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m live_memory.cli "$@"\n')
    program.chmod(0o700)
    path = f"{bin_folder}{os.pathsep}{os.environ['PATH']}"
    (command,) = agent.commands(event)
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        input=agent.payload(event),
        env={**agent.environ, "PATH": path, "PYTHONPATH": str(ROOT / "client")},
        cwd=agent.folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout


def test_two_agents_start_their_third_day_with_what_they_decided_on_the_first_two(service, running, tmp_path):
    if service.send("GET", "/health").body["checks"]["llm"] != "offline":
        pytest.skip(
            "a language model names notes in words of its own: tests/integration/test_two_agents_with_a_model.py"
        )
    # Given a space that folds three notes by itself, and two agents with a token and a folder of their own
    with fresh_space(service, len(ON_DAY[0])) as space:
        agents, tokens = [], []
        for name in ("ann", "bob"):
            body = {"name": f"{name}-{uuid.uuid4().hex[:8]}", "permissions": ["read", "write"], "space_ids": [space]}
            tokens.append(service.send("POST", "/tokens", body))
            assert tokens[-1].status == 201, tokens[-1]
            agents.append(HookedAgent.installed(name, tmp_path / name, space, running.url, tokens[-1].body["token"]))

        def notes() -> list:
            return service.call("list_notes", {"space_id": space})["items"]

        def settle(day: int) -> None:
            if day == 0:
                changes = service.wait_until(
                    lambda: service.call("list_consolidations", {"space_id": space})["items"], bool
                )
                assert [one["notes_count"] for one in changes] == [len(ON_DAY[0])]
            else:
                service.wait_until(notes, lambda live: len(live) == len(ON_DAY[1]))

        # When they work for two days, and their models call no tool
        live_two_days(agents, settle)

        # Then each one's third day begins with the decisions of both: those of the first day in the bank, those of
        # the second as notes, which say from which turns they come
        for agent in agents:
            agent.begin(2)
            check(context_of(process(agent, "SessionStart")))
        live = {note["content"]: note for note in notes()}
        assert {words: note["category"] for words, note in live.items()} == {
            one.words: one.category for one in ON_DAY[1]
        }
        assert all(note["source"]["conversation_id"] for note in live.values())
        bank = "".join(
            file["content"] for file in service.call("list_bank", {"space_id": space, "content": True})["items"]
        )
        assert [one.words in bank for one in DECIDED] == [one.day == 0 for one in DECIDED]
        for token in tokens:
            assert service.send("DELETE", f"/tokens/{token.body['hash']}").status == 200
