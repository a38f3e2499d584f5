"""The documents name `.venv/bin/python -m benchmarks.X`: it needs nothing but the root of the checkout."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PROGRAMS = sorted(path.stem for path in (ROOT / "benchmarks").glob("*.py") if path.stem != "__init__")


@pytest.mark.process
def test_each_program_finds_the_layer_and_the_client_by_itself() -> None:
    bare = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    program = "import importlib, sys\nfor name in sys.argv[1:]: importlib.import_module('benchmarks.' + name)"
    done = subprocess.run(
        [sys.executable, "-c", program, *PROGRAMS], cwd=ROOT, env=bare, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_each_program_that_a_page_names_is_there_and_named_as_it_is_run() -> None:
    named = [
        (page.name, *found)
        for page in (ROOT / "docs").glob("*.md")
        for found in re.findall(r"(\S*)python -m benchmarks\.(\w+)", page.read_text("utf-8"))
    ]
    packages = {path.name for path in (ROOT / "benchmarks").iterdir() if (path / "__main__.py").exists()}
    assert named
    assert [row for row in named if not row[1].endswith(".venv/bin/") or row[2] not in {*PROGRAMS, *packages}] == []
