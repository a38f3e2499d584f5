"""Who asks: what a token may do, and where."""

from dataclasses import dataclass
from typing import Literal, get_args

Permission = Literal["read", "write", "admin"]
PERMISSIONS: tuple[str, ...] = get_args(Permission)

BOOTSTRAP_NAME = "admin"


@dataclass(frozen=True)
class Principal:
    """Who asks. `space_ids` empty: all spaces."""

    name: str
    permissions: frozenset[str]
    space_ids: frozenset[str]
    expires_at: str | None = None
    token_hash: str | None = None
    """Which entry of the registry it is; None for the bootstrap key."""
    bootstrap: bool = False
    rotated: bool = False
    """Whether its holder has another token in its place already: then it manages no tokens."""

    def may_see(self, space_id: str) -> bool:
        """Whether the space is in the token's list."""
        return not self.space_ids or space_id in self.space_ids
