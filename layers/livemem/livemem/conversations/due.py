"""Entries in the due index (spaces/due_index.py): from when on the sweep looks at a conversation."""

from datetime import datetime, timedelta

from livemem.conversations.parameters import Parameters
from livemem.process import Process
from livemem.spaces import due_index
from livemem.store import timing

LOST_AFTER = timing.ON_ITS_WAY
"""After which the sweep looks at a turn whose event never came."""


def mark(process: Process, space_id: str, conversation_id: str, parameters: Parameters) -> None:
    """Enter that a turn comes: the conversation may be due when its pause is over. 1 PUT, none if this process has
    entered it for the same five minutes before.
    """
    pause = timedelta(milliseconds=parameters.flush_after_ms)
    mark_at(process, space_id, conversation_id, process.clock() + max(pause, LOST_AFTER))


def mark_at(process: Process, space_id: str, conversation_id: str, moment: datetime) -> None:
    """Enter that the sweep is to look at the conversation from `moment` on."""
    due_index.leave_at(process, space_id, "conversation", conversation_id, moment)
