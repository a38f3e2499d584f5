"""The receipt of an erasure, `_erasures/{id}.json`: a job that tells what was erased. It goes where its space goes."""

from typing import Literal

from pydantic import BaseModel

from livemem.jobs.job import Job
from livemem.store.stored_documents import Count, Line


class ReceiptSection(BaseModel, defer_build=True):
    """A section of a bank file that rests on an erased note, by its headings from the outermost on."""

    path: str
    heading: str
    section: list[str]


class Receipt(Job):
    """The document. `counts`: objects, and former versions of objects, from which something was erased. It is never
    given up: its status is `running` or `done`.
    """

    kind: Line = "erasure"
    requested_by: Line
    agent: Line | None = None
    """Set where all notes of an agent are erased."""
    note_ids: list[Line] = []
    memory_ids: list[Line] = []
    turns: list[Line] = []
    """As searches call them: the conversation's id and the turn's number, with a slash between."""
    counts: dict[str, Count] = {}
    files: list[str] = []
    """Bank files whose text was changed: they quoted a note word for word."""
    sections: list[ReceiptSection] = []
    quoted_in: list[str] = []
    """Notes and memories of other ids that quote one."""
    versions: Literal["removed", "not_kept", "not_reachable"] | None = None
    not_reached: list[str] = []
    removing: list[str] = []
    """Keys of the objects that held it, or that may come back, whose former versions go at the end."""

    @property
    def ids(self) -> frozenset[str]:
        """The notes, memories and turns."""
        return frozenset((*self.note_ids, *self.memory_ids, *self.turns))

    def is_for(self, agent: str | None, ids: frozenset[str]) -> bool:
        """Whether this was asked for: the notes of this agent, these notes or turns, or some of these memories."""
        # Of what a memory is one with nobody knows any more when it is erased.
        same = self.ids == ids or (bool(self.memory_ids or self.turns) and ids <= self.ids)
        return self.agent == agent and (agent is not None or same)
