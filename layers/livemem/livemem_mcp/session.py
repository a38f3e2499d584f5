"""The context of one request: its sender, the toolset and the space of its URL, and the parts of this process."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from livemem.access import decision
from livemem.access.principal import Permission, Principal
from livemem.errors import InvalidRequest, LiveMemoryError
from livemem.process import Process
from livemem.store import keys
from livemem.text.code_version import UNKNOWN, CodeVersion
from livemem.text.language import Lang
from livemem_http import negotiation

SPACES = 20
"""Spaces of the token that an error names."""
Toolset = Literal["core", "read", "full"]
TOOLSETS: tuple[Toolset, ...] = ("core", "read", "full")
"""`core`: the tools that an agent needs all day. `read`: all that only read. `full`: all."""

Needs = Permission | Literal["any"]
"""The permission that a tool asks of the token, or `any` where every valid token will do."""

Invoke = Callable[[str, Mapping[str, Any]], Mapping[str, Any]]
"""Invokes a function (`reads`, `archives`) with an HTTP API event, and gives its answer; raises StoreUnavailable."""


@dataclass(frozen=True)
class McpSession:
    """One request, whose id stands in the logs of all functions that work for it. A call that names no space acts in
    `space`. The answer must be there by `until`. `structured` says whether answers of tools come as JSON too.
    `accept_language` is the request's header of that name, `code` the version of the code that its agent works on.
    """

    request_id: str
    process: Process
    authorization: str
    principal: Principal
    toolset: Toolset
    space: str | None
    until: datetime
    invoke: Invoke
    pause: Callable[[float], None] = time.sleep
    structured: bool = True
    accept_language: str = ""
    code: CodeVersion = UNKNOWN
    ended: list[LiveMemoryError] = field(default_factory=list)
    """Errors of a token that ended during the request. They become the status of the answer."""

    def may(self, needs: Needs) -> bool:
        """Whether the token has the permission."""
        return needs == "any" or needs in self.principal.permissions

    def language(self, lang: Lang | None) -> Lang | None:
        """The language of headings that the call names, else the request. None: that of the space, else English."""
        return lang or negotiation.language(self.accept_language)

    def enter(self, needs: Permission, space_id: str | None) -> str:
        """The id of the space in which a call acts, once access to it is granted.

        The one access decision of all routes is made again, for this permission and this space. Raises InvalidRequest,
        Unauthenticated, Forbidden, InvalidName.
        """
        chosen = space_id or self.space
        if chosen is None:
            known = ", ".join(sorted(self.principal.space_ids)[:SPACES])
            spaces = f"one of {known}" if known else "the tool list_spaces (toolset read or full) shows them"
            raise InvalidRequest.of("space_id", f"name the space: {spaces}")
        decision.authorise(self.process, self.authorization, needs=needs, space_id=chosen, grants=True)
        return keys.check_space_id(chosen)

    def enter_any(self, needs: Permission) -> Principal:
        """The caller of a call in several spaces, once the permission is granted. Access to each space is checked where
        they are named. Raises Unauthenticated, Forbidden.
        """
        return decision.authorise(self.process, self.authorization, needs=needs, space_id=None, grants=True)


def default_space(principal: Principal, named: str | None) -> str | None:
    """The space of calls that name none: that of the URL, else the only one of the token, else none."""
    if named:
        return keys.check_space_id(named)
    return next(iter(principal.space_ids)) if len(principal.space_ids) == 1 else None
