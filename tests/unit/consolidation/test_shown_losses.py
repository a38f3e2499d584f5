"""What may be lost is shown to the model once, within the two small questions; what stays is a warning."""

import json
from typing import Any

from livemem.consolidation import findings, losses
from livemem.consolidation.losses import BankChange
from livemem.llm import window
from tests.support.cases import each
from tests.support.log_capture import heard
from tests.unit.consolidation.stories_of_losses import BAD, play

CASES = {case["name"]: case for case in BAD}
DROPS = CASES["remove_line with a note about something else"]
VAGUE = CASES["a port is left out of its sentence"]
LINE = "- A restore was rehearsed on 2026-02-11 and took 48 minutes."
PORT = {"note": 1, "file": "hosts.md", "heading": "## Production", "line": "- There is a metrics"}


def whole(*files: dict[str, Any]) -> str:
    return json.dumps({"bank_files": files, "synthesis": "x"})


def played_with(end: dict[str, Any]) -> Any:
    """The case in which a port is left out, with what the model says of it when it is asked."""
    return play(VAGUE, ends=json.dumps({"lost": [end]}))


def test_lines_that_would_go_are_shown_with_their_file_and_a_corrected_entry_is_used():
    edit = {"op": "append_to_section", "heading": "## Backups", "content": "- The office chairs are new.", "notes": [1]}
    played = play(DROPS, whole({"filename": "runbook.md", "action": "edited", "edits": [edit]}))

    question = played.world.llm.prompts[1][-1]["content"]
    assert json.dumps(LINE)[1:-1] in question
    assert (played.calls, played.kinds()) == (2, [])
    assert LINE in played.after["runbook.md"]
    assert "- The office chairs are new." in played.after["runbook.md"]


def test_an_entry_that_the_model_leaves_out_of_its_second_answer_stands_with_a_warning_that_is_logged_by_kind():
    with heard() as lines:
        played = play(DROPS, whole())

    assert LINE not in played.after["runbook.md"]
    assert any("'lost_line': 1" in line for line in lines)
    assert played.record is not None
    assert [warning.line for warning in played.record.warnings if warning.kind == "lost_line"] == [LINE]


def test_a_second_answer_that_loses_more_is_not_used():
    edit = {"op": "delete_section", "heading": "## Backups", "notes": [1]}
    played = play(DROPS, whole({"filename": "runbook.md", "action": "edited", "edits": [edit]}))

    assert "## Backups" in played.after["runbook.md"]


def test_a_line_that_the_model_adds_for_a_lost_detail_rests_on_its_note():
    played = played_with({**PORT, "content": "- The metrics exporter listens on port 9187."})

    assert "- The metrics exporter listens on port 9187." in played.after["hosts.md"]
    assert "- There is a metrics exporter." not in played.after["hosts.md"]
    assert (played.calls, played.kinds()) == (2, [])
    assert played.record is not None
    edit = played.record.files[0].edits[-1]
    assert (edit["op"], edit["notes"]) == ("replace_line", [played.record.notes[0].note_id])


@each("bank_chars", [0, 20_000, 1_000])
@each("cited", [[], [1]])
def test_a_line_that_a_fold_of_a_long_bank_takes_out_by_name_is_a_warning_and_no_question(
    bank_chars: int, cited: list[int]
):
    taken = {"op": "remove_line", "heading": "## Backups", "line": "A restore was rehearsed", "notes": cited}
    added = {
        "op": "append_to_section",
        "heading": "## Backups",
        "content": "- The office chairs are new.",
        "notes": [1],
    }
    case = {**DROPS, "files": [{"file": "runbook.md", "edits": [taken, added]}]}
    meant = bank_chars == 1_000 and not cited

    played = play(case, whole(), bank_chars=bank_chars)

    assert played.calls == (1 if meant else 2)
    assert LINE not in played.after["runbook.md"]
    assert played.kinds() == ["lost_line"]


def test_a_detail_that_is_left_out_on_purpose_is_a_warning_with_the_reason():
    played = played_with({"note": 1, "discard": "it changes every week"})

    assert played.record is not None
    (warning,) = played.record.warnings
    assert (warning.kind, warning.word) == ("lost_detail", "9187")
    assert "it changes every week" in warning.text


def test_an_added_line_that_fits_nowhere_changes_nothing():
    for end in (
        {**PORT, "content": "- Port 9187.", "heading": "## Nowhere"},
        {**PORT, "content": "- Port 9187.", "file": "none.md"},
        {**PORT, "content": "- Port 9187.", "line": "- no such line at all"},
        {**PORT, "content": "- Port 9187.", "note": 7},
        {**PORT, "content": " "},
        PORT,
    ):
        played = played_with(end)
        assert "9187" not in "".join(played.after.values())
        assert "lost_detail" in played.kinds()


def test_the_question_about_lost_details_costs_less_than_a_tenth_of_the_first():
    story = {
        **VAGUE,
        "notes": [*VAGUE["notes"], *(f"sam progress: Note {n} of the team. " + "x " * 900 for n in range(9))],
    }
    story["discarded"] = dict.fromkeys(range(2, 11), "of no use")
    played = play(story)

    first, second = played.world.llm.prompts
    assert window.size(second) * 10 < window.size(first)


def test_a_bank_of_100_files_and_a_line_of_100_kilobytes_are_looked_at():
    bank = {f"f{number}.md": f"# F{number}\n\n" + "- The port of host {n} is 80{n}.\n" * 5 for number in range(100)}
    long = "- " + "word 12 " * 12_500
    after = {**bank, "f7.md": bank["f7.md"] + long}

    added, gone = BankChange(bank, after), BankChange(after, {**bank, "f7.md": "# F7\n"})
    assert findings.of_bank(added, [long], "- `f7.md`: `# F7`") == []
    assert losses.lost_details(added, {1: long}) == []
    assert {one.kind for one in findings.of_bank(gone, [], "")} == {"lost_line"}
