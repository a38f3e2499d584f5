"""The locks: exact, hashed, complete, and free of the machine that made them."""

import re
from itertools import combinations
from pathlib import Path

from scripts import audit
from tests.support.cases import each

ROOT = Path(__file__).resolve().parents[2]
LAYERS = [
    "layers/livemem/requirements",
    "layers/search/requirements",
    "layers/mcp/requirements",
    "layers/signin/requirements",
]
LOCKS = [*LAYERS, "requirements-dev", "requirements-image", "requirements-sam", "requirements-audit"]


def pins(lock):
    """Name -> versions of a compiled lock (a package may have one per Python version)."""
    found = {}
    for name, version in re.findall(
        r"^([A-Za-z0-9._-]+)(?:\[[^]]*])?==([^ ;\\\n]+)", (ROOT / lock).read_text(), re.MULTILINE
    ):
        found.setdefault(normalize(name), set()).add(version)
    return found


def normalize(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def direct_requirements(source):
    lines = [line.split("#")[0].strip() for line in (ROOT / source).read_text().splitlines()]
    return [line for line in lines if line and not line.startswith("-")]


@each("name", LOCKS)
def test_every_direct_requirement_is_exact_and_locked_at_that_version(name):
    locked = pins(f"{name}.txt")

    for requirement in direct_requirements(f"{name}.in"):
        package, version = re.fullmatch(r"([A-Za-z0-9._-]+)(?:\[[^]]*])?==(\S+)", requirement).groups()
        assert locked[normalize(package)] == {version}, f"{requirement}: run `make lock`"


@each("name", LOCKS)
def test_every_locked_package_has_a_hash(name):
    text = (ROOT / f"{name}.txt").read_text()
    blocks = re.split(r"^(?=[A-Za-z0-9])", re.sub(r"^ *#.*\n", "", text, flags=re.MULTILINE), flags=re.MULTILINE)

    assert all("--hash=sha256:" in block for block in blocks if block.strip())


@each("name", LOCKS)
def test_a_lock_names_no_index_and_no_path_of_a_machine(name):
    text = (ROOT / f"{name}.txt").read_text()

    assert not re.search(r"://|--index|--find-links|(?:^|\s)/\w", text)


def test_tests_run_with_the_versions_that_lambda_runs_with():
    development = pins("requirements-dev.txt")

    for layer in LAYERS:
        locked = pins(f"{layer}.txt")
        assert {name: development.get(name) for name in locked} == locked


def test_a_package_that_is_in_two_layers_is_the_same_in_both():
    # Lambda lays them over each other: whichever comes last would win. pip, which checks hashes, wants each lock whole.
    locked = [pins(f"{layer}.txt") for layer in LAYERS]

    for one, other in combinations(locked, 2):
        assert {name: one[name] for name in one.keys() & other.keys()} == {
            name: other[name] for name in one.keys() & other.keys()
        }


def test_every_lock_is_made_set_up_and_audited_from_one_list():
    locked = set(re.search(r"for name in (.+); do", (ROOT / "scripts/lock.sh").read_text())[1].split())

    assert locked == set(LOCKS)
    assert {lock.removesuffix(".txt") for lock in audit.LOCKS} == set(LOCKS)
