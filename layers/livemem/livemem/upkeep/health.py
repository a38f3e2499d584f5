"""Health: whether the parts answer and, for those who may see it, which spaces need a look."""

import logging
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import islice
from typing import Literal

from livemem.access import decision
from livemem.access.principal import Principal
from livemem.errors import LiveMemoryError, NotConfigured, ObjectUnreadable, StoreFull, StoreUnavailable
from livemem.jobs.package import HealthProblem, Package, Space, look_at_space
from livemem.llm import advice, embeddings, last_call
from livemem.llm import client as llm
from livemem.llm import look as looks
from livemem.llm.look import ApiState
from livemem.process import Process
from livemem.settings import Settings
from livemem.spaces import directory, totals, unreadable
from livemem.store.bucket import HEAD
from livemem.store.capability_check import has_conditional_writes, is_full
from livemem.upkeep import packages

logger = logging.getLogger(__name__)

Checks = dict[str, str | float | None]
"""The results of the checks, by name."""

CALL_COUNTS = timedelta(days=1)
"""For how long a call of the LLM that failed says how the LLM is, if none came after it."""

SPACES_LOOKED_AT = 200
"""Spaces that one health request looks into (3 requests each); the sweep and its alarms cover all of them."""

HealthStatus = Literal["ok", "degraded", "error"]


@dataclass(frozen=True)
class Health:
    """`oldest_pending_note_seconds` and all names that end in `_detail` or `_model` are shown with a token only."""

    status: HealthStatus
    checks: Checks
    problems: list[HealthProblem] = field(default_factory=list)


def not_configured(code: str, refusal: NotConfigured) -> Health:
    """What anybody may know of a service that refuses to work with its settings: names and problems, no values."""
    return Health("error", {"configuration": code, "configuration_detail": refusal.detail})


def shallow(process: Process) -> Health:
    """What anybody may know: whether the service is set up and its store answers. No model is asked."""
    try:
        decision.check_configuration(process.settings)
    except NotConfigured as refusal:
        return not_configured("bootstrap_key_refused", refusal)
    checks = _store_checks(process) | _model_checks(process.settings)
    return Health(_worst(checks), checks)


def deep(process: Process, principal: Principal) -> Health:
    """The same, with what the models answer and the state of each space that the principal may see."""
    checks = _store_checks(process) | _model_checks(process.settings)
    for current in process.store.map(lambda look: look(process.settings), (_look_at_llm, _look_at_embeddings)):
        checks |= current
    problems: list[HealthProblem] = []
    oldest = 0.0
    if checks["store"] == "ok":
        checks |= _look_at_last_call(process, checks) | _look_at_budget(process)
        visible = islice((space for space in directory.ids(process) if principal.may_see(space)), SPACES_LOOKED_AT)
        for age, match in process.store.map(lambda space_id: _look(process, space_id), visible):
            oldest = max(oldest, age)
            problems.extend(match)
        ids = {problem.detail for problem in problems}
        problems += [item for item in _unreadable(process, principal) if item.detail not in ids]
    checks["oldest_pending_note_seconds"] = round(oldest, 1)
    checks["llm_model"] = process.settings.llmaas_model
    if process.settings.embeddings_api_url:
        checks["embeddings_model"] = process.settings.embeddings_model
    status = _worst(checks)
    wrong = any(problem.wrong for problem in problems)
    return Health("degraded" if status == "ok" and wrong else status, checks, problems)


def _store_checks(process: Process) -> Checks:
    try:
        next(iter(directory.ids(process)), None)
        # The disk of a store of one's own can be full. AWS has no such end.
        if process.settings.s3_endpoint_url and is_full(process.store):
            return {"store": "full", "conditional_writes": "unknown"}
        supported = has_conditional_writes(process.store)
    except StoreFull:
        return {"store": "full", "conditional_writes": "unknown"}
    except StoreUnavailable:
        return {"store": "unreachable", "conditional_writes": "unknown"}
    return {"store": "ok", "conditional_writes": "ok" if supported else "unsupported"}


def _model_checks(settings: Settings) -> Checks:
    """What the settings alone say of the models."""
    return {
        "llm": _name(settings.llmaas_api_url, offline=settings.has_offline_llm()),
        "embeddings": _name(settings.embeddings_api_url, offline=_are_offline_embeddings(settings)),
        # What finds memories that may say the same: without a model their letters do, which find fewer.
        "memories_compared_by": "vector" if settings.embeddings_api_url else "lexical",
        # Who decides that they do.
        "memory_merge": settings.memory_merge,
    }


def _are_offline_embeddings(settings: Settings) -> bool:
    return settings.embeddings_model == "offline-fuse"


def _name(url: str | None, *, offline: bool) -> str:
    if not url:
        return "not_configured"
    return "offline" if offline else "configured"


def _look_at_llm(settings: Settings) -> Checks:
    if not settings.llmaas_api_url:
        return {}
    return _seen("llm", looks.look(llm.api(settings), settings.llmaas_model), offline=settings.has_offline_llm())


def _look_at_embeddings(settings: Settings) -> Checks:
    if not settings.embeddings_api_url:
        return {}
    seen = looks.look(embeddings.api(settings), settings.embeddings_model)
    # Search does without, where none is set; a key that can't be read is another matter.
    seen = replace(seen, status="refused") if seen.status == "not_configured" else seen
    return _seen("embeddings", seen, offline=_are_offline_embeddings(settings))


def _seen(name: str, api_state: ApiState, *, offline: bool) -> Checks:
    """What `look` saw of a model that is set; offline models are called so where they answer."""
    well = offline and api_state.status == "ok"
    detail = advice.NO_MODEL if well and name == "llm" else api_state.detail
    return ({} if well else {name: api_state.status}) | ({f"{name}_detail": detail} if detail else {})


def _look_at_last_call(process: Process, checks: Checks) -> Checks:
    """How the last call of the LLM ended: one that lists its models may fail at every call all the same. 1 GET."""
    if not process.settings.llmaas_api_url:
        return {}
    try:
        last = last_call.read(process.store)
    except LiveMemoryError:
        return {"llm_last_call": "unknown"}
    if last is None:
        return {"llm_last_call": "none"}
    settings = process.settings
    taken = last.error is None and last.model == settings.llmaas_model
    if taken and checks.get("llm_detail") == looks.unlisted(llm.api(settings), settings.llmaas_model):
        # The API takes the name, or ignores it.
        checks.pop("llm_detail")
    if last.error is None or last.age > CALL_COUNTS or checks["llm"] not in ("ok", "offline"):
        return {"llm_last_call": last.error or "ok"}
    minutes = int(last.age.total_seconds() // 60)
    detail = f"The LLM's API lists its models, but the last call, {minutes} min ago, failed: {last.error}."
    return {"llm": "failing", "llm_last_call": last.error, "llm_detail": detail}


def _look_at_budget(process: Process) -> Checks:
    """Whether the service may ask the LLM today; nothing where there is no limit."""
    if not process.settings.llm_daily_token_budget:
        return {}
    try:
        today = totals.service_budget(process)
    except LiveMemoryError:
        return {"llm_budget": "unknown"}
    return {"llm_budget": "exhausted" if today.exhausted else "ok"}


def _worst(checks: Checks) -> HealthStatus:
    if checks["store"] != "ok":
        return "error"
    bad = checks["conditional_writes"] != "ok" or checks["llm"] not in ("ok", "offline", "configured")
    # Without vectors search goes on by words alone; one that is set and does not answer is worth a look.
    bad = bad or checks["embeddings"] not in ("ok", "offline", "configured", "not_configured")
    bad = bad or checks.get("llm_budget") == "exhausted"
    return "degraded" if bad else "ok"


def _unreadable(process: Process, principal: Principal) -> list[HealthProblem]:
    """The objects that somebody could not read, of the spaces that the principal may see: 1 LIST for all of them."""
    problems = []
    for space_id, names in unreadable.names(process).items():
        if not principal.may_see(space_id):
            continue
        problems += [
            HealthProblem(space_id, ObjectUnreadable.code, unreadable.error(key).detail)
            for key in names
            # What is wrong with a head is told already.
            if key != HEAD.key(space_id)
        ]
    return problems


def _of_package(process: Process, space: Space, package: Package) -> list[HealthProblem]:
    """The package's problems. An object that it cannot read is reported, and hides no other package's problems."""
    try:
        return package.problems(process, space)
    except ObjectUnreadable as error:
        return [HealthProblem(space.space_id, error.code, error.detail)]


def _look(process: Process, space_id: str) -> tuple[float, list[HealthProblem]]:
    """Seconds that the space's oldest note waits, and what is wrong with the space."""
    try:
        space = look_at_space(process, space_id)
        if not space:
            return 0.0, []
        problems = [problem for package in packages.PACKAGES for problem in _of_package(process, space, package)]
        return space.waiting_seconds(), problems
    except LiveMemoryError as error:
        return 0.0, [HealthProblem(space_id, error.code, error.detail)]
    except Exception as error:  # noqa: BLE001 - whatever lies in one space must not hide the others
        # Not with its text, which may hold data.
        logger.error("a space can't be checked", extra={"space_id": space_id, "error": type(error).__name__})  # noqa: TRY400
        return 0.0, [
            HealthProblem(
                space_id, "internal_error", "The space can't be checked. The log of the service names the error."
            )
        ]
