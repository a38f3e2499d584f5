import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from local.offline_llm.entries import Note
from tests.support.cases import each
from tests.unit.local.offline_llm.support import (
    CATEGORIES,
    CONTENTS,
    FRENCH,
    JOURNAL,
    RESEARCH,
    STANDARD,
    SUPPORT,
    accounted,
    apply_answer,
    fold,
    fold_into,
    headings,
    make_note,
    note_lists,
    prompt,
)

RULES = st.sampled_from(
    [
        STANDARD,
        JOURNAL,
        RESEARCH,
        SUPPORT,
        FRENCH,
        "Keep it short.",
        "- `todo.md`: open tasks\n- `log.md`: everything else",
        "## book.md\n\n### Characters\n\n### Plot\n\n### World\n",
    ]
)
pytestmark = pytest.mark.slow

# Explaining a failure takes minutes with such inputs, and the example itself says enough.
PHASES = (Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink)
SETTINGS = settings(phases=PHASES)


def only(notes: list[Note], *categories: str) -> list[Note]:
    """The notes of these categories, numbered anew."""
    chosen = [note for note in notes if note.category in categories]
    return [replace(note, number=number) for number, note in enumerate(chosen, 1)]


@SETTINGS
@given(RULES, note_lists(), note_lists())
def test_every_note_is_used_once_and_equal_input_gives_an_equal_answer(
    rules: str, first: list[Note], second: list[Note]
) -> None:
    answer = fold(rules, {}, first)
    assert accounted(answer) == [note.number for note in first]
    assert fold(rules, {}, first) == answer

    again = fold(rules, apply_answer({}, answer), second)
    assert accounted(again) == [note.number for note in second]


@SETTINGS
@given(st.sampled_from([STANDARD, "## book.md\n\n### Characters\n\n### Plot\n"]), note_lists(), note_lists())
def test_no_note_changes_the_headings_of_a_file(rules: str, first: list[Note], second: list[Note]) -> None:
    empty = fold_into({}, rules, [])
    bank = fold_into(fold_into({}, rules, first), rules, second)
    assert {name: headings(text) for name, text in bank.items()} == {
        name: headings(text) for name, text in empty.items()
    }


@SETTINGS
@given(note_lists(), note_lists())
def test_journal_headings_are_days_newest_first_and_the_parts_of_the_rules(
    first: list[Note], second: list[Note]
) -> None:
    bank = fold_into(fold_into({}, JOURNAL, first), JOURNAL, second)
    lines = headings(bank["journal.md"])
    days = [line for line in lines if line.startswith("## ")]
    assert days == sorted(set(days), reverse=True)
    assert set(lines) <= {"# Journal", *days, "### Done", "### Decided", "### Learned", "### Open"}


@SETTINGS
@given(RULES, note_lists(), note_lists())
def test_lines_of_the_bank_stay_unless_a_note_closes_them(rules: str, first: list[Note], second: list[Note]) -> None:
    bank = fold_into({}, rules, first)
    for name, text in fold_into(bank, rules, only(second, "todo", "observation")).items():
        lines = text.split("\n")
        kept = iter(lines)
        missing = [line for line in bank.get(name, "").split("\n") if line.strip("\r ") and line not in kept]
        assert not missing


@SETTINGS
@given(
    st.sampled_from([STANDARD, JOURNAL, FRENCH]),
    st.lists(CONTENTS, min_size=1, max_size=4),
    st.lists(st.sampled_from(["- {}", "* [ ] {}", "1. {}", "{}", "> {}", "| {} |"]), max_size=4),
)
def test_entries_of_any_text_leave_by_edits_that_apply(rules: str, contents: list[str], forms: list[str]) -> None:
    bank = fold_into({}, rules, [make_note(number, "todo", text) for number, text in enumerate(contents, 1)])
    # A person may have written the same below, in another form.
    more = "\n".join(form.format(text) for form, text in zip(forms, contents, strict=False))
    bank = {name: f"{text}\n{more}\n" for name, text in bank.items()}
    done = [make_note(number, "progress", f"Done: {text}") for number, text in enumerate(contents, 1)]
    assert accounted(fold(rules, bank, done)) == [note.number for note in done]
    fold_into(bank, rules, done)


@SETTINGS
@given(RULES, note_lists())
def test_folding_the_same_notes_again_confirms_or_discards_them_all(rules: str, notes: list[Note]) -> None:
    # Given a bank that holds them (closed entries aside: work that is asked for again is no repeat)
    lasting = only(notes, "observation", "decision", "insight")
    bank = fold_into({}, rules, lasting)
    answer = fold(rules, bank, lasting)
    edits = [edit for file in answer["bank_files"] for edit in file["edits"]]
    assert {edit["op"] for edit in edits} <= {"confirm_section"}
    told = [*(entry["note"] for entry in answer["discarded"]), *(number for edit in edits for number in edit["notes"])]
    assert sorted(told) == [note.number for note in lasting]
    assert fold_into(bank, rules, lasting) == bank


@pytest.mark.process
def test_the_answer_does_not_depend_on_the_hash_seed_of_the_process() -> None:
    notes = [
        make_note(
            number, ["decision", "observation", "todo"][number % 3], f"Measured {number} ms for tests of stored keys"
        )
        for number in range(1, 40)
    ]
    program = (
        "import json, sys\n"
        "from local.offline_llm import fold, prompt\n"
        "(asked,) = prompt.read_prompts([{'role': 'user', 'content': sys.stdin.read()}])\n"
        "print(json.dumps(fold.fold(asked)))"
    )
    elsewhere = subprocess.run(
        [sys.executable, "-c", program],
        input=prompt(STANDARD, {}, notes),
        env=os.environ | {"PYTHONHASHSEED": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert os.environ.get("PYTHONHASHSEED") != "1"
    assert json.loads(elsewhere.stdout) == fold(STANDARD, {}, notes)


@SETTINGS
@given(st.text(max_size=300), note_lists(max_size=4))
def test_any_text_may_be_the_rules(rules: str, notes: list[Note]) -> None:
    answer = fold(rules, {}, notes)
    assert accounted(answer) == [note.number for note in notes]
    bank = apply_answer({}, answer)
    assert bank
    assert accounted(fold(rules, bank, notes)) == [note.number for note in notes]


@SETTINGS
@given(
    st.lists(
        st.sampled_from(
            [
                "## progress.md",
                "- `a.md`: what works",
                "  - `## Open`: todos",
                "# Rules",
                "### Done",
                "| x.md | y |",
                "|---|---|",
                "- **Next**: later",
                "```",
                "# T",
                "## YYYY-MM-DD",
                "one section per day",
                "Sections: A, B",
                "1. `b/c.md`",
                "   - Core facts",
                "text",
                "",
                "> `d.md`",
                "#### 2026-01-01",
                "###### Deep",
                "- `# A > # B`",
            ]
        ),
        max_size=14,
    ),
    note_lists(max_size=5),
    note_lists(max_size=5),
)
def test_any_arrangement_of_usual_rules_gives_answers_that_apply(
    lines: list[str], first: list[Note], second: list[Note]
) -> None:
    rules = "\n".join(lines)
    answer = fold(rules, {}, first)
    assert accounted(answer) == [note.number for note in first]
    again = fold(rules, bank := apply_answer({}, answer), second)
    assert accounted(again) == [note.number for note in second]
    apply_answer(bank, again)


@SETTINGS
@given(
    st.lists(
        st.sampled_from(
            [
                "# Progress",
                "## What works",
                "## Known issues",
                "### Next steps",
                "## What works",
                "- old entry",
                "Prose.",
                "```",
                "<!-- open",
                "What works\n---",
                "* [ ] a task",
                "1. first",
                "",
                "# Journal",
                "## 2026-11-02",
                "### Open",
                "## 2026-11-02",
                "##",
                "## A > # B",
                "> # quoted",
                "    # code",
                "\r",
                "###### Deep",
            ]
        ),
        max_size=12,
    ),
    note_lists(max_size=5),
)
def test_any_present_file_takes_the_notes_and_keeps_its_lines(lines: list[str], notes: list[Note]) -> None:
    text = "\n".join(lines)
    for rules, name in ((STANDARD, "progress.md"), (JOURNAL, "journal.md")):
        answer = fold(rules, {name: text}, notes)
        assert accounted(answer) == [note.number for note in notes]
        after = apply_answer({name: text}, answer)[name]
        old = [line.strip() for line in text.replace("\r", "\n").split("\n") if line.strip()]
        new = [line.strip() for line in after.replace("\r", "\n").split("\n")]
        assert not [
            line for line in old if line not in new and not any(line.lstrip("-*1. []") in other for other in new)
        ]


@each("rules", [STANDARD, JOURNAL, RESEARCH, SUPPORT, FRENCH])
def test_notes_of_all_categories_spread_over_sections(rules: str) -> None:
    notes = [
        make_note(number, category, f"Subject {number} of its own") for number, category in enumerate(CATEGORIES, 1)
    ]
    answer = fold(rules, {}, notes)
    cited = [edit["notes"] for file in answer["bank_files"] for edit in file.get("edits", [])]
    if rules is STANDARD:
        assert max(len(numbers) for numbers in cited) <= 2
    text = "\n".join(apply_answer({}, answer).values())
    assert all(f"Subject {number} of its own" in text for number in range(1, 8))
