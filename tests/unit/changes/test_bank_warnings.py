import json

from livemem.changes.bank_warnings import BankWarning
from livemem.changes.records import Record

STORED = {
    "number": 1,
    "run_id": "r",
    "uid": "u",
    "kind": "consolidation",
    "trigger": "api",
    "started_at": "2026-02-20T14:00:00Z",
    "committed_at": "2026-02-20T14:00:01Z",
}


def test_a_warning_that_was_stored_as_a_sentence_is_read_as_a_reading():
    lost = {"kind": "lost_detail", "text": "Gone.", "file": "a.md", "word": "db-1"}
    record = Record.from_bytes(json.dumps({**STORED, "warnings": ["Numbers were read.", lost]}).encode())
    assert record.warnings == [
        BankWarning(kind="reading", text="Numbers were read."),
        BankWarning(kind="lost_detail", text="Gone.", file="a.md", word="db-1"),
    ]
    assert Record.from_bytes(record.to_bytes()).warnings == record.warnings
