"""What a newcomer's fourth start knows: three days of one person from an empty folder, by real hooks and real HTTP.

    .venv/bin/python -m benchmarks.newcomer [--rules] [--start FILE]

`livemem init` starts the service of a home of its own. Then six sessions with 46 turns are written as Claude Code
writes them, and the installed hooks send them. `--rules` has no model; else the recorded answers play. Printed are the
commands and seconds to the first note, and how many of 20 needs a line of the next start answers.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from benchmarks.newcomer import play, recorded_model
from live_memory import Client
from live_memory.cli import local_service
from tests.support.hooked_agent import HookedAgent

AT_REST = ("session_end", "threshold", "by_hand")
MOST = 180.0
"""Seconds until a session must be worked off."""


def until(holds: Callable[[], bool]) -> None:
    """Wait until it holds twice in a row: work may follow work."""
    end, times = time.monotonic() + MOST, 0
    while times < 2:
        times = times + 1 if holds() else 0
        if time.monotonic() > end:
            raise TimeoutError("The service did not come to rest.")
        time.sleep(0.3)


def at_rest(memory: Client, space: str) -> bool:
    """Whether all that was said is summarised, and no consolidation is under way."""
    talks = memory.call("list_conversations", {"space_id": space})["items"]
    where = [{"space_id": space, "conversation_id": one["conversation_id"]} for one in talks]
    still = any(memory.call("get_conversation", one)["open_turns"] for one in where)
    jobs = memory.call("list_jobs", {"space_id": space})["items"]
    next_run = memory.call("get_space", {"space_id": space})["waiting"]["next_run"]
    return not still and all(job["status"] == "done" for job in jobs) and next_run["why"] in AT_REST


def main() -> int:
    """Play the days and print the numbers. 0: as many needs are answered as should be."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rules", action="store_true", help="no language model")
    parser.add_argument("--start", type=Path, metavar="FILE", help="where the fourth start is written")
    asked = parser.parse_args()
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        data = home / "data"
        environ = {"LIVEMEM_DATA_DIR": str(data), "PORT": "0", "LIVEMEM_SWEEP_SECONDS": "2"}
        commands, began = ["livemem init"], time.monotonic()
        if not asked.rules:
            _, url = stack.enter_context(recorded_model.serving(play.ANSWERS))
            commands.insert(0, "livemem serve")
            program = [sys.executable, "-m", "live_memory.cli", "serve", "--llm", url, "--model", recorded_model.MODEL]
            key = {"LLMAAS_API_KEY": "none", "HOME": str(home), "PYTHONPATH": os.pathsep.join(sys.path)}
            stack.enter_context(
                subprocess.Popen(program, env={**os.environ, **environ, **key}, stdout=subprocess.DEVNULL)
            )
            until(lambda: local_service.ready(data) is not None)
        agent = HookedAgent.first("dana", home, environ)
        stack.callback(agent.say, "stop")
        service = local_service.find(data)
        assert service
        memory = stack.enter_context(Client(service.url, (data / "admin.key").read_text("utf-8").strip()))
        space, first = "", 0.0

        def settle() -> None:
            nonlocal space, first
            if not space:
                (space,) = (one["space_id"] for one in memory.call("list_spaces", {})["items"])
                where = {"space_id": space}
                until(lambda: any(memory.call(name, where)["items"] for name in ("list_notes", "list_bank")))
                first = time.monotonic() - began
            until(lambda: at_rest(memory, space))

        play.live_three_days(agent, settle)
        start = agent.begin(3)
    if asked.start:
        asked.start.write_text(start, "utf-8")
    missing, goal = play.missing(start), play.RULES_GOAL if asked.rules else play.MODEL_GOAL
    print(f"To the first note: {', '.join(commands)} and a session of eight turns, {first:.1f} s")
    answered = play.NEEDS - len(missing)
    print(f"Needs that the fourth start answers: {answered} of {play.NEEDS}, in {len(start):,} characters")
    print(f"Missing: {', '.join(missing) or 'none'}")
    return int(answered < goal)


if __name__ == "__main__":
    sys.exit(main())
