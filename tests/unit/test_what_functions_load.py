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
*groups, asked = sys.argv[1:]
for group in groups:
    for name in group.split():
        load(name)
    print(*(name for name in asked.split() if name in sys.modules))
"""


@cache
def loaded(*groups: str) -> list[set[str]]:
    """Which of those modules a process has after it has loaded each of these groups of functions in turn."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *groups, " ".join({*HEAVY, *OF_SIGN_IN, PROVIDER})],
        cwd=ROOT,
        env={"PYTHONPATH": "layers/livemem:.", "AWS_DEFAULT_REGION": "eu-west-1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return [set(line.split()) for line in done.stdout.splitlines()]


def in_turn() -> list[set[str]]:
    """What is there after the functions that do not search, then `search`, then all others but `signin`."""
    plain = FUNCTIONS - SEARCHING - {"signin"}
    assert len(plain) >= 6
    return loaded(" ".join(sorted(plain)), "search", " ".join(sorted(SEARCHING - {"search"})))


@pytest.mark.process
def test_what_a_search_needs_is_loaded_by_it_and_by_no_other_function():
    plain, search, _ = in_turn()

    assert (plain | loaded("signin")[0]) & HEAVY == set()
    assert search >= HEAVY


@pytest.mark.process
def test_sign_in_is_loaded_by_its_own_function_alone():
    """The others learn of a grant when a token of one comes; till then they have nothing of it."""
    assert in_turn()[-1] & OF_SIGN_IN == set()
    assert loaded("signin")[0] >= OF_SIGN_IN


@pytest.mark.process
def test_what_only_sign_in_with_a_provider_needs_is_loaded_when_somebody_does():
    assert PROVIDER not in in_turn()[-1] | loaded("signin")[0]
