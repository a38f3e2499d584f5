"""What a head remembers of changes that a late request may still disturb.

A write whose answer was lost is sent again, and may come when others have changed the space. Conditions keep it from
doing harm but in one case: where a change has brought back what was there before, as undo does, the condition holds
once more. So such changes are watched until no request from before them can come any more (changes/settling.py).
"""

from pydantic import BaseModel

from livemem.store.documents import Moment, Number


class Watched(BaseModel, defer_build=True):
    """The newest change of one file since the space is watched, and whether it deleted the file."""

    number: Number
    gone: bool = False


class Settling(BaseModel, defer_build=True):
    """What is watched: files by their path in the records, and the numbers of undo that brought notes back."""

    until: Moment
    files: dict[str, Watched] = {}
    returned: list[Number] = []
