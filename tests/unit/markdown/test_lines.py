"""Edits of one line: it is found by its beginning, and no other line changes."""

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from livemem.markdown.blocks import SectionError, split_lines
from livemem.markdown.edits import Edit, apply_edits
from livemem.markdown.sections import list_sections
from tests.support.cases import each
from tests.support.markdown import any_text, documents

DOC = """# Team

Some text of the team.

## Facts

- The import tries **three** times (ines).
- The import tries six times at night.
- [ ] Ask Kim about the queue.
1. First step of the release.

> Quoted words of somebody.

### Table

| Day | What is done |
|-----|--------------|
| Mon | The weekly summary |

```sh
make test ARGS="one two"
make check
```

- SQS
- SQS stays
"""


def edit(op: Any, line: str, content: str = "", *, heading: str = "## Facts", text: str = DOC) -> str:
    return apply_edits(text, [Edit(op, heading, content, line=line)])


def refusal(op: Any, line: str, content: str = "", *, heading: str = "## Facts", text: str = DOC) -> str:
    with pytest.raises(SectionError) as refused:
        edit(op, line, content, heading=heading, text=text)
    return str(refused.value)


THREE, SIX = "- The import tries **three** times (ines).", "- The import tries six times at night."
KIM = "- [ ] Ask Kim about the queue."


@each(
    ("line", "content", "old", "new"),
    [
        ("- The import tries **three**", "- The import tries four times.", THREE, "- The import tries four times."),
        ("The import tries six", "The import waits.", SIX, "- The import waits."),
        ("Ask Kim about", "Kim says yes.", KIM, "- [ ] Kim says yes."),
        ("Ask", "Kim says yes.", KIM, "- [ ] Kim says yes."),
        ("- [ ] Ask Kim", "- [x] Ask Kim about the queue.", KIM, "- [x] Ask Kim about the queue."),
        ("First step of", "Tag it.", "1. First step of the release.", "1. Tag it."),
        ("Quoted words", "Other words.", "> Quoted words of somebody.", "> Other words."),
        ("| Mon | The weekly", "| Tue | The summary |", "| Mon | The weekly summary |", "| Tue | The summary |"),
        ("```sh", "```bash", "```sh", "```bash"),
        ("make check", "# make check", "make check", "# make check"),
        ("make test ARGS", 'make test ARGS="three"', 'make test ARGS="one two"', 'make test ARGS="three"'),
        ("  make   test ARGS", "make quick", 'make test ARGS="one two"', "make quick"),
        ("- SQS", "- Kafka", "- SQS\n", "- Kafka\n"),
        ("SQS stays", "SQS goes", "- SQS stays", "- SQS goes"),
        ("| Day | What is done |", "| Day | What |", "| Day | What is done |", "| Day | What |"),
        ("- The import tries **three**", "- One.\n- Two.", THREE, "- One.\n- Two."),
    ],
)
def test_a_line_is_replaced_in_its_own_form(line: str, content: str, old: str, new: str):
    assert edit("replace_line", line, content) == DOC.replace(old, new)


@each(
    ("line", "content", "result"),
    [
        ("The import tries six", "It ends then.", "- The import tries six times at night.\n- It ends then.\n"),
        ("| Mon | The weekly", "| Fri | Nothing |", "| Mon | The weekly summary |\n| Fri | Nothing |\n"),
        ("| Day | What is", "| Sun | Rest |", "|-----|--------------|\n| Sun | Rest |\n"),
        ("make check", "make lint", "make check\nmake lint\n"),
        ("SQS stays", "So it is.", "- SQS stays\n- So it is.\n"),
    ],
)
def test_a_line_is_inserted_behind_another_one(line: str, content: str, result: str):
    changed = edit("insert_after_line", line, content)
    assert result in changed
    assert changed.replace(result, result.replace(result.splitlines()[1] + "\n", ""), 1) == DOC


def test_a_line_is_removed_with_one_of_the_blank_lines_around_a_lone_one():
    assert edit("remove_line", "The import tries six") == DOC.replace("- The import tries six times at night.\n", "")
    assert edit("remove_line", "> Quoted words") == DOC.replace("> Quoted words of somebody.\n\n", "")
    assert edit("remove_line", "- SQS") == DOC.replace("- SQS\n", "")
    assert edit("remove_line", "Some text of", heading="# Team") == DOC.replace("Some text of the team.\n\n", "")
    assert edit("remove_line", "Only this one line", heading="# A", text="# A\nOnly this one line") == "# A\n"


@each(
    ("op", "line", "content", "why"),
    [
        ("replace_line", "The import tries", "- x", "2 lines fit"),
        ("replace_line", "- The import", "- x", "2 lines fit"),
        ("replace_line", "- The import t", "- x", "The import tries six times at night."),
        ("replace_line", "As", "- x", "at least 12 characters"),
        ("replace_line", "- ", "- x", "at least 12 characters"),
        ("remove_line", "", "", "line is empty"),
        ("remove_line", "   ", "", "line is empty"),
        ("remove_line", "Some text of the team", "", "no line begins with"),
        ("remove_line", "### Table", "", "is a heading"),
        ("remove_line", "| Day | What is done", "", "head of a table"),
        ("remove_line", "|-----|--------------|", "", "head of a table"),
        ("replace_line", "| Day | What is done", "| a |\n| b |", "head of a table"),
        ("replace_line", "The import tries six", "", "use remove_line"),
        ("replace_line", "The import tries six", "## New", "holds a heading"),
        ("replace_line", "The import tries six", "```", "code fence"),
        ("insert_after_line", "make test ARGS", "```", "code fence"),
        ("insert_after_line", "make test ARGS", "```\n\ntext\n\n```", "code fence"),
        ("remove_line", "```sh", "", "code fence"),
        ("replace_line", "```sh", "text", "code fence"),
    ],
)
def test_a_line_that_cannot_be_named_or_changed_alone_is_refused(op: str, line: str, content: str, why: str):
    assert why in refusal(op, line, content)


def test_a_line_that_occurs_twice_is_refused_and_named():
    text = "# A\n\n- The same line of text.\n- Other.\n- The same line of text.\n"
    assert "2 lines fit" in refusal("remove_line", "- The same line of text.", heading="# A", text=text)


def test_the_line_ending_of_the_file_stays():
    text = DOC.replace("\n", "\r\n")
    assert edit("replace_line", "The import tries six", "- One.\n- Two.", text=text) == text.replace(
        "- The import tries six times at night.", "- One.\r\n- Two."
    )


@given(documents, st.data(), st.sampled_from(["replace_line", "remove_line", "insert_after_line"]), any_text)
def test_whatever_line_is_edited_every_other_line_and_heading_stays(
    text: str, data: st.DataObject, op: Any, content: str
):
    sections = list_sections(text)
    assume(sections)
    section = data.draw(st.sampled_from(sections))
    lines = split_lines(text)[section.body : section.end]
    assume(lines)
    line = data.draw(st.sampled_from(lines))

    try:
        result = apply_edits(text, [Edit(op, " > ".join(section.path), content, line=line)])
    except SectionError:
        return

    before, after = list(split_lines(text)), list(split_lines(result))
    same = 0
    while same < min(len(before), len(after)) and before[same] == after[same]:
        same += 1
    tail = len(before) - same - (op != "insert_after_line") - 1
    assert [line.rstrip("\r\n") for line in before[len(before) - max(tail, 0) :]] == [
        line.rstrip("\r\n") for line in after[len(after) - max(tail, 0) :]
    ]
    assert [section.path for section in list_sections(result)] == [section.path for section in sections]
