"""One version, said in four places."""

import tomllib
from pathlib import Path

import livemem
from live_memory._version import __version__ as client_version

ROOT = Path(__file__).resolve().parents[2]


def test_the_version_is_the_same_everywhere_and_the_changelog_has_it():
    said = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]

    assert {livemem.__version__, client_version} == {said}
    assert f"\n## {said} " in (ROOT / "CHANGELOG.md").read_text()
