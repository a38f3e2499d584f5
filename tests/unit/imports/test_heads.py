"""Front matter of files of others: read within bounds, as words, and never dropped without a word."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from live_memory.cli.imports import basic_memory, folders, heads, oldnotes, rules_texts
from live_memory.cli.imports.detection import look
from livemem.bank.files import content_problem
from livemem.markdown.blocks import headings_of, parse, split_lines
from tests.support.cases import each
from tests.support.sources import write
from tests.unit.markdown.test_front_matter import BOMBS

NOTE = "20260220T140000_ann_todo_a1b2c3d4"


@each(
    ("value", "words"),
    [
        ("1.10", "1.10"),
        ("yes", "yes"),
        ("12:30:45", "12:30:45"),
        ("0o17", "0o17"),
        ("2026-01-05", "2026-01-05"),
        ("'it''s: so'", "it's: so"),
        (r'"a \"quay\" \u00e9"', 'a "quay" é'),
        ("|\n  two\n  lines", "two\nlines\n"),
        (">-\n  folded\n  words", "folded words"),
        ("the quay  # why", "the quay"),
        ("[a, 'b, c']", ["a", "b, c"]),
        ("\n  - a\n  - b", ["a", "b"]),
        ("{a: {b: 1}}", {"a": {"b": "1"}}),
    ],
)
def test_a_value_is_the_words_that_yaml_says(value: str, words: Any):
    assert heads.read(f"---\nx: {value}\n---\n\n# A\n") == ({"x": words}, "# A\n")


@each("value", ["", "~", "null", "''"])
def test_a_field_that_holds_nothing_is_none(value: str):
    assert heads.read(f"---\nx: {value}\ny: 1\n---\nA") == ({"y": "1"}, "A")


@each("text", ["---\na: 1\n---", "---\na: 1\n---\n", "---\r\na: 1\r\n---\r\n\r\n"])
def test_a_file_may_be_nothing_but_front_matter(text: str):
    assert heads.read(text) == ({"a": "1"}, "")


def test_a_text_below_that_ends_with_a_line_keeps_its_last_byte():
    assert heads.read("---\na: 1\n---\n\nx\n---") == ({"a": "1"}, "x\n---")


@each("text", ["# A\n---\nb\n---\n", "---\n# A\n\n---\n", "---\n- a\n---\n", "---\na: 1\n", " ---\na: 1\n---\n", "---"])
def test_lines_of_other_kinds_are_no_front_matter(text: str):
    assert heads.read(text) is None


ODD = ("a: b: c\n", "a: @b\n", "a: [\n", "a:\n\t- b\n", "a: 1\na: 2\n", "? [a]\n: b\n", "a: \x07\n")


@each("head", [*BOMBS.values(), *ODD])
def test_front_matter_that_can_not_be_read_stays_in_the_text_and_is_named(head: str, tmp_path_factory):
    text = f"---\ntags: [a]\n{head}---\n\n# Quay\n"
    folder = write(tmp_path_factory.mktemp("notes"), {"a.md": text})

    found, of_rules = basic_memory.found(folder), rules_texts.found(write(folder, {"AGENTS.md": text}) / "AGENTS.md")
    note = oldnotes.read(NOTE, text.encode())
    bank, change = heads.as_bank_file(text)

    assert heads.read(text) is None
    assert head.strip().replace("\n", "") in "".join(one.content for one in found.items).replace("\n", "")
    assert of_rules.changed == ["AGENTS.md has its front matter in its text: it can't be read."]
    assert found.changed == ["'a.md' has its front matter in its text: it can't be read."]
    assert (note.content, note.changed) == (text, ["has its front matter in its text: it can't be read"])
    assert (bank, change) == (f"\n{text}", "got an empty first line, because it begins with `---`")


@each(
    ("value", "tags"),
    [
        (["a", "#b", " c "], ["a", "b", "c"]),
        ("a, b", ["a", "b"]),
        ("[a, 'b']", ["a", "b"]),
        ("", []),
        (None, []),
        ({"a": "b"}, []),
        (["a", "", "null", ["b"]], ["a"]),
    ],
)
def test_tags_are_a_list_or_words_with_commas(value: Any, tags: list[str]):
    assert heads.words(value) == tags


def test_a_folder_keeps_front_matter_as_a_block_of_code_that_adds_no_section(tmp_path):
    head = "name: quay\ndescription: which quay is closed\nexample: |\n  ```sh\n  ls\n  ```\n"
    texts = {
        "quay.md": f"---\n{head}---\n\n# Quay\n\nFour.\n",
        "bom.md": "\ufeff---\r\ntitle: B\r\n---\r\n# B\r\n",
        "rule.md": "---\n\nA line.\n\n---\n",
        "plain.md": "# Plain\n\n---\nx: 1\n---\n",
        "only.md": "---\ntitle: only\n---\n",
    }
    folder = write(tmp_path / "m", texts)
    made = {name: heads.as_bank_file(text.removeprefix("\ufeff"))[0] for name, text in texts.items()}

    with (tmp_path / "archive").open("wb") as target:
        report = folders.pack(look(folder), "demo", target)

    assert made == {
        "quay.md": f"````yaml\n{head.rstrip()}\n````\n\n# Quay\n\nFour.\n",
        "bom.md": "```yaml\ntitle: B\n```\n\n# B\r\n",
        "rule.md": "\n---\n\nA line.\n\n---\n",
        "plain.md": texts["plain.md"],
        "only.md": "```yaml\ntitle: only\n```\n\n",
    }
    assert report.changed == [
        "bom.md has its front matter as a block of code.",
        "only.md has its front matter as a block of code.",
        "quay.md has its front matter as a block of code.",
        "rule.md got an empty first line, because it begins with `---`.",
    ]
    assert report.left_out == []
    assert [one.line for one in headings_of(parse(split_lines(made["quay.md"])))] == ["# Quay"]


LINES = st.lists(st.sampled_from(["---", "a: 1", "b: [x]", "````", "# A", "", "text", "--- ", "- x"]), max_size=9)


@given(LINES)
def test_whatever_a_file_begins_with_the_service_takes_it_and_no_word_is_lost(lines: list[str]):
    text = "\n".join(lines)

    made, change = heads.as_bank_file(text)

    assert content_problem(made) is None
    assert (made == text) == (change is None)
    lost = [line for line in text.split("\n") if line.strip(" -") and line not in made.split("\n")]
    assert lost == []
