"""A change of a space's settings, and the consolidation that becomes due by it."""

from dataclasses import dataclass
from types import EllipsisType

from livemem.access.principal import Principal
from livemem.errors import Forbidden
from livemem.jobs import counter
from livemem.process import Process
from livemem.spaces import due_index
from livemem.spaces import head as heads
from livemem.spaces.head import Corrections, Meta
from livemem.spaces.head_fields import Mode

OF_ADMINS = ("corrections", "consolidation_mode", "capture_allowed", "agent_folds", "recall")


@dataclass(frozen=True)
class SpaceUpdate:
    """The wanted changes of a space. None leaves a field alone; for `language` and `timezone` `...` does."""

    description: str | None = None
    owner: str | None = None
    threshold: int | None = None
    auto_paused: bool | None = None
    tidy_paused: bool | None = None
    corrections: Corrections | None = None
    consolidation_mode: Mode | None = None
    capture_allowed: bool | None = None
    agent_folds: bool | None = None
    recall: bool | None = None
    bank_chars: int | None = None
    repository: str | EllipsisType | None = ...
    language: str | EllipsisType | None = ...
    timezone: str | EllipsisType | None = ...


@dataclass(frozen=True)
class Changed:
    """The space after the change, and the run that the change started."""

    meta: Meta
    started_run: str | None


def change(process: Process, principal: Principal, space_id: str, update: SpaceUpdate) -> Changed:
    """Change a space, and start a run at once if its threshold is reached now or it is no longer paused.

    Existing notes cause no further put event. Raises Forbidden for the fields of OF_ADMINS without admin, and to take
    `repository` away. Raises InvalidRequest or TooLarge (naming the field), NotFound, Conflict for another
    `repository`, PreconditionLost.
    """
    for name in OF_ADMINS:
        if getattr(update, name) is not None and "admin" not in principal.permissions:
            raise Forbidden(f"Changing `{name}` needs the permission 'admin'.")
    if update.repository is None and "admin" not in principal.permissions:
        raise Forbidden("Taking `repository` away needs the permission 'admin'.")
    settings = (update.threshold, update.auto_paused, update.tidy_paused, update.consolidation_mode, update.agent_folds)
    about_runs = any(setting is not None for setting in settings)
    if about_runs:
        # Also if no run may start any more: the sweep then sees that no note waits.
        heads.load_recent(process, space_id)
        due_index.leave(process, space_id)
    meta = heads.patch(
        process,
        space_id,
        description=update.description,
        owner=update.owner,
        threshold=update.threshold,
        auto_paused=update.auto_paused,
        tidy_paused=update.tidy_paused,
        corrections=update.corrections,
        consolidation_mode=update.consolidation_mode,
        capture_allowed=update.capture_allowed,
        agent_folds=update.agent_folds,
        recall=update.recall,
        bank_chars=update.bank_chars,
        repository=update.repository,
        language=update.language,
        timezone=update.timezone,
    )
    starts = about_runs and meta.automatic(process.settings)
    return Changed(meta, counter.start_if_possible(process, space_id) if starts else None)
