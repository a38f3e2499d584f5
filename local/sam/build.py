"""`sam build` for this machine's architecture, into a folder of its own: a build to deploy stays as it is."""

import hashlib
import os
import subprocess
from pathlib import Path

from local import ROOT
from local.sam.config import ARCHITECTURE, BUILD
from local.sam.servers import StackError

_SOURCES = ("template.yaml", "samconfig.toml", "scripts/sam_build.sh", "functions", "layers")


def build() -> Path:
    """Build unless the sources are those of the last build; returns the built template. Raises StackError."""
    stamp = BUILD / ".sources"
    wanted = f"{ARCHITECTURE} {_fingerprint()}\n"
    if not stamp.exists() or stamp.read_text("ascii") != wanted:
        stamp.unlink(missing_ok=True)
        environment = {**os.environ, "ARCHITECTURE": ARCHITECTURE, "BUILD_DIR": str(BUILD.relative_to(ROOT))}
        done = subprocess.run(
            ["scripts/sam_build.sh"],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode:
            raise StackError(f"sam build failed:\n{done.stdout[-4_000:].strip()}")
        stamp.write_text(wanted, "ascii")
    return BUILD / "template.yaml"


def _fingerprint() -> str:
    digest = hashlib.sha256()
    for path in (path for name in _SOURCES for path in [ROOT / name, *sorted((ROOT / name).rglob("*"))]):
        if path.is_file() and "__pycache__" not in path.parts:
            content = path.read_bytes()
            digest.update(f"{path.relative_to(ROOT)}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()
