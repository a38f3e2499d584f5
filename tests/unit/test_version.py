"""One version, which pyproject.toml holds, and what a release makes of it."""

import re
import shutil
from pathlib import Path

import pytest
import yaml

import livemem
from live_memory._version import __version__ as client_version
from scripts import licences, version

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def copied(tmp_path):
    """The files that say the version, to be changed."""
    for name in [*version.PLACES, "CHANGELOG.md"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_the_version_is_the_same_everywhere_and_the_changelog_has_it():
    said = version.current()

    assert {livemem.__version__, client_version} == {said}
    assert f"\n## {said} (" in (ROOT / "CHANGELOG.md").read_text()


def test_a_new_version_is_written_everywhere_at_once(copied):
    version.write("12.0.1", copied)
    assert set(map(frozenset, version.found(copied).values())) == {frozenset({"12.0.1"})}
    (copied / "compose.yaml").write_text("services: {}")
    with pytest.raises(version.WrongVersionError, match=r"compose\.yaml"):
        version.current(copied)
    with pytest.raises(version.WrongVersionError, match="three numbers"):
        version.write("1.0 && rm", copied)


def test_a_release_has_the_dated_section_of_the_changelog_alone(copied):
    file = copied / "CHANGELOG.md"
    with pytest.raises(version.WrongVersionError, match="YYYY-MM-DD"):
        version.notes("9.9.9", copied)
    file.write_text("# Changelog\n\n## 9.9.9 (2027-01-02)\n\n- new\n\n## 9.9.8 (2026-01-02)\n\n- old\n")
    assert version.notes("9.9.9", copied) == "- new"


def test_each_workflow_calls_targets_and_programs_that_are_there():
    targets = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for file in (ROOT / ".github/workflows").glob("*.yml"):
        jobs = yaml.safe_load(file.read_text())["jobs"].values()
        commands = "\n".join(step.get("run", "") for job in jobs for step in job["steps"])
        wanted = {name for line in re.findall(r"^make (.+)$", commands, re.MULTILINE) for name in line.split()}
        assert {name for name in wanted if "=" not in name and re.fullmatch("[a-z-]+", name)} <= targets, file.name
        assert all((ROOT / f"scripts/{name}.py").exists() for name in re.findall(r"-m scripts\.(\w+)", commands))


def test_every_package_of_the_image_has_a_licence_that_is_allowed_and_others_are_found():
    wanted = licences.packages(licences.LOCK.read_text())
    assert {name: licences.licences_of(licences.about(name)) - licences.ALLOWED for name in wanted} == {
        name: set() for name in wanted
    }
    found = licences.about("requests")
    del found["Classifier"]
    found["License-Expression"] = "MIT AND GPL-3.0-only"
    assert licences.licences_of(found) - licences.ALLOWED == {"GPL-3.0-only"}
