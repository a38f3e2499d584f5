"""The map of docs/architecture.md shows the packages that there are, in the order in which they may import."""

import re
import tomllib
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROW = re.compile(r"^\| (keeping|giving|kinds|core|ground) \| `(\w+)` \| (\S.*) \|$", re.MULTILINE)
SAME_EVERYWHERE = {"answer", "log", "maintenance", "prompt", "reading"}
"""File names that mean the same in each package that has one."""


def test_the_map_has_each_package_once_in_the_order_of_the_import_contract():
    rows = ROW.findall((ROOT / "docs" / "architecture.md").read_text())
    domain = ROOT / "layers" / "livemem" / "livemem"
    packages = {found.parent.name for found in domain.glob("*/__init__.py")}
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]
    layers = [name for name in contract["layers"] if name in packages]
    groups = [group for group, _, _ in rows]

    assert sorted(name for _, name, _ in rows) == sorted(packages)
    assert groups == sorted(groups, key=["keeping", "giving", "kinds", "core", "ground"].index)
    assert sorted(layers) == sorted(packages)
    # A group imports only groups below it.
    of = {name: group for group, name, _ in rows}
    order = [of[name] for name in layers]
    assert order == sorted(order, key=["keeping", "giving", "kinds", "core", "ground"].index)


def test_every_path_of_the_glossary_is_there():
    text = (ROOT / "docs" / "concepts.md").read_text()
    named = set(re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.py)`", text))
    folders = (ROOT / "layers" / "livemem" / "livemem", ROOT / "layers" / "livemem", ROOT)

    assert len(named) > 20
    assert sorted(name for name in named if not any((folder / name).exists() for folder in folders)) == []


def test_a_name_stands_for_one_thing():
    """Go to symbol and go to file find what was meant; those that repeat mean the same in each package."""
    domain = ROOT / "layers" / "livemem" / "livemem"
    modules = [file for file in domain.rglob("*.py") if file.stem != "__init__"]
    classes = Counter(name for file in modules for name in re.findall(r"(?m)^class ([A-Z]\w*)", file.read_text()))
    names = Counter(file.stem for file in modules)

    assert [name for name, count in classes.items() if count > 1] == []
    assert sorted(name for name, count in names.items() if count > 1) == sorted(SAME_EVERYWHERE)
