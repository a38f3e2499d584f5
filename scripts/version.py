"""The version of the project, which pyproject.toml holds.

It is shown, set everywhere, compared with a tag, and found in the changelog:

python -m scripts.version                   print it
python -m scripts.version --set 0.2.0       write it to all PLACES (then: make openapi)
python -m scripts.version --notes           print the changelog of it, as the text of a release
python -m scripts.version --check v0.2.0    fail if a tag is of another version, or the changelog has no date for it
"""

import argparse
import re
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACES: Mapping[str, str] = {
    "pyproject.toml": r'(?m)^version = "(.+)"$',
    "layers/livemem/livemem/__init__.py": r'(?m)^__version__ = "(.+)"$',
    "client/live_memory/_version.py": r'(?m)^__version__ = "(.+)"$',
    "template.yaml": r"(?m)^    SemanticVersion: (.+)$",
    "compose.yaml": r"\$\{LIVEMEM_TAG:-([^}]+)\}",
    "docs/self-hosting.md": r"--tag live-memory:(\S+) ",
    "docs/install.md": r"live_memory-(.+?)-py3",
}
"""The files that say it, each with an expression whose group is it. Shipped code can't read pyproject.toml."""


class WrongVersionError(ValueError):
    """A version can't be used so; the text is one sentence."""


def found(root: Path = ROOT) -> dict[str, set[str]]:
    """What each place says."""
    return {name: set(re.findall(place, (root / name).read_text("utf-8"))) for name, place in PLACES.items()}


def current(root: Path = ROOT) -> str:
    """The version. Raises WrongVersionError if the places say different ones, or one says none."""
    said = found(root)
    [first] = said["pyproject.toml"]
    if others := [name for name, versions in said.items() if versions != {first}]:
        raise WrongVersionError(f"These don't say {first}, as pyproject.toml does: {', '.join(others)}.")
    return first


def write(version: str, root: Path = ROOT) -> None:
    """Write a version to all places. Raises WrongVersionError."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise WrongVersionError(f"{version[:40]!r} is no version: it takes three numbers, like 0.2.0.")
    for name, place in PLACES.items():
        text = (root / name).read_text("utf-8")
        told = re.sub(place, lambda match: match[0].replace(match[1], version), text)
        (root / name).write_text(told, "utf-8")


def notes(version: str, root: Path = ROOT) -> str:
    """The section of the changelog, without its heading. Raises WrongVersionError if it is not there or has no date."""
    text = (root / "CHANGELOG.md").read_text("utf-8")
    section = re.search(rf"(?ms)^## {re.escape(version)} \((.+?)\)\n(.*?)(?=^## |\Z)", text)
    if section is None or not re.fullmatch(r"\d{4}-\d\d-\d\d", section[1]):
        raise WrongVersionError(f"The changelog has no section `## {version} (YYYY-MM-DD)`.")
    return section[2].strip()


def main() -> int:
    """Do what the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--set", metavar="VERSION")
    what.add_argument("--notes", action="store_true")
    what.add_argument("--check", metavar="TAG")
    given = parser.parse_args()
    try:
        if given.set:
            write(given.set)
        version = current()
        if given.check and given.check != f"v{version}":
            raise WrongVersionError(f"The tag is {given.check}, and the version {version}.")
        told = notes(version) if given.notes or given.check else ""
    except WrongVersionError as error:
        print(f"version: {error}", file=sys.stderr)
        return 1
    print(told if given.notes else version)
    return 0


if __name__ == "__main__":
    sys.exit(main())
