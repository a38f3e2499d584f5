"""Health: whether the parts answer and, for those who may see it, which spaces need a look."""

from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Literal

from livemem import access, lease, llm, spaces, sweep
from livemem.access import Principal
from livemem.errors import LiveMemoryError, NotConfigured, StoreUnavailable
from livemem.settings import Settings
from livemem.store import Store, has_conditional_writes

SPACES_LOOKED_AT = 200
"""Spaces that one health request looks into (3 requests each); the sweep and its alarms cover all of them."""

PAUSED = "auto_paused"

Status = Literal["ok", "degraded", "error"]


@dataclass(frozen=True)
class Problem:
    """Why a space needs a look."""

    space_id: str
    code: str
    detail: str


@dataclass(frozen=True)
class Health:
    """`checks` by name; `oldest_pending_note_seconds` and `llm_detail` among them with a token only."""

    status: Status
    checks: dict[str, str | float | None]
    problems: list[Problem] = field(default_factory=list)


def not_configured(code: str, refusal: NotConfigured) -> Health:
    """What anybody may know of a service that refuses to work with its settings: names and problems, no values."""
    return Health("error", {"configuration": code, "configuration_detail": refusal.detail})


def shallow(store: Store, settings: Settings) -> Health:
    """What anybody may know: whether the service is set up and its store answers."""
    try:
        access.check_configuration(settings)
    except NotConfigured as refusal:
        return not_configured("bootstrap_key_refused", refusal)
    checks: dict[str, str | float | None] = {**_store_checks(store), "llm": _llm_name(settings)}
    return Health(_worst(checks), checks)


def deep(store: Store, settings: Settings, principal: Principal, now: datetime) -> Health:
    """The same, with the LLM's answer and the state of each space that the principal may see."""
    checks: dict[str, str | float | None] = {**_store_checks(store), "llm": _llm_name(settings)}
    if settings.llmaas_api_url:
        checks |= _look_at_llm(settings)
    problems: list[Problem] = []
    oldest = 0.0
    if checks["store"] == "ok":
        visible = islice((space for space in spaces.ids(store) if principal.may_see(space)), SPACES_LOOKED_AT)
        for age, found in store.map(lambda space_id: _look(store, settings, space_id, now), visible):
            oldest = max(oldest, age)
            problems.extend(found)
    checks["oldest_pending_note_seconds"] = round(oldest, 1)
    checks["llm_model"] = settings.llmaas_model
    status = _worst(checks)
    # A pause is somebody's decision: it is shown, but nothing is wrong.
    wrong = any(problem.code != PAUSED for problem in problems)
    return Health("degraded" if status == "ok" and wrong else status, checks, problems)


def _store_checks(store: Store) -> dict[str, str | float | None]:
    try:
        next(iter(spaces.ids(store)), None)
        supported = has_conditional_writes(store)
    except StoreUnavailable:
        return {"store": "unreachable", "conditional_writes": "unknown"}
    return {"store": "ok", "conditional_writes": "ok" if supported else "unsupported"}


def _llm_name(settings: Settings) -> str:
    if not settings.llmaas_api_url:
        return "not_configured"
    return "offline" if settings.llmaas_model == "offline-rules" else "ok"


def _look_at_llm(settings: Settings) -> dict[str, str | float | None]:
    seen = llm.look(settings)
    status = _llm_name(settings) if seen.status == "ok" else seen.status
    return {"llm": status, "llm_detail": seen.detail} if seen.detail else {"llm": status}


def _worst(checks: dict[str, str | float | None]) -> Status:
    if checks["store"] != "ok":
        return "error"
    bad = checks["conditional_writes"] != "ok" or checks["llm"] not in ("ok", "offline")
    return "degraded" if bad else "ok"


def _look(store: Store, settings: Settings, space_id: str, now: datetime) -> tuple[float, list[Problem]]:
    try:
        head = spaces.find(store, space_id)
        if not head:
            return 0.0, []
        seen = lease.look(store, space_id)
        age = sweep.oldest_pending_seconds(store, head, now)
    except LiveMemoryError as error:
        return 0.0, [Problem(space_id, error.code, "The space can't be looked at.")]
    problems: list[Problem] = []
    held = seen[0] if seen else None
    if held and held.failures:
        problems.append(
            Problem(space_id, "last_run_failed", f"The last consolidation failed: {held.error}. Its notes are live.")
        )
    if held and not held.live(now) and held.kind != "backoff":
        problems.append(Problem(space_id, "run_died", "A run died; the sweep clears up after it."))
    if head.meta.committed_run and not (held and held.live(now)):
        problems.append(Problem(space_id, "commit_unfinished", "A commit is not written out; the sweep finishes it."))
    if age > settings.pending_note_limit:
        problems.append(
            Problem(space_id, "notes_pending", f"The oldest live note waits for {age:.0f} s to be consolidated.")
        )
    if head.meta.auto_paused:
        problems.append(Problem(space_id, PAUSED, "Automatic consolidation is paused."))
    return age, problems
