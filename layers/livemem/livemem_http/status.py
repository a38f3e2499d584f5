"""Health of this process's parts: the only answer that needs no readable settings."""

from typing import TYPE_CHECKING

from livemem.access.principal import Principal
from livemem.errors import NotConfigured
from livemem_http import environment

if TYPE_CHECKING:
    from livemem.upkeep.health import Health


def look_at_health(caller: Principal | None) -> "Health":
    """Health with the details that the caller may see. None: with those that everybody may see."""
    # It knows all rooms, and most that a function is asked for is not health.
    from livemem.upkeep import health  # noqa: PLC0415

    try:
        process = environment.process()
    except NotConfigured as refusal:
        return health.not_configured("settings_refused", refusal)
    return health.deep(process, caller) if caller else health.shallow(process)
