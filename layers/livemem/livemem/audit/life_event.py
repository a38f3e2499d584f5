"""One event in the life of a note."""

from dataclasses import dataclass
from typing import Literal

What = Literal[
    "written",
    "captured",
    "promoted_here",
    "came_with_space",
    "promoted",
    "planned",
    "left_out",
    "folded",
    "discarded",
    "uncited",
    "archived",
    "taken_back",
    "returned",
    "remembered",
    "backed_up",
    "erased",
]
"""`archived`: garbage collection moved it to a record. `taken_back`: its promotion was. `returned`: an undo made it
live again. `remembered`: a memory names it as its source.
"""


@dataclass(frozen=True)
class NamingEdit:
    """An edit of a section that names the note as its source. `confirm_section`: the note confirms the section."""

    op: str
    heading: str


@dataclass(frozen=True)
class TouchedFile:
    """A bank file that a change wrote: the edits that name the note, and the sections that rest on it since."""

    path: str
    action: str
    edits: list[NamingEdit]
    sections: list[list[str]]


@dataclass(frozen=True)
class LifeEvent:
    """Something that happened to the note, and when (ISO 8601, UTC). Fields that do not apply are None."""

    what: What
    at: str
    by: str | None = None
    reason: str | None = None
    model: str | None = None
    consolidation: int | None = None
    """The number of the change."""
    undone: bool | None = None
    """Whether that change was undone later."""
    undoes: int | None = None
    run_id: str | None = None
    files: tuple[TouchedFile, ...] = ()
    space_id: str | None = None
    """The other space. None also where the caller may not see it."""
    note_id: str | None = None
    """The note of the other space."""
    promotion_id: str | None = None
    conversation_id: str | None = None
    turns: tuple[int, int] | None = None
    memory_id: str | None = None
    backup_id: str | None = None
    erasure_id: str | None = None
