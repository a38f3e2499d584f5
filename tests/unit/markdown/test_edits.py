import random
import re
from collections import Counter
from itertools import product

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from livemem.markdown import edits as edits_module
from livemem.markdown.blocks import SectionError, split_lines
from livemem.markdown.edits import Edit, apply_edits
from livemem.markdown.sections import addressed, list_sections
from tests.support.cases import each
from tests.support.markdown import (
    DOC,
    any_text,
    attempted,
    blank,
    documents,
    edited,
    own_text,
    preamble,
    refusal,
    tame_documents,
    wild_content,
)


def test_replacing_a_section_replaces_its_child_sections_and_keeps_its_heading():
    assert edited(DOC, "replace_section", "## Focus", "New.\n\n### Other\n\nx") == DOC.replace(
        "- a\n- b\n\n### Detail\n\nDeep.\n", "New.\n\n### Other\n\nx\n"
    )


def test_replacing_by_nothing_leaves_the_bare_heading():
    assert edited(DOC, "replace_section", "## Focus") == DOC.replace("- a\n- b\n\n### Detail\n\nDeep.\n\n", "")
    assert edited(DOC, "replace_section", "## Done", " \n") == DOC.replace("\nText.\n", "")


def test_appended_text_stays_out_of_the_child_sections():
    assert edited(DOC, "append_to_section", "## Focus", "More.") == DOC.replace("- b\n", "- b\n\nMore.\n")


def test_an_appended_list_item_keeps_the_list_tight():
    assert edited(DOC, "append_to_section", "## Focus", "\n- c\n- d\n\n") == DOC.replace("- b\n", "- b\n- c\n- d\n")


NEXT, LINKS = "## **Next** steps", "## [Links](https://example.org/x) and `code`"
STYLED = f"# Team\n\n{NEXT}\n\n- a\n\n{LINKS}\n\n- b\n\n### Old\n\n# Old\n"


@each(
    ("address", "heading"),
    [
        ("## Next steps", NEXT), ("## next STEPS", NEXT), ("Next steps", NEXT), ("## _Next steps_", NEXT),
        ("# Team > ## next steps", NEXT), ("## Links and code", LINKS), ("links and code", LINKS),
        ("### old", "### Old"), ("# OLD", "# Old"), ("## links and code > ### old", "### Old"),
    ],
)  # fmt: skip
def test_a_heading_is_found_as_it_is_read_where_only_one_fits(address, heading):
    assert [section.path[-1] for section in addressed(STYLED, address)] == [heading]
    assert edited(STYLED, "append_to_section", address, "- x") != STYLED


@each("address", ["old", "Old", "**old**"])
def test_two_headings_that_read_the_same_are_refused_with_both(address):
    message = refusal(STYLED, Edit("append_to_section", address, "- x"))
    assert "2 sections match" in message
    assert "### Old" in message
    assert '"# Old"' in message


@each("address", ["### next steps", "Old > next steps", "## Next", "##", "**", "## **", "# Team > ### next steps"])
def test_a_heading_of_another_level_or_other_words_is_not_found(address):
    assert addressed(STYLED, address) == []


def test_a_heading_in_the_very_words_goes_before_one_that_reads_the_same():
    text = "# A\n\n## API\n\n## Api\n\n## *API*\n"
    assert [section.path[-1] for section in addressed(text, "## Api")] == ["## Api"]
    assert len(addressed(text, "## api")) == 3


@each(
    ("own", "content", "result"),
    [
        ("* a\n", "- b", "* a\n* b\n"),
        ("- a\n", "+ b\n  + c\n+ d", "- a\n- b\n  + c\n- d\n"),
        ("- a\n", "* b\n\n1. c", "- a\n- b\n\n1. c\n"),
        ("- a\n", "* [ ] b\n  text", "- a\n- [ ] b\n  text\n"),
        ("- a\n", "  - b\n    - c\n  - d", "- a\n- b\n  - c\n- d\n"),
        ("  - a\n", "- b\n  - c", "  - a\n  - b\n    - c\n"),
        ("- a\n", "1. b", "- a\n\n1. b\n"),
        ("1. a\n", "2. b", "1. a\n2. b\n"),
        ("1. a\n", "2) b", "1. a\n2. b\n"),
        ("- a\n\n- b\n", "- c", "- a\n\n- b\n\n- c\n"),
        ("- a\n\n- b\n", "* c\n* d", "- a\n\n- b\n\n- c\n- d\n"),
        ("- a\n\n  ```\n  x\n  ```\n", "- b", "- a\n\n  ```\n  x\n  ```\n- b\n"),
        ("- a\n- b\n\n  ```\n  x\n  ```\n\n- c\n", "- d", "- a\n- b\n\n  ```\n  x\n  ```\n\n- c\n- d\n"),
        ("- a\n- b\n\n- c\n", "- d", "- a\n- b\n\n- c\n- d\n"),
        ("- a\n", "- - -", "- a\n\n- - -\n"),
        ("* a\n", "- * *", "* a\n\n- * *\n"),
        ("- a\n  - b\n", "- c", "- a\n  - b\n- c\n"),
        ("- a\nlazy\n", "- c", "- a\nlazy\n- c\n"),
        ("- [ ] a\n", "- [x] b", "- [ ] a\n- [x] b\n"),
        ("- a\n\n[x]: /url\n", "- c", "- a\n\n[x]: /url\n\n- c\n"),
        ("- a\n", "[x]: /url\n\n- c", "- a\n\n[x]: /url\n\n- c\n"),
        ("- a\n", "text\n\n- c", "- a\n\ntext\n\n- c\n"),
        ("- a\n", "- b\n\ntext", "- a\n- b\n\ntext\n"),
        ("text\n", "- a", "text\n\n- a\n"),
        ("    code\n", "    more", "    code\n\n    more\n"),
        ("", "- a", "- a\n"),
    ],
)
def test_only_a_list_of_the_same_kind_goes_on_without_a_blank_line(own, content, result):
    gap = "\n" if own else ""
    assert edited(f"# A\n{gap}{own}", "append_to_section", "# A", content) == f"# A\n\n{result}"
    assert edited(f"# A\n{gap}{own}\n# B\n", "append_to_section", "# A", content) == f"# A\n\n{result}\n# B\n"


@each(
    ("own", "content", "result"),
    [
        ("- a\n", "- 0", "- 0\n- a\n"),
        ("- a\n", "text\n\n- 0", "text\n\n- 0\n- a\n"),
        ("- a\n", "* 0", "- 0\n- a\n"),
        ("- a\n", "text\n\n* 0", "text\n\n- 0\n- a\n"),
        ("- a\n\n- b\n", "- 0", "- 0\n\n- a\n\n- b\n"),
        ("[x]: /url\n\n- a\n", "- 0", "- 0\n\n[x]: /url\n\n- a\n"),
        ("text\n", "New.", "New.\n\ntext\n"),
        ("---\n", "New.", "New.\n\n---\n"),
        ("", "New.", "New.\n"),
    ],
)
def test_prepended_text_stands_right_below_the_heading(own, content, result):
    gap = "\n" if own else ""
    assert edited(f"# A\n{gap}{own}\n## B\n", "prepend_to_section", "# A", content) == f"# A\n\n{result}\n## B\n"


def test_a_code_block_that_is_appended_and_deleted_again_leaves_a_tight_list():
    with_code = apply_edits(
        "# A\n\n- a\n- b\n",
        [Edit("append_to_section", "# A", "- c\n\n  ```\n  x\n  ```"), Edit("append_to_section", "# A", "- d\n- e")],
    )
    assert with_code == "# A\n\n- a\n- b\n- c\n\n  ```\n  x\n  ```\n- d\n- e\n"
    without = edited(with_code.replace("\n\n  ```\n  x\n  ```", ""), "append_to_section", "# A", "* f")
    assert without == "# A\n\n- a\n- b\n- c\n- d\n- e\n- f\n"


TABLE = "| Day | What |\n|-----|:----:|\n| 1 | SQS |\n"
BARE = "Day | What\n--- | ---\n1 | SQS\n"


@each(
    ("own", "content", "result"),
    [
        (TABLE, "| 2 | Go |", f"{TABLE}| 2 | Go |\n"),
        (TABLE, "| 2 | Go |\n| 3 | S3 |\n\nText.", f"{TABLE}| 2 | Go |\n| 3 | S3 |\n\nText.\n"),
        (TABLE, "|2|", f"{TABLE}|2|\n"),
        (TABLE, "| - | - |", f"{TABLE}| - | - |\n"),
        (TABLE, "| 2 | Go |\n| 3 | S3 |\n| - | - |", f"{TABLE}| 2 | Go |\n| 3 | S3 |\n| - | - |\n"),
        (TABLE, "| 2 | Go |\n| - | - |", f"{TABLE}\n| 2 | Go |\n| - | - |\n"),
        (TABLE, "|----|----|", f"{TABLE}\n|----|----|\n"),
        (TABLE, "| 2 | `a|b` | c | d |", f"{TABLE}| 2 | `a|b` | c | d |\n"),
        (TABLE, "| Day | What |\n| --- | --- |\n| 2 | Go |", f"{TABLE}| 2 | Go |\n"),
        (TABLE, "|Day|What|\n|:-:|-|\n|2|Go|\n\n- x", f"{TABLE}|2|Go|\n\n- x\n"),
        (TABLE, "| Who | What |\n|---|---|\n| 2 | Go |", f"{TABLE}\n| Who | What |\n|---|---|\n| 2 | Go |\n"),
        (TABLE, "Use a | b.", f"{TABLE}\nUse a | b.\n"),
        (TABLE, "| 2 | Go |\nText.", f"{TABLE}\n| 2 | Go |\nText.\n"),
        (f"Text:\n{TABLE}", "| 2 | Go |", f"Text:\n{TABLE}| 2 | Go |\n"),
        (f"{TABLE}\nText.\n", "| 2 | Go |", f"{TABLE}\nText.\n\n| 2 | Go |\n"),
        ("| Day | What |\n|---|---|\n", "| 2 | Go |", "| Day | What |\n|---|---|\n| 2 | Go |\n"),
        (BARE, "2 | Go", f"{BARE}2 | Go\n"),
        (BARE, "2 \\| Go", f"{BARE}\n2 \\| Go\n"),
        ("| a | b |\n", "| c | d |", "| a | b |\n\n| c | d |\n"),
        (TABLE, "| is a pipe", f"{TABLE}\n| is a pipe\n"),
        (TABLE, "|", f"{TABLE}\n|\n"),
        (TABLE, "2 | Go |", f"{TABLE}2 | Go |\n"),
        (TABLE, "| 2 | Go", f"{TABLE}| 2 | Go\n"),
        (TABLE, "\\| 2 | Go \\|", f"{TABLE}\n\\| 2 | Go \\|\n"),
        (TABLE, "    | 2 | Go |", f"{TABLE}\n    | 2 | Go |\n"),
        (TABLE, "  | 2 | Go |", f"{TABLE}| 2 | Go |\n"),
        (TABLE, "- | 2 | Go |", f"{TABLE}\n- | 2 | Go |\n"),
        ("- x\n\n  | a |\n  |---|\n", "| c |", "- x\n\n  | a |\n  |---|\n  | c |\n"),
        ("- x\n  - y\n\n    | a |\n    |---|\n", "    | c |", "- x\n  - y\n\n    | a |\n    |---|\n    | c |\n"),
        ("> | a |\n> |---|\n", "| c |", "> | a |\n> |---|\n> | c |\n"),
        ("- | a |\n  |---|\n\n  text\n", "| c |", "- | a |\n  |---|\n\n  text\n\n| c |\n"),
        ("    | a |\n    |---|\n", "| c |", "    | a |\n    |---|\n\n| c |\n"),
        ("```\n" + TABLE + "```\n", "| 2 | Go |", "```\n" + TABLE + "```\n\n| 2 | Go |\n"),
    ],
)
def test_a_row_that_is_appended_to_a_table_is_a_row_and_all_else_is_not(own, content, result):
    assert edited(f"# A\n\n{own}", "append_to_section", "# A", content) == f"# A\n\n{result}"
    assert edited(f"# A\n\n{own}\n# B\n", "append_to_section", "# A", content) == f"# A\n\n{result}\n# B\n"


@each(
    ("own", "content", "result"),
    [
        (TABLE, "| 0 | Go |", TABLE.replace("| 1 |", "| 0 | Go |\n| 1 |")),
        (TABLE, "| Day | What |\n|---|---|\n| 0 | Go |", TABLE.replace("| 1 |", "| 0 | Go |\n| 1 |")),
        ("| Day |\n|---|\n", "| 0 |", "| Day |\n|---|\n| 0 |\n"),
        (f"{TABLE}\nText.\n", "| 0 | Go |", TABLE.replace("| 1 |", "| 0 | Go |\n| 1 |") + "\nText.\n"),
        (f"Text:\n{TABLE}", "| 0 | Go |", f"Text:\n{TABLE}".replace("| 1 |", "| 0 | Go |\n| 1 |")),
        (f"Text.\n\n{TABLE}", "| 0 | Go |", f"Text.\n\n{TABLE}".replace("| 1 |", "| 0 | Go |\n| 1 |")),
        (f"Text.\n\n{TABLE}", "|x| = 0", f"|x| = 0\n\nText.\n\n{TABLE}"),
        (f"Text.\n\n{TABLE}", "| 0 |", f"| 0 |\n\nText.\n\n{TABLE}"),
        ("- | a |\n  |---|\n", "| 0 |", "- | a |\n  |---|\n  | 0 |\n"),
        (TABLE, "Text.", f"Text.\n\n{TABLE}"),
    ],
)
def test_a_row_that_is_prepended_stands_below_the_head_of_the_table(own, content, result):
    assert edited(f"# A\n\n{own}", "prepend_to_section", "# A", content) == f"# A\n\n{result}"
    assert edited(f"# A\n\n{own}\n# B\n", "prepend_to_section", "# A", content) == f"# A\n\n{result}\n# B\n"


def test_a_row_takes_the_line_ending_of_the_file_and_an_end_without_one_is_ended():
    crlf = TABLE.replace("\n", "\r\n")
    assert edited(f"# A\r\n\r\n{crlf}", "append_to_section", "# A", "| 2 | Go |") == f"# A\r\n\r\n{crlf}| 2 | Go |\r\n"
    assert edited(f"# A\n\n{TABLE}".rstrip(), "append_to_section", "# A", "| 2 | Go |") == f"# A\n\n{TABLE}| 2 | Go |\n"


CELLS = st.text(st.characters(categories=["L", "N"], include_characters=" `*_-:"), min_size=1, max_size=8)
ROWS = st.lists(st.lists(CELLS, min_size=1, max_size=4), min_size=1, max_size=4)


@given(st.lists(CELLS.map(lambda cell: f"h{cell}"), min_size=2, max_size=3), ROWS, ROWS)
def test_rows_of_any_cells_are_rows_wherever_they_are_added(head, present, new):
    def lines(rows):
        return "".join(f"| {' | '.join(row)} |\n" for row in rows)

    assume(not any(all(set(cell) <= set(" -:") for cell in row) for row in (*present, *new)))
    table = lines([head]) + f"|{'---|' * len(head)}\n"
    text = f"# A\n\n{table}{lines(present)}"
    parsed = MarkdownIt("commonmark").enable("table")

    for op in ("append_to_section", "prepend_to_section"):
        result = edited(text, op, "# A", lines(new))
        rows = sum(token.type == "tr_open" for token in parsed.parse(result))
        assert rows == 1 + len(present) + len(new)
        assert Counter(result.splitlines()) == Counter((text + lines(new)).splitlines())


BULLETS = st.lists(st.tuples(st.sampled_from("-*+"), CELLS), min_size=1, max_size=4)


@given(BULLETS, BULLETS, st.sampled_from(["append_to_section", "prepend_to_section"]))
def test_items_of_any_bullets_go_on_with_the_list_as_one(present, new, op):
    own = "".join(f"{present[0][0]} x{text.strip()}\n" for _, text in present)
    added = "".join(f"{new[0][0]} x{text.strip()}\n" for _, text in new)

    result = edited(f"# A\n\n{own}", op, "# A", added)

    tokens = MarkdownIt("commonmark").parse(result)
    assert sum(token.type == "bullet_list_open" for token in tokens) == 1
    assert sum(token.type == "list_item_open" for token in tokens) == len(present) + len(new)
    assert own in result


def test_blank_lines_are_added_where_there_are_none_and_the_present_ones_stay():
    assert edited("# A\na\n# B\nb", "append_to_section", "# A", "x") == "# A\na\n\nx\n\n# B\nb"
    assert edited("# A\na\n# B\nb", "prepend_to_section", "# A", "x") == "# A\n\nx\n\na\n# B\nb"
    assert edited("# A\na\n# B\nb", "replace_section", "# A", "x") == "# A\n\nx\n\n# B\nb"
    assert edited("# A\n\n\na\n \n\n# B\n", "append_to_section", "# A", "x") == "# A\n\n\na\n\nx\n \n\n# B\n"


def test_content_that_begins_with_a_heading_is_a_child_section():
    log = "## Log\n\nNewest last.\n\n### 19\n\na\n\n### 20\n\nb\n\n## Z\n"
    assert edited(log, "append_to_section", "## Log", "### 21\n\nc") == log.replace("b\n", "b\n\n### 21\n\nc\n")
    assert edited(log, "prepend_to_section", "## Log", "### 18\n\nc") == log.replace(
        "last.\n", "last.\n\n### 18\n\nc\n"
    )


def test_content_that_begins_with_anything_else_belongs_to_the_own_text():
    text = "# A\n\na\n\n## B\n"
    content = "[x]: /u\n\n## C"
    assert edited(text, "append_to_section", "# A", content) == f"# A\n\na\n\n{content}\n\n## B\n"


def test_an_appended_child_section_never_lands_in_another_child():
    result = edited("# A\n\n## B\n\nb\n", "append_to_section", "# A", "### C\n\nc")
    assert result == "# A\n\n### C\n\nc\n\n## B\n\nb\n"


def test_prepended_text_with_a_heading_may_not_take_over_the_present_text():
    assert "would fall under" in refusal("# A\n\nold\n", Edit("prepend_to_section", "# A", "new\n\n## B\n\nb"))
    assert edited("# A\n\n## Z\n", "prepend_to_section", "# A", "new\n\n## B") == "# A\n\nnew\n\n## B\n\n## Z\n"


def test_a_section_is_added_at_the_end_of_the_file_behind_another_or_under_a_parent():
    assert edited(DOC, "add_section", "## New", "x") == DOC + "\n## New\n\nx\n"
    assert edited(DOC, "add_section", "## New", "x", "## Focus") == DOC.replace("Deep.\n", "Deep.\n\n## New\n\nx\n")
    assert edited(DOC, "add_section", "# Project > ## New ##") == DOC + "\n## New ##\n"
    assert edited(DOC, "add_section", "## Focus > ### New") == DOC.replace("Deep.\n", "Deep.\n\n### New\n")
    assert edited("", "add_section", "# New", "x") == "# New\n\nx\n"
    assert edited("\n\n", "add_section", "# New", after="") == "# New\n"
    assert edited("text", "add_section", "# New") == "text\n\n# New\n"


def test_a_section_just_added_can_be_edited():
    edits = [
        Edit("add_section", "## New"),
        Edit("append_to_section", "## New", "- a"),
        Edit("append_to_section", "## New", "- b"),
    ]
    assert apply_edits(DOC, edits) == DOC + "\n## New\n\n- a\n- b\n"


def test_adding_a_section_that_exists_is_refused():
    for heading in ("## Focus", "##  Focus  ##", "### Detail", "# Project > ## Focus", "Focus\n---"):
        assert "exists already" in refusal(DOC, Edit("add_section", heading, "x"))


def test_a_heading_that_exists_elsewhere_can_be_added_by_its_path():
    text = "# A\n\n## Notes\n\n# B\n\nb\n"
    assert "exists already" in refusal(text, Edit("add_section", "## Notes"))
    assert edited(text, "add_section", "# B > ## Notes") == text + "\n## Notes\n"


@each(
    "heading",
    ["New", "##New", "## A\ntext", "## A\n## B", "Title\n===", "##", "## ##", "", "> ## A", "- ## A", "## A\n[x]: /u",
     "[x]: /u\n## A", "# Project > ## A\r## B", "####### A"],
)  # fmt: skip
def test_a_new_heading_is_exactly_one_heading_line(heading):
    assert "exactly one heading line" in refusal(DOC, Edit("add_section", heading, "x"))


def test_a_new_section_may_not_take_over_the_sections_behind_it():
    message = refusal("# A\n\n## B\n\n### C\n\n### D\n", Edit("add_section", "## New", after="### C"))
    assert '"# A > ## B > ### D" would become "# A > ## New > ### D"' in message


def test_a_path_of_a_new_section_must_be_true_where_it_goes():
    assert "more # signs" in refusal(DOC, Edit("add_section", "## Focus > ## New"))
    assert "inside that" in refusal(DOC, Edit("add_section", "# Project > #### New"))
    assert "not a part of" in refusal(DOC, Edit("add_section", "## Focus > ### New", after="## Done"))
    assert "no section" in refusal(DOC, Edit("add_section", "# Nothing > ### New"))
    assert "no section" in refusal(DOC, Edit("add_section", "### New", after="## Nothing"))


def test_deleting_a_section_deletes_its_child_sections_and_closes_the_gap():
    assert edited(DOC, "delete_section", "## Focus") == DOC.replace(
        "## Focus\n\n- a\n- b\n\n### Detail\n\nDeep.\n\n", ""
    )
    assert edited(DOC, "delete_section", "## Done", "ignored") == DOC.replace("\n## Done\n\nText.\n", "")
    assert edited("# A\n\n\n# B\n\n\n# C\n\n\n# D", "delete_section", "# B") == "# A\n\n# C\n\n\n# D"
    assert edited("a\n# B\nb\n# C\n", "delete_section", "# B") == "a\n\n# C\n"
    assert edited("a\n \r\n\n# B\n\n# C\n", "delete_section", "# B") == "a\n \r\n# C\n"
    assert edited("# A\n\n\n# B", "delete_section", "# A") == "# B"
    assert edited("\n# A\n\n", "delete_section", "# A") == ""


def test_text_does_not_become_a_heading_when_what_parted_them_is_deleted():
    assert edited("a\n# B\nC\n===\n", "delete_section", "# B") == "a\n\nC\n===\n"


# Content


@each("op", ["replace_section", "append_to_section", "prepend_to_section"])
@each("first", ["## Done", "##  Done ##", "\n\n   ## Done\n", "Done\n---"])
def test_a_repeated_heading_at_the_start_of_the_content_is_removed(op, first):
    assert edited(DOC, op, "## Done", f"{first}\n\nNew.") == edited(DOC, op, "## Done", "New.")


def test_a_new_section_may_repeat_its_heading_too():
    assert edited(DOC, "add_section", "## New", "## New\nx") == edited(DOC, "add_section", "## New", "x")


@each(
    "content",
    ["## Done\n\n## Done\n\nx", "x\n\n## Done", "## Other\nx", "# Top", "x\n\nTop\n===", "[x]: /u\n\n## Done"],
)
def test_content_that_would_end_its_section_is_refused(content):
    for op in ("replace_section", "append_to_section", "prepend_to_section"):
        assert "would end the section" in refusal(DOC, Edit(op, "## Done", content))
    assert "would end the section" in refusal(DOC, Edit("add_section", "## New", content))


def test_headings_in_fences_quotes_and_lists_are_fine_in_content():
    content = "```\n# x\n```\n\n> # y\n\n- # z\n"
    assert edited(DOC, "replace_section", "## Done", content) == DOC.replace("Text.\n", content)


@each("content", ["```\nx", "~~~~\nx\n~~~", "a\n\n<!-- x", "<script>\n\nx", "<?php", "<![CDATA[", "<pre>\n\n"])
def test_content_that_leaves_a_block_open_is_refused(content):
    for op in ("replace_section", "append_to_section", "prepend_to_section"):
        for heading in ("## Focus", "## Done"):
            assert "open: close it" in refusal(DOC, Edit(op, heading, content))
    assert "open: close it" in refusal(DOC, Edit("add_section", "## New", content))


def test_content_behind_an_open_block_of_the_file_is_refused():
    text = "# A\n\n```\ncode"
    assert "not closed" in refusal(text, Edit("append_to_section", "# A", "x"))
    assert "not closed" in refusal(text, Edit("add_section", "# B"))
    assert edited(text, "replace_section", "# A", "x") == "# A\n\nx\n"
    assert edited(text, "prepend_to_section", "# A", "x") == "# A\n\nx\n\n```\ncode"


def test_a_heading_that_indentation_would_draw_into_a_list_is_protected():
    text = "# A\n\na\n\n  # B\n"
    assert "place as a heading" in refusal(text, Edit("replace_section", "# A", "- a"))
    assert "place as a heading" in refusal("# A\n\n- a\n", Edit("append_to_section", "# A", "  ## B"))
    assert "place as a heading" in refusal("# A\n\n- a\n\n# B\n\n  # C\n", Edit("delete_section", "# B"))


@each("op", ["append_to_section", "prepend_to_section"])
@each("content", ["", " \n\t\n", "## Done", "## Done\n\n"])
def test_an_edit_without_content_is_refused_rather_than_lost(op, content):
    assert "content is empty" in refusal(DOC, Edit(op, "## Done", content))


def test_content_cannot_make_a_second_section_of_the_same_path():
    text = "# A\n\n## B\n\nb\n"
    assert '"# A > ## B" already' in refusal(text, Edit("append_to_section", "# A", "## B\n\nc"))
    assert '"# A > ## B" already' in refusal(text, Edit("prepend_to_section", "# A", "x\n\n## B\n\nc"))


# Addresses


@each(
    "address",
    ["## Focus", "  ##   Focus ", "## Focus ##", "##\tFocus\t#", "# Project > ## Focus", "#  Project #  >  ## Focus #",
     "Focus\n-----", "##\u00a0Focus"],
)  # fmt: skip
def test_a_section_is_addressed_by_its_heading_line_or_its_path(address):
    assert edited(DOC, "append_to_section", address, "- c") == edited(DOC, "append_to_section", "## Focus", "- c")


@each("address", ["# a\0b", "# a\ufffdb", "# a\0b > ## c\0"])
def test_a_heading_with_a_nul_has_an_address(address):
    text = "# a\0b\n\n## c\0\n"
    assert edited(text, "delete_section", address) == ("" if address.endswith("b") else "# a\0b\n")


@each("heading", ["A\n===", "# A ##", "   #  A"])
def test_every_form_of_a_heading_has_the_same_address(heading):
    assert edited(f"{heading}\n\na\n", "append_to_section", "# A", "b") == f"{heading}\n\na\n\nb\n"


def test_a_heading_text_may_hold_the_separator_of_paths():
    text = "# A > B\n\n## C > # D\n\nx\n"
    assert edited(text, "append_to_section", "# A > B", "y") == text.replace("\n\n## C", "\n\ny\n\n## C")
    assert edited(text, "append_to_section", "## C > # D", "y") == text + "\ny\n"
    assert edited(text, "append_to_section", "# A > B > ## C > # D", "y") == text + "\ny\n"


def test_the_text_of_an_underlined_heading_may_end_in_a_number_sign():
    text = "A #\n===\n\na\n\n# A\n\nb\n"
    assert edited(text, "append_to_section", "# A #", "x") == text.replace("a\n", "a\n\nx\n")
    assert edited(text, "append_to_section", "# A ##", "x") == text + "\nx\n"


MARKED = """\
# Project *Ferry*

## **Focus**

a

## [The `queue`](https://example.org/q?a=b) &amp; more

b

## Done

c

### Détail

d
"""


@each(
    ("address", "own"),
    [
        ("## Focus", "a"),
        ("## focus", "a"),
        ("## __FOCUS__ ##", "a"),
        ("## `Focus`", "a"),
        ("# project ferry > ## focus", "a"),
        ("## The queue & more", "b"),
        ("## the *queue* & More", "b"),
        ("## The `queue` &amp; more", "b"),
        ("## **Done**", "c"),
        ("##  [done](#done)", "c"),
        ("done\n----", "c"),
        ("The Queue & more", "b"),
        ("### DÉTAIL", "d"),
        ("## ~~Done~~ > ### Détail", "d"),
    ],
)
def test_a_heading_is_found_without_its_emphasis_links_and_capitals(address, own):
    changed = MARKED.replace(f"\n{own}\n", "\nx\n")
    assert edited(MARKED, "replace_section", address, "x").startswith(changed[: changed.index("\nx\n") + 3])
    assert edited(MARKED, "append_to_section", address, "x") == MARKED.replace(f"\n{own}\n", f"\n{own}\n\nx\n")
    assert edited(MARKED, "prepend_to_section", address, "x") == MARKED.replace(f"\n{own}\n", f"\nx\n\n{own}\n")
    assert f"\n{own}\n" not in edited(MARKED, "delete_section", address)
    assert edited(MARKED, "confirm_section", address) == MARKED
    assert "exists already" in refusal(MARKED, Edit("add_section", address, "x"))


def test_the_heading_as_it_stands_comes_before_one_that_reads_alike():
    text = "# List\n\na\n\n# `list`\n\nb\n\n# LIST\n\nc\n"
    for heading, own in (("# List", "a"), ("# `list`", "b"), ("# LIST", "c")):
        assert edited(text, "append_to_section", heading, "x") == text.replace(f"{own}\n", f"{own}\n\nx\n")
    message = refusal(text, Edit("append_to_section", "# list", "x"))
    assert '3 sections match; address one of them by its path: "# List", "# `list`", "# LIST"' in message
    for op in ("confirm_section", "delete_section", "replace_section"):
        assert "3 sections match" in refusal(text, Edit(op, "# *list*"))


def test_a_new_section_may_not_read_like_a_present_one_of_its_parent():
    assert 'exists already, as "## **Focus**"' in refusal(MARKED, Edit("add_section", "## focus"))
    assert 'exists already, as "## **Focus**"' in refusal(MARKED, Edit("add_section", "# Project Ferry > ## Focus"))
    assert "### Focus" in edited(MARKED, "add_section", "## Done > ### Focus")
    assert edited(MARKED, "add_section", "## New", after="## focus") == MARKED.replace("a\n", "a\n\n## New\n")


def test_a_heading_without_words_is_no_address_of_another():
    text = "# A\n\n## ![](a.png)\n\n## ![](b.png)\n"
    assert "no section" in refusal(text, Edit("delete_section", "## ![](c.png)"))
    assert edited(text, "append_to_section", "## ![](b.png)", "x") == text + "\nx\n"
    assert "would end the section" in refusal(text, Edit("append_to_section", "## ![](b.png)", "## ![](d.png)\n\nx"))


def test_a_long_heading_is_found_without_its_capitals_alone():
    words, marks = "Word " * 60, "[" * 400
    text = "".join(f"## {marks}{number}\n\n" for number in range(500)) + f"## {words}\n\nx\n"
    assert edited(text, "replace_section", f"## {words.lower()}", "y") == text.replace("\nx\n", "\ny\n")
    assert "no section" in refusal(text, Edit("delete_section", f"## *{words}*"))


def test_the_heading_that_the_content_repeats_may_read_alike():
    assert edited(MARKED, "replace_section", "## Focus", "## focus\n\nNew.") == MARKED.replace("\na\n", "\nNew.\n")


REPEATED = "# A\n\n## N\n\na\n\n# B\n\n## N\n\nb\n"


def test_a_heading_that_occurs_twice_needs_its_path():
    message = refusal(REPEATED, Edit("append_to_section", "## N", "x"))
    assert "2 sections match" in message
    assert '"# A > ## N", "# B > ## N"' in message
    assert edited(REPEATED, "append_to_section", "# A > ## N", "x") == REPEATED.replace("a\n", "a\n\nx\n")
    assert edited(REPEATED, "append_to_section", "# B > ## N", "x") == REPEATED + "\nx\n"


def test_the_sections_that_an_address_matches_can_be_asked_for():
    assert [s.path for s in addressed(REPEATED, "## N")] == [("# A", "## N"), ("# B", "## N")]
    assert [s.path for s in addressed(REPEATED, "# B > ## N ##")] == [("# B", "## N")]
    assert addressed(REPEATED, "## Z") == addressed("", "## N") == []


def test_the_end_of_a_path_is_enough_when_it_is_unique():
    text = "# A\n\n## B\n\n### N\n\n## C\n\n### N\n"
    assert edited(text, "append_to_section", "## C > ### N", "x") == text + "\nx\n"
    assert edited(text, "append_to_section", "# A > ## C > ### N", "x") == text + "\nx\n"
    assert "no section" in refusal(text, Edit("append_to_section", "# A > ### N", "x"))


def test_a_full_path_comes_before_the_end_of_a_longer_one():
    text = "## B\n\n### N\n\n# A\n\n## B\n\n### N\n"
    assert edited(text, "append_to_section", "# A > ## B > ### N", "x") == text + "\nx\n"
    assert edited(text, "append_to_section", "## B > ### N", "x") == text.replace("\n\n# A", "\n\nx\n\n# A")


def test_sections_that_even_their_path_does_not_tell_apart_are_never_guessed():
    text = "# A\n\n## N\n\n## N\n"
    for heading in ("## N", "# A > ## N"):
        message = refusal(text, Edit("delete_section", heading))
        assert "2 sections match" in message
        assert "updated" in message


def test_a_missing_heading_is_answered_with_the_headings_that_exist():
    message = refusal(DOC, Edit("append_to_section", "## Focus", "x"), Edit("delete_section", "## Nothing"))
    assert message.startswith('edit 2 (delete_section "## Nothing"): no section "## Nothing"')
    assert '"# Project", "## Focus", "### Detail", "## Done"' in message
    assert "no headings" in refusal("text", Edit("delete_section", "## Nothing"))


def test_a_refusal_is_short_however_long_the_file_or_the_heading():
    text = "".join(f"## {'h' * 500} {i}\n" for i in range(100))
    message = refusal(text, Edit("delete_section", "## " + "x" * 100_000))
    assert "and 80 more" in message
    assert len(message) < 4000


@each(
    "address",
    [
        "### Focus",
        "## Foc",
        "",
        "#",
        "Preamble.",
        "Intro.",
        "- a",
        "> ## Focus",
        "## Focus\n[x]: /u",
        "## Focus\n- a",
    ],
)
def test_what_is_not_a_heading_of_the_file_is_no_address(address):
    assert "no section" in refusal(DOC, Edit("append_to_section", address, "x"))


def test_a_heading_in_a_fence_is_no_address():
    assert "no section" in refusal("# A\n\n```\n## B\n```\n", Edit("append_to_section", "## B", "x"))


# Bytes


@each("ending", ["\n", "\r\n", "\r"])
def test_inserted_lines_take_the_line_ending_of_the_file(ending):
    expected = DOC.replace("- b\n", "- b\n\nx\n\ny\n").replace("\n", ending)
    for inside in ("\n", "\r\n", "\r"):
        assert edited(DOC.replace("\n", ending), "append_to_section", "## Focus", f"x{inside * 2}y") == expected


def test_in_a_file_of_several_line_endings_the_prevailing_one_is_inserted():
    assert (
        edited("# A\r\n\r\na\n# B\n\r\nb", "append_to_section", "# A", "x") == "# A\r\n\r\na\n\r\nx\r\n\r\n# B\n\r\nb"
    )


def test_a_return_and_a_newline_that_meet_stay_two_line_endings():
    # dominant \n behind a line that ends in \r alone, and dominant \r in front of an empty line that is \n alone
    assert edited("# A\n\na\r# B\n", "append_to_section", "# A", "x") == "# A\n\na\r\r\nx\n\n# B\n"
    result = edited("# A\r\ra\n\n# B\r\r\r", "append_to_section", "# A", "x")
    assert result == "# A\r\ra\n\rx\r\n\n# B\r\r\r"
    assert [s.start for s in list_sections(result)] == [0, 6]


def test_the_end_of_the_file_changes_only_where_it_is_touched():
    for end in ("", "\n", "\n\n\n", "\n  "):
        assert edited(f"# A\n\na\n\n# B\n\nb{end}", "append_to_section", "# A", "x").endswith(f"# B\n\nb{end}")
        assert edited(f"# A\n\na\n\n# B\n\nb{end}", "append_to_section", "# B", "x\n\n").endswith("# B\n\nb\n\nx\n")
        assert edited(f"# A\n\na\n\n# B\n\nb{end}", "delete_section", "# B") == "# A\n\na\n"
        assert edited(f"# A\n\na\n\n# B\n\nb{end}", "replace_section", "# B", "x") == "# A\n\na\n\n# B\n\nx\n"


def test_no_edits_change_nothing():
    for text in ("", "a", "# A\r\r\n\n \0", "```\n"):
        assert apply_edits(text, []) == text


# Any text

OPS = ["replace_section", "append_to_section", "prepend_to_section", "add_section", "delete_section"]
SAFE = ["- new item", "New paragraph.", "1. one", "```\n# fenced\n```", "> quote", "a\n\nb"]


@st.composite
def edits_of(draw, text, content):
    """An edit that addresses a section of the text by its path, or adds one."""
    sections = list_sections(text)
    op = draw(st.sampled_from(OPS if sections else ["add_section"]))
    if op == "add_section":
        after = (
            draw(st.one_of(st.none(), st.sampled_from([" > ".join(s.path) for s in sections]))) if sections else None
        )
        return Edit(op, draw(st.sampled_from(["# New", "## New", "### New", "##### New"])), draw(content), after)
    return Edit(op, " > ".join(draw(st.sampled_from(sections)).path), draw(content))


def target(text, address):
    """The section that a path names, found by another way than the module's."""
    found = [s for s in list_sections(text) if " > ".join(s.path) == address]
    assume(len(found) == 1)
    return found[0]


def begins_with_heading(content):
    return bool(list_sections(content)) and blank(preamble(content))


def check_untouched(text, edit, result):
    """All lines outside of the edit are in the result byte for byte, blank lines at the seam excepted."""
    lines = split_lines(text)
    if edit.op == "add_section":
        stop = target(text, edit.after).end if edit.after else len(lines)
        start = stop
    else:
        section = target(text, edit.heading)
        start = section.start if edit.op == "delete_section" else section.body
        stop = section.end if edit.op in ("delete_section", "replace_section") else section.own_end
        if edit.op == "append_to_section":
            start = stop
        elif edit.op == "prepend_to_section":
            stop = next((i for i in range(section.body, section.own_end) if not blank(lines[i])), section.own_end)
    while start and blank(lines[start - 1]):
        start -= 1
    head, tail = "".join(lines[:start]), "".join(lines[stop:])
    assert result.startswith(head)
    if tail.strip(" \t\r\n"):
        assert result.endswith(tail)
    elif result:
        assert result.endswith(("\n", "\r"))
        assert not re.search(r"(\n|\r\n|\r)[ \t]*(\n|\r\n|(?<!\r)\r)$", result.replace("\r\n", "\n"))


@given(st.data())
def test_lines_that_no_edit_touches_stay_byte_for_byte(data):
    text = data.draw(documents)
    edit = data.draw(edits_of(text, st.one_of(st.sampled_from(SAFE), wild_content)))
    result, _ = attempted(text, [edit])
    assume(result is not None)
    # such content is a new child section, which goes elsewhere
    assume(edit.op in ("add_section", "delete_section") or not begins_with_heading(edit.content))
    check_untouched(text, edit, result)


@given(st.data())
def test_an_edit_leaves_every_other_section_where_it_belongs(data):
    """The module proves an edit by a part of the file; this compares it with a parse of the whole result."""
    text = data.draw(documents)
    edit = data.draw(edits_of(text, st.one_of(st.sampled_from(SAFE), wild_content)))
    result, _ = attempted(text, [edit])
    assume(result is not None)
    before, after = list_sections(text), list_sections(result)
    gone = []
    if edit.op in ("delete_section", "replace_section"):
        section = target(text, edit.heading)
        gone = [s for s in before if section.start < s.start < section.end]
        gone += [section] if edit.op == "delete_section" else []
    left = Counter(s.path for s in before) - Counter(s.path for s in gone)
    added = Counter(s.path for s in after) - left
    assert left - Counter(s.path for s in after) == Counter()
    if edit.op == "delete_section":
        assert not added
    elif edit.op != "add_section":
        root = target(text, edit.heading).path
        assert all(path[: len(root)] == root and len(path) > len(root) for path in added)
    else:
        assert any(path[-1] == edit.heading for path in added)


@given(st.data())
def test_plain_content_is_accepted_and_is_in_its_section_afterwards(data):
    text = data.draw(tame_documents())
    content = data.draw(st.sampled_from(SAFE))
    sections = list_sections(text)
    assume(sections)
    path = " > ".join(data.draw(st.sampled_from(sections)).path)
    assume(sum(" > ".join(s.path) == path for s in sections) == 1)
    assume(" > " in path or [s.path[-1] for s in sections].count(path) == 1)
    for op in ("replace_section", "append_to_section", "prepend_to_section"):
        result = edited(text, op, path, content)
        own = own_text(result, target(result, path))
        assert content in re.sub(r"\r\n?", "\n", own)
        assert (content == re.sub(r"\r\n?", "\n", own).strip()) or op != "replace_section"


@given(st.data())
def test_adding_a_section_and_deleting_it_again_restores_the_text_but_for_blank_lines(data):
    text = data.draw(documents)
    edit = data.draw(edits_of(text, st.sampled_from(SAFE)))
    heading = edit.heading if edit.op == "add_section" else "# New"
    added, _ = attempted(text, [Edit("add_section", heading, edit.content, edit.after)])
    assume(added is not None)
    restored = edited(added, "delete_section", heading)

    def kept(t):
        return [line.rstrip("\r\n") for line in split_lines(t) if not blank(line)]

    assert kept(restored) == kept(text)


@given(st.data())
def test_edits_at_once_give_the_same_as_one_after_the_other(data):
    """What the module carries along from edit to edit must be what a fresh reading of the text would find."""
    text = re.sub(r"\r\n?", "\n", data.draw(documents))
    step, edits = text, []
    for _ in range(3):
        edit = data.draw(edits_of(step, st.one_of(st.sampled_from(SAFE), wild_content)))
        result, error = attempted(step, [edit])
        if result is None:
            assert refusal(text, *edits, edit) == error.replace("edit 1 ", f"edit {len(edits) + 1} ", 1)
            continue
        step = result
        edits.append(edit)
        assert apply_edits(text, edits) == step


@given(
    st.one_of(any_text, documents),
    st.lists(
        st.builds(
            Edit,
            st.sampled_from(OPS),
            st.one_of(any_text, wild_content),
            st.one_of(any_text, wild_content),
            st.one_of(st.none(), any_text),
        ),
        max_size=3,
    ),
)
def test_nothing_but_the_own_error_is_ever_raised(text, edits):
    _, error = attempted(text, edits)
    assert len(error) < 6000


cells = st.text("ab`*1 .é>#-", max_size=5)


@st.composite
def tables(draw):
    """A table with some rows, its columns, and whether pipes stand at the ends of its lines."""
    columns = draw(st.integers(2, 4))
    edge = draw(st.sampled_from(["| ", "", "|"]))

    def row(texts):
        return f"{edge}{' | '.join(texts)}{edge[::-1]}"

    made = [row(f"h{number}" for number in range(columns)), row(["---"] * columns)]
    made += [row(f"c{text}" for text in draw(cells_of(columns))) for _ in range(draw(st.integers(0, 3)))]
    return made, columns, bool(edge)


def cells_of(columns):
    return st.lists(cells, min_size=columns, max_size=columns)


def rows_of(text):
    """How many rows each table of the text has, by the rules of GitHub."""
    found = []
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type == "table_open":
            found.append(0)
        elif token.type == "tr_open":
            found[-1] += 1
    return found


@given(st.data())
def test_an_appended_or_prepended_row_is_a_row_of_the_table_and_no_other_line_changes(data):
    lines, columns, edged = data.draw(tables())
    texts = data.draw(cells_of(data.draw(st.integers(1 if edged else 2, columns + 1))))
    new = " | ".join(f"n{text}" for text in texts)
    new = f"| {new} |" if edged else new
    indent, first, behind = data.draw(
        st.sampled_from([("", "", ""), ("  ", "- x\n\n", ""), ("> ", "", ""), ("", "", "\n## C\n\nz\n")])
    )
    ending = data.draw(st.sampled_from(["\n", "\r\n"]))
    own = first + "".join(f"{indent}{line}\n" for line in lines)
    text = f"# A\n\na\n\n## B\n\n{own}{behind}".replace("\n", ending)
    text = text.removesuffix(ending) if data.draw(st.booleans()) else text
    (before,) = rows_of(text)
    whole = edged and len(texts) == columns
    for op in ("append_to_section", "prepend_to_section") if whole or not first else ("append_to_section",):
        result = edited(text, op, "## B", new)
        assert rows_of(result) == [before + 1]
        left = list(split_lines(result))
        left.remove(f"{indent}{new}{ending}")
        assert "".join(left).removesuffix(ending) == text.removesuffix(ending)


@given(st.data())
def test_an_appended_or_prepended_list_goes_on_as_one_list_and_no_other_line_changes(data):
    marks = data.draw(st.sampled_from([("-", "*", "+"), ("1.", "2)")]))
    own, new = data.draw(st.sampled_from(marks)), data.draw(st.sampled_from(marks))
    gap = data.draw(st.sampled_from(["\n", "\n\n"]))
    inside = st.sampled_from(["a", "[ ] a", "a\n   - b\n   * c", "a\n\n       code", "a\n   b", "# a", "`* a`"])
    items = data.draw(st.lists(inside, min_size=1, max_size=3))
    content = "\n".join(f"{new} {item}" for item in data.draw(st.lists(inside, min_size=1, max_size=3)))
    text = f"# A\n\n{gap.join(f'{own} {item}' for item in items)}\n\n# B\n"
    for op in ("append_to_section", "prepend_to_section"):
        result = edited(text, op, "# A", content)
        tokens = MarkdownIt("commonmark").parse(result)
        assert [token.level for token in tokens if token.type.endswith("_list_open")].count(0) == 1
        assert result.replace("\n", "").count("code") == (text + content).count("code")
        kept = [line for line in split_lines(text) if not blank(line)]
        left = iter(split_lines(result))
        assert all(line in left for line in kept)


@given(
    st.lists(st.sampled_from(["A", "**A**", "[a](u)", "`A`", "B", "*b*"]), min_size=1, max_size=4, unique=True),
    st.sampled_from(["A", "a", "*A*", "B", "[b](x)", "C"]),
)
def test_a_heading_that_reads_alike_is_found_if_no_other_one_does(texts, wanted):
    text = "".join(f"## {one}\n\nx\n\n" for one in texts)

    def reads(one):
        return re.sub(r"\(.*\)|[*`\[\]]", "", one).lower()

    fitting = [one for one in texts if one == wanted] or [one for one in texts if reads(one) == reads(wanted)]
    result, error = attempted(text, [Edit("append_to_section", f"## {wanted}", "y")])
    if len(fitting) == 1:
        assert result == text.replace(f"## {fitting[0]}\n\nx\n", f"## {fitting[0]}\n\nx\n\ny\n").rstrip("\n") + (
            "\n" if fitting[0] == texts[-1] else "\n\n"
        )
    else:
        assert ("no section" if not fitting else "sections match") in error
        assert all(f'"## {one}"' in error for one in fitting)


@pytest.mark.slow
@given(st.data())
def test_what_is_known_of_a_text_after_an_edit_is_what_parsing_it_anew_finds(data):
    """All that an edit parses is its neighbourhood; where the rest begins and ends must be right all the same."""
    text = data.draw(documents)
    edit = data.draw(edits_of(text, st.one_of(st.sampled_from([*SAFE, "* new", "2) new", "| x | y |"]), wild_content)))
    try:
        carried = edits_module._apply(edits_module._open(text), edit)
    except SectionError:
        assume(False)
    anew = edits_module._open("".join(carried.lines))
    assert carried.lines == anew.lines
    assert carried.blocks == anew.blocks
    assert carried.sections == anew.sections


# Work


@pytest.fixture
def parsed(monkeypatch):
    """How many lines each call of the parser was handed."""
    counts = []
    whole = MarkdownIt.parse

    def counted(self, src, *rest):
        counts.append(src.count("\n"))
        return whole(self, src, *rest)

    monkeypatch.setattr(MarkdownIt, "parse", counted)
    return counts


def test_a_hundred_edits_of_a_large_file_parse_it_about_once(parsed):
    text = "".join(
        f"## Section {i}\n\n" + "- an item of some forty characters, or so!\n" * 8 + "\n" for i in range(200)
    )
    chosen = random.Random(1).sample(range(200), 100)
    edits = [Edit("append_to_section", f"## Section {i}", f"- new item {i}") for i in chosen]

    result = apply_edits(text, edits)

    assert result.count("so!\n- new item") == 100
    # Once as a whole, and then for each edit its address, its content and the blocks around it.
    assert sum(parsed) < text.count("\n") + 100 * 100


HUGE = {
    "one list": "- an item of some forty characters, or so!\n" * 1400,
    "nested lists": "- an item of some forty characters\n  - with a nested one\n\n    that goes on\n" * 400,
    "paragraphs": "A paragraph of some forty characters, or so!\n\n" * 700,
    "quotes and code": "> A quote of some forty characters, or so!\n\n```\ncode\n```\n\n" * 300,
}


@pytest.mark.parametrize(("op", "own"), list(product(["append_to_section", "prepend_to_section"], HUGE)))
def test_a_hundred_edits_of_one_huge_section_parse_it_about_once(parsed, own, op):
    text = f"# Log\n\n{HUGE[own]}\n# Rest\n\nx\n"

    result = apply_edits(text, [Edit(op, "# Log", f"- new item {i}") for i in range(100)])

    assert len(split_lines(result)) >= len(split_lines(text)) + 100
    assert sum(parsed) < text.count("\n") + 100 * 30


def test_edits_that_together_take_too_much_parsing_are_refused(parsed, monkeypatch):
    monkeypatch.setattr(edits_module, "EDITS_EFFORT", 10_000)
    # One paragraph is one block: what comes or goes right behind it has it parsed again.
    text = "# Log\n\n" + "a paragraph that goes on and on\n" * 1_500
    there_and_back = [Edit("add_section", "# Log > ## New", "x"), Edit("delete_section", "## New")]

    message = refusal(text, *there_and_back * 100)

    assert message.startswith("edit ")
    assert "too many edits" in message
    assert sum(parsed) < 10_000


def test_more_edits_of_more_blocks_than_can_be_carried_along_are_refused(monkeypatch):
    monkeypatch.setattr(edits_module, "EDITS_EFFORT", 20_000)
    many = [Edit("append_to_section", "# Log", f"- new item {i}") for i in range(100)]

    assert "too many edits" in refusal("# Log\n\n" + "- item\n" * 6_000, *many)
    assert apply_edits("# Log\n\n" + "- item\n" * 400, many)


@each(
    "text",
    [
        "[" * 10_000,
        "<a " * 3_000,
        "[a\n" * 1_000,
        ">" * 10_000,
        "- " * 5_000,
        "#" * 10_000,
        "`" * 10_000,
        " " * 10_000,
        "\n" * 50_000 + "x",
    ],
    ids=lambda text: repr(text[:3]),
)
def test_hostile_text_ends_in_a_result_or_a_short_refusal(text):
    for edits in (
        [Edit("append_to_section", "# A", text)],
        [Edit("add_section", text, "x")],
        [Edit("delete_section", text)],
    ):
        _, error = attempted("# A\n\n" + text, edits)
        assert len(error) < 1000
