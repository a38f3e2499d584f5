"""What the layers' code imports, also inside of functions, is in a layer: tests have more packages than Lambda."""

import ast
import re
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

LAYERS = Path("layers")
PACKAGES = ("livemem", "livemem_http", "livemem_mcp")
NOT_IN_A_LAYER = {"boto3", "botocore", "mypy_boto3_s3"}
"""What Lambda brings along, and what only types name."""


def locked(layer: Path) -> set[str]:
    """The distributions of a layer."""
    found = re.findall(r"^([A-Za-z0-9._-]+)==", (layer / "requirements.txt").read_text(), re.MULTILINE)
    return {name.lower().replace("_", "-") for name in found}


def imported(file: Path) -> set[str]:
    """The names of the packages that a module imports anywhere."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.partition(".")[0])
    return found


@pytest.mark.parametrize("package", PACKAGES)
def test_what_the_code_of_a_layer_imports_is_in_a_layer(package):
    there = set().union(*(locked(layer) for layer in LAYERS.iterdir() if (layer / "requirements.txt").exists()))
    of = packages_distributions()
    missing = {
        f"{file}: {name}"
        for file in (LAYERS / "livemem" / package).rglob("*.py")
        for name in imported(file) - {*PACKAGES} - NOT_IN_A_LAYER - set(sys.stdlib_module_names)
        if not {one.lower().replace("_", "-") for one in of.get(name, [name])} & there
    }

    assert not missing
