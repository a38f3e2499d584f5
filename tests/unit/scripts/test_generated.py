"""What is made of other files and is not in git is there, and as it should be."""

import os
import subprocess

import pytest

from scripts import generated, wheel


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """The files that others are made of, and nothing else."""
    for name in (generated.DOCUMENT, generated.METHODS):
        copied(name, tmp_path)
    for module in generated.COPIED.values():
        copied(f"{generated._SERVICE}/{module}", tmp_path)
    for file in (generated.ROOT / generated.ROUTES).glob("*.py"):
        copied(f"{generated.ROUTES}/{file.name}", tmp_path)
    for name in generated.TARGETS:
        (tmp_path / name).parent.parent.mkdir(parents=True, exist_ok=True)
    monkeypatch.setattr(generated, "ROOT", tmp_path)
    return tmp_path


def copied(name, folder):
    target = folder / name
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes((generated.ROOT / name).read_bytes())
    os.utime(target, (0, 0))


def test_every_file_is_as_it_would_be_made_now_and_git_does_not_have_it():
    found = {name: (generated.ROOT / name).read_text("utf-8") for name in generated.TARGETS}
    command = ["git", "ls-files", *generated.TARGETS]
    kept = subprocess.run(command, cwd=generated.ROOT, capture_output=True, text=True, check=False).stdout

    assert found == generated.files()
    assert kept == ""


def test_a_fresh_checkout_gets_all_and_nothing_is_written_again_until_a_source_is_another(checkout):
    generated.main()
    assert {name: (checkout / name).read_text("utf-8") for name in generated.TARGETS} == generated.files()

    written = {name: (checkout / name).stat().st_mtime_ns for name in generated.TARGETS}
    generated.main()
    assert {name: (checkout / name).stat().st_mtime_ns for name in generated.TARGETS} == written

    source = checkout / generated._SERVICE / "text/invisible.py"
    source.write_text('"""Another."""\n', "utf-8")
    os.utime(source, (0, 0))
    generated.main()
    assert '"""Another."""' in (checkout / "client/live_memory/_invisible.py").read_text("utf-8")


def test_the_package_has_them_as_they_would_be_made_now_whatever_lies_in_the_checkout(checkout, monkeypatch):
    monkeypatch.setattr(wheel, "ROOT", checkout)
    (checkout / "template.yaml").touch()
    (checkout / generated.TABLES[0]).write_text("stale", "utf-8")

    package = dict(wheel._contents())

    made = generated.files()
    assert package["live_memory/operations.json"].decode() == made[generated.TABLES[0]]
    assert package["live_memory/_redaction/__init__.py"].decode() == made["client/live_memory/_redaction/__init__.py"]
    assert package[f"live_memory/_server/{generated.PAGE}"].decode() == made[generated.PAGE]
