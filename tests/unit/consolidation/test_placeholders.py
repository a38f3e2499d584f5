"""What a small model copies out of the prompt never becomes the bank."""

import json

import pytest

from livemem.consolidation import answer, placeholders
from livemem.consolidation.answer import ContractError
from tests.support.cases import each
from tests.unit.consolidation.test_pipeline_notes import space_with_notes

EXAMPLE_LINE = "- `ferryctl import` loads a timetable."


def test_the_example_of_the_prompt_is_an_answer_that_keeps_the_contract_with_real_text():
    example = answer.parse(json.dumps(placeholders.example()))

    numbers = [number for entry in example.entries for number in entry.numbers()]
    assert sorted([*numbers, *example.discarded]) == [1, 2, 3, 4, 5, 6, 7]
    assert (example.broken, example.readings) == ((), ())
    texts = json.dumps(placeholders.example(), ensure_ascii=False)
    assert "..." not in texts
    assert "<" not in texts


@each("line", ["...", "- ...", "…", "<the whole file>", "- <Markdown>", EXAMPLE_LINE])
def test_a_placeholder_is_refused_and_named_unless_the_space_holds_it(line: str):
    text = f"Text.\n\n  {line}\n"

    with pytest.raises(ContractError) as refused:
        placeholders.check("The file", ["Fine.", text], ["rules", "- a ... b"])
    assert line.removeprefix("- ") in str(refused.value)

    placeholders.check("The file", [text], ["rules", f"A note says:\n{line.removeprefix('- ')}\n"])


@each("line", ["## Import", "# Commands", "and so on...", "- wait ... then go", "a < b", "<details>"])
def test_what_anybody_may_write_is_no_placeholder(line: str):
    placeholders.check("The file", [line], [])


def test_a_copied_example_is_told_to_the_model_and_a_real_answer_is_taken():
    world = space_with_notes("ann")
    world.llm.queue.append(
        json.dumps({**placeholders.example(), "bank_files": placeholders.example()["bank_files"][1:]})
    )

    assert world.consolidate().state == "done"

    assert "copied from the prompt's example" in world.llm.prompts[1][-1]["content"]
    assert world.bank() == {"log.md": "# Log\n\n## Log\n\n- ann 1\n"}
