"""How long an asynchronous invocation has waited for a slot of its function: its payload says when it was queued, and a
put event says when its object was written.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from livemem import clock

QUEUED_AT = "queued_at"


def stamped(payload: Mapping[str, Any]) -> dict[str, Any]:
    """The payload with the present time."""
    return {**payload, QUEUED_AT: clock.iso_millis(clock.now())}


def waited(event: Mapping[str, Any]) -> timedelta:
    """How long the invocation has waited. Zero if its event does not say so."""
    records = event.get("Records") or [{}]
    told = event.get(QUEUED_AT) or records[0].get("eventTime")
    try:
        return max(clock.now() - clock.parse(str(told)), timedelta())
    except ValueError:
        return timedelta()
