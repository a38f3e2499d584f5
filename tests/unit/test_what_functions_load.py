"""What a search needs is loaded at the start by the functions that search, and by no other; most lack the layer."""

import subprocess
import sys
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
import os
import sys
from scripts.openapi import load
*groups, asked = sys.argv[1:]
def show(group):
    for name in group.split():
        load(name)
    print(*(name for name in asked.split() if name in sys.modules), flush=True)
plain, signin, *searching = groups
show(plain)
# What sign-in loads, no other function has then.
if os.fork() == 0:
    show(signin)
    os._exit(0)
os.wait()
for group in searching:
    show(group)
"""


@pytest.mark.process
def test_what_a_search_or_a_sign_in_needs_is_loaded_by_it_and_by_no_other_function():
    """Other functions learn of a grant when a token of one comes; till then they have nothing of sign-in. What only
    sign-in with a provider needs is loaded when somebody does.
    """
    plain = FUNCTIONS - SEARCHING - {"signin"}
    assert len(plain) >= 6
    groups = " ".join(sorted(plain)), "signin", "search", " ".join(sorted(SEARCHING - {"search"}))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *groups, " ".join({*HEAVY, *OF_SIGN_IN, PROVIDER})],
        cwd=ROOT,
        env={"PYTHONPATH": "layers/livemem:.", "AWS_DEFAULT_REGION": "eu-west-1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert [set(line.split()) for line in done.stdout.splitlines()] == [set(), OF_SIGN_IN, HEAVY, HEAVY]
