import inspect
import re
import sys
import unicodedata
from itertools import pairwise, zip_longest

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock

from livemem import limits
from livemem.markdown.blocks import PARSE_EFFORT, Effort, SectionError, parse, split_lines
from livemem.markdown.edits import Edit
from livemem.markdown.sections import list_sections, section_text
from tests.support.cases import each
from tests.support.markdown import DOC, any_text, attempted, documents, headings, own_text, preamble, refusal


def test_a_section_reaches_to_the_next_heading_of_the_same_or_a_higher_level():
    found = {s.path: (s.level, s.start, s.body, s.own_end, s.end) for s in list_sections(DOC)}
    assert found == {
        ("# Project",): (1, 2, 3, 6, 18),
        ("# Project", "## Focus"): (2, 6, 7, 11, 15),
        ("# Project", "## Focus", "### Detail"): (3, 11, 12, 15, 15),
        ("# Project", "## Done"): (2, 15, 16, 18, 18),
    }


def test_the_texts_of_a_file_are_its_preamble_and_its_sections():
    project, focus, detail, done = list_sections(DOC)
    assert preamble(DOC) == "Preamble.\n\n"
    assert preamble(DOC) + section_text(DOC, project) == DOC
    assert own_text(DOC, focus) == "\n- a\n- b\n\n"
    assert section_text(DOC, focus) == "## Focus\n" + own_text(DOC, focus) + section_text(DOC, detail)
    assert own_text(DOC, done) == "\nText.\n"


def test_a_file_without_headings_is_all_preamble():
    assert list_sections("just text") == []
    assert preamble("just text") == "just text"
    assert preamble("") == ""


@each(
    "text",
    [
        "```\n# x\n```\n",
        "~~~ md\n# x\n",
        "    # x\n",
        "\t# x\n",
        "<!--\n# x\n-->\n",
        "<div>\n# x\n</div>\n",
        "<script>\n\n# x\n\n</script>\n",
        "> # x\n",
        "- # x\n",
        "- a\n\n  # x\n",
        "1. a\n\n   x\n   ===\n",
        "> x\n===\n",
        "#x\n",
        "####### x\n",
        "\\# x\n",
        "\u2028# x\n",
        "a\x0c# x\n",
        "a\u2028# x\n",
        "a\x85# x\n",
        "a\x0b# x\n",
    ],
)
def test_what_only_looks_like_a_heading_is_text(text):
    assert list_sections(text) == []


@each(
    ("text", "path", "start", "body"),
    [
        ("# A", "# A", 0, 1),
        ("a\r\n# A\r\nb", "# A", 1, 2),
        ("a\r# A\rb", "# A", 1, 2),
        ("a\n\r# A", "# A", 2, 3),
        ("a\n   ##  A \t b  ##  \n", "## A b", 1, 2),
        ("#\tA\n", "# A", 0, 1),
        ("##\n", "##", 0, 1),
        ("## ##\n", "##", 0, 1),
        ("A\n===\nb", "# A", 0, 2),
        ("A\nB\n ---  \nb", "## A B", 0, 3),
        ("a\0\n# \0A\n", "# \ufffdA", 1, 2),
        ("\x0c\n# A\n", "# A", 1, 2),
        ("a\u2028b\n# A\n", "# A", 1, 2),
        ("# A\u00a0: e\u0301\n", "# A : é", 0, 1),
        ("[x]: /url\n# A\n", "# A", 1, 2),
        ("```\n# x\n```\n# A\n", "# A", 3, 4),
        ("- # x\n# A\n", "# A", 1, 2),
        ("> quote\n# A\n", "# A", 1, 2),
        ("a\n# A\n  ", "# A", 1, 2),
    ],
)
def test_a_heading_is_found_on_its_line_with_its_normal_form(text, path, start, body):
    assert [(s.path, s.start, s.body) for s in list_sections(text)] == [((path,), start, body)]


def test_levels_may_be_skipped_and_come_in_any_order():
    text = "### c\n# a\n### b\n## d\n"
    assert [(s.path, s.start, s.end) for s in list_sections(text)] == [
        (("### c",), 0, 1),
        (("# a",), 1, 4),
        (("# a", "### b"), 2, 3),
        (("# a", "## d"), 3, 4),
    ]


def test_lists_that_are_nested_as_people_nest_them_hide_no_heading():
    # markdown-it's own limit is 10 lists in each other, and behind those it skips the rest of the file
    text = "1. " * 15 + "deep\n\n# A\n"
    assert headings(text) == ["# A"]


@pytest.mark.parametrize("text", ["1. " * 25 + "a\n\n# A\n", "1. " * 10_000 + "a\n\n# A\n"])
def test_lists_too_deep_to_see_the_headings_behind_them_are_refused(text):
    with pytest.raises(SectionError, match="nested too deeply"):
        list_sections(text)
    assert "nested too deeply" in refusal(text, Edit("append_to_section", "# A", "x"))
    assert "nested too deeply" in refusal("# A\n", Edit("append_to_section", "# A", text))


def test_a_stack_that_is_almost_full_refuses_a_text_rather_than_overflow():
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + 25)
    try:
        found = attempted("1. " * 15 + "a\n", [])
    finally:
        sys.setrecursionlimit(limit)
    assert "nested too deeply" in found[1]


@pytest.mark.parametrize("quote", [">" * 10_000, "> - " * 30])
def test_deep_quotes_are_no_problem(quote):
    # what is skipped inside of a quote ends with the quote
    assert headings(f"{quote} a\n\n# A\n") == ["# A"]


@pytest.fixture
def tries(monkeypatch):
    """How often a rule of the parser looked at a line."""
    counts = [0]
    whole = StateBlock.is_code_block

    def counted(self, line):
        counts[0] += 1
        return whole(self, line)

    monkeypatch.setattr(StateBlock, "is_code_block", counted)
    return counts


@pytest.mark.parametrize(
    "text",
    [
        "- a\n" * 3_000,
        ">" * 38 + "a\n" + "lazy\n" * 1_000,
        "> - " * 9 + "a\n" + "lazy\n" * 2_500,
        ">" * 38 + "a\n" + ("_ " * 1_000 + "a\n") * 25,
    ],
    ids=["items", "quotes", "quoted lists", "long lines"],
)
def test_a_text_that_takes_too_much_to_follow_is_refused_after_a_bounded_number_of_tries(text, tries):
    with pytest.raises(SectionError, match="too many lines"):
        parse(split_lines(text), Effort(PARSE_EFFORT // 20))
    # Each of the nine rules looks at a line once when the line is tried.
    assert tries[0] < 10 * PARSE_EFFORT // 20


def test_such_a_text_is_neither_read_nor_edited():
    text = ("x" * 1_000 + "\n") * 7_000
    with pytest.raises(SectionError, match="too many lines"):
        list_sections(text)
    assert "too many lines" in refusal(text, Edit("append_to_section", "# A", "x"))


def test_a_heading_of_nothing_but_accents_is_not_sorted_by_the_square_of_their_number(monkeypatch):
    composed = []
    whole = unicodedata.normalize
    monkeypatch.setattr(unicodedata, "normalize", lambda form, text: (composed.append(len(text)), whole(form, text))[1])

    assert len(headings("# a" + "\u0301\u0316" * 2_000 + "\n\n# e\u0301\n")) == 2
    assert composed == [4]


@pytest.mark.parametrize(
    "lines",
    [
        "- [ ] an item\n  - below it another\n",
        "## A day of a log\n\n- what came of it\n\n",
    ],
)
def test_a_file_of_the_largest_size_with_lines_of_twenty_characters_is_followed(lines):
    # A tenth of it, with a tenth of the effort.
    text = "# A\n\n" + lines * (limits.BANK_FILE_BYTES // 10 // len(lines) - 1)

    assert parse(split_lines(text), Effort(PARSE_EFFORT // 10))[-1].end == text.count("\n")


def full_parse(text):
    """The headings of a text by markdown-it as it comes."""
    tokens = MarkdownIt("commonmark", {"maxNesting": 1000}).parse(text)
    pairs = pairwise(tokens)
    return [
        (t.map[0], t.map[1], int(t.tag[1]), inline.content)
        for t, inline in pairs
        if t.type == "heading_open" and not t.level
    ]


@given(st.one_of(any_text, documents))
@example("a\r\n\r\r\nb")
def test_splitting_into_lines_loses_nothing_and_counts_like_markdown_it(text):
    lines = split_lines(text)
    assert "".join(lines) == text
    normalised = re.sub(r"\r\n?", "\n", text)
    assert len(lines) == normalised.count("\n") + (not normalised.endswith("\n") and normalised != "")


@given(st.one_of(any_text, documents))
def test_sections_are_the_headings_of_a_full_parse_and_partition_the_file(text):
    sections = list_sections(text)
    assert [(s.start, s.body, s.level) for s in sections] == [
        (start, body, level) for start, body, level, _ in full_parse(text)
    ]
    for s, following in zip_longest(sections, sections[1:]):
        assert s.start < s.body <= s.own_end <= s.end
        assert s.own_end == (following.start if following else len(split_lines(text)))
        later = [o.start for o in sections if o.start > s.start and o.level <= s.level]
        assert s.end == (later[0] if later else len(split_lines(text)))
    assert preamble(text) + "".join(section_text(text, s) for s in sections if len(s.path) == 1) == text
