"""Three days of two agents with their hooks (benchmarks/day.py): two measured projects, and a file that goes."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from benchmarks import day
from benchmarks.hooks import LIVEMEM, SPACE, Took
from live_memory import Client
from live_memory.cli import gone_paths
from live_memory.cli.init.hooks import command, prompts
from live_memory.cli.main import app
from live_memory.cli.program import Program
from tests.support import front
from tests.support.service import Service
from tests.support.world import BOOTSTRAP_KEY

ROWS = [json.loads(line) for line in day.SET.read_text("utf-8").splitlines()]
DECIDED = {
    "as": "turn",
    "keep": "x",
    "says": "How often should the harbour import try?",
    "answer": "We decided to keep three retries in `src/x.py`, because Kiel blocks a fourth login.",
}
OTHER = {"as": "decision", "keep": "y", "says": "Deploys run from the pipeline only, with `src/y.py`."}


@pytest.mark.proof
@pytest.mark.slow
@pytest.mark.process
@pytest.mark.parametrize("project", ["lockers", "stage"])
def test_most_prompts_that_deserve_lines_get_them_on_the_third_day_and_hardly_any_other_prompt_does(project):
    rows = [row for row in ROWS if row["of"] == project]

    with day.lived(rows) as days:
        judged = day.Judged.of(days, rows, day.by_http)

    assert judged.good >= 0.8 * judged.given
    assert judged.answered >= judged.deserving * 2 / 3
    assert judged.noisy <= 1


def here(arguments: list[str], environ: dict[str, str], said: str) -> Took:
    """Run a command of the client in this process."""
    program = Program(environ=environ, detach=lambda *_: False)
    done = CliRunner().invoke(app, arguments[len(LIVEMEM) :], input=said, env=environ, obj=program)
    assert done.exit_code == 0, done.output
    return Took(0, 0, done.stdout, done.stderr)


def test_on_the_third_day_a_prompt_is_told_what_the_other_agent_decided_about_a_file_that_is_gone(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A machine under load needs longer than a person waits.
    for module, name in ((command, "PROMPT_SECONDS"), (prompts, "REQUEST_SECONDS"), (gone_paths, "SECONDS")):
        monkeypatch.setattr(module, name, 60)
    with front.opened(service) as door, Client(url := f"http://127.0.0.1:{door.port}", BOOTSTRAP_KEY) as client:
        client.call("create_space", {"space_id": SPACE, "description": "d"})
        own = {"LIVEMEM_URL": url, "LIVEMEM_TOKEN": BOOTSTRAP_KEY, "HOME": str(tmp_path)}
        places = {f"LIVEMEM_{name}": str(tmp_path / name.lower()) for name in ("STATE", "CONFIG", "DATA_DIR")}
        days = day.Days(tmp_path, {**own, **places}, client, run=here)
        days.live([DECIDED, OTHER])

        told = days.hook(day.CLIENTS[1], "UserPromptSubmit", "third", prompt="raise the retries of the harbour import")

    day_one = f"- {days.day(1):%Y-%m-%d} "
    lines = [line for line in told.splitlines() if line.startswith(day_one)]
    assert any("three retries in `src/x.py` (gone), because Kiel blocks" in line for line in lines), told
    assert "src/y.py" not in told
