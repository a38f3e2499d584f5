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
    by_section: dict[str, list[dict[str, Any]]] = {}
    for edit in edits:
        # A section that is gone stays addressed as it was.
        found = sections.addressed(change.after, edit["heading"])
        by_section.setdefault(sections.joined(found[0].path) if found else edit["heading"], []).append(edit)
    whole = []
    for heading, there in by_section.items():
        found = sections.addressed(change.after, heading)
        if not found or not any(edit["op"] in OF_LINES for edit in there):
            whole += there
            continue
        body = sections.section_text(change.after, found[0]).partition("\n")[2].strip()
        cited = sorted({number for edit in there for number in edit.get("notes", ())})
        whole.append({"op": "replace_section", "heading": there[0]["heading"], "content": body, "notes": cited})
    return {**entry, "edits": whole}
