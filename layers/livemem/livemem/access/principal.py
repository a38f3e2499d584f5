"""The principal of a request: what its token may do, and in which spaces."""

from dataclasses import dataclass
from typing import Literal, get_args

Permission = Literal["read", "write", "admin"]
PERMISSIONS: tuple[str, ...] = get_args(Permission)

BOOTSTRAP_NAME = "admin"


@dataclass(frozen=True)
class Principal:
    """The sender of a request. `space_ids` empty: all spaces."""

    name: str
    permissions: frozenset[str]
    space_ids: frozenset[str]
    expires_at: str | None = None
    token_hash: str | None = None
    """The hash of its entry in the registry; None for the bootstrap key."""
    bootstrap: bool = False
    rotated: bool = False
    """Whether its holder already has another token in its place. Then this one manages no tokens."""

    connection: str | None = None
    """The id of the grant by which a client acts for the token's holder (sign-in)."""
    of_grant: frozenset[str] = frozenset()
    """The spaces that the holder has chosen for that client. Empty: all of the token."""

    def may_see(self, space_id: str) -> bool:
        """Whether the space is in the token's list."""
        return not self.space_ids or space_id in self.space_ids
