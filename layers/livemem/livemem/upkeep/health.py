"""Health: whether the parts answer and, for those who may see it, which spaces need a look."""

import logging
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal

from livemem.access import decision
from livemem.access.principal import Principal
from livemem.errors import LiveMemoryError, NotConfigured, StoreUnavailable
from livemem.llm import look as looks
from livemem.process import Process
from livemem.settings import Settings
from livemem.spaces import directory, room
from livemem.spaces.room import Problem
from livemem.store.probe import has_conditional_writes
from livemem.upkeep import rooms, usage

logger = logging.getLogger(__name__)

SPACES_LOOKED_AT = 200
"""Spaces that one health request looks into (3 requests each); the sweep and its alarms cover all of them."""

Status = Literal["ok", "degraded", "error"]


@dataclass(frozen=True)
class Health:
    """`checks` by name; `oldest_pending_note_seconds` and `llm_detail` among them with a token only."""

    status: Status
    checks: dict[str, str | float | None]
    problems: list[Problem] = field(default_factory=list)


def not_configured(code: str, refusal: NotConfigured) -> Health:
    """What anybody may know of a service that refuses to work with its settings: names and problems, no values."""
    return Health("error", {"configuration": code, "configuration_detail": refusal.detail})


def shallow(process: Process) -> Health:
    """What anybody may know: whether the service is set up and its store answers."""
    try:
        decision.check_configuration(process.settings)
    except NotConfigured as refusal:
        return not_configured("bootstrap_key_refused", refusal)
    checks: dict[str, str | float | None] = {**_store_checks(process), "llm": _llm_name(process.settings)}
    return Health(_worst(checks), checks)


def deep(process: Process, principal: Principal) -> Health:
    """The same, with the LLM's answer and the state of each space that the principal may see."""
    checks: dict[str, str | float | None] = {**_store_checks(process), "llm": _llm_name(process.settings)}
    if process.settings.llmaas_api_url:
        checks |= _look_at_llm(process.settings)
    problems: list[Problem] = []
    oldest = 0.0
    if checks["store"] == "ok":
        checks |= _look_at_budget(process)
        visible = islice((space for space in directory.ids(process) if principal.may_see(space)), SPACES_LOOKED_AT)
        for age, found in process.store.map(lambda space_id: _look(process, space_id), visible):
            oldest = max(oldest, age)
            problems.extend(found)
    checks["oldest_pending_note_seconds"] = round(oldest, 1)
    checks["llm_model"] = process.settings.llmaas_model
    status = _worst(checks)
    wrong = any(problem.wrong for problem in problems)
    return Health("degraded" if status == "ok" and wrong else status, checks, problems)


def _store_checks(process: Process) -> dict[str, str | float | None]:
    try:
        next(iter(directory.ids(process)), None)
        supported = has_conditional_writes(process.store)
    except StoreUnavailable:
        return {"store": "unreachable", "conditional_writes": "unknown"}
    return {"store": "ok", "conditional_writes": "ok" if supported else "unsupported"}


def _llm_name(settings: Settings) -> str:
    if not settings.llmaas_api_url:
        return "not_configured"
    return "offline" if settings.llmaas_model == "offline-rules" else "ok"


def _look_at_llm(settings: Settings) -> dict[str, str | float | None]:
    seen = looks.look(settings)
    status = _llm_name(settings) if seen.status == "ok" else seen.status
    return {"llm": status, "llm_detail": seen.detail} if seen.detail else {"llm": status}


def _look_at_budget(process: Process) -> dict[str, str | float | None]:
    """Whether the service may ask the LLM today; nothing where there is no limit."""
    if not process.settings.llm_daily_token_budget:
        return {}
    try:
        budget = usage.service_budget(process)
    except LiveMemoryError:
        return {"llm_budget": "unknown"}
    return {"llm_budget": "exhausted" if budget.exhausted else "ok"}


def _worst(checks: dict[str, str | float | None]) -> Status:
    if checks["store"] != "ok":
        return "error"
    bad = checks["conditional_writes"] != "ok" or checks["llm"] not in ("ok", "offline")
    bad = bad or checks.get("llm_budget") == "exhausted"
    return "degraded" if bad else "ok"


def _look(process: Process, space_id: str) -> tuple[float, list[Problem]]:
    """Seconds that the space's oldest note waits, and what is wrong with the space."""
    try:
        space = room.find(process, space_id)
        if not space:
            return 0.0, []
        problems = [problem for one in rooms.ROOMS for problem in one.problems(process, space)]
        return space.waiting_seconds(), problems
    except LiveMemoryError as error:
        return 0.0, [Problem(space_id, error.code, error.detail)]
    except Exception as error:  # noqa: BLE001 - whatever lies in one space must not hide the others
        # Not with its text, which may hold data.
        logger.error("a space can't be looked at", extra={"space_id": space_id, "error": type(error).__name__})  # noqa: TRY400
        return 0.0, [Problem(space_id, "internal_error", "The space can't be looked at.")]
