"""The documents name `.venv/bin/python -m benchmarks.X`: it needs nothing but the root of the checkout."""

import ast
import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PROGRAMS = sorted(path.stem for path in (ROOT / "benchmarks").glob("*.py") if path.stem != "__init__")


def imported(path: Path) -> set[str]:
    """The packages that a program imports."""
    nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
    modules = [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    modules += [one.name for node in nodes if isinstance(node, ast.Import) for one in node.names]
    return {module.partition(".")[0] for module in modules}


@pytest.mark.process
def test_each_program_finds_the_layer_and_the_client_by_itself() -> None:
    needed = set().union(*(imported(ROOT / "benchmarks" / f"{name}.py") for name in PROGRAMS))
    assert {"livemem", "live_memory", "local", "tests"} <= needed
    bare = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    program = "import sys, benchmarks\nfrom importlib.util import find_spec\n"
    program += "print([name for name in sys.argv[1:] if not find_spec(name)])"
    done = subprocess.run(
        [sys.executable, "-c", program, *needed], cwd=ROOT, env=bare, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")
    # They have what it takes from them.
    for name in PROGRAMS:
        importlib.import_module(f"benchmarks.{name}")


def test_each_program_that_a_page_names_is_there_and_named_as_it_is_run() -> None:
    named = [
        (page.name, *found)
        for page in (ROOT / "docs").glob("*.md")
        for found in re.findall(r"(\S*)python -m benchmarks\.(\w+)", page.read_text("utf-8"))
    ]
    packages = {path.name for path in (ROOT / "benchmarks").iterdir() if (path / "__main__.py").exists()}
    assert named
    assert [row for row in named if not row[1].endswith(".venv/bin/") or row[2] not in {*PROGRAMS, *packages}] == []
