"""Detects the kind of a source by the names of its files."""

import re
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Literal, cast

from live_memory.cli.imports import basic_memory, cursor_chats, files, mem0, own_memories, rules_texts
from live_memory.cli.imports.unfit import BadSource, shown

Kind = Literal["export", "bucket", "chats", "markdown", "mem0", "basic-memory", "rules", "own-memory", "git"]
OF_ITEMS = ("mem0", "basic-memory", "rules", "own-memory", "git")
"""Kinds that become notes or memories of a space that exists."""

GIT = "git"
"""The name of the source that is the repository of the present folder."""
META = "_meta.json"
MANIFEST = "_manifest.json"
CHATS_BYTES = 512 << 20
"""Bytes of all files of conversations but sessions. Exports of years of daily use have about 200 MiB."""
EXPORT_BYTES = 1 << 30
"""Bytes of an export of this service as a file: the service's own limit."""
NOTHING = (
    "Nothing in it can be imported. A source can be an export of this service (.tar.gz) or a folder of Markdown files. "
    "It can also be an export of conversations by Claude or ChatGPT (a zip, or its conversations.json), sessions of "
    "Claude Code (~/.claude/projects) or Codex (~/.codex/sessions), or chats of Cursor (state.vscdb, ~/.cursor/chats). "
    "What Claude Code or Codex remembers by itself (~/.claude/projects/*/memory, ~/.codex/memories), and the word git "
    "in a repository are sources. Memories of mem0 (JSON), notes of basic-memory, a CLAUDE.md or AGENTS.md, and a copy "
    "of a bucket of chrlesur/live-memory can be imported too."
)
SESSION, COMPRESSED = ".jsonl", ".jsonl.zst"
UNPACK = "{} is compressed. Unpack it first: `zstd -d`."
_LOOKED_AT = 20
"""Markdown files of a folder that are looked at for the marks of basic-memory."""

_HEAD_BYTES = 1 << 16
_COUNT = re.compile(rb'"archives": ([0-9]{1,4})')

_CHATS = re.compile(r"(?:[^/]+/)?conversations(?:-[0-9]+)?\.json")
_BESIDE = re.compile(r"(?:[^/]+/)?(?:(?:memories|projects)(?:-[0-9]+)?|projects/[^/]+)\.json")


@dataclass(frozen=True)
class Source:
    """The source of an import: its path, its kind, and its files with their sizes."""

    path: Path
    kind: Kind
    sizes: Mapping[str, int]
    unfit: list[str] = field(default_factory=list)
    """Problems of single files in a folder of sessions. The others are imported."""

    def spaces(self) -> list[str]:
        """The folders of a bucket that are spaces, `""` where the source itself is one."""
        return sorted(path.removesuffix(META).rstrip("/") for path in self.sizes if is_head(path))

    def chats(self) -> list[str]:
        """The files that hold conversations."""
        return sorted(
            path
            for path in self.sizes
            if is_of_chats(path) or is_session(path) or (len(self.sizes) == 1 and not is_beside_chats(path))
        )

    def beside_chats(self) -> list[str]:
        """The files that hold memories and projects of an export of Claude."""
        return sorted(filter(is_beside_chats, self.sizes))


def is_head(path: str) -> bool:
    """Whether a file is the head of a space."""
    return path == META or (path.endswith(f"/{META}") and path.count("/") == 1)


def is_of_chats(path: str) -> bool:
    """Whether a file of an archive holds conversations."""
    return _CHATS.fullmatch(path) is not None


def is_session(path: str) -> bool:
    """Whether a file holds former sessions, which are read in parts."""
    return path.endswith(SESSION) or cursor_chats.is_one(path)


def is_beside_chats(path: str) -> bool:
    """Whether a file of an archive holds what Claude exports beside conversations."""
    return _BESIDE.fullmatch(path) is not None


def look(path: Path) -> Source:
    """Detect the kind of a source. It reads the whole source once, and keeps only names. Raises BadSource."""
    if str(path).startswith(("s3:/", "http:/", "https:/")):
        raise BadSource(
            "A source must be a file or folder on this machine. Copy it first, for example with `aws "
            "s3 sync s3://BUCKET FOLDER`."
        )
    if str(path) == GIT and not path.exists():
        return Source(Path.cwd(), "git", {})
    unfit: list[str] = []
    sizes = {file.path: file.size for file in files.files(path, unfit)}
    if path.is_file() and not files.is_zip(path) and not files.is_tar(path):
        return _of_file(path, sizes)
    kind = _kind(sizes)
    if unfit and not (kind == "chats" and not any(is_of_chats(name) for name in sizes)):
        raise BadSource(unfit[0])
    if kind == "markdown" and (own_memories.is_of_codex(sizes) or _are_most(path, own_memories.is_one)):
        kind = "own-memory"
    elif kind == "markdown" and _are_most(path, basic_memory.is_one):
        kind = "basic-memory"
    if not kind:
        raise BadSource(NOTHING)
    found = Source(path, kind, sizes, unfit)
    if kind == "chats":
        found.unfit.extend(UNPACK.format(shown(name)) for name in sizes if name.endswith(COMPRESSED))
        whole = (name for name in (*found.chats(), *found.beside_chats()) if not is_session(name))
        _check_chats(sum(sizes[name] for name in whole))
    if kind == "export":
        _check_export(path)
    return found


def _kind(sizes: Mapping[str, int]) -> Kind | None:
    if any(is_of_chats(path) for path in sizes):
        return "chats"
    if any(path.endswith(f"/{MANIFEST}") and path.count("/") == 1 for path in sizes):
        return "export"
    if any(is_head(path) for path in sizes):
        return "bucket"
    if any(path.endswith(COMPRESSED) or is_session(path) for path in sizes):
        return "chats"
    if any(path.endswith(".md") for path in sizes):
        return "markdown"
    return "chats" if any(map(is_beside_chats, sizes)) else None


def _of_file(path: Path, sizes: Mapping[str, int]) -> Source:
    if path.name in rules_texts.NAMES:
        return Source(path, "rules", sizes)
    if path.name.endswith(COMPRESSED):
        raise BadSource(UNPACK.format(shown(path.name)))
    if path.suffix != ".json" and not is_session(path.name):
        raise BadSource(NOTHING)
    if path.suffix == ".json" and sum(sizes.values()) <= mem0.MOST_BYTES and mem0.rows(path.read_bytes()) is not None:
        return Source(path, "mem0", sizes)
    _check_chats(sum(sizes.values()) if path.suffix == ".json" else 0)
    return Source(path, "chats", sizes)


def _are_most(path: Path, is_one: Callable[[str], bool]) -> bool:
    """Whether most of the first Markdown files are of a kind. The index of a client's memory is not looked at."""
    looked: list[bool] = []
    for file in files.files(path):
        if file.path.endswith(".md") and len(looked) < _LOOKED_AT and file.size <= basic_memory.MOST_BYTES:
            text = b"".join(file.content).decode(errors="replace").removeprefix("\ufeff")
            looked += [is_one(text)] if file.path != own_memories.INDEX else []
    return 2 * sum(looked) > len(looked)


def _check_chats(size: int) -> None:
    if size > CHATS_BYTES:
        raise BadSource(f"The conversations have {size} bytes, but at most {CHATS_BYTES >> 20} MiB can be imported.")


def _check_export(path: Path) -> None:
    if path.is_dir() or not files.is_tar(path):
        raise BadSource("The folder is an unpacked export. Name the .tar.gz file instead.")
    if path.stat().st_size > EXPORT_BYTES:
        raise BadSource(f"The export has more than {EXPORT_BYTES >> 30} GiB.")


def archives(path: Path) -> list[Path]:
    """The archives of the space whose first one this is: itself, and others beside it (`demo.2.tar.gz`). Raises
    BadSource.
    """
    count = 1
    with tarfile.open(path) as tar:
        for member in tar:
            if member.isfile() and member.name.partition("/")[2] == MANIFEST:
                head = cast("IO[bytes]", tar.extractfile(member)).read(_HEAD_BYTES)
                found = _COUNT.search(head.partition(b'"objects"')[0])
                count = int(found[1]) if found else 1
    stem = path.name.partition(".")[0]
    paths = [path.with_name(f"{stem}.{number}{path.name.removeprefix(stem)}") for number in range(2, count + 1)]
    for other in paths:
        if not other.is_file():
            raise BadSource(f"The space has {count} archives. {other.name} is missing beside {path.name}.")
        if other.stat().st_size > EXPORT_BYTES:
            raise BadSource(f"The export has more than {EXPORT_BYTES >> 30} GiB.")
    return [path, *paths]
