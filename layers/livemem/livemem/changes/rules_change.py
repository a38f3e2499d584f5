"""A change of a space's rules: committed, recorded and undone like a change of the bank."""

from dataclasses import dataclass

from livemem import limits
from livemem.changes import direct, records
from livemem.changes.records import Before, FileChange, Record
from livemem.errors import Conflict, InvalidRequest
from livemem.process import Process
from livemem.spaces import rules
from livemem.spaces.head import Head
from livemem.store import keys
from livemem.store.bucket import RULES
from livemem.text.redaction import when


@dataclass(frozen=True)
class NewRules:
    """The requested rules: a text or a template's name."""

    rules: str | None = None
    rules_template: str | None = None
    reason: str | None = None


def change(process: Process, author: str, space_id: str, new: NewRules) -> tuple[str, int]:
    """Give the space other rules. Returns their text and the number of the change. The old rules stay in the record.
    The prompt of the next consolidation names the change.

    Raises InvalidRequest or TooLarge (naming the field), NotFound, Conflict if the rules are these already, Busy,
    PreconditionLost.
    """
    text = rules.chosen(new.rules, new.rules_template)
    if text is None:
        raise InvalidRequest.of("rules", "send either rules or rules_template")
    if new.reason is not None:
        limits.check_text("reason", new.reason, limits.REASON_BYTES, blank=True)
    text = when(process.settings.redact_secrets, text)
    reason = when(process.settings.redact_secrets, new.reason)

    def plan(head: Head, run_id: str) -> Record:
        changed = _planned(process, space_id, text, reason)
        return records.by_hand(head, run_id, "rules", author, process.clock()).model_copy(update={"rules": changed})

    return text, direct.carry_out(process, space_id, "rules", plan).number


def _planned(process: Process, space_id: str, text: str, reason: str | None) -> FileChange:
    item = process.store.get(RULES.key(space_id))
    before = Before(etag=item.etag, content=item.body.decode(errors="replace")) if item else None
    if before and before.content == text:
        raise Conflict("The space already has these rules.")
    action: records.Action = "updated" if before else "created"
    return FileChange(path=keys.RULES_PATH, action=action, before=before, after=text, reason=reason)
