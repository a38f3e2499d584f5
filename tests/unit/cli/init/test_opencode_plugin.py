"""The plugin that `init` writes for OpenCode, run by Node with a played session and a `livemem` that answers."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.init.support import desk

NODE = shutil.which("node")
SESSION = """
import { LiveMemory } from "./plugin.mjs"
const message = (id, role, text, more) => ({
  info: { id, role, time: { created: 1, completed: 2 }, ...more },
  parts: [{ type: "text", text }, { type: "text", text: "hidden", synthetic: true }, { type: "tool" }],
})
const data = [
  message("m1", "user", "Why?"),
  message("m2", "assistant", "So."),
  message("m3", "assistant", "All", { summary: true }),
  message("m4", "assistant", "half", { time: { created: 1 } }),
]
const messages = async () => ({ data })
const shown = []
const tui = { showToast: async ({ body }) => shown.push(body.message) }
const hooks = await LiveMemory({ client: { session: { messages }, tui }, directory: process.cwd() })
const event = (type, properties) => hooks.event({ event: { type, properties } })
const say = async (sessionID, text) => {
  const parts = [{ id: "prt_1", type: "text", text }]
  await hooks["chat.message"]({ sessionID }, { message: { id: "m" }, parts })
  return parts.slice(1)
}
await event("session.created", { info: { id: "agent", parentID: "s" } })
const given = [await say("s", "Why?"), await say("s", "And?"), await say("agent", "Look.")]
await event("session.idle", { sessionID: "s" })
await event("session.idle", { sessionID: "agent" })
await event("session.compacted", { sessionID: "s" })
given.push(await say("s", "Again?"))
await hooks.dispose()
const timers = process.getActiveResourcesInfo().filter((one) => one === "Timeout").length
console.log(JSON.stringify({ given, shown, timers }))
"""

pytestmark = [pytest.mark.process, pytest.mark.skipif(not NODE, reason="Node is not installed")]


def play(
    folder: Path, answer: str | None, milliseconds: str = "10_000", **options: Any
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What a session is given, and the input of each hook. `answer`: a program for `livemem`, None: there is none."""
    with desk() as there:
        there.init("opencode", **options)
        plugin = there.read(".opencode/plugin/livemem.js")
    (folder / "plugin.mjs").write_text(plugin.replace("10_000", milliseconds))
    (folder / "session.mjs").write_text(SESSION)
    (folder / "bin").mkdir()
    if answer is not None:
        (folder / "bin/livemem").write_text(f'#!/bin/sh\nprintf "%s\\n" "$(cat)" >> "{folder}/asked"\n{answer}\n')
        (folder / "bin/livemem").chmod(0o755)
    path = os.pathsep.join([str(folder / "bin"), *(["/usr/bin", "/bin"] if answer is not None else [])])
    done = subprocess.run(
        [str(NODE), "session.mjs"],
        cwd=folder,
        env={"PATH": path},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    asked = (folder / "asked").read_text().splitlines() if (folder / "asked").exists() else []
    return json.loads(done.stdout), [json.loads(line) for line in asked]


def test_a_session_gets_the_start_and_what_is_about_each_prompt_and_hands_over_what_was_said(tmp_path):
    answer = """printf '{"systemMessage": "kept", "hookSpecificOutput": {"additionalContext": "%s é"}}' "$3" """
    found, asked = play(tmp_path, answer)
    told = [[part["text"] for part in parts] for parts in found["given"]]
    both = ["SessionStart é", "UserPromptSubmit é"]
    assert told == [both, ["UserPromptSubmit é"], [], both]
    assert all(part["synthetic"] and part["messageID"] == "m" for parts in found["given"] for part in parts)
    assert len({part["id"] for part in found["given"][0]}) == 2
    assert found["shown"] == ["kept", "kept"]
    events = [one["hook_event_name"] for one in asked]
    assert events == [
        *("SessionStart", "UserPromptSubmit", "UserPromptSubmit", "Stop", "PreCompact"),
        *("SessionStart", "UserPromptSubmit", "SessionEnd"),
    ]
    assert {one["session_id"] for one in asked} == {"s"}
    (stop,) = [one for one in asked if one["hook_event_name"] == "Stop"]
    assert [(one["id"], one["content"]) for one in stop["messages"]] == [("m1", "Why?"), ("m2", "So.")]
    assert handed_over(asked) == [["m1", "m2"], []]


def handed_over(asked: list[dict[str, Any]]) -> list[list[str]]:
    return [[message["id"] for message in one["messages"]] for one in asked if "messages" in one]


def test_messages_that_no_hook_took_are_handed_over_again(tmp_path):
    _, asked = play(tmp_path, "exit 3")
    assert handed_over(asked) == [["m1", "m2"]] * 2


@pytest.mark.parametrize("answer", [None, "exit 3", "echo no JSON", "cat <&-"])
def test_a_session_goes_on_where_livemem_is_missing_or_answers_nothing_and_no_timer_holds_its_end(tmp_path, answer):
    found, _ = play(tmp_path, answer)
    assert found == {"given": [[], [], [], []], "shown": [], "timers": 0}


def test_a_hook_that_hangs_is_ended_and_the_session_goes_on(tmp_path):
    found, _ = play(tmp_path, "exec sleep 60", milliseconds="100")
    assert found == {"given": [[], [], [], []], "shown": [], "timers": 0}


def test_without_recording_and_recall_only_the_start_is_asked_for(tmp_path):
    _, asked = play(tmp_path, "echo {}", record=False, recall=False)
    assert [one["hook_event_name"] for one in asked] == ["SessionStart", "SessionStart"]
