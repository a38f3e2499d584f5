"""Print how large the package is, and what it installs: `make sizes`.

Both installations are real ones, into empty environments below a temporary folder. They take the newest versions that
the package allows, from the index that uv uses. Compiled files are left out: Python writes them at the first import.
"""

import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from scripts import wheel

MB = 1_000_000
LARGEST = 4


def sizes(packages: Path) -> dict[str, int]:
    """The bytes of each package of an environment, by the name of its folder or file; without compiled files."""
    found: dict[str, int] = {}
    for path in packages.rglob("*"):
        relative = path.relative_to(packages)
        if path.is_file() and not path.is_symlink() and "__pycache__" not in relative.parts:
            # A package, its metadata and the libraries that it brings count as one.
            name = re.split(r"[-.]", relative.parts[0], maxsplit=1)[0].lower()
            found[name] = found.get(name, 0) + path.stat().st_size
    return found


def row(what: str, found: Mapping[str, int]) -> str:
    """A line of the table, with the largest packages."""
    largest = sorted(found.items(), key=lambda one: -one[1])[:LARGEST]
    named = ", ".join(f"{name} {size / MB:.0f}" for name, size in largest)
    return f"| {what} | {sum(found.values()) / MB:.1f} | {named} |"


def main() -> int:
    """Build, install twice, and print the table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        built = folder / wheel.build_wheel(name)
        print("| | MB | the largest |\n|---|---:|---|")
        print(f"| the wheel | {built.stat().st_size / MB:.1f} | |")
        for extra in ("", f"[{wheel.EXTRA}]", f"[{wheel.EXTRA},s3]"):
            environment = folder / f"venv{len(extra)}"
            uv = [sys.executable, "-m", "uv", "--quiet"]
            subprocess.run([*uv, "venv", "--python", sys.executable, str(environment)], check=True)
            program = str(environment / "bin" / "python")
            subprocess.run([*uv, "pip", "install", "--python", program, f"{built}{extra}"], check=True)
            packages = next((environment / "lib").glob("python*/site-packages"))
            print(row(f"`live-memory{extra}`, with its requirements", sizes(packages)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
