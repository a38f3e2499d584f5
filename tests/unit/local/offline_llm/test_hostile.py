"""Notes and rules that are made to take long or to break out. A regression shows as a hang or as a refused answer."""

import pytest

from tests.support.cases import each
from tests.unit.local.offline_llm.support import STANDARD, accounted, apply_answer, fold, fold_into, headings, make_note

SIZE = 4_000
CONTENTS = {
    "white space inside": "a" + " " * SIZE + "b",
    "white space in a heading": "# a" + " " * SIZE + "b",
    "one run of backticks": "<b " + "`" * SIZE,
    "runs of backticks that never match": "<b " + " ".join("`" * n for n in range(1, 200)),
    "closing words that are denied": "not done " * (SIZE // 9),
    "stamps": "(2026-11-21, a) " * (SIZE // 16),
    "quotes a hundred deep": (">" * 100 + " x\ny\n") * (SIZE // 105),
    "lists sixty deep": "\n".join("  " * depth + "- x" for depth in range(60)),
    "lists ten deep on one line": "- " * 10 + "x",
    "rules": "- " * (SIZE // 2),
    "hashes": "#" * SIZE,
    "angle brackets": "<" * SIZE,
    "fences": "~~~\n```\n" * (SIZE // 8),
    "tables": "a|b\n-|-\n" + "1|2\n" * (SIZE // 4),
    "underlines": "a\n=\n" * (SIZE // 4),
    "empty lines": "a" + "\n" * SIZE + "b",
}


@pytest.mark.slow
@each("content", CONTENTS.values(), ids=CONTENTS.keys())
def test_a_note_of_any_form_is_folded_and_leaves_the_headings(content: str) -> None:
    empty = fold_into({}, STANDARD, [])
    answer = fold(STANDARD, empty, [make_note(1, "todo", "Pin packages."), make_note(2, "progress", content)])
    bank = apply_answer(empty, answer)
    again = fold(STANDARD, bank, [make_note(1, "todo", content), make_note(2, "progress", "Done: pin packages.")])
    assert accounted(answer) == accounted(again) == [1, 2]
    after = apply_answer(bank, again)
    assert [headings(text) for text in after.values()] == [headings(text) for text in empty.values()]


@each(
    "rules",
    [
        "# a" + " " * SIZE + "b",
        "`# a" + " " * SIZE,
        "a" * SIZE + ".md",
        "- x.md " + " " * SIZE,
        "- " * (SIZE // 2),
        "| a " * (SIZE // 4),
        "`#" * (SIZE // 2),
        "## x.md\n" + "- `## a` " * (SIZE // 9),
        "\n".join(f"- `{n}.md`" for n in range(300)),
    ],
)
def test_rules_of_any_form_give_an_answer(rules: str) -> None:
    answer = fold(rules, {}, [make_note(1, "todo", "Pin packages.")])
    assert apply_answer({}, answer)
