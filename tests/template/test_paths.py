"""The project needs nothing outside of its own folder: what is not in it, a script gets."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Folders of one machine. Those of examples are made up (/home/ann), those of every machine are fine (/tmp, /var/run).
OF_ONE_MACHINE = re.compile(r"(?<![\w.$}~])/(?:work|root|Users|mnt|srv|home/(?!ann\b|me\b))/?\w")
UPWARDS = re.compile(r"(?<![\w./-])(?:\.\./)+[\w./-]*\w")


def tracked() -> list[Path]:
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / name for name in names.split("\0") if name]


def test_no_file_names_a_path_outside_of_the_project():
    found = []
    for path in tracked():
        text = path.read_bytes().decode("utf-8", "replace") if path.is_file() else ""
        # Tests and the code that they test have paths that lead nowhere, since somebody may send them.
        wild = path.suffix in {".py", ".json", ".jsonl", ".ndjson", ".txt"}
        upwards = [] if wild else UPWARDS.findall(text)
        leaving = [name for name in upwards if not inside(path.parent, name) and not inside(ROOT, name)]
        foreign = [] if wild and "tests" in path.parts else OF_ONE_MACHINE.findall(text)
        found += [f"{path.relative_to(ROOT)}: {name}" for name in leaving + foreign]

    assert found == []


def inside(folder: Path, name: str) -> bool:
    target = (folder / name).resolve()
    return target.is_relative_to(ROOT) and target.exists()
