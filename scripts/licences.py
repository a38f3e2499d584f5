"""Ask whether the packages of the image may be given on under our licence: `make licences`.

Each package of requirements-image.txt that is installed on this system must declare a licence of ALLOWED. Its metadata
says it as an SPDX expression (PEP 639), or in older packages by trove classifiers or a free text. A package that says
nothing, or something that is not in the list, fails: a person reads it, and adds it here.
"""

import re
import sys
from collections.abc import Mapping
from email.message import Message
from importlib.metadata import metadata
from pathlib import Path
from typing import cast

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements-image.txt"
ALLOWED = frozenset(
    {
        *("0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "MIT-0", "MPL-2.0"),
        *("PSF-2.0", "Zlib"),
    }
)
"""SPDX ids of licences that ask for no more than their text and a notice, for unchanged packages in an image."""
CLASSIFIERS: Mapping[str, str] = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "MIT No Attribution License (MIT-0)": "MIT-0",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}
READ: Mapping[str, str] = {"apsw": "Zlib"}
"""Packages whose metadata names no SPDX id, and what their licence says: read by a person (apsw: any OSI licence, zlib
by default)."""


def licences_of(found: Message) -> set[str]:
    """The ids of all licences that a package's metadata names; other texts stay as they are written."""
    if name := READ.get(found["Name"].lower()):
        return {name}
    if expression := found.get("License-Expression"):
        return set(re.findall(r"[A-Za-z0-9.+-]+", expression)) - {"AND", "OR", "WITH"}
    classifiers = [line.rpartition(" :: ")[2] for line in found.get_all("Classifier") or [] if line.startswith("Lic")]
    said = [name for name in classifiers if name != "OSI Approved"] or [found.get("License") or "none"]
    return {CLASSIFIERS.get(name, name[:60]) for name in said}


def about(name: str) -> Message:
    """The metadata of an installed package, as the mail headers that it is written in."""
    return cast(Message, metadata(name))


def packages(lock: str) -> list[str]:
    """The names of a lock's packages that this system needs."""
    lines = re.findall(r"^([A-Za-z0-9][^\\\n]*)", lock, re.MULTILINE)
    wanted = [Requirement(line.strip()) for line in lines]
    return [one.name for one in wanted if one.marker is None or one.marker.evaluate()]


def main() -> int:
    """Print the licences; 0 if all are allowed."""
    counts: dict[str, int] = {}
    refused = []
    for name in packages(LOCK.read_text("utf-8")):
        found = licences_of(about(name))
        for one in found:
            counts[one] = counts.get(one, 0) + 1
        if not found <= ALLOWED:
            refused.append(f"{name}: {', '.join(sorted(found - ALLOWED))}")
    print(f"licences: {', '.join(f'{name} {count}' for name, count in sorted(counts.items()))}")
    for line in refused:
        print(f"licences: not allowed: {line}", file=sys.stderr)
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
