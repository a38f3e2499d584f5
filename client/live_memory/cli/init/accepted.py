"""The spaces that `init` gave to a repository on this machine, below the user's own state folder.

A project's files are written by everybody who may write to the project, and name any space. They count only for a space
that stands here. All clones and work trees of a repository share what stands here, wherever they are.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from live_memory.cli import agent_tokens, own_files
from live_memory.cli.exits import Refused
from live_memory.cli.init import files, record
from live_memory.cli.repository import Repository
from live_memory.cli.repository import of as of_folder

FOLDER, PERSONAL = "spaces", "personal"
CONVERSATIONS = "conversations"
"""Stands where a client does, if conversations of the folder show that it had the space before this list was kept."""
MOST = 1_000
DIFFERENT = (
    "The clients of this repository use different services: name one by `--profile NAME`, or by LIVEMEM_URL and "
    "LIVEMEM_TOKEN (for `livemem init`, by `--url`)."
)


@dataclass(frozen=True)
class Accepted:
    """The list of a user's machine."""

    environ: Mapping[str, str]

    @property
    def folder(self) -> Path:
        """The folder of the list."""
        return record.state_folder(self.environ) / FOLDER

    def of(self, repository: Repository) -> list[Mapping[str, str]]:
        """The spaces by client, of the folder and of those above it in its repository. The nearest folder is first.

        Empty where the state folder is in the repository: then its files would confirm themselves.
        """
        if self._is_in(repository.top):
            return []
        places = (self._read(_name(repository.identity, place)) for place in repository.places)
        return [spaces for spaces in places if spaces]

    def _is_in(self, top: Path) -> bool:
        return self.folder.resolve().is_relative_to(top) and not Path.home().resolve().is_relative_to(top)

    def of_user(self) -> Mapping[str, str]:
        """The spaces of the user's own files (`--scope user`), which hold in all projects."""
        return self._read(_name())

    def service(self, folder: Path, login: str | None, client: str = "") -> str | None:
        """The service that `init` recorded for a client in the repository of a folder, as config.address_of names it,
        else the one that other clients have there. None: none, or that of the `login`. Raises Refused if these differ.

        `client`: also as it names itself over MCP, such as `Visual Studio Code`.
        """
        if all(one.get("service") in (None, login) for one in self._documents("*.json")):
            return None
        here = of_folder(folder)
        places = () if self._is_in(here.top) else here.places
        found = [list(self._documents(f"{_name(here.identity, place)}-*.json")) for place in places]
        services = [
            {str(one.get("client")): str(one["service"]) for one in each if one.get("service")} for each in found
        ]
        client = agent_tokens.agent_name(client)
        own = (each[name] for each in services for name in each if client.startswith(name))
        others = next(filter(None, services), {}).values()
        if not (service := next(own, None)) and len(set(others)) > 1:
            raise Refused(DIFFERENT)
        return service or next(iter(others), None)

    def keep(
        self, repository: Repository | None, client: str, space_id: str | None, service: str | None = None
    ) -> bool:
        """Enter the space of a client, and its service if it is known, or take it away (None). `repository` None: that
        of the user's own files.

        Each client has a file, so that two writers never share one. Returns whether the space is another one. Raises
        Refused.
        """
        name = _name(repository.identity, repository.places[0]) if repository else _name()
        is_new = self._read(name).get(client) != space_id
        path = self.folder / f"{name}-{client}.json"
        if space_id and (is_new or service):
            told = {"client": client, "space": space_id, "service": service}
            self._write(path, {"repository": repository and repository.identity, **told})
        elif is_new:
            files.remove(path)
        return is_new

    def personal(self, folder: Path, service: str) -> str | None:
        """The personal space that a folder has at a service: that of the nearest record, also of one that says no.
        None if it has none, or its record can't be read.
        """
        if not any(self.folder.glob(f"{PERSONAL}-*.json")):
            return None
        here = of_folder(folder)
        names = [] if self._is_in(here.top) else self.personal_names(here)
        nearest = next((name for name in names if (self.folder.parent / name).exists()), "")
        found = next(self._documents(Path(nearest).name), {}) if nearest else {}
        named = found.get("space")
        return named if named and isinstance(named, str) and found.get("service") == service else None

    @staticmethod
    def personal_name(repository: Repository | None) -> str:
        """The file with the personal space of a repository's folder, in the state folder. None: of all projects."""
        place = (repository.identity, repository.places[0]) if repository else ()
        return f"{FOLDER}/{PERSONAL}-{_name(*place)}.json"

    @classmethod
    def personal_names(cls, repository: Repository | None) -> list[str]:
        """The same of a folder, of those above it, and of all projects."""
        places = [replace(repository, inner=Path(place)) for place in repository.places] if repository else []
        return [cls.personal_name(one) for one in (*places, None)]

    def is_empty(self) -> bool:
        """Whether nothing stands in the list: then nobody need ask git."""
        return not self.folder.is_dir()

    def tell_once(self, service: str, space_id: str, repository: str, holder: str) -> str | None:
        """The other repository that uses the space of a service, if the user does not know that yet.

        `holder`: what the space is the memory of. Both repositories get an answer once, on the machine where they meet.
        """
        path = self.folder / f"shared-{_name(service, space_id, repository)}.json"
        others = [
            str(one.get("repository"))
            for one in self._documents("shared-*.json")
            if (one.get("service"), one.get("space")) == (service, space_id) and one.get("repository") != repository
        ]
        other = holder if holder != repository else next(iter(others), None)
        if not other or path.exists():
            return None
        with suppress(Refused, OSError):
            self._write(path, {"service": service, "space": space_id, "repository": repository})
        return other

    def _read(self, name: str) -> dict[str, str]:
        return {
            str(one.get("client")): str(one["space"]) for one in self._documents(f"{name}-*.json") if "space" in one
        }

    def _documents(self, pattern: str) -> Iterator[Mapping[str, object]]:
        for path in sorted(self.folder.glob(pattern))[:MOST]:
            with suppress(OSError, ValueError):
                document = json.loads(path.read_text("utf-8"))
                if isinstance(document, dict):
                    yield document

    def _write(self, path: Path, document: Mapping[str, object]) -> None:
        own_files.make_folder(self.folder)
        text = json.dumps(document, ensure_ascii=False)
        files.write(path, text + "\n", own_files.OWNER_ONLY)


def _name(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode(errors="surrogateescape")).hexdigest()[:32]
