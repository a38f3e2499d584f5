"""The same changes as an answer without edits of lines would have to make them: for the comparison of lengths."""

import json
from collections.abc import Sequence
from typing import Any

from livemem.changes.records import FileChange, Record
from livemem.consolidation import answer
from livemem.markdown import sections
from livemem.markdown.edits import OF_LINES


def lengths(text: str, record: Record) -> tuple[str, str]:
    """An answer as it was given, and with each edit of a line as the replacement of its whole section; both as JSON."""
    draft = answer.parse(text)
    changes = {change.path: change for change in record.files}
    given = [entry.model_dump(exclude_defaults=True) for entry in draft.entries]
    whole = [_by_sections(entry, changes.get(entry["filename"])) for entry in given]
    rest = {
        "synthesis": draft.synthesis,
        "discarded": [{"note": number, "reason": reason} for number, reason in draft.discarded.items()],
    }
    first, second = ({"bank_files": files, **rest} for files in (given, whole))
    return json.dumps(first, ensure_ascii=False), json.dumps(second, ensure_ascii=False)


def _by_sections(entry: dict[str, Any], change: FileChange | None) -> dict[str, Any]:
    edits: Sequence[dict[str, Any]] = entry.get("edits", ())
    if not change or change.after is None:
        return entry
    lines = {edit["heading"] for edit in edits if edit["op"] in OF_LINES}
    kept = [edit for edit in edits if edit["heading"] not in lines]
    for heading in dict.fromkeys(edit["heading"] for edit in edits if edit["heading"] in lines):
        cited = sorted({number for edit in edits if edit["heading"] == heading for number in edit.get("notes", ())})
        (section, *_) = sections.addressed(change.after, heading)
        body = sections.section_text(change.after, section).partition("\n")[2].strip()
        kept.append({"op": "replace_section", "heading": heading, "content": body, "notes": cited})
    return {**entry, "edits": kept}
