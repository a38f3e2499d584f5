"""What the LLM says of two memories that are nearly the same."""

from datetime import datetime

from livemem.memories.merging import Verdict
from livemem.process import Process


def ask(process: Process, space_id: str, new: str, old: str, until: datetime | None) -> Verdict | None:
    """Whether a new content says the same as a former one; None: nobody knows."""
    return None
