"""Health of this process's parts: the one answer that is given even while the settings can't be read."""

from livemem import clock, health
from livemem.access import Principal
from livemem.errors import NotConfigured
from livemem.health import Health
from livemem_http.environment import settings, store


def look_at_health(caller: Principal | None) -> Health:
    """Health as the caller may know it, None: as anybody may."""
    try:
        configured = settings()
    except NotConfigured as refusal:
        return health.not_configured("settings_refused", refusal)
    return health.deep(store(), configured, caller, clock.now()) if caller else health.shallow(store(), configured)
