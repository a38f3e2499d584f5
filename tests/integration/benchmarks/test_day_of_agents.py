"""Three days of two agents with their hooks (benchmarks/day.py): two measured projects, and a file that goes."""

import json

import pytest

from benchmarks import day
from benchmarks.hooks import SPACE
from live_memory.cli import gone_paths
from live_memory.cli.init.hooks import command, prompts
from live_memory.cli.program import Program

ROWS = [json.loads(line) for line in day.SET.read_text("utf-8").splitlines()]
DECIDED = {
    "as": "turn",
    "keep": "x",
    "says": "How often should the harbour import try?",
    "answer": "We decided to keep three retries in `src/x.py`, because Kiel blocks a fourth login.",
}
OTHER = {"as": "decision", "keep": "y", "says": "Deploys run from the pipeline only, with `src/y.py`."}

pytestmark = [pytest.mark.slow, pytest.mark.process]


@pytest.mark.parametrize("project", ["lockers", "stage"])
def test_most_prompts_that_deserve_lines_get_them_on_the_third_day_and_hardly_any_other_prompt_does(project):
    rows = [row for row in ROWS if row["of"] == project]

    with day.lived(rows) as days:
        judged = day.Judged.of(days, rows, day.by_http)

    assert judged.good >= 0.8 * judged.given
    assert judged.answered >= judged.deserving * 2 / 3
    assert judged.noisy <= 1


def test_on_the_third_day_a_prompt_is_told_what_the_other_agent_decided_about_a_file_that_is_gone(capsys, monkeypatch):
    # A machine under load needs longer than a person waits.
    for module, name in ((command, "PROMPT_SECONDS"), (prompts, "REQUEST_SECONDS"), (gone_paths, "SECONDS")):
        monkeypatch.setattr(module, name, 60)
    with day.lived([DECIDED, OTHER]) as days:
        payload = {"session_id": "third", "cwd": str(days.folder), "prompt": "raise the retries of the harbour import"}
        monkeypatch.setattr(command, "_read_stdin", lambda _: json.dumps(payload))
        for name, value in days.environ.items():
            monkeypatch.setenv(name, value)
        command.run_hook([day.CLIENTS[1], "UserPromptSubmit", "--space", SPACE], Program(environ=days.environ))

    told = json.loads(capsys.readouterr().out)["hookSpecificOutput"]["additionalContext"]
    day_one = f"- {days.day(1):%Y-%m-%d} "
    lines = [line for line in told.splitlines() if line.startswith(day_one)]
    assert any("three retries in `src/x.py` (gone), because Kiel blocks" in line for line in lines), told
    assert "src/y.py" not in told
