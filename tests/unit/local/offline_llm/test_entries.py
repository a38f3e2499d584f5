from hypothesis import given
from markdown_it import MarkdownIt

from local.offline_llm.entries import own_text, write_entry
from tests.support.cases import each
from tests.unit.local.offline_llm.support import CONTENTS, make_note, visible_text


def entry(content: str, category: str = "observation") -> str:
    return "\n".join(write_entry(make_note(1, category, content)))


def test_an_entry_is_one_bullet_with_date_and_author() -> None:
    assert entry("The store is slow.") == "- The store is slow. (2026-11-21, core-dev)"


def test_further_paragraphs_stand_indented_below_the_first() -> None:
    text = "First\nparagraph.\n\nSecond.\n\n```\ncode\n\nmore\n```"
    assert entry(text) == (
        "- First\n  paragraph. (2026-11-21, core-dev)\n\n  Second.\n\n  ```\n  code\n\n  more\n  ```"
    )


@each(
    ("content", "bullet"),
    [
        (
            "# Title\nText",
            "- A note of category observation: (2026-11-21, core-dev)\n\n  ```\n  # Title\n  Text\n  ```",
        ),
        ("Text\n---", "- A note of category observation: (2026-11-21, core-dev)\n\n  ```\n  Text\n  ---\n  ```"),
        ("Text\n\n***", "- A note of category observation: (2026-11-21, core-dev)\n\n  ```\n  Text\n\n  ***\n  ```"),
        ("A <b> `<i>`", "- A note of category observation: (2026-11-21, core-dev)\n\n  ```\n  A <b> `<i>`\n  ```"),
        ("See <https://example.org>, p < 0.05.", "- See <https://example.org>, p < 0.05. (2026-11-21, core-dev)"),
        ("- a\n- b", "- A note of category observation: (2026-11-21, core-dev)\n\n  - a\n  - b"),
        ("Open:\n```\n# x", "- Open: (2026-11-21, core-dev)\n\n  ```\n  # x"),
        ("Code:\n\n    x y", "- Code: (2026-11-21, core-dev)\n\n      x y"),
        ("Two\u2028lines\r\nor three", "- Two\n  lines\n  or three (2026-11-21, core-dev)"),
        ("[a]: b", "- A note of category observation: (2026-11-21, core-dev)\n\n  ```\n  [a]: b\n  ```"),
    ],
)
def test_markdown_that_would_change_the_file_is_made_harmless(content: str, bullet: str) -> None:
    assert entry(content) == bullet


@given(CONTENTS)
def test_any_note_is_exactly_one_list_item_for_a_markdown_reader(content: str) -> None:
    text = f"# A\n\n- before\n{entry(content)}\n- after\n\n## B\n"
    tokens = MarkdownIt("commonmark").parse(text)
    outline = [token.type for token in tokens if token.level == 0]
    heading = ["heading_open", "heading_close"]
    assert outline == [*heading, "bullet_list_open", "bullet_list_close", *heading]
    assert sum(token.type == "list_item_open" and token.level == 1 for token in tokens) == 3
    assert not [token for token in tokens if token.type == "html_block"]


@given(CONTENTS)
def test_no_word_of_a_note_is_lost(content: str) -> None:
    words = [word for word in "".join(ch if ch.isalnum() else " " for ch in content).split() if word.isascii()]
    shown = entry(content)
    assert not [word for word in words if word not in shown]
    assert "core-dev" in visible_text(shown)


def test_an_author_cannot_break_the_brackets() -> None:
    note = make_note(1, "issue", "Text", agent="a)\n# b (c")
    assert "\n".join(write_entry(note)) == "- Text (2026-11-21, a # b c)"


def test_a_note_without_time_says_so() -> None:
    note = make_note(1, "issue", "Text", day="unknown")
    assert write_entry(note) == ("- Text (undated, core-dev)",)


@given(CONTENTS)
def test_the_text_of_an_entry_is_the_same_whoever_wrote_it_and_when(content: str) -> None:
    one = write_entry(make_note(1, "observation", content))
    other = write_entry(make_note(2, "observation", content, day="2027-01-01", agent="someone"))
    assert own_text(one) == own_text(other)
