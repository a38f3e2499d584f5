"""The space of a repository at a service: one for each, made when it is first needed.

A space says which repository it is the memory of (`repository`). The first one to come sets it, by compare-and-swap.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from live_memory._redaction import identifier
from live_memory.cli import repository
from live_memory.cli.config import PROJECT, Settings
from live_memory.cli.exits import NO_ACCESS, Refused
from live_memory.cli.init.accepted import CONVERSATIONS, Accepted
from live_memory.cli.init.hooks import sending
from live_memory.cli.init.hooks.events import EVENTS
from live_memory.cli.repository import Repository
from live_memory.errors import LiveMemoryError

_SHOWN_CHARS = 120
_REFUSED, _NOT_FOUND, _CONFLICT, _INVALID = 403, 404, 409, 422


class Service(Protocol):
    """The part of a client of the service that is used here."""

    def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Carry out an operation."""


@dataclass(frozen=True)
class Settled:
    """A space, and the lines for the user, if there is something to know about it."""

    space_id: str
    notices: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Former:
    space_id: str
    is_ours: bool


@dataclass(frozen=True)
class RepositorySpace:
    """The space of a repository at a service. `url` names the service in the user's records. Empty: this machine's.

    `folder` is the one in which an agent works, `client` is what commands for the user name.
    """

    service: Service
    here: Repository
    folder: Path
    accepted: Accepted
    url: str = ""
    client: str = "CLIENT"

    def own(self, *, make: bool = True) -> Settled:
        """The space of its own, where nothing gave the repository another one. It is made unless it is there.

        1 request, up to 5 at the first use. `make` False: nothing is changed. Raises Refused, LiveMemoryError.
        """
        first = self.here.space_ids[0]
        other = ""
        for space_id in dict.fromkeys(self.here.space_ids):
            found = _get(self.service, space_id)
            hints: tuple[str, ...] = ()
            if found is None and self.here.former not in self.here.space_ids:
                former = self._former()
                if former and former.is_ours:
                    return self._kept(former.space_id) if make else Settled(former.space_id)
                if former:
                    hints = (f"If {former.space_id} is the space of this repository: {self._init(former.space_id)}.",)
            if found is not None and not found.get("repository") and self._is_of_another_folder(space_id):
                other = "another folder"
                continue
            holder = _holder(self.service, space_id, self.here.identity, found, make=make)
            if holder == self.here.identity:
                if other:
                    hints = (f"The space {first} is that of {other}, so this one has the space {space_id}.",)
                return Settled(space_id, hints)
            other = _shown(holder)
        raise Refused(
            f"The spaces {' and '.join(self.here.space_ids)} are those of other repositories. Name one: {self._init()}."
        )

    def given(self, space_id: str) -> Settled:
        """A space that was given to this repository: made unless it is there. 1 request, 2 at the first use.

        It may be that of another repository too. Then both are told once. Raises Refused, LiveMemoryError.
        """
        ours = self.here.identity
        holder = _holder(self.service, space_id, ours, _get(self.service, space_id))
        if holder != ours and holder == repository.without_remote(self.here):
            return Settled(space_id)
        other = self.accepted.tell_once(self.url, space_id, ours, holder) if self.here.is_versioned else None
        if not other:
            return Settled(space_id)
        both = f"The space {space_id} is the memory of two repositories, {_shown(ours)} and {_shown(other)}"
        way = f"To give this one its own: {self._init(self.here.space_ids[0])}"
        return Settled(space_id, (f"{both}: each sees what is said in the other. {way}.",))

    def _kept(self, space_id: str) -> Settled:
        with suppress(Refused, OSError):
            self.accepted.keep(replace(self.here, inner=Path()), CONVERSATIONS, space_id)
        return self.given(space_id)

    def _former(self) -> _Former | None:
        """The space that an earlier version, or the repository without a remote, would have had, if it is there.

        It is ours if the space or its conversations say so. None also if it is that of another repository.
        """
        space_id = self.here.former
        found = _get(self.service, space_id)
        if found is None:
            return None
        holder = found.get("repository")
        if holder == repository.without_remote(self.here) or self._has_conversations(space_id, here=True):
            return _Former(space_id, is_ours=True)
        return None if holder else _Former(space_id, is_ours=False)

    def _is_of_another_folder(self, space_id: str) -> bool:
        """Whether a space without a repository has conversations, and none of this folder, which has no remote."""
        if self.here.identity != repository.without_remote(self.here):
            return False
        return self._has_conversations(space_id) and not self._has_conversations(space_id, here=True)

    def _has_conversations(self, space_id: str, *, here: bool = False) -> bool:
        folders = dict.fromkeys((str(self.folder), str(self.here.top)))
        places = [{"host": sending.host(), "cwd": identifier(folder)} for folder in folders] if here else [{}]
        wanted = ({"space_id": space_id, "limit": 1, **place} for place in places)
        return any(self.service.call("list_conversations", one)["items"] for one in wanted)

    def _init(self, space_id: str = "NAME") -> str:
        return f"`livemem init {self.client} --space {space_id}`"


def name_of(folder: Path) -> str:
    """The id that the own space of a folder's repository has, unless another repository came first."""
    return repository.of(folder).space_ids[0]


def of(
    service: Service, environ: Mapping[str, str], settings: Settings, folder: Path, client: str, *, make: bool = True
) -> Settled:
    """The space of the settings, else the own one of the folder's repository, with all lines for the user.

    `client`: its name, for the commands in them. Raises Refused, LiveMemoryError.
    """
    if settings.space and settings.sources["space"] != PROJECT:
        if make:
            ensure(service, settings.space)
        found = Settled(settings.space)
    else:
        url = "" if settings.is_local_service else settings.need_url()
        client = client if client in EVENTS else "CLIENT"
        spaces = RepositorySpace(service, repository.of(folder), folder, Accepted(environ), url, client)
        found = spaces.given(settings.space) if settings.space else spaces.own(make=make)
    return Settled(found.space_id, (*((settings.notice,) if settings.notice else ()), *found.notices))


def ensure(service: Service, space_id: str) -> None:
    """Make the space unless it is there. 1 or 2 requests. Raises Refused if the token may not, LiveMemoryError."""
    _holder(service, space_id, "", _get(service, space_id))


def ensure_personal(service: Service, space_id: str) -> None:
    """Make a personal space unless it is there: 2 or 3 requests. Raises Refused if it is a repository's, or the token
    may not read and write it.
    """
    found = _get(service, space_id)
    if found and (holder := found.get("repository")):
        raise Refused(f"The space {space_id} is the memory of {_shown(str(holder))}: choose another name.")
    needs = f"Your own space needs a token with `read` and `write` in {space_id}: `livemem login`"
    try:
        _holder(service, space_id, "", found)
    except Refused as refused:
        raise Refused(f"{refused} {needs}.", NO_ACCESS) from None
    if found and "write" not in service.call("get_whoami", {})["permissions"]:
        raise Refused(f"Your token only reads. {needs}.", NO_ACCESS)


def _get(service: Service, space_id: str) -> Mapping[str, Any] | None:
    """The space; None: it is not there, or the token may not see it (the answer is the same for both)."""
    try:
        found: Mapping[str, Any] = service.call("get_space", {"space_id": space_id})
    except LiveMemoryError as problem:
        if problem.status not in (_REFUSED, _NOT_FOUND):
            raise
        return None
    return found


def _holder(
    service: Service, space_id: str, identity: str, found: Mapping[str, Any] | None, *, make: bool = True
) -> str:
    """What the space is the memory of: `identity`, if it is new or nothing else was first. Raises Refused."""
    if not make and found is None:
        return identity
    named = {"repository": identity} if identity else {}
    if found is None:
        try:
            service.call("create_space", {"space_id": space_id, "description": f"The memory of {space_id}.", **named})
        except LiveMemoryError as problem:
            if problem.status == _REFUSED:
                raise Refused(_no_access(service, space_id), NO_ACCESS) from None
            if problem.code != "space_exists":
                raise
            # Another agent was faster.
            found = service.call("get_space", {"space_id": space_id})
        else:
            return identity
    if make and identity and not found.get("repository"):
        try:
            found = service.call("patch_space", {"space_id": space_id, **named})
        except LiveMemoryError as problem:
            if problem.status not in (_REFUSED, _NOT_FOUND, _CONFLICT, _INVALID):
                raise
            # A token that only reads, a faster repository, or a service of an earlier version.
            found = service.call("get_space", {"space_id": space_id}) if problem.status == _CONFLICT else found
    return str(found.get("repository") or identity)


def _shown(name: str) -> str:
    """The name of a repository in a line that a model may read: anybody who writes to a space can have set it."""
    return re.sub(r"[^\w./:#@\[\]+~-]", "?", name)[:_SHOWN_CHARS]


def _no_access(service: Service, space_id: str) -> str:
    """Why the token has no such space, and what to do."""
    try:
        who = service.call("get_whoami", {})
    except LiveMemoryError:
        who = {}
    name, spaces = who.get("name") or "", who.get("space_ids") or []
    other = "|".join(spaces[:5]) or "NAME"
    if "write" in who.get("permissions", ["write"]):
        reason = f"The space {space_id} is there, and your token {name} may not use it"
    else:
        reason = f"There is no space {space_id} that your token {name} may use, and without `write` it can't make one"
    return f"{reason}. Ask an admin for it, or name a space that it may use (livemem mcp --space {other})."
