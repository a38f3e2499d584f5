"""The space of a folder that can be known without a service: what `init` gave it on this machine.

The space also stands in files of the project: hooks, and servers that clients start. Anybody who writes to the project
writes them. So a space that they name counts only if it was accepted on this machine (accepted.py).
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby, islice
from pathlib import Path

from live_memory.cli import repository
from live_memory.cli.exits import Refused
from live_memory.cli.init import record
from live_memory.cli.init.accepted import Accepted

FILES: Mapping[str, str] = {
    ".claude/settings.json": "claude-code",
    ".claude/settings.local.json": "claude-code",
    ".claude/agents/**/*.md": "claude-code",
    ".claude/commands/**/*.md": "claude-code",
    ".claude/skills/*/SKILL.md": "claude-code",
    ".mcp.json": "claude-code",
    ".codex/hooks.json": "codex",
    ".codex/config.toml": "codex",
    ".cursor/hooks.json": "cursor",
    ".cursor/mcp.json": "cursor",
    ".github/hooks/*.json": "vscode",
    ".vscode/mcp.json": "vscode",
    ".vscode/settings.json": "vscode",
    ".github/agents/*.md": "vscode",
    "*.code-workspace": "vscode",
    ".devcontainer.json": "vscode",
    ".devcontainer/**/devcontainer.json": "vscode",
    ".github/mcp.json": "vscode",
    ".clinerules/hooks/*": "cline",
    ".gemini/settings.json": "gemini-cli",
    ".gemini/.env": "gemini-cli",
    ".env": "gemini-cli",
    "opencode.json*": "opencode",
    ".opencode/*.json*": "opencode",
    ".opencode/plugin*/*": "opencode",
}
"""The files of a project in which its clients look for hooks and servers (clients.py), and for variables of both."""
HOOKS: Mapping[str, Sequence[str]] = {
    "claude-code": (".claude/settings.json", ".claude/settings.local.json"),
    "codex": (".codex/hooks.json", ".codex/config.toml"),
}
"""The files with hooks of the clients that have a plugin: in the project, and in the user's home."""
VARIABLE = "LIVEMEM_SPACE"
LEADING = tuple(f"LIVEMEM_{name}" for name in ("URL", "TOKEN", "PROFILE", "CONFIG", "STATE", "DATA_DIR"))
"""The variables that say which service is used, and as whom."""
_PASSED_ON = re.compile(r"\$\{(?:env:)?LIVEMEM_TOKEN\}|bearer_token_env_var\s*=\s*\"LIVEMEM_TOKEN\"")
"""How a file of `init` takes the token from its user's environment: it sets none."""
_JSON = (".json", ".code-workspace")
OPTION = r"(?:(?i:space)|(?<![\w-])-s)"
"""The text before a space that a file gives to an option, or to the address of a server."""
MOST_BYTES = 1_048_576
MOST_FILES = 200
_SPACE_ID = "[a-zA-Z0-9][a-zA-Z0-9_-]{0,63}"
_HOOK = re.compile(rf"livemem hook [a-z-]+ [A-Za-z]+ --space ({_SPACE_ID})(?![a-zA-Z0-9_-])")
_ESCAPED = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8}))")
_DEFAULT = re.compile(r"\$\{[^{}:$]{0,200}:-([^{}$]{0,200})\}")
"""A variable with a default, which clients put in its place."""
_PROGRAM = re.compile(r"live[-_]?mem", re.IGNORECASE)
"""`livemem`, `uvx live-memory`, `python -m live_memory.cli`."""
_PLAIN = r"\\[\"'nrt/]|(?!/\*|//|#)[^\w\-$\\]"
_COMMENT = r"/\*(?>[^*]|\*(?!/)){0,200}+\*/|(?://|#)[^\n]{0,200}\n"
_BETWEEN = rf"(?>\s+|{_COMMENT}|{_PLAIN}){{0,40}}+"
"""What may stand between an option and its value: quotes, commas, comments. Possessive: texts may be hostile."""
_UNREADABLE = r"(?:[^\w-]|[\w-]{1,64}(?:\$|\\(?![\"'nrt/])))"
"""The beginning of a value that only its client can read: a variable, an escape, what stands behind a long comment."""
_UNREADABLE_OPTION = r"(?:(?<![a-zA-Z])(?i:space)|\b(?:mcp|hook)\b[^;&|]{0,200}?(?<![\w-])-s)"
"""As OPTION, but less is taken for one: then it names every space."""


@dataclass(frozen=True)
class Choice:
    """The space of a folder, None if nothing gives it one. `is_accepted`: the repository has it, not one call alone.
    `notice`: the line for the user, where a space was named that does not count.
    """

    space: str | None = None
    is_accepted: bool = False
    notice: str | None = None


@dataclass(frozen=True)
class _Namer:
    client: str
    is_refused: bool


@dataclass(frozen=True)
class _File:
    place: Path
    name: str
    """As FILES has it: the file's own name is anybody's text."""
    client: str
    raw: str
    is_whole: bool = True
    """False: there is more than was read, and it may name any space."""

    @property
    def text(self) -> str:
        """As its client reads it."""
        return _DEFAULT.sub(r"\1", _ESCAPED.sub(_letter, self.raw))


def choose(environ: Mapping[str, str], folders: Sequence[Path], given: str | None = None) -> Choice:
    """The space of the first folder: `given` by an option, else by LIVEMEM_SPACE, else by this machine's list.

    `folders`: all that the call may belong to. What a file in any of them names counts only if it was accepted.
    """
    accepted = Accepted(environ)
    first = folders[0].resolve()
    said = environ.get(VARIABLE) or None
    if not given and not said:
        return _of_folder(accepted, first)
    found = [file for folder in dict.fromkeys(one.resolve() for one in folders) for file in _files(_above(folder))]
    notice = None
    if said and (namer := _namer(accepted, found, said, VARIABLE)) and namer.is_refused:
        notice = refusal(said, namer.client)
        said = None
    if given and given != said:
        namer = _namer(accepted, found, given, OPTION)
        if not namer or not namer.is_refused:
            return Choice(given, is_accepted=bool(namer))
        notice = refusal(given, namer.client)
    if said:
        return Choice(said, notice=notice)
    own = _own(accepted, first)
    return Choice(own, is_accepted=bool(own), notice=notice)


def _namer(accepted: Accepted, found: Sequence[_File], space_id: str, way: str) -> _Namer | None:
    """The client that names a space in a project's files: one for which it was not accepted, if there is one."""
    places = {file.place: file.client for file in found if not file.is_whole or _names(file.text, space_id, way)}
    refused = (client for place, client in places.items() if not _is_accepted(accepted, place, client, space_id))
    if client := next(refused, None):
        return _Namer(client, is_refused=True)
    return _Namer(next(iter(places.values())), is_refused=False) if places else None


def own_environment(environ: Mapping[str, str], folders: Sequence[Path]) -> tuple[Mapping[str, str], str | None]:
    """The variables without those that files of a project name: they would send its chats to those who wrote them.

    Returns them, and the line for the user if one was left out.
    """
    given = [name for name in LEADING if environ.get(name)]
    if not given:
        return environ, None
    places = [place for folder in dict.fromkeys(one.resolve() for one in folders) for place in _above(folder)]
    found = list(_files(dict.fromkeys(places)))
    part = next((file.name for file in found if not file.is_whole), None)
    named = given if part else sorted(set().union(*(_set_by(file, given) for file in found)))
    if not named:
        return environ, None
    why = f"Only a part of {part} is read, as it is too large. It may set" if part else "Files of this project set"
    said = f"{why} {' and '.join(named)}, which does not count: use `livemem login`."
    return {name: value for name, value in environ.items() if name not in named}, said


def _set_by(file: _File, names: Sequence[str]) -> set[str]:
    """The variables that a file may set: JSON by a key, or in a command. Another file, or JSON with comments, by any
    mention.
    """
    if file.name.endswith(_JSON):
        lines: list[str] = []

        def take(pairs: Sequence[tuple[str, object]]) -> None:
            lines.extend(f"{key}={value}" for key, value in pairs)

        with suppress(ValueError, RecursionError):
            json.loads(file.raw, object_pairs_hook=take)
            text = _DEFAULT.sub(r"\1", "\n".join(lines))
            return {name for name in names if re.search(rf"(?<![\w$]){name}[ \t]*=", text)}
    text = _PASSED_ON.sub("", file.text)
    return {name for name in names if name in text}


def checked_space(space_id: str) -> str:
    """A space id, which becomes part of commands that clients run. Raises Refused."""
    if not re.fullmatch(_SPACE_ID, space_id):
        raise Refused("A space's id has 1 to 64 letters, digits, `_` and `-`, and begins with a letter or digit.")
    return space_id


def has_hook(environ: Mapping[str, str], folder: Path, client: str, event: str) -> bool:
    """Whether a client runs a hook with a space, as `init` writes it, at an event of a session in a folder.

    Then a hook without one, such as that of a plugin, has nothing to do.
    """
    # Claude Code reads the files of the folder in which it was started, Codex also those above it.
    places = [folder] if client == "claude-code" else list(_above(folder.resolve(), within=True))
    files = [place / name for place in (*places, Path.home()) for name in HOOKS.get(client, ())]
    if named := environ.get("CLAUDE_CONFIG_DIR" if client == "claude-code" else "CODEX_HOME"):
        files += [Path(named) / Path(name).name for name in HOOKS.get(client, ())]
    return any(f"livemem hook {client} {event} --space " in _read(file) for file in files)


def _of_folder(accepted: Accepted, folder: Path) -> Choice:
    if own := _own(accepted, folder):
        return Choice(own, is_accepted=True)
    found = _of_hooks(_files(_above(folder, within=True)))
    if not found:
        return Choice()
    place, client, space = found
    if _is_accepted(accepted, place, client, space):
        return Choice(space, is_accepted=True)
    return Choice(notice=refusal(space, client))


def _own(accepted: Accepted, folder: Path) -> str | None:
    """The space that this machine's list gives to a folder. None: none, or several to its clients."""
    known = [] if accepted.is_empty() else accepted.of(repository.of(folder))
    spaces = set(known[0].values()) if known else set()
    return spaces.pop() if len(spaces) == 1 else None


def _is_accepted(accepted: Accepted, place: Path, client: str, space_id: str) -> bool:
    """Whether a space that a file in `place` names was accepted for its repository on this machine."""
    here = repository.of(place)
    if any(space_id in spaces.values() for spaces in (*accepted.of(here), accepted.of_user())):
        return True
    if not _is_written_by_init(accepted.environ, here, space_id):
        return False
    # `init` of an earlier version kept no list.
    with suppress(Refused, OSError):
        accepted.keep(here, client, space_id)
    return True


def refusal(space_id: str, client: str) -> str:
    """The line that says why a space does not count, and the command with which it does."""
    return (
        f"Files of this project name the space {space_id}. It is not used, because you have not accepted it on this "
        f"machine. To accept it: `livemem init {client} --space {space_id}`."
    )


def _of_hooks(found: Iterable[_File]) -> tuple[Path, str, str] | None:
    """The nearest folder with hooks, a client, and their space. None: no hooks, or they name several spaces."""
    for place, there in groupby(found, key=lambda file: file.place):
        spaces = {space: file.client for file in there for space in _HOOK.findall(file.text)}
        if spaces:
            return (place, *spaces.popitem()[::-1]) if len(spaces) == 1 else None
    return None


def _names(text: str, space_id: str, way: str) -> bool:
    """Whether a text gives a space to livemem in a way, in any form that its clients read, or a value that can't be
    read here.
    """
    if not _PROGRAM.search(text):
        return False
    unreadable = _UNREADABLE_OPTION if way == OPTION else way
    given = rf"{way}{_BETWEEN}{re.escape(space_id)}(?![\w-])|{unreadable}{_BETWEEN}{_UNREADABLE}"
    return re.search(given, text, re.ASCII) is not None


def _is_written_by_init(environ: Mapping[str, str], here: repository.Repository, space_id: str) -> bool:
    """Whether a file names the space as `init` left it on this machine, in the folder or above it in its repository."""
    word = re.compile(rf"(?<![\w-]){re.escape(space_id)}(?![\w-])", re.ASCII)
    roots = dict.fromkeys((here.top, repository.main_folder(here)))
    for place in (root / inner for root in roots for inner in here.places):
        for client in sorted(set(FILES.values())):
            for name, done in record.load(record.path_of(environ, client, "project", place)).items():
                text = _read(Path(name)) if Path(name).is_relative_to(place) else ""
                if record.digest(text) == done.after_hash and word.search(text):
                    return True
    return False


def _files(places: Iterable[Path]) -> Iterator[_File]:
    for place in places:
        for pattern, client in FILES.items():
            paths = list(islice(place.glob(pattern), MOST_FILES + 1)) if "*" in pattern else [place / pattern]
            if len(paths) > MOST_FILES:
                yield _File(place, pattern, client, "", is_whole=False)
            for path in sorted(paths)[:MOST_FILES]:
                held = _bytes(path)
                yield _File(place, pattern, client, _decoded(held), len(held) <= MOST_BYTES)


def _letter(escaped: re.Match[str]) -> str:
    return chr(int(escaped[1] or escaped[2], 16) % 0x110000)


def _above(folder: Path, *, within: bool = False) -> Iterator[Path]:
    """The folder and those above it, below the home folder: there are the user's own files, which hold in all projects.

    `within`: only in the repository. Above it anybody may put a file, such as into `/tmp`, and give a space with it.
    """
    home = Path.home().resolve()
    for place in (folder, *folder.parents):
        if place == home:
            return
        yield place
        if within and ((place / ".git").exists() or not any((above / ".git").exists() for above in place.parents)):
            return


def _read(path: Path) -> str:
    return _decoded(_bytes(path))


def _decoded(held: bytes) -> str:
    return held[:MOST_BYTES].decode(errors="replace")


def _bytes(path: Path) -> bytes:
    """The file, or of a large one a byte more than is read."""
    try:
        if not path.is_file():
            return b""
        with path.open("rb") as file:
            return file.read(MOST_BYTES + 1)
    except OSError:
        return b""
