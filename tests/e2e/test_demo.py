"""The demos, as a newcomer runs them: each exit status says that what is told is true."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.proof,
    pytest.mark.skipif("LIVEMEM_URL" in os.environ, reason="the demo starts a runtime of its own"),
]
ROOT = Path(__file__).resolve().parents[2]
STORY = """
The fourth note's put event started a consolidation: nobody asked for it.
ben$ livemem start
  ### bank/webhook.md
  #### Decisions (DAY)
  - We answer the webhook first and charge afterwards, because the provider repeats it after 5 s. (DAY, ada)
  #### Findings (DAY)
  - The double charges come from the provider's retries. (DAY, ada)
ben$ livemem diff 2
   ## Decisions
  +- A worker claims a payment by one conditional UPDATE before it charges, and charges only if a row changed.
   ## Findings
   - The double charges come from the provider's retries. (DAY, ada)
  +- The double charges do not come from the provider's retries, but from two workers: both read that it is open,
  -- Some customers are charged twice: 14 payments yesterday. (DAY, ada)
  -- Measure how long a webhook waits for its answer. (DAY, ada)
  +- Done: measured how long a webhook waits for its answer. It is 40 ms at the 99th percentile.
  +- Fixed: some customers are charged twice, 14 payments yesterday. Since the claim 0 double charges in 4,105
ben$ livemem bank webhook.md --sources
  ## Findings
ben$ livemem read
  Change 4 has undone change 3.
webhook.md is byte for byte what it was after change 2.
2 consolidations: 2 calls of the LLM,
All 8 notes are in exactly one of 2 records.
"""
"""Lines of the story in their order, or their beginnings."""


def show(tmp_path: Path, *arguments: str) -> str:
    """What a demo prints; it must succeed."""
    environment = {
        **os.environ,
        "LIVEMEM_DATA_DIR": str(tmp_path),
        "PYTHONPATH": os.pathsep.join(str(ROOT / folder) for folder in ("layers/livemem", "client", ".")),
    }
    done = subprocess.run(
        [sys.executable, "-m", "local.demo", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_story_tells_what_the_commands_printed(tmp_path):
    told = show(tmp_path)

    assert "offline stand-in" in told
    joined = re.sub(r"20\d\d-\d\d-\d\d(?=[,)])", "DAY", told)
    place = 0
    for line in STORY.strip("\n").split("\n"):
        assert line in joined[place:], f"{line!r} is not in its place:\n{told}"
        place = joined.index(line, place) + len(line)
    assert len(told.splitlines()) < 90


def test_the_demo_of_memories_keeps_what_matters_of_a_day_and_answers_from_it(tmp_path):
    told = show(tmp_path, "memories")

    assert "may say the same" in told
    assert "The id of a deleted space stays blocked for 21 minutes" in told
    assert "On a décidé de ne pas prendre obstore" in told
    assert "All 41 messages were digested once" in told
