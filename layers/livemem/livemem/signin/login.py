"""A person's way to the outside provider and back. Its secrets follow from one that the person's browser keeps.

So the service stores nothing of it. A sign-in that one person begins does not end in another person's browser. A code
of another sign-in has another verifier and another nonce.
"""

import base64
import hashlib
import hmac
from dataclasses import dataclass

from livemem.access.grant import same


@dataclass(frozen=True)
class Login:
    """`secret`: random, of 256 bits, kept in a cookie and shown to nobody else."""

    secret: str

    @property
    def state(self) -> str:
        """What the provider hands back with the person."""
        return self._derived("state")

    @property
    def nonce(self) -> str:
        """What the provider's token must hold."""
        return self._derived("nonce")

    @property
    def verifier(self) -> str:
        """What proves to the provider that a code comes from where it was asked for (RFC 7636)."""
        return self._derived("verifier")

    @property
    def challenge(self) -> str:
        """What the provider is told of the verifier."""
        return _text(hashlib.sha256(self.verifier.encode()).digest())

    def is_of(self, state: str) -> bool:
        """Whether the person comes back from this way."""
        return same(state, self.state)

    def _derived(self, what: str) -> str:
        return _text(hmac.digest(self.secret.encode(errors="replace"), what.encode(), "sha256"))


def _text(digest: bytes) -> str:
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")
