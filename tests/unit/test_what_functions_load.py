"""What a search needs is loaded at the start by the functions that search, and by no other; most lack the layer."""

import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SEARCHING = {"search", "indexer", "memories", "rooms", "ask", "digest"}
"""Functions with the search layer: memories are compared by their vectors."""
HEAVY = {"numpy", "apsw", "Stemmer"}
OF_SIGN_IN = {"livemem.signin", "livemem.access.grant", "livemem_http.oauth"}
PROVIDER = "jwt"
"""What only sign-in with a provider needs: it is loaded when somebody signs in so."""
FUNCTIONS = {folder.name for folder in (ROOT / "functions").iterdir() if folder.is_dir()}
PROGRAM = """
import sys
from scripts.openapi import load
for name in sys.argv[1].split():
    load(name)
print(*(name for name in sys.argv[2].split() if name in sys.modules))
"""


@cache
def loaded(*functions: str) -> set[str]:
    """Which of those modules a process has that loaded these functions."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, " ".join(functions), " ".join({*HEAVY, *OF_SIGN_IN, PROVIDER})],
        cwd=ROOT,
        env={"PYTHONPATH": "layers/livemem:.", "AWS_DEFAULT_REGION": "eu-west-1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


@pytest.mark.process
def test_what_a_search_needs_is_loaded_by_it_and_by_no_other_function():
    others = FUNCTIONS - SEARCHING

    assert len(others) >= 7
    assert loaded(*sorted(others)) & HEAVY == set()
    assert loaded("search") >= HEAVY


@pytest.mark.process
def test_sign_in_is_loaded_by_its_own_function_alone():
    """The others learn of a grant when a token of one comes; till then they have nothing of it."""
    assert loaded(*sorted(FUNCTIONS - {"signin"})) & OF_SIGN_IN == set()
    assert loaded("signin") >= OF_SIGN_IN


@pytest.mark.process
def test_what_only_sign_in_with_a_provider_needs_is_loaded_when_somebody_does():
    assert PROVIDER not in loaded(*sorted(FUNCTIONS - {"signin"})) | loaded("signin")
