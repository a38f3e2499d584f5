"""How the house is built, in a table: sizes, and concepts that are counted by rules which anybody can grep.

`python -m scripts.house [--items] [FOLDER [FOLDER]]` prints that of this checkout, another one, or two beside each
other; with `--items` also how many items pytest makes of the tests, which takes a while.
"""

import ast
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

DOMAIN = "layers/livemem/livemem"
PROOF = (
    "tests/simulation/**/*.py",
    "tests/unit/proof/*.py",
    "tests/support/*crash*.py",
    "tests/support/*histories.py",
    "tests/support/*_proof.py",
    "tests/support/pairs.py",
)
"""What says that nothing is lost: kills, pairs and histories, before and after they had a harness in common."""
MINUTES = re.compile(r"^[A-Z][A-Z_]* *(?::[^=\n]*)?=[^\n]*timedelta\([^)\n]*minutes=", re.MULTILINE)
MARKERS = re.compile(r'"(_(?:pending|due|rooms|expiry)|_asks/open)')
STATUS = re.compile(r"^ +(?:status|state|result): Literal\[([^\]]*)\]", re.MULTILINE)
HOLDING = re.compile(r"(?m)^(?:class (?:Claim|Lease)\b|    (?:held_seconds|at_work|erasing|holder|claimed_\w+): )")
"""Where a document says in words of its own who is at work."""


def files(root: Path, *patterns: str) -> list[Path]:
    """The files that one of the patterns finds, each once."""
    return sorted({file for pattern in patterns for file in root.glob(pattern) if "__pycache__" not in file.parts})


def lines(some: Iterable[Path]) -> int:
    """How many lines the files have."""
    return sum(file.read_text("utf-8").count("\n") for file in some)


def matches(pattern: str | re.Pattern[str], some: Iterable[Path]) -> list[str]:
    """All that the pattern finds in the files."""
    return [found for file in some for found in re.findall(pattern, file.read_text("utf-8"))]


def repeated(names: Iterable[str]) -> int:
    """How many of the names occur more than once."""
    return sum(count > 1 for count in Counter(names).values())


def tests_in(some: Iterable[Path]) -> int:
    """How many functions are tests."""
    trees = (ast.parse(file.read_text("utf-8")) for file in some)
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return sum(isinstance(node, kinds) and node.name.startswith("test_") for tree in trees for node in ast.walk(tree))


def items(root: Path) -> int:
    """How many items pytest makes of the tests there."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-qq", "-p", "no:cacheprovider", "tests"]
    path = ":".join(str(root / part) for part in ("layers/livemem", "client", "."))
    told = subprocess.run(
        command, cwd=root, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    return sum(int(count) for count in re.findall(r"(?m)^tests/.*: (\d+)$", told.stdout))


def house(root: Path) -> dict[str, int]:
    """The table's rows, by name."""
    domain = files(root, f"{DOMAIN}/**/*.py")
    modules = [file for file in domain if file.stem != "__init__"]
    layers = files(root, "layers/livemem/**/*.py")
    tests = files(root, "tests/**/*.py")
    sizes: dict[str, Callable[[], int]] = {
        "packages of the domain": lambda: len(
            [one for one in (root / DOMAIN).iterdir() if (one / "__init__.py").is_file()]
        ),
        "files of the domain": lambda: len(modules),
        "lines of the domain": lambda: lines(domain),
        "lines of HTTP and MCP": lambda: lines(layers) - lines(domain),
        "lines of functions": lambda: lines(files(root, "functions/*/*.py")),
        "lines of the client": lambda: lines(files(root, "client/**/*.py")),
        "lines of the local runtime": lambda: lines(files(root, "local/**/*.py")),
        "lines of tests": lambda: lines(tests),
        "lines of proofs, among them": lambda: lines(files(root, *PROOF)),
        "lines of the template": lambda: lines([root / "template.yaml"]),
    }
    concepts: dict[str, Callable[[], int]] = {
        "`except PreconditionLost`": lambda: len(matches(r"except [^:\n]*\bPreconditionLost\b", layers)),
        "minutes outside of timing.py": lambda: len(
            matches(MINUTES, (file for file in domain if file.name != "timing.py"))
        ),
        "callables of `Process`": lambda: len(
            matches(r"(?m)^[A-Z]\w+ = Callable\[", files(root, f"{DOMAIN}/process.py"))
        ),
        "ways to say who is at work": lambda: len(matches(HOLDING, layers)),
        "vocabularies of a state": lambda: len({*matches(STATUS, layers)}),
        "prefixes of markers": lambda: len({*matches(MARKERS, files(root, f"{DOMAIN}/store/*.py"))}),
        "file names that occur again": lambda: repeated(file.name for file in modules),
        "public classes of one name": lambda: repeated(matches(r"(?m)^class ([A-Z]\w*)", domain)),
        "modules about leases or claims": lambda: len([one for one in modules if re.search("lease|claim", one.stem)]),
    }
    suite: dict[str, Callable[[], int]] = {
        "tests (functions)": lambda: tests_in(tests),
    }
    if "--items" in sys.argv:
        suite["tests (items)"] = lambda: items(root)
    return {name: count() for name, count in (sizes | concepts | suite).items()}


def main(arguments: list[str]) -> int:
    """Print the table."""
    folders = [one for one in arguments if one != "--items"]
    roots = [Path(one) for one in folders] or [Path(__file__).resolve().parents[1]]
    tables = [house(root) for root in roots]
    print(f"{'':<32}" + "".join(f"{root.resolve().name:>12}" for root in roots))
    for name in tables[0]:
        print(f"{name:<32}" + "".join(f"{table[name]:>12,}" for table in tables))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
