"""The sets of a project's memory."""

import json

from benchmarks import recall_memory

PROJECT = recall_memory.rows_of(recall_memory.PROJECT)
CHANGING = recall_memory.rows_of(recall_memory.CHANGING)


def test_every_answer_of_the_set_is_a_document_of_the_set():
    known = {row.get("note") or row.get("memory") for row in PROJECT}
    known |= {f"{row['talk']}.{n}" for row in PROJECT if "talk" in row for n in range(1, len(row["turns"]) + 1)}
    named = {name for row in PROJECT for piece in row.get("right", ()) for name in piece}
    named |= {row["after"] for row in PROJECT if "after" in row}
    assert named <= known


def test_the_bank_of_the_set_holds_the_newest_line_of_each_fact_once():
    notes = recall_memory.changing(CHANGING)
    keeper = recall_memory.Keeper(notes)
    numbered = [{"number": at, "content": note.says} for at, note in enumerate(notes, 1)]
    files = json.loads(keeper.answer({"bank": {}, "notes": numbered}))["bank_files"]
    bank = "\n".join(file["content"] for file in files)
    newest = {f"{row['fact']}.{len(row['said']) - 1}" for row in CHANGING}
    assert all(bank.count(note.line) == 1 for note in notes if note.name in newest)
