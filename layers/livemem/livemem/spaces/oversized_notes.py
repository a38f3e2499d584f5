"""Notes that are set aside: live, but each alone too large for the model's window beside rules and bank.

The head remembers them with what they were judged by, so that they start no run again and again. They wait again as
soon as the window has grown, and after each correction or undo, which may have made the bank smaller; a run that starts
for whatever reason takes those that fit by then.
"""

from pydantic import BaseModel

from livemem.store.stored_documents import Count

MOST = 500
"""Notes that a head remembers, which keeps it below 60 kB."""


class OversizedNotes(BaseModel, defer_build=True):
    """What `_meta.json` and the record of a consolidation hold of them, in estimated tokens."""

    beside: Count = 0
    """What system prompt, rules, synthesis and bank took when the notes were judged."""
    needs: dict[str, Count] = {}
    """By note id: what it takes in the prompt, with room for the answer to it."""

    def bounded(self) -> "OversizedNotes":
        """As much of it as a head remembers."""
        return OversizedNotes(beside=self.beside, needs=dict(list(self.needs.items())[:MOST]))

    def standing(self, window: int) -> set[str]:
        """Ids of the notes that don't fit into `window` tokens either."""
        return {note_id for note_id, need in self.needs.items() if self.beside + need > window}
