"""Digest times, which name digests (slots): the moments at which they are due.

Hours are those of a space's time zone. So on the days on which clocks change an interval is longer or shorter. A
missing hour is computed as if clocks had not changed yet. An hour that occurs twice gives one slot.
"""

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from livemem.process import Process
from livemem.spaces import head as heads
from livemem.spaces.head import Meta
from livemem.store import keys

DAY = timedelta(days=1)
AROUND = range(-2, 3)
"""Days of the zone, relative to the UTC day, that may hold the latest slot or the next one. Zones are up to 14 hours
off.
"""


def hours(setting: str) -> tuple[int, ...]:
    """The hours in the setting DIGEST_HOURS."""
    return tuple(int(part) for part in setting.split(","))


def of_day(day: date, zone: ZoneInfo, hours: Sequence[int]) -> list[datetime]:
    """The slots (UTC) of a day of the zone, in order, each once: a missing hour may equal another one."""
    result = set()
    for hour in hours:
        local = datetime.combine(day, time(hour), zone)
        result.add(local.replace(fold=0).astimezone(UTC))
    return sorted(result)


def latest(now: datetime, zone: ZoneInfo, hours: Sequence[int]) -> datetime:
    """The slot that was due last, at `now` or before."""
    today = now.astimezone(UTC).date()
    return max(slot for days in AROUND for slot in of_day(today + days * DAY, zone, hours) if slot <= now)


def following(now: datetime, zone: ZoneInfo, hours: Sequence[int]) -> datetime:
    """The slot that is due next, after `now`."""
    today = now.astimezone(UTC).date()
    return min(slot for days in AROUND for slot in of_day(today + days * DAY, zone, hours) if slot > now)


def latest_slot(process: Process, meta: Meta) -> str:
    """The slot of the space that was due last."""
    zone = heads.zone_of(process, meta)
    return keys.compact_time(latest(process.clock(), zone, hours(process.settings.digest_hours)))


def next_due(process: Process, meta: Meta) -> datetime:
    """When the next digest of the space is due."""
    return following(process.clock(), heads.zone_of(process, meta), hours(process.settings.digest_hours))
