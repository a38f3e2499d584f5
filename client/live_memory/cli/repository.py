"""The repository that a folder belongs to, and the ids of its space: the same for all its clones and work trees."""

import hashlib
import os
import re
import threading
import time
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from live_memory._redaction import identifier

Ask = Callable[..., str]
"""Asks git something in a folder, as `git` does."""
LONGEST = 64
"""Characters of a space's id."""
NAMELESS = "default"
"""The space of a folder without a name: the root, where chat programs start their servers."""
_GIT_SECONDS = 5.0
_AT_WORK = threading.BoundedSemaphore(4)
"""Look-ups under way: on a disk that hangs they never end."""
_HASH, _PATH_HASH = 8, 12
_NAME_CHARS = 120
_URL = re.compile(r"[a-z][a-z0-9+.-]*://(?:[^/]*@)?(\[[^]/]*\]|[^/:]*)(?::\d*)?(?:/(.*))?", re.IGNORECASE | re.DOTALL)
_SCP = re.compile(r"(?:[^/]*@)?(\[[^]/]*\]|[^/:\\]{2,}):(?!//)(.*)", re.DOTALL)
"""`git@host:path`. A single letter before the colon is a drive of Windows."""
_FETCHED = re.compile(r"^(\S+)\t(.*) \(fetch\)", re.MULTILINE)
_HELPER = re.compile(r"^[a-z0-9+-]+::", re.IGNORECASE)
_OTHER_DOOR = re.compile(r"^(alt)?ssh\.(?=[^.]+\.)")
"""Forges answer SSH at the port of HTTPS under such a name of the host (ssh.github.com, altssh.gitlab.com)."""
_AZURE = re.compile(r"(?:v3/)?([^/]+)/([^/]+)/(?:_git/)?([^/]+)")
"""Organisation, project and repository of Azure: `v3/o/p/r` by SSH, `o/p/_git/r` by HTTPS, `o/_git/r` where both have
one name (https://learn.microsoft.com/azure/devops/repos/git/clone).
"""


@dataclass(frozen=True)
class Repository:
    """A repository, or a folder in none. `identity` is the same in all places for the same one, and holds no secret.
    It is empty for a folder without a name.

    `top` is the folder of the work tree, `inner` the path from there to the folder in question.
    """

    identity: str
    name: str
    top: Path
    inner: Path
    former: str
    """The space's id that earlier versions gave: the last part of the name alone."""
    is_versioned: bool = True

    @property
    def space_ids(self) -> tuple[str, str]:
        """The id of its space, and the one that it gets where another repository has that. Both fit a space."""
        code = hashlib.sha256(self.identity.encode(errors="surrogateescape")).hexdigest()[:_HASH]
        if not self.name:
            return NAMELESS, NAMELESS
        plain = as_space_id(self.name)
        hashed = f"{as_space_id(self.name, LONGEST - _HASH - 1) or 'space'}-{code}"
        is_whole = plain not in ("", NAMELESS) and len(plain) < LONGEST and self.name.isascii()
        return plain if is_whole else hashed, hashed

    @property
    def places(self) -> tuple[str, ...]:
        """The folders from the one in question up to the top, as they are called in every copy of the repository."""
        return tuple(place.as_posix() for place in (self.inner, *self.inner.parents))


_KNOWN: dict[tuple[Path, Path | None, tuple[int, int] | None], Repository] = {}
"""A hook looks for one repository in several places, and each look is a program of its own."""
_MOST_KNOWN = 1_000


def of(folder: Path, ask: Ask | None = None) -> Repository:
    """The repository of a folder: by its remote, else by its place on this machine. `ask` asks git."""
    folder, top = folder.resolve(), top_of(folder)
    key = folder, top, _config_time(top)
    if key in _KNOWN:
        return _KNOWN[key]
    here = _found(folder, top, ask or git)
    # What a limited time sufficed for may be less than there is.
    if key[2] is not None and not ask and len(_KNOWN) < _MOST_KNOWN:
        _KNOWN[key] = here
    return here


def top_of(folder: Path) -> Path | None:
    """The top of the work tree that a folder is in, None outside of one."""
    folder = folder.resolve()
    return next((place for place in (folder, *folder.parents) if (place / ".git").exists()), None)


def _config_time(top: Path | None) -> tuple[int, int] | None:
    """When the configuration that names the remotes was written last, and its size. None where that is not plain to
    see: in a work tree beside the repository's own.
    """
    try:
        state = (top / ".git" / "config").stat() if top else None
    except OSError:
        return None
    return (state.st_mtime_ns, state.st_size) if state else (0, 0)


def _found(folder: Path, top: Path | None, ask: Ask) -> Repository:
    url = _remote(top, ask) if top else ""
    host, path = _parsed(url)
    if host:
        # The forges do not tell capitals apart, and neither do people who type an address.
        identity = unicodedata.normalize("NFC", "/".join([host, *path])).casefold()
        name, last = "-".join(path) or host, (path or [host])[-1]
    else:
        place = _local(url, top) if url and top else _common_folder(top, ask) if top else folder
        name = last = _name(place)
        identity = _of_place(place)
    return Repository(
        _bounded(identity),
        identifier(unicodedata.normalize("NFC", name)),
        top or folder,
        folder.relative_to(top or folder),
        as_space_id(last) or NAMELESS,
        bool(top),
    )


def without_remote(here: Repository) -> str:
    """The identity that a repository had before it got a remote."""
    return _bounded(_of_place(main_folder(here)))


def main_folder(here: Repository) -> Path:
    """The folder of the repository that `here` is a work tree of."""
    return _common_folder(here.top, git)


def _of_place(place: Path) -> str:
    where = "\0".join((_machine(), str(place))).encode(errors="surrogateescape")
    return f"{_name(place)}#{hashlib.sha256(where).hexdigest()[:_PATH_HASH]}" if _name(place) else ""


def _name(place: Path) -> str:
    return re.sub(r"\.git$", "", re.split(r"[/\\]", str(place))[-1])


def as_space_id(name: str, longest: int = LONGEST) -> str:
    """The nearest id that a space may have: small letters, digits, `_` and `-`. Empty if no letter fits."""
    return re.sub(r"[^a-z0-9_-]+", "-", name.lower()).strip("-_")[:longest].rstrip("-_")


def _parsed(url: str) -> tuple[str, list[str]]:
    """Host and path of a remote, without user, password, port and query. The host is empty if it is on this machine."""
    url = _HELPER.sub("", url.strip(), count=1)
    found = _URL.fullmatch(url) or _SCP.fullmatch(url)
    if not found or url.lower().startswith("file:"):
        return "", []
    path = unquote(re.split(r"[?#]", found[2] or "")[0])
    path = re.sub(r"\.git$", "", path.rstrip("/"), flags=re.IGNORECASE)
    host = _OTHER_DOOR.sub("", found[1].casefold().strip("."))
    parts = [part for part in path.split("/") if part]
    if host == "dev.azure.com" and (azure := _AZURE.fullmatch("/".join(parts))):
        parts = [azure[1], azure[3] if azure[2] == "_git" else azure[2], azure[3]]
    return host, parts


def _remote(top: Path, ask: Ask) -> str:
    """The URL of the remote `origin`, else of the only one."""
    urls = dict(_FETCHED.findall(ask(top, "remote", "-v")))
    return urls.get("origin") or (next(iter(urls.values())) if len(urls) == 1 else "")


def _local(url: str, top: Path) -> Path:
    """The folder that a remote on this machine names."""
    path = unquote(re.sub(r"^file://[^/]*", "", url, flags=re.IGNORECASE)) if "://" in url else url
    return (top / path.replace("\\", "/").rstrip("/")).resolve()


def _common_folder(top: Path, ask: Ask) -> Path:
    """The folder of the repository that a work tree is of."""
    if (top / ".git").is_dir() and not (top / ".git").is_symlink():
        return top
    common = ask(top, "rev-parse", "--path-format=absolute", "--git-common-dir")
    if not common:
        return top
    place = Path(common).resolve()
    return place.parent if place.name == ".git" else place


def _machine() -> str:
    """The machine's name without its network's, which changes as a laptop moves."""
    import platform  # noqa: PLC0415 - only for a folder without a remote

    return platform.node().partition(".")[0].lower()


def _bounded(identity: str) -> str:
    """The identity as one line without secrets, short enough for the service."""
    line = identifier("".join(letter for letter in identity if letter.isprintable()))
    if len(line.encode(errors="replace")) <= 2 * _NAME_CHARS:
        return line.encode(errors="replace").decode()
    code = hashlib.sha256(identity.encode(errors="surrogateescape")).hexdigest()[:_PATH_HASH]
    return f"{line.encode(errors='replace')[:_NAME_CHARS].decode(errors='ignore')}#{code}"


def look(work: Callable[[float], None], seconds: float) -> None:
    """Do some work that asks git, in a thread, and wait `seconds` at most: on a disk that hangs no process of git ends,
    even if it is killed. `work` gets the moment, as `time.monotonic`, when its time is over. Never raises.
    """
    until = time.monotonic() + seconds
    if seconds < 0 or not _AT_WORK.acquire(timeout=seconds):
        return

    def run() -> None:
        try:
            with suppress(Exception):
                work(until)
        finally:
            _AT_WORK.release()

    worker = threading.Thread(target=run, name="git", daemon=True)
    try:
        worker.start()
    except RuntimeError:
        _AT_WORK.release()
        return
    worker.join(max(0.0, until - time.monotonic()))


def ask_until(until: float, folder: Path, *arguments: str) -> str | None:
    """The same as `ask_git`, until a moment."""
    return ask_git(folder, *arguments, seconds=max(0.001, until - time.monotonic()))


def git(folder: Path, *arguments: str, seconds: float = _GIT_SECONDS) -> str:
    """What git says, empty if it fails (ask_git)."""
    return ask_git(folder, *arguments, seconds=seconds) or ""


def ask_git(folder: Path, *arguments: str, seconds: float = _GIT_SECONDS) -> str | None:
    """What git says, None if it fails, takes longer or is not there.

    `folder` is the top of a work tree: a folder below it may look like a repository itself (a bare one) and name any
    remote. The repository may be somebody else's: what its configuration names is not run, and nothing is fetched.
    """
    import subprocess  # noqa: PLC0415 - most hooks need no git

    try:
        done = subprocess.run(  # noqa: S603 - fixed options, and names behind them
            ["git", "-C", str(folder), *_SAFE, *arguments],  # noqa: S607 - the user's own
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=seconds,
            check=False,
            env={name: value for name, value in os.environ.items() if name not in _OF_ANOTHER} | _VARIABLES,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    return os.fsdecode(done.stdout).strip() if done.returncode == 0 else None


_SAFE = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "log.showSignature=false")
_VARIABLES = {"GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0", "GIT_LITERAL_PATHSPECS": "1"}
# An older git does not know the first one, and fetches what is missing by commands that the repository names.
_VARIABLES["GIT_ALLOW_PROTOCOL"] = ""
_OF_ANOTHER = {"GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR"}
"""Variables that git sets for its hooks: they name the repository of the hook, not that of the folder."""
