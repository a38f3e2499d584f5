"""Writes an archive in the form that the service takes: `tar.gz`, a folder for the space, last its `_manifest.json`.

The same content makes the same bytes, so a repeat of an import sends the same archive.
"""

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Mapping
from contextlib import suppress
from typing import IO, Any

from live_memory.cli.imports.detection import MANIFEST

FORMAT = "live-memory-archive"
VERSION = 1


class Packer:
    """An archive that is being written: of a space with its id, or of a folder of files without one."""

    def __init__(self, target: IO[bytes], space_id: str | None = None) -> None:
        self._space_id = space_id
        self._gzip = gzip.GzipFile(fileobj=target, mode="wb", compresslevel=6, mtime=0)
        self._tar = tarfile.open(fileobj=self._gzip, mode="w", format=tarfile.PAX_FORMAT)  # noqa: SIM115 - see `end`
        self._listed: list[str] = []
        self._bytes = 0

    def add(self, name: str, body: bytes, metadata: Mapping[str, str] | None = None) -> None:
        """One object of the space, or file of the folder."""
        self._write(f"{self._space_id}/{name}" if self._space_id else name, body)
        self._bytes += len(body)
        fields: dict[str, Any] = {"name": name, "size": len(body), "sha256": hashlib.sha256(body).hexdigest()}
        self._listed.append(json.dumps({**fields, "metadata": metadata} if metadata else fields, ensure_ascii=False))

    @property
    def count(self) -> int:
        """Objects so far."""
        return len(self._listed)

    def end(self) -> None:
        """Write the manifest (only of a space) and the end."""
        if self._space_id:
            self._write(f"{self._space_id}/{MANIFEST}", self._manifest(self._space_id))
        self.close()

    def close(self) -> None:
        """Release the resources of writing, also after an error."""
        with suppress(ValueError):
            self._tar.close()
        self._gzip.close()

    def _manifest(self, space_id: str) -> bytes:
        head = {
            "format": FORMAT,
            "version": VERSION,
            "space_id": space_id,
            "objects_count": len(self._listed),
            "bytes": self._bytes,
        }
        text = json.dumps(head, indent=2).removesuffix("\n}")
        lines = ",\n".join(f"    {line}" for line in self._listed)
        return f'{text},\n  "objects": [\n{lines}\n  ]\n}}\n'.encode()

    def _write(self, path: str, body: bytes) -> None:
        info = tarfile.TarInfo(path)
        info.size = len(body)
        info.mode = 0o644
        self._tar.addfile(info, io.BytesIO(body))
