"""What a search needs is loaded at the start by the functions that search, and by no other; most lack the layer."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SEARCHING = {"search", "indexer", "memories", "rooms", "ask", "digest"}
"""Functions with the search layer: memories are compared by their vectors."""
HEAVY = ("numpy", "apsw", "Stemmer")
PROGRAM = """
import sys
from scripts.openapi import load
for name in sys.argv[1].split():
    load(name)
print(*(name for name in sys.argv[2].split() if name in sys.modules))
"""


def loaded(functions: str, names: Sequence[str] = HEAVY) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, functions, " ".join(names)],
        cwd=ROOT,
        env={"PYTHONPATH": "layers/livemem:.", "AWS_DEFAULT_REGION": "eu-west-1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


@pytest.mark.process
def test_no_other_function_loads_what_a_search_needs():
    others = {folder.name for folder in (ROOT / "functions").iterdir() if folder.is_dir()} - SEARCHING

    assert len(others) >= 7
    assert loaded(" ".join(sorted(others))) == []


@pytest.mark.process
def test_a_search_does():
    assert loaded("search") == [*HEAVY]


@pytest.mark.process
def test_what_only_sign_in_with_a_provider_needs_is_loaded_when_somebody_does():
    all_of_them = " ".join(sorted(folder.name for folder in (ROOT / "functions").iterdir() if folder.is_dir()))

    assert loaded(all_of_them, ("jwt",)) == []


@pytest.mark.process
def test_sign_in_is_loaded_by_its_own_function_alone():
    """The others learn of a grant when a token of one comes; till then they have nothing of it."""
    others = {folder.name for folder in (ROOT / "functions").iterdir() if folder.is_dir()} - {"signin"}
    names = ("livemem.signin", "livemem.access.grant", "livemem_http.oauth")

    assert loaded(" ".join(sorted(others)), names) == []
    assert set(loaded("signin", names)) == set(names)
