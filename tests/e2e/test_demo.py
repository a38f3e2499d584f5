"""The demo, as a newcomer runs it: its exit status says that every note is accounted for."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from local.demo.tour import read_notes

ROOT = Path(__file__).resolve().parents[2]


NOTES = 120
"""Enough for three runs that events start: the next three hundred would show the same."""


def show(tmp_path: Path, module: str, *arguments: str) -> str:
    """What a demo prints; it must succeed."""
    environment = {
        **os.environ,
        "LIVEMEM_DATA_DIR": str(tmp_path),
        "PYTHONPATH": os.pathsep.join(str(ROOT / folder) for folder in ("layers/livemem", "client", ".")),
    }
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.skipif("LIVEMEM_URL" in os.environ, reason="the demo starts a runtime of its own")
def test_the_demo_accounts_for_every_note_and_shows_the_bank_and_the_runs(tmp_path):
    log = ROOT / "examples" / "build-log.jsonl"
    lines = log.read_text().splitlines()
    assert len(read_notes(log)) == len(lines) > NOTES
    (tmp_path / "notes.jsonl").write_text("\n".join(lines[:NOTES]))

    shown = show(tmp_path, "local.demo", "--notes", str(tmp_path / "notes.jsonl"))

    assert f"All {NOTES} notes are accounted for" in shown
    assert "activeContext.md" in shown
    assert "offline stand-in" in shown
