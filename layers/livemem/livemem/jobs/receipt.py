"""The receipt of an erasure, `_erasures/{id}.json`: a job that lists what was erased. Copies of a space have it."""

from typing import Literal

from livemem.jobs.job import Job
from livemem.store.stored_documents import Count, LazyModel, Line


class ReceiptSection(LazyModel):
    """A section of a bank file that rests on an erased note, by its headings from the outermost on."""

    path: str
    heading: str
    section: list[str]


class Receipt(Job):
    """The document. `counts`: objects, and former versions of objects, from which something was erased. The job is
    never given up: its status is `running` or `done`.
    """

    kind: Line = "erasure"
    requested_by: Line
    agent: Line | None = None
    """Set where all notes of an agent are erased."""
    note_ids: list[Line] = []
    memory_ids: list[Line] = []
    turns: list[Line] = []
    """Ids of turns as searches return them: the conversation's id, a slash, and the turn's number."""
    counts: dict[str, Count] = {}
    files: list[str] = []
    """Bank files whose text was changed because they quoted a note word for word."""
    sections: list[ReceiptSection] = []
    quoted_in: list[str] = []
    """Ids of other notes and memories that quote an erased one."""
    versions: Literal["removed", "not_kept", "not_reachable"] | None = None
    not_reached: list[str] = []
    removing: list[str] = []
    """Keys of the objects that held erased text or may come back. Their former versions are removed at the end."""

    @property
    def ids(self) -> frozenset[str]:
        """The ids of the notes, memories and turns."""
        return frozenset((*self.note_ids, *self.memory_ids, *self.turns))

    def is_for(self, agent: str | None, ids: frozenset[str]) -> bool:
        """Whether the erasure is the requested one: the notes of this agent, these notes or turns, or some of these
        memories.
        """
        # After the erasure nothing records any more with which memories an erased one was merged.
        same = self.ids == ids or (bool(self.memory_ids or self.turns) and ids <= self.ids)
        return self.agent == agent and (agent is not None or same)
