"""The package as a user has it: built, and installed into an environment of its own, away from the checkout.

Nothing is downloaded. The environment gets the distributions that the package's metadata asks for, and theirs, as links
to those of this environment, and no others: a requirement that the package forgot is missing there.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from importlib.util import cache_from_source
from pathlib import Path

from packaging.requirements import Requirement

from scripts import wheel


def install(folder: Path, extra: str = "") -> Path:
    """Build and install the package, with an extra; returns the folder of the environment's programs."""
    (folder / "dist").mkdir()
    built = folder / "dist" / wheel.build_wheel(str(folder / "dist"))
    programs = folder / "venv" / "bin"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")], check=True)
    uv = [sys.executable, "-m", "uv", "--quiet", "--offline", "--no-cache", "pip", "install"]
    subprocess.run([*uv, "--no-deps", "--no-index", "--python", str(programs / "python"), str(built)], check=True)
    packages = next((folder / "venv" / "lib").glob("python*/site-packages"))
    for place, of_package in wheel.FOLDERS.items():
        _take_compiled(wheel.ROOT / place, packages / of_package)
    for found in required(extra):
        for name in {file.parts[0] for file in found.files or []} - {"..", "__pycache__"}:
            if not (packages / name).exists():
                (packages / name).symlink_to(Path(str(found.locate_file(name))))
    return programs


def _take_compiled(checkout: Path, package: Path) -> None:
    """Compiling anew what the checkout has compiled takes a second. It counts for a source of the same time."""
    for source in checkout.rglob("*.py"):
        known, own = Path(cache_from_source(str(source))), package / source.relative_to(checkout)
        if own.exists() and known.exists():
            os.utime(own, ns=(0, source.stat().st_mtime_ns))
            compiled = Path(cache_from_source(str(own)))
            compiled.parent.mkdir(exist_ok=True)
            shutil.copy(known, compiled)


def required(extra: str = "") -> list[Distribution]:
    """The distributions that the package needs, directly or not."""
    wanted = [*wheel.requirements()[""], *(wheel.requirements()[extra] if extra else [])]
    found: dict[tuple[str, frozenset[str]], Distribution] = {}
    todo = [Requirement(one) for one in wanted]
    while todo:
        asked = todo.pop()
        name = (asked.name.lower(), frozenset(asked.extras))
        if name not in found:
            found[name] = distribution(asked.name)
            todo += _requirements(found[name], asked.extras)
    return list({one.name: one for one in found.values()}.values())


def _requirements(of: Distribution, extras: set[str]) -> Iterator[Requirement]:
    for text in of.requires or []:
        one = Requirement(text)
        if one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            yield one


def size(of: Distribution) -> int:
    """The bytes of a distribution's files by its record, which has no compiled ones."""
    return sum(file.size or 0 for file in of.files or [])


def own_environment(home: Path) -> dict[str, str]:
    """The variables of a user who has nothing but a home."""
    return {"HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
