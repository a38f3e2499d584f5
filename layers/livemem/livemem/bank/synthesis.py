"""The synthesis of the last consolidation, `_synthesis.md`."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from livemem.errors import NotFound
from livemem.markdown import front_matter
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.store.bucket import SYNTHESIS_FILE


@dataclass(frozen=True)
class Synthesis:
    """The synthesis of the last consolidation and what its front matter says."""

    consolidated_at: str | None
    consolidation_number: int | None
    notes_processed: int | None
    content: str


def read_synthesis(process: Process, space_id: str) -> Synthesis:
    """The synthesis. Raises NotFound if there was no consolidation yet."""
    heads.load_recent(process, space_id)
    item = process.store.get(SYNTHESIS_FILE.key(space_id))
    if not item:
        raise NotFound("synthesis", space_id)
    return parse_synthesis(item.body.decode(errors="replace"))


def parse_synthesis(text: str) -> Synthesis:
    """The synthesis in the text of `_synthesis.md`. Without readable front matter all of it is content."""
    fields: dict[str, Any] = {}
    content = text
    with suppress(ValueError):
        fields, content = front_matter.read(text)
    number, processed = fields.get("consolidation_number"), fields.get("notes_processed")
    return Synthesis(
        consolidated_at=str(fields["consolidated_at"]) if "consolidated_at" in fields else None,
        consolidation_number=number if isinstance(number, int) else None,
        notes_processed=processed if isinstance(processed, int) else None,
        content=content.strip(),
    )


def format_synthesis(content: str, *, consolidated_at: str, number: int, notes_processed: int) -> str:
    """The text of `_synthesis.md`."""
    return (
        f'---\nconsolidated_at: "{consolidated_at}"\nconsolidation_number: {number}\n'
        f"notes_processed: {notes_processed}\n---\n\n{content.strip()}\n"
    )
