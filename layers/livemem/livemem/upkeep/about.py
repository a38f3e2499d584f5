"""What the service says of itself."""

from dataclasses import dataclass

from livemem import __version__, limits
from livemem.process import Process
from livemem.spaces import rules
from livemem.store import keys


@dataclass(frozen=True)
class ServiceFacts:
    """Version, limits (bytes, counts, seconds by their names), categories and rules templates."""

    version: str
    limits: dict[str, int]
    categories: list[str]
    rules_templates: list[str]


def about(process: Process) -> ServiceFacts:
    """What the service is and what it allows."""
    settings = process.settings
    return ServiceFacts(
        version=__version__,
        limits={
            "note_bytes": limits.NOTE_BYTES,
            "rules_bytes": limits.RULES_BYTES,
            "description_bytes": limits.DESCRIPTION_BYTES,
            "batch_notes": limits.BATCH_NOTES,
            "body_bytes": limits.BODY_BYTES,
            "bank_file_bytes": limits.BANK_FILE_BYTES,
            "reason_bytes": limits.REASON_BYTES,
            "correction_edits": limits.CORRECTION_EDITS,
            "tags": limits.TAGS,
            "tag_characters": limits.TAG_CHARACTERS,
            "page_items": limits.PAGE_ITEMS,
            "consolidation_max_notes": settings.consolidation_max_notes,
            "consolidation_threshold": settings.consolidation_threshold,
        },
        categories=list(keys.CATEGORIES),
        rules_templates=list(rules.TEMPLATES),
    )
