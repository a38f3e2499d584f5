"""The service that messages go to: found at the first one, started again when it has died."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from live_memory.cli import agent_tokens, config, local_service
from live_memory.cli.agent_tokens import AgentToken
from live_memory.cli.both_spaces import PersonalSpace
from live_memory.cli.config import Settings
from live_memory.cli.exits import LATER, NO_ACCESS, Refused
from live_memory.cli.given_lines import GivenLines
from live_memory.cli.init import record
from live_memory.cli.local_service import LocalService
from live_memory.cli.mcp import repository_space
from live_memory.cli.program import Program
from live_memory.errors import LiveMemoryError

AUTO = "auto"
_TOKEN_SECONDS, _PERSONAL_SECONDS = 10.0, 10.0


@dataclass(frozen=True)
class Upstream:
    """A service, and the space that tools act in."""

    url: str
    token: str = field(repr=False)
    space: str
    agent: str = agent_tokens.NAMELESS
    own: AgentToken | None = field(default=None, repr=False)
    """Makes another token, where the service is that of this machine."""
    notices: tuple[str, ...] = ()
    """What the user should know about the space."""
    personal: str | None = None
    """The personal space beside it."""


class Upstreams:
    """Gives the service to every message. Safe for threads: one of them looks, the others wait for it."""

    def __init__(
        self, program: Program, space: str, folder: Path, start: Callable[..., LocalService] = local_service.start
    ) -> None:
        """`space` is an id that the client's configuration names, or `auto`. `folder` is that of the agent's work."""
        self._program = program
        self._space = space
        self._folder = folder
        self._start = start
        self._lock = threading.Lock()
        self._agent = agent_tokens.NAMELESS
        self._found: Upstream | None = None

    def get(self, agent: str = agent_tokens.NAMELESS) -> Upstream:
        """The service, with its space. That of this machine is started if it is wanted and does not run.

        `agent`: the name that the client gives itself. At the service of this machine its notes bear it. Raises Refused
        if there is none, LiveMemoryError if it does not answer, or does not give the space.
        """
        with self._lock:
            if self._found is None or self._found.agent != agent:
                self._agent = agent
                self._found = self._look()
            return self._found

    def must_start(self) -> bool:
        """Whether it is the service of this machine, and does not run yet."""
        if self._found:
            return False
        settings = self._settings()
        return not (settings.url or settings.token)

    def has_personal(self) -> bool:
        """Whether the folder has a personal space, also while the service of this machine still starts."""
        return bool(self._settings().personal)

    def beside(self, upstream: Upstream) -> PersonalSpace | None:
        """The personal space beside that of the service, until `init` takes it away."""
        if upstream.personal in (None, upstream.space) or self._settings().personal != upstream.personal:
            return None

        def call(name: str, arguments: Mapping[str, Any]) -> Any:
            options = {"timeout": _PERSONAL_SECONDS, "retries": 0}
            service = self._program.connect_quickly(upstream.url, upstream.token, **options)
            try:
                return service.call(name, arguments)
            finally:
                service.close()

        folder = record.state_folder(self._program.environ) / "hooks"
        return PersonalSpace(upstream.personal, call, GivenLines.of(folder, upstream.space))

    def renewed(self, refused: Upstream) -> Upstream | None:
        """The service with another token, after it has refused this one; None if there is no other token."""
        with self._lock:
            if refused.own is None:
                return None
            if self._found and self._found.token == refused.token:
                self._found = replace(refused, token=refused.own.renewed(refused.token))
            return self._found

    def again(self, dead: Upstream) -> Upstream:
        """The service, after there was no connection to `dead`. Raises as `get` does."""
        with self._lock:
            if self._found is dead:
                self._found = None
                self._start_here()
            if self._found is None:
                self._found = self._find()
            return self._found

    def _look(self) -> Upstream:
        settings = self._settings()
        if settings.url or settings.token:
            try:
                return self._find()
            except LiveMemoryError as problem:
                if problem.code != "no_connection":
                    raise
        self._start_here()
        try:
            return self._find()
        except LiveMemoryError as problem:
            if problem.status != 401:
                raise
            raise Refused(
                "The service of this machine was started, and does not know your profile's token: use its own key "
                "(`livemem logout`), or end it (`livemem stop`) and start the service that the token is of.",
                NO_ACCESS,
            ) from None

    def _settings(self) -> Settings:
        given = None if self._space == AUTO else self._space
        environ, profile = self._program.environ, self._program.profile
        return config.settle(environ, profile=profile, folders=[self._folder], given=given, client=self._agent)

    def _find(self) -> Upstream:
        settings = self._settings()
        url, token, own = settings.need_url(), settings.need_token(), None
        with self._program.connect(url, token) as client:
            found = repository_space.of(client, self._program.environ, settings, self._folder, self._agent)
        if settings.is_local_service:
            own = agent_tokens.of_local_service(self._program, settings, self._agent, _TOKEN_SECONDS)
            token = own.get()
        return Upstream(url, token, found.space_id, self._agent, own, found.notices, settings.personal)

    def _start_here(self) -> None:
        start_here(self._program, self._settings(), self._start)


def start_here(program: Program, settings: Settings, start: Callable[..., LocalService] | None = None) -> LocalService:
    """The service of this machine, started unless it runs. Raises Refused if the settings name another one."""
    named = settings.url if settings.sources["url"] in ("environment", "file") else None
    if named and urlsplit(named).hostname not in config.LOOPBACK:
        raise Refused(f"There is no connection to {named}: check the network, or ask its operator.", LATER)
    folder = local_service.data_folder(program.environ)
    choices = local_service.choices_of_agent(folder)
    if named:
        choices = replace(choices, port=str(urlsplit(named).port or 80))
    found = (start or local_service.start)(program.environ, folder, choices)
    if named and urlsplit(named).port != urlsplit(found.url).port:
        raise Refused(
            f"Nothing answers at {named}, which your profile names, and the service of this machine is at "
            f"{found.url}: start the other one, or let all commands use this one (`livemem logout`).",
            LATER,
        )
    return found
