"""Oversized notes: live, but each alone too large for the model's window beside rules and bank.

The head remembers them with the numbers they were judged by, so that they do not start run after run. They wait again
as soon as the window has grown. They also wait again after each correction or undo, which may have made the bank
smaller. Any run that starts takes the notes that fit by then.
"""

from livemem.store.stored_documents import Count, LazyModel

MOST = 500
"""Most notes that a head remembers: they keep it below 60 kB."""


class OversizedNotes(LazyModel):
    """Oversized notes as `_meta.json` and the record of a consolidation hold them, in estimated tokens."""

    beside: Count = 0
    """Tokens of system prompt, rules, synthesis and bank when the notes were judged."""
    needs: dict[str, Count] = {}
    """By note id: its tokens in the prompt, with room for the answer to it."""

    def bounded(self) -> "OversizedNotes":
        """The part that a head remembers."""
        return OversizedNotes(beside=self.beside, needs=dict(list(self.needs.items())[:MOST]))

    def standing(self, window: int) -> set[str]:
        """Ids of the notes that don't fit into `window` tokens either."""
        return {note_id for note_id, need in self.needs.items() if self.beside + need > window}
