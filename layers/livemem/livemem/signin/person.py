"""A person whom the outside provider names: with which tokens of the service may they sign in?

The registry of tokens stays the only table. The verified e-mail address of a person leads to the tokens with this
address. Another claim, such as groups, leads to the tokens whose name is one of its values.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from livemem.access import decision
from livemem.access import registry as registries
from livemem.access.principal import Principal
from livemem.access.registry import Token
from livemem.errors import RegistryUnreadable, Unauthenticated
from livemem.process import Process
from livemem.signin import consent
from livemem.signin.consent import AuthorizationRequest
from livemem.text.invisible import visible

MOST_TOKENS = 20
"""Tokens among which a person can choose."""
MOST_VALUES = 200
MOST_CALLED = 200
EMAIL = "email"


@dataclass(frozen=True)
class Shown:
    """A token with which the person may sign in, and the ticket that stands for it."""

    principal: Principal
    ticket: str


def show_person(
    process: Process,
    request: AuthorizationRequest,
    nonce: str,
    claims: Mapping[str, Any],
    new_ticket: Callable[[], str],
) -> list[Shown]:
    """Note that a person whom the provider names wants to allow the request: 1 PUT for each of their tokens, and the
    registry. Empty: no such token has a right that is asked for.

    Raises RegistryUnreadable, StoreUnavailable.
    """
    choices: list[Shown] = []
    for principal in _principals(process, claims):
        if principal.permissions & set(request.scope) and len(choices) < MOST_TOKENS:
            ticket = new_ticket()
            consent.note_shown(process, request, nonce, principal, ticket)
            choices.append(Shown(principal, ticket))
    return choices


def called(process: Process, claims: Mapping[str, Any]) -> str:
    """How the person is called on a page: the value by which tokens are looked up."""
    value = claims.get(process.settings.oidc_claim)
    return visible(", ".join(_values(value)) or str(claims.get("sub", "")))[:MOST_CALLED]


def _principals(process: Process, claims: Mapping[str, Any]) -> list[Principal]:
    """The valid tokens of the person, each as what it may do now."""
    claim = process.settings.oidc_claim
    values = _values(claims.get(claim))
    if claim == EMAIL and claims.get("email_verified") not in (True, "true"):
        # Else anybody could enter the address of another person with the provider.
        return []
    principals = []
    # A token that was made just now counts: its holder comes from the provider, and has no second try at once.
    for entry in registries.registry(process, fresh=True).tokens:
        if _is_of(entry, values, by_email=claim == EMAIL):
            try:
                principal = decision.principal_of(entry, process.clock())
            except (Unauthenticated, RegistryUnreadable):
                continue
            if not principal.rotated:
                principals.append(principal)
    return principals


def _values(claim: object) -> list[str]:
    items: Sequence[object] = claim if isinstance(claim, list) else [claim]
    return [item for item in items[:MOST_VALUES] if isinstance(item, str) and item]


def _is_of(entry: Token, values: Sequence[str], *, by_email: bool) -> bool:
    if not by_email:
        return entry.name in values
    return any(_same_address(entry.email or "", value) for value in values)


def _same_address(address: str, other: str) -> bool:
    # Only of ASCII is the case of a letter certain: others become an ASCII letter in lower case.
    if address.isascii() and other.isascii():
        return address.lower() == other.lower() != ""
    return address == other
