"""A token that replaces itself: the holder gets a new one, and the old one still works for a while."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from livemem import clock, limits
from livemem.access import lineage, secret, tokens
from livemem.access.principal import Principal
from livemem.access.registry import Registry, Token
from livemem.errors import Conflict, InvalidRequest, Unauthenticated
from livemem.process import Process

GRACE_DEFAULT = 3_600
"""Seconds, in which other users of the same token can get the new one."""


@dataclass(frozen=True)
class Rotated:
    """The new token, and when the old one ends."""

    made: tokens.CreatedToken
    old_expires_at: str


def rotate(
    process: Process,
    principal: Principal,
    text: str,
    *,
    grace: int = GRACE_DEFAULT,
    key: str | None = None,
    began: datetime | None = None,
) -> Rotated:
    """Replace the principal's own token by `text` (secret.new), with the same name, rights and end: 1 GET, 1 PUT.

    The old one works for `grace` seconds more. A token is rotated once. If the answer was lost, the caller repeats the
    request with the same `key` (Idempotency-Key): it makes another new token and revokes the unseen one. The repeat is
    allowed for ten minutes even if the old one has ended (decision.REPEAT_SECONDS). A try that was slower than its own
    repeat replaces nothing: the last request wins. `began`: when this one came, now by default. The new token becomes
    the maker of what the old one made. Raises InvalidRequest, Conflict, and the errors of `tokens.change`.
    """
    if not 0 <= grace <= limits.GRACE_SECONDS:
        raise InvalidRequest.of("grace_seconds", f"must be from 0 to {limits.GRACE_SECONDS}")
    if key is not None and not 1 <= len(key) <= limits.IDEMPOTENCY_KEY_CHARACTERS:
        raise InvalidRequest.of("Idempotency-Key", f"must have 1 to {limits.IDEMPOTENCY_KEY_CHARACTERS} characters")
    if principal.token_hash is None:
        raise Conflict("The bootstrap key can't be rotated. Replace it in the deployment of the service.")
    rotation = secret.rotation_digest(key) if key is not None else None
    now, new = began or process.clock(), secret.digest(text.encode())
    ids: list[str | None] = []

    def apply(registry: Registry) -> Registry:
        entries = {entry.hash: entry for entry in registry.tokens}
        own = entries.get(str(principal.token_hash))
        if not own:
            raise Unauthenticated("The token is not known.")
        if own.replaced_by == new:
            return registry
        ids.append(own.replaced_by)
        lost = _lost(entries, own, rotation)
        if lost and _is_newer(lost, now, was_seen=lost.hash == ids[0]):
            raise Conflict(
                "A repeat of this rotation was faster, and its answer has the new token. If you do not have that "
                "answer, send the request again with the same Idempotency-Key."
            )
        fresh = (lost or own).model_copy(update={"hash": new, "created_at": clock.iso_millis(now), "replaced_by": None})
        _check_lives(fresh, now)
        if lost:
            entries[lost.hash] = lost.model_copy(update={"revoked": True})
        end = _end(own, now + timedelta(seconds=grace))
        entries[own.hash] = own.model_copy(
            update={
                "expires_at": end,
                "replaced_by": new,
                "rotation": rotation,
                "rotated_at": own.rotated_at or clock.iso(now),
            }
        )
        heirs = lineage.handed_over(entries.values(), [own.hash, *([lost.hash] if lost else [])], new)
        return tokens.entered(registry.model_copy(update={"tokens": heirs}), fresh)

    registry = tokens.change(process, principal, apply, manages=False, rotation=rotation)
    entries = {entry.hash: entry for entry in registry.tokens}
    return Rotated(tokens.CreatedToken(text, entries[new]), str(entries[principal.token_hash].expires_at))


def _lost(entries: Mapping[str, Token], own: Token, rotation: str | None) -> Token | None:
    """The token that an earlier try of this rotation made, None without one. Raises Conflict after another rotation."""
    if not own.replaced_by:
        return None
    lost = entries.get(own.replaced_by)
    if rotation is None or own.rotation != rotation or not lost or lost.revoked or lost.replaced_by:
        raise Conflict(
            f"The token was rotated already, and ends at {own.expires_at}. Only a repeat with the same "
            "Idempotency-Key makes another new token. If you have lost the new token, ask an admin for one."
        )
    return lost


def _is_newer(lost: Token, began: datetime, *, was_seen: bool) -> bool:
    """Whether the token of another try is that of a later request than this one, which began then. Within a millisecond
    it is, unless the first look of this one saw it.
    """
    made, own = (
        clock.parse(moment) for moment in (lost.created_at or clock.iso_millis(began), clock.iso_millis(began))
    )
    return made > own or (made == own and not was_seen)


def _check_lives(fresh: Token, now: datetime) -> None:
    """Raise Unauthenticated if the new token would be useless, because the old one's own expiry has passed."""
    if fresh.expires_at and clock.parse(fresh.expires_at) <= now:
        raise Unauthenticated("The token has expired.")


def _end(own: Token, moment: datetime) -> str:
    """When the old token ends. Neither a repeat nor a longer grace moves its own end to a later time."""
    if own.expires_at and clock.parse(own.expires_at) < moment:
        return own.expires_at
    return clock.iso(moment)
