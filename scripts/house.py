"""How the house is built, in a table: sizes, and concepts that are counted by rules which anybody can grep.

`python -m scripts.house [--items] [FOLDER [FOLDER]]` prints that of this checkout, another one, or two beside each
other; with `--items` also how many items pytest makes of the tests, which takes a while.

The rows of scripts/house.toml only fall. `--check` fails where one is above its bound, or so far below it that the
bound is stale. `--lower` writes the bounds of the rows that fell. A bound rises by hand alone, in a commit of its own
that says why.
"""

import ast
import io
import json
import keyword
import os
import re
import subprocess
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

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


BOUNDS = Path(__file__).with_name("house.toml")
SLACK = 0.02
"""A row may be this part below its bound before the bound is stale: not each commit has to write it."""
NO_NOUNS = frozenset(
    """one found wanted there told asked some left kept whole seen known given shown held said met listed named brought
    meant both others""".split()
)
"""Participles and pronouns, which do not say what a thing is. Elsewhere they are less than 0.1 % of all names."""
GENERATED = (
    "docs/openapi.json",
    "client/live_memory/models.py",
    "client/live_memory/_groups.py",
)
PAGES = ("README.md", "client/README.md", "docs/**/*.md")
"""Written by hand, for users and operators."""
STEP = 500
_F_START, _F_END = (getattr(tokenize, name, None) for name in ("FSTRING_START", "FSTRING_END"))
_OUTSIDE = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)


def files(root: Path, *patterns: str) -> list[Path]:
    """The files that one of the patterns finds, each once."""
    return sorted({file for pattern in patterns for file in root.glob(pattern) if "__pycache__" not in file.parts})


def lines(some: Iterable[Path]) -> int:
    """How many lines the files have."""
    return sum(file.read_text("utf-8").count("\n") for file in some)


def words(some: Iterable[Path]) -> int:
    """How many words the files have."""
    return sum(len(file.read_text("utf-8").split()) for file in some)


def matches(pattern: str | re.Pattern[str], some: Iterable[Path]) -> list[Any]:
    """All that the pattern finds in the files."""
    return [found for file in some for found in re.findall(pattern, file.read_text("utf-8"))]


def repeated(names: Iterable[str]) -> int:
    """How many of the names occur more than once."""
    return sum(count > 1 for count in Counter(names).values())


def tokens(file: Path) -> list[str]:
    """The tokens of a file's code: no comments, no docstrings, no line ends, no indentation. An f-string is one, as it
    was before Python 3.12.
    """
    code: list[str] = []
    begins, inside = True, 0
    for token in tokenize.generate_tokens(io.StringIO(file.read_text("utf-8")).readline):
        inside += (token.type == _F_START) - (token.type == _F_END)
        if inside:
            continue
        if token.type in _OUTSIDE:
            begins = begins or token.type != tokenize.COMMENT
        elif token.type == tokenize.STRING and begins:
            begins = False
        elif token.type != tokenize.ENDMARKER:
            code.append(token.string)
            begins = False
    return code


def names_per_ten_thousand(some: Iterable[Path]) -> int:
    """How many of 10,000 names (tokens that are identifiers and no keywords) are of NO_NOUNS."""
    names = [text for file in some for text in tokens(file) if text.isidentifier() and not keyword.iskeyword(text)]
    return round(10_000 * sum(name in NO_NOUNS for name in names) / max(len(names), 1))


def api(root: Path) -> tuple[int, int]:
    """How many operations the API has, and how many properties its schemas."""
    document = json.loads((root / "docs/openapi.json").read_text("utf-8"))
    methods = ("get", "put", "post", "patch", "delete")
    schemas = document["components"]["schemas"].values()
    operations = sum(method in methods for path in document["paths"].values() for method in path)
    return operations, sum(len(schema.get("properties", ())) for schema in schemas)


def with_one_user(domain: Path) -> int:
    """How many modules are imported by one module alone, which is in their own package."""
    users: dict[str, set[str]] = {}
    for file in files(domain, "*/**/*.py"):
        user = ".".join(file.relative_to(domain).with_suffix("").parts)
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("livemem."):
                module = (node.module or "").removeprefix("livemem.")
                for name in (module, *(f"{module}.{alias.name}" for alias in node.names)):
                    users.setdefault(name, set()).add(user)
    modules = {".".join(file.relative_to(domain).with_suffix("").parts) for file in files(domain, "*/*.py")}
    alone = ((name, users.get(name, set())) for name in modules if not name.endswith("__init__"))
    return sum(len(by) == 1 and next(iter(by)).partition(".")[0] == name.partition(".")[0] for name, by in alone)


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
    operations, properties = api(root)
    settings = (root / DOMAIN / "settings.py").read_text("utf-8")
    public = r"(?m)^(?:class ([A-Z]\w*)|([A-Z]\w*) = (?:Literal|Callable|Annotated)\[)"
    sizes: dict[str, Callable[[], int]] = {
        "operations": lambda: operations,
        "properties": lambda: properties,
        "settings": lambda: len(re.findall(r"(?m)^    [a-z]\w*: [A-Z\w]", settings)),
        "lines of generated files": lambda: lines(root / name for name in GENERATED if (root / name).exists()),
        "packages of the domain": lambda: len(
            [one for one in (root / DOMAIN).iterdir() if (one / "__init__.py").is_file()]
        ),
        "files of the domain": lambda: len(modules),
        "lines of the domain": lambda: lines(domain),
        "tokens of the domain": lambda: sum(len(tokens(file)) for file in domain),
        "modules with one user beside them": lambda: with_one_user(root / DOMAIN),
        "no nouns of 10,000 names": lambda: names_per_ten_thousand(domain),
        "lines of HTTP and MCP": lambda: lines(layers) - lines(domain),
        "lines of functions": lambda: lines(files(root, "functions/*/*.py")),
        "lines of the client": lambda: lines(files(root, "client/**/*.py")),
        "lines of the local runtime": lambda: lines(files(root, "local/**/*.py")),
        "lines of tests": lambda: lines(tests),
        "lines of proofs, among them": lambda: lines(files(root, *PROOF)),
        "lines of the template": lambda: lines([root / "template.yaml"]),
        # In steps, so that a sentence more does not need another one's end.
        "words of the pages": lambda: words(files(root, *PAGES)) // STEP * STEP,
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
        "public names that occur again": lambda: repeated(one or other for one, other in matches(public, domain)),
        "modules about leases or claims": lambda: len([one for one in modules if re.search("lease|claim", one.stem)]),
    }
    suite: dict[str, Callable[[], int]] = {
        "tests (functions)": lambda: tests_in(tests),
    }
    if "--items" in sys.argv:
        suite["tests (items)"] = lambda: items(root)
    return {name: count() for name, count in (sizes | concepts | suite).items()}


def check(table: Mapping[str, int], bounds: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Sentences about the rows that rose, and about stale bounds. Pure."""
    over = [
        f"{name}: {table[name]:,} is above its bound of {row['bound']:,}"
        for name, row in bounds.items()
        if table[name] > row["bound"]
    ]
    stale = [
        f"{name}: {table[name]:,} is far below its bound of {row['bound']:,}: python -m scripts.house --lower"
        for name, row in bounds.items()
        if table[name] < row["bound"] * (1 - SLACK) - 1
    ]
    return over + stale


def lowered(table: Mapping[str, int], bounds: Mapping[str, Mapping[str, int]]) -> str:
    """The file of bounds with those of the rows that fell. Pure."""
    head = BOUNDS.read_text("utf-8").partition("[")[0]
    rows = (
        f'["{name}"]\nbound = {min(table[name], row["bound"])}\ntarget = {row["target"]}\n'
        for name, row in bounds.items()
    )
    return head + "\n".join(rows)


def main(arguments: list[str]) -> int:
    """Print the table, or check or lower the bounds."""
    folders = [argument for argument in arguments if not argument.startswith("--")]
    roots = [Path(folder) for folder in folders] or [Path(__file__).resolve().parents[1]]
    bounds = tomllib.loads(BOUNDS.read_text("utf-8"))
    if "--lower" in arguments:
        BOUNDS.write_text(lowered(house(roots[0]), bounds), "utf-8")
        return 0
    if "--check" in arguments:
        wrong = check(house(roots[0]), bounds)
        print("\n".join(wrong), file=sys.stderr)
        return bool(wrong)
    tables = [house(root) for root in roots]
    print(f"{'':<34}" + "".join(f"{root.resolve().name:>12}" for root in roots) + f"{'target':>12}")
    for name in tables[0]:
        target = f"{bounds[name]['target']:>12,}" if name in bounds else ""
        print(f"{name:<34}" + "".join(f"{table[name]:>12,}" for table in tables) + target)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
