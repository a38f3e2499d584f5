"""Once a day: what Idempotency-Keys left behind."""

import zlib
from collections.abc import Mapping
from datetime import datetime

from livemem.notes import idempotency
from livemem.process import Process
from livemem.spaces.room import Room, Space
from livemem.store import keys

QUARTERS_A_DAY = 96


def tend(process: Process, space: Space) -> Mapping[str, float]:
    """Delete expired Idempotency-Keys, if it is the space's turn."""
    if not _is_turn(space.space_id, space.now):
        return {}
    dropped = idempotency.drop_expired_claims(process, space.space_id)
    return {"expired_keys": dropped} if dropped else {}


def _is_turn(space_id: str, now: datetime) -> bool:
    """Whether it is the space's quarter of an hour of the day: each has one, so that not all are cleaned at once."""
    return zlib.crc32(space_id.encode()) % QUARTERS_A_DAY == (now.hour * 60 + now.minute) // 15


ROOM = Room(owns=keys.is_of_notes, tend=tend)
