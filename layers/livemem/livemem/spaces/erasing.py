"""What a head remembers of erasures (erasure/erasure.py): the one under way, and those that a late request may disturb.

A write whose answer was lost is sent again, and may bring an erased note back. So the space is looked at once more when
no request from before can come any more.
"""

from pydantic import BaseModel

from livemem.store.documents import Moment


class Erasing(BaseModel, defer_build=True):
    """Ids of erasures: the one `at_work`, and those that are `watched`, until when."""

    at_work: str | None = None
    watched: dict[str, Moment] = {}
