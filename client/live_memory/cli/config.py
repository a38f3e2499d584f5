"""The service's address and the caller's token: options win over the environment, the environment wins over the file.

The file holds tokens, so only its owner may read it. It is written with mode 600 in a folder with mode 700, to a
temporary name first. A file that others may read is refused.
"""

import os
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from live_memory.cli import local_service, own_files
from live_memory.cli.exits import LATER, NO_ACCESS, USAGE, Refused
from live_memory.cli.local_service import LocalService

DEFAULT_PROFILE = "default"
LOOPBACK = {"localhost", "127.0.0.1", "::1"}
LOCAL_URL = "http://127.0.0.1:3000"
"""Where the service of this machine listens by default."""
PROJECT = "project"
"""The origin of a space that `livemem init` gave to the repository on this machine."""
LOCAL_SERVICE = "local service"
"""The origin of settings that nobody gave: those of the service that runs on this machine."""
OTHERS = stat.S_IRWXG | stat.S_IRWXO


@dataclass(frozen=True)
class Profile:
    """One service as the file names it. A value that the file does not give is None."""

    url: str | None = None
    token: str | None = None
    space: str | None = None
    rotation: str | None = None
    """The Idempotency-Key of a rotation of the token that is under way, or whose answer was lost."""

    def __repr__(self) -> str:
        # A traceback or a log shows this: never the token.
        return f"Profile(url={self.url!r}, token={'***' if self.token else None}, space={self.space!r})"


@dataclass(frozen=True)
class Settings:
    """The settings of this call, and the origin of each (`option`, `environment`, `project`, `file`,
    `local service` or None).
    """

    profile: str
    url: str | None
    token: str | None
    space: str | None
    sources: Mapping[str, str | None]
    notice: str | None = None
    """The line for the user where a project's files name a space that does not count (init/project_space.py)."""
    personal: str | None = None
    """The personal space that `livemem init` gave to the folder, where the call names no space of its own."""
    ran_here: bool = False
    """Whether the service of this machine has run, and does not run now."""
    is_recorded: bool = False
    """Whether `init` recorded another service for the repository than the profile has, and that is used here."""

    def __repr__(self) -> str:
        return f"Settings(profile={self.profile!r}, url={self.url!r}, space={self.space!r})"

    @property
    def is_local_service(self) -> bool:
        """Whether nothing names a service, so that it is the one that runs on this machine."""
        return self.sources["url"] == LOCAL_SERVICE

    def need_url(self) -> str:
        """The service's URL; raises Refused."""
        if not self.url:
            code = LATER if self.ran_here else USAGE
            here = "Run `livemem init claude-code` in your project: it starts one and connects the agent. Or"
            if self.ran_here:
                here = "That of this machine does not run: `livemem serve --background`. Or"
            elif not local_service.is_installed():
                here = "None can be started here (docs/install.md):"
            raise Refused(
                f"Which service? {here} log in to another one: `livemem login --url URL` (or LIVEMEM_URL).", code
            )
        return self.url

    def need_token(self) -> str:
        """The token; raises Refused."""
        if not self.token:
            raise Refused("You are not logged in: `livemem login`, or set LIVEMEM_TOKEN.", NO_ACCESS)
        return self.token

    def need_space(self) -> str:
        """The space; raises Refused."""
        if not self.space:
            raise Refused(
                "Which space? Use `-s SPACE`, set LIVEMEM_SPACE, save a default (`livemem login --space SPACE`), or "
                "give this project one (`livemem init`)."
            )
        return self.space


def file_path(environ: Mapping[str, str]) -> Path:
    """The configuration file: LIVEMEM_CONFIG, or `livemem/config.toml` where this system keeps such files."""
    if named := environ.get("LIVEMEM_CONFIG"):
        return Path(named).expanduser()
    # Loading takes some milliseconds. Only a command that needs the file should pay them.
    import platformdirs  # noqa: PLC0415

    return platformdirs.user_config_path("livemem", appauthor=False) / "config.toml"


def read(path: Path) -> dict[str, Profile]:
    """The profiles of the file, none if there is no file. Raises Refused if others may read it, or if it is broken."""
    try:
        with path.open("rb") as file:
            import tomllib  # noqa: PLC0415 - most hooks find no file

            # The open file, not the file that has its name by now.
            if os.name == "posix" and os.fstat(file.fileno()).st_mode & OTHERS:
                raise Refused(f"{path} holds tokens and can be read by others: `chmod 600 {path}`, then try again.")
            found = tomllib.load(file)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise Refused(f"{path} can't be read: {error}. Correct it, or remove it and log in again.") from None
    profiles = found.get("profiles", {})
    if not isinstance(profiles, dict) or not all(isinstance(one, dict) for one in profiles.values()):
        raise Refused(f"{path}: `profiles` must have tables, such as [profiles.default].")
    return {name: _profile(path, name, fields) for name, fields in profiles.items()}


def _profile(path: Path, name: str, fields: Mapping[str, Any]) -> Profile:
    known = {field: fields.get(field) for field in ("url", "token", "space", "rotation")}
    for field, value in known.items():
        if value is not None and not isinstance(value, str):
            raise Refused(f"{path}: {field} of the profile {name} must be a text.")
    return Profile(**known)


def keep(path: Path, name: str, profile: Profile | None) -> None:
    """Write one profile, or remove it (None). The others and all comments stay as they are. Raises Refused."""
    import tomlkit  # noqa: PLC0415 - only who logs in or out writes

    read(path)
    try:
        document = tomlkit.parse(path.read_text("utf-8")) if path.exists() else tomlkit.document()
        profiles = document.setdefault("profiles", tomlkit.table(is_super_table=True))
        profiles.pop(name, None)
        if profile:
            profiles[name] = {field: value for field, value in asdict(profile).items() if value}
        own_files.write(path, tomlkit.dumps(document).encode(), lasting=True)
    except OSError as error:
        raise Refused(f"{path} can't be written: {error.strerror or error}.") from None


def profile_name(environ: Mapping[str, str], said: str | None) -> str:
    """The profile that was named, or the default one."""
    return said or environ.get("LIVEMEM_PROFILE") or DEFAULT_PROFILE


def settle(
    environ: Mapping[str, str],
    *,
    profile: str | None = None,
    space: str | None = None,
    folders: Sequence[Path] = (),
    given: str | None = None,
    look: Callable[[Path], LocalService | None] | None = None,
    client: str = "",
    service: str | None = None,
) -> Settings:
    """The settings of this call. Where nothing names a service, the one that runs on this machine, with its own key.

    What `init` recorded for the `client` in the repository of the first of `folders` counts more than the profile that
    nobody named, and the URL `service` more than the record.

    The space is the one that the user names here, else `given`, else that of the environment, else the one that `init`
    gave to the repository of the first of `folders`, else the profile's. `given` is from a client's configuration,
    which may be a file of the project. So it counts, as the environment does, only if project_space.choose says so.
    `look` finds the service of a data folder, by default `local_service.ready`.

    Raises Refused for a missing profile, a token that would go to another service, or records that differ.
    """
    name = profile_name(environ, profile)
    said = {field: environ.get(f"LIVEMEM_{field.upper()}") or None for field in ("url", "token", "space")}
    # With all of it in the environment (a container, CI) a file is not even looked for.
    needs_file = bool(profile) or not (said["url"] and said["token"] and (space or given or said["space"]))
    stored = read(file_path(environ)).get(name) if needs_file else Profile()
    if stored is None:
        if profile or environ.get("LIVEMEM_PROFILE"):
            raise Refused(f"There is no profile {name}: `livemem --profile {name} login`.")
        stored = Profile()
    login = stored
    if folders and (stored.url or stored.token) and not (profile or environ.get("LIVEMEM_PROFILE") or said["url"]):
        stored = stored if said["token"] else _recorded(environ, folders[0], stored, client, service)
    if said["url"] and not said["token"] and stored.token and check_url(said["url"]) != stored.url:
        # A URL from the environment must not get the token that is stored for another service.
        raise Refused("LIVEMEM_URL names another service than the stored token belongs to: set LIVEMEM_TOKEN too.")
    values = {field: value or getattr(stored, field) for field, value in said.items()}
    sources = {field: "environment" if said[field] else "file" if values[field] else None for field in said}
    notice = None
    if space:
        values["space"], sources["space"] = space, "option"
    elif folders:
        values["space"], sources["space"], notice = _chosen(environ, folders, given, stored.space)
    ran_here = False
    if not values["url"] and not values["token"]:
        folder = local_service.data_folder(environ)
        here, ran_here = (look or local_service.ready)(folder), (folder / local_service.LOCK).exists()
        if here and here.token:
            values |= {"url": here.url, "token": here.token}
            sources |= dict.fromkeys(("url", "token"), LOCAL_SERVICE)
    url = check_url(values["url"]) if values["url"] else None
    personal = None
    if folders and not space and sources["space"] != "environment":
        is_local = sources["url"] == LOCAL_SERVICE or not (url or values["token"])
        personal = _personal(environ, folders[0], address_of(environ, url, is_local=is_local))
    personal = personal if personal != values["space"] else None
    return Settings(
        name, url, values["token"], values["space"], sources, notice, personal, ran_here and not url, stored != login
    )


def _recorded(environ: Mapping[str, str], folder: Path, login: Profile, client: str, service: str | None) -> Profile:
    """The profile for a folder: none where `init` gave it the service of this machine, and with another service the one
    that has its token. Else the login.
    """
    from live_memory.cli.init.accepted import Accepted  # noqa: PLC0415 - as in _chosen

    service = service or Accepted(environ).service(folder, login.url, client)
    if not service:
        return login
    if service == address_of(environ, None, is_local=True):
        return Profile()
    found = (one for one in read(file_path(environ)).values() if one.url == service and one.token)
    return next(found, login)


def address_of(environ: Mapping[str, str], url: str | None, *, is_local: bool) -> str | None:
    """The name of a service in records: its URL, or the data folder of that of this machine, whose port changes. A
    project may name another data folder, where its own files would say that a service runs anywhere.
    """
    return str(local_service.data_folder(environ)) if is_local else url


def _personal(environ: Mapping[str, str], folder: Path, service: str | None) -> str | None:
    from live_memory.cli.init.accepted import Accepted  # noqa: PLC0415 - as in _chosen

    return Accepted(environ).personal(folder, service) if service else None


def _chosen(
    environ: Mapping[str, str], folders: Sequence[Path], given: str | None, stored: str | None
) -> tuple[str | None, str | None, str | None]:
    """The space of a folder, its origin, and a line for the user."""
    from live_memory.cli.init import project_space  # noqa: PLC0415 - not where the space is named

    choice = project_space.choose(environ, folders, given)
    if choice.is_accepted:
        return choice.space, PROJECT, choice.notice
    if choice.space:
        return choice.space, "option" if choice.space == given else "environment", choice.notice
    return stored, "file" if stored else None, choice.notice


def check_url(url: str) -> str:
    """The URL without what the client adds itself (`/v1`, a slash at the end). Raises Refused."""
    try:
        parts = urlsplit(url.strip())
        host, _ = parts.hostname, parts.port
    except ValueError:
        host, parts = None, urlsplit("")
    if "://" not in url:
        raise Refused(f"The URL has no scheme: add http:// for this machine ({LOCAL_URL}), https:// for another.")
    if parts.scheme not in {"http", "https"} or not host:
        raise Refused("The URL must look like https://memory.example.org.")
    if parts.username is not None or parts.query or parts.fragment:
        raise Refused("The URL must not have a user name, a password, or anything after `?` or `#`.")
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/').removesuffix('/v1').rstrip('/')}"


def is_open(url: str) -> bool:
    """Whether others on the network can read requests to this URL, and their token."""
    parts = urlsplit(url)
    return parts.scheme == "http" and parts.hostname not in LOOPBACK


def changed(profile: Profile, **fields: str | None) -> Profile:
    """The profile with those of the fields that are not None."""
    return replace(profile, **{name: value for name, value in fields.items() if value is not None})
