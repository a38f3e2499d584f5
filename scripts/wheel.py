"""Builds the package `live-memory`: the client, the command line, and the service that `livemem serve` starts.

`python -m scripts.wheel` (`make wheel`) writes the wheel into `dist/`. It is the build backend of pyproject.toml too
(PEP 517), so `pip install .` builds the same file. It needs nothing but Python: a wheel is a zip file with three files
of metadata (https://packaging.python.org/en/latest/specifications/binary-distribution-format/). The same tree gives the
same bytes. Files that are not in git (scripts/generated.py) are made for it, and those of the checkout are not used.

The service lies in the package as it lies in the repository, below `live_memory/_server`: the local runtime finds
template.yaml, functions and layers beside itself in both places.
"""

import base64
import hashlib
import re
import sys
import tomllib
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from scripts import generated

ROOT = Path(__file__).resolve().parent.parent
SERVER = "live_memory/_server"
EXTRA = "server"
OF_EXTRAS = {"boto3": "s3"}
"""Requirements that have an extra of their own: a store that is another program needs them."""
_DATA = {".py", ".typed", ".md", ".json", ".toml", ".yaml", ".in"}
_OF_PAGES = {".html", ".js", ".css", ".svg", ".png"}
FOLDERS = {
    "client/live_memory": "live_memory",
    **{name: f"{SERVER}/{name}" for name in ("layers", "functions", "local")},
}
"""The folders of the repository that are in the package, and their places in it."""
PAGE = "functions/page/static"
# Useful in a checkout alone: the demos, and the runtime that builds with SAM and Docker.
_LEFT_OUT = {"local/demo", "local/sam"}
_MOMENT = (1980, 1, 1, 0, 0, 0)


def main() -> int:
    """Write the wheel into the folder of the first argument, by default `dist`; prints its path."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "dist"
    folder.mkdir(parents=True, exist_ok=True)
    print(folder / build_wheel(str(folder)))
    return 0


def get_requires_for_build_wheel(config_settings: Mapping[str, Any] | None = None) -> list[str]:  # noqa: ARG001 - PEP 517
    """Nothing is needed."""
    return []


def build_sdist(sdist_directory: str, config_settings: Mapping[str, Any] | None = None) -> str:
    """Refuse: the repository is the source. Frontends go on to the wheel then."""
    raise NotImplementedError("Build the wheel from a checkout: make wheel")


def build_wheel(
    wheel_directory: str,
    config_settings: Mapping[str, Any] | None = None,  # noqa: ARG001 - PEP 517
    metadata_directory: str | None = None,  # noqa: ARG001
) -> str:
    """Write the wheel into a folder that exists; returns its file name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    stem = f"{project['name'].replace('-', '_')}-{project['version']}"
    info = f"{stem}.dist-info"
    files = {
        **dict(_contents()),
        f"{info}/METADATA": _metadata(project),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: live-memory\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": _entry_points(project),
        f"{info}/licenses/LICENSE": (ROOT / "LICENSE").read_bytes(),
    }
    files[f"{info}/RECORD"] = _record(files, f"{info}/RECORD")
    name = f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path, _MOMENT)
            entry.external_attr = 0o100644 << 16
            wheel.writestr(entry, data, zipfile.ZIP_DEFLATED)
    return name


def requirements() -> dict[str, list[str]]:
    """The requirements of the package, and under the name of each extra those that it adds."""
    server = [*sorted((ROOT / "layers").glob("*/requirements.in")), ROOT / "local/requirements.in"]
    found = {"": _read_requirements(ROOT / "client/requirements.in")}
    for line in sorted({line for file in server for line in _read_requirements(file)} - set(found[""])):
        found.setdefault(OF_EXTRAS.get(re.split(r"\W", line)[0], EXTRA), []).append(line)
    return found


def _read_requirements(file: Path) -> list[str]:
    lines = [line.partition("#")[0].strip() for line in file.read_text("utf-8").splitlines()]
    return [line for line in lines if line and not line.startswith("-")]


def _contents() -> Iterator[tuple[str, bytes]]:
    made = {Path(name): text.encode() for name, text in generated.files().items()}
    for source, target in FOLDERS.items():
        there = {file.relative_to(ROOT) for file in (ROOT / source).rglob("*")}
        for file in sorted(there | {name for name in made if name.is_relative_to(source)}):
            known = file.suffix in _DATA | _OF_PAGES or (file.suffix == ".txt" and file.is_relative_to(PAGE))
            if known and not any(file.is_relative_to(one) for one in _LEFT_OUT):
                yield f"{target}/{file.relative_to(source).as_posix()}", made.get(file) or (ROOT / file).read_bytes()
    yield f"{SERVER}/template.yaml", (ROOT / "template.yaml").read_bytes()


def _metadata(project: Mapping[str, Any]) -> bytes:
    needed = requirements()
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {project['name']}",
        f"Version: {project['version']}",
        f"Summary: {project['description']}",
        f"License: {project['license']}",
        f"Requires-Python: {project['requires-python']}",
        *(f"Requires-Dist: {one}" for one in needed[""]),
        *(
            line
            for extra in filter(None, needed)
            for line in (
                f"Provides-Extra: {extra}",
                *(f'Requires-Dist: {one}; extra == "{extra}"' for one in needed[extra]),
            )
        ),
        "Description-Content-Type: text/markdown",
    ]
    return "\n".join([*lines, "", (ROOT / project["readme"]).read_text("utf-8")]).encode()


def _entry_points(project: Mapping[str, Any]) -> bytes:
    return "\n".join(["[console_scripts]", *(f"{k} = {v}" for k, v in project["scripts"].items()), ""]).encode()


def _record(files: Mapping[str, bytes], own: str) -> bytes:
    lines = []
    for path, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{path},sha256={digest},{len(data)}")
    return "\n".join([*lines, f"{own},,", ""]).encode()


if __name__ == "__main__":
    sys.exit(main())
