"""An answer is parsed and checked as a whole: whatever text a model sends, it is a ConsolidationAnswer or a
ContractError.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from livemem.consolidation import answer
from livemem.consolidation.answer import AnswerDraft, ConsolidationAnswer, ContractError
from livemem.llm import contract
from tests.support.cases import each

OPS = ["replace_section", "append_to_section", "prepend_to_section", "add_section", "delete_section"]
FILE = {"filename": "log.md", "action": "created", "content": "# Log\n"}
GOOD: dict[str, Any] = {"bank_files": [FILE], "synthesis": "One."}
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=10
)


def mutated(value: object) -> st.SearchStrategy[object]:
    """Objects that are nearly answers: right keys, some with a wrong value."""
    edits = st.lists(
        st.fixed_dictionaries(
            {"op": st.sampled_from(OPS) | VALUES, "heading": st.sampled_from(["## Log", "# A > ## B"]) | VALUES},
            optional={
                "content": st.just("- x") | VALUES,
                "after": VALUES,
                "notes": st.just([1]) | VALUES,
                "reason": VALUES,
            },
        )
        | VALUES,
        max_size=3,
    )
    files = st.lists(
        st.fixed_dictionaries(
            {
                "filename": st.just("log.md") | VALUES,
                "action": st.sampled_from(["created", "updated", "edited"]) | VALUES,
            },
            optional={
                "content": st.just("# Log\n") | VALUES,
                "edits": edits | VALUES,
                "notes": VALUES,
                "reason": VALUES,
            },
        )
        | VALUES,
        max_size=3,
    )
    return st.fixed_dictionaries(
        {"bank_files": files | VALUES, "synthesis": st.just("One.") | VALUES},
        optional={"discarded": VALUES, "more": VALUES},
    )


def outcome(text: str) -> AnswerDraft | ContractError:
    """What parsing gives; any other exception fails the test."""
    try:
        return answer.parse(text)
    except ContractError as error:
        found = error
    # The text goes back to the model and into the run's document.
    str(found).encode()
    assert 0 < len(str(found)) < 5_000
    return found


@given(st.text(st.characters()) | VALUES.map(json.dumps) | mutated(None).map(json.dumps))
@example('{"bank_files": [], "synthesis": "x", "synthesis": "y"}')
@example("\ufeff" + json.dumps(GOOD))
@example("[" * 100_000)
@example('{"bank_files":' * 100_000)
@example('{"x": ' + "9" * 5_000 + "}")
@example('{"x": "\\ud800"}')
@example("<think>" * 1_000)
@example("```json\n" * 1_000)
@example("")
@example("\x00")
def test_no_text_makes_parsing_fail_otherwise_than_by_a_contract_error(text: str):
    found = outcome(text)

    if isinstance(found, AnswerDraft):
        assert not found.synthesis or found.synthesis.strip()
        assert all(entry.content is not None or entry.edits for entry in found.entries)
        assert all(type(number) is int for entry in found.entries for number in entry.numbers())
        assert all(broken.fault for broken in found.broken)


@given(st.data())
def test_an_answer_with_any_one_character_changed_is_parsed_or_refused(data: st.DataObject):
    text = json.dumps(GOOD)
    place = data.draw(st.integers(0, len(text)))
    changed = text[:place] + data.draw(st.text(max_size=2)) + text[data.draw(st.integers(place, len(text))) :]

    outcome(changed)


@each(
    "text",
    [
        json.dumps(GOOD),
        f"  \n{json.dumps(GOOD, indent=2)}\n\n",
        f"```json\n{json.dumps(GOOD)}\n```",
        f"```\n{json.dumps(GOOD)}\n```\n",
        f"<think>Hm, {{braces}} and ```fences```.</think>\n{json.dumps(GOOD)}",
        f"<think>\nHm.\n</think>\n\n```json\n{json.dumps(GOOD)}\n```",
        "\ufeff" + json.dumps(GOOD),
        json.dumps({**GOOD, "comment": "unknown keys are ignored", "discarded": []}),
    ],
)
def test_wrappings_that_models_use_and_nothing_can_be_mistaken_in_are_taken_off(text: str):
    found = outcome(text)

    assert isinstance(found, AnswerDraft)
    assert found.entries[0].content == "# Log\n"


def test_a_fence_inside_the_content_is_content():
    content = "# Log\n\n```json\n{}\n```\n"
    found = outcome(json.dumps({**GOOD, "bank_files": [{"filename": "a.md", "action": "created", "content": content}]}))

    assert isinstance(found, AnswerDraft)
    assert found.entries[0].content == content


def test_an_entry_that_breaks_the_contract_is_set_apart_with_its_faults_and_the_others_stand():
    edit = {"op": "merge", "heading": ""}
    bad = {"filename": "bad.md", "action": "edited", "edits": [edit] * 5}
    found = outcome(json.dumps({**GOOD, "bank_files": [bad, FILE, 7]}))

    assert isinstance(found, AnswerDraft)
    assert [entry.filename for entry in found.entries] == ["log.md"]
    assert [(broken.filename, broken.entry) for broken in found.broken] == [("bad.md", bad), ("", 7)]
    assert "bank_files.0.edits.0.op" in found.broken[0].fault
    assert "and 5 more" in found.broken[0].fault
    assert "edits.4" not in found.broken[0].fault


@each(
    ("numbers", "read"),
    [
        ("1,3", [1, 3]), ("[1, 3]", [1, 3]), (["1", "3"], [1, 3]), ("notes 1 and 3", [1, 3]), (3, [3]), ("#3", [3]),
        ([1.0, 3.0], [1, 3]), (["1, 2", 3], [1, 2, 3]), ("note 3", [3]), ("1; 3", [1, 3]),
    ],
)  # fmt: skip
def test_numbers_of_notes_that_are_written_as_text_are_read_and_named(numbers: object, read: list[int]):
    found = outcome(json.dumps({**GOOD, "bank_files": [{**FILE, "notes": numbers}]}))

    assert isinstance(found, AnswerDraft)
    assert found.entries[0].notes == read
    assert ("numbers of notes" in " ".join(found.readings)) is (numbers != 3)


@each("numbers", ["1-3", "all", "1.5", [1.5], [True], "3rd", [[1]], {"note": 1}, "1,,3x", "-1"])
def test_what_may_mean_other_numbers_is_a_fault_of_its_entry(numbers: object):
    found = outcome(json.dumps({**GOOD, "bank_files": [{**FILE, "notes": numbers}]}))

    assert isinstance(found, AnswerDraft)
    assert found.entries == ()
    assert "bank_files.0.notes" in found.broken[0].fault


NONE, UNSAID = answer.NO_REASON, "without a reason"


@each(
    ("given", "read", "said"),
    [
        ([2], {2: NONE}, UNSAID), (2, {2: NONE}, UNSAID), (["2"], {2: NONE}, UNSAID),
        ("2, 3", {2: NONE, 3: NONE}, UNSAID), ([{"note": 2}], {2: NONE}, UNSAID),
        ([{"note": "2", "reason": "old"}], {2: "old"}, ""), ([{"note": 2, "reason": " "}], {2: NONE}, UNSAID),
        ({"note": 2, "reason": "old"}, {2: "old"}, ""), ({"2": "old", "3": "no use"}, {2: "old", 3: "no use"}, ""),
        ([True, "x", {"reason": "old"}], {}, "names no note"), (None, {}, ""),
        ([{"note": 2, "reason": "x" * 2_000}], {2: "x" * 1_000}, ""),
    ],
)  # fmt: skip
def test_discarded_notes_are_read_in_every_form_that_has_one_meaning(given: object, read: object, said: str):
    found = outcome(json.dumps({**GOOD, "discarded": given}))

    assert isinstance(found, AnswerDraft)
    assert found.discarded == read
    assert said in " ".join(found.readings)


@each("given", [None, "", "  ", ["a"], 7, "x" * 50_001])
def test_without_a_synthesis_that_can_be_used_the_former_one_stays_and_it_is_said(given: object):
    found = outcome(json.dumps({**GOOD, "synthesis": given}))

    assert isinstance(found, AnswerDraft)
    assert (found.synthesis, [text.endswith("the former one stays.") for text in found.readings]) == ("", [True])


@each("whole", [GOOD["bank_files"], FILE, {"bank_files": FILE}])
def test_a_bare_list_of_files_or_a_single_file_is_read(whole: object):
    found = outcome(json.dumps(whole))

    assert isinstance(found, AnswerDraft)
    assert found.entries[0].content == "# Log\n"


def test_invalid_json_is_reported_with_its_line_and_column():
    assert "line 2, column 3" in str(outcome('{"bank_files": [],\n  synthesis: 1}'))


@pytest.mark.parametrize(("size", "taken"), [(50_000, True), (50_001, False)])
def test_the_synthesis_is_bounded_in_bytes(size: int, taken: bool):
    found = outcome(json.dumps({**GOOD, "synthesis": "ab" + "é" * ((size - 2) // 2) + "c" * (size % 2)}))

    assert isinstance(found, AnswerDraft)
    assert bool(found.synthesis) is taken


@pytest.mark.parametrize(("size", "taken"), [(4_000_000, True), (4_000_001, False)])
def test_an_answer_beyond_the_limit_is_not_even_parsed(size: int, taken: bool):
    text = json.dumps(GOOD)

    found = outcome(text + " " * (size - len(text)))

    assert isinstance(found, AnswerDraft) is taken
    assert taken or "more than 4000000 characters" in str(found)


def objects_of(node: object) -> Iterator[dict[str, Any]]:
    """All objects in a schema that describe an object of the answer."""
    if isinstance(node, dict):
        if "properties" in node:
            yield node
        for value in node.values():
            yield from objects_of(value)
    elif isinstance(node, list):
        for value in node:
            yield from objects_of(value)


def test_the_schema_is_one_that_strict_providers_take():
    found = contract.schema(ConsolidationAnswer)

    described = list(objects_of(found))
    assert len(described) == 4
    for one in described:
        assert one["additionalProperties"] is False
        assert one["required"] == list(one["properties"])
    text = json.dumps(found)
    assert not [name for name in contract.UNKNOWN_TO_PROVIDERS if f'"{name}":' in text]
    assert len(text) < 5_000


def test_the_schema_makes_what_may_be_absent_nullable_and_what_it_allows_is_parsed():
    defined = contract.schema(ConsolidationAnswer)["$defs"]
    nullable = {
        name
        for part in defined.values()
        for name, value in part["properties"].items()
        if {"type": "null"} in value.get("anyOf", ())
    }
    assert nullable == {"content", "after", "line", "reason"}
    edit: dict[str, Any] = {"op": "delete_section", "heading": "## A", "line": None, "content": "", "after": None}
    edit |= {"notes": [], "reason": None}
    edited = {"filename": "a.md", "action": "edited", "content": None, "edits": [edit], "notes": [1], "reason": None}
    created = {"filename": "b.md", "action": "created", "content": "# B\n", "edits": [], "notes": [], "reason": None}
    full = {"bank_files": [edited, {**edited, "content": ""}, created], "synthesis": "One.", "discarded": []}

    found = outcome(json.dumps(full))

    assert isinstance(found, AnswerDraft)
    assert not found.broken
    assert set(full) == set(contract.schema(ConsolidationAnswer)["properties"])
    assert set(edit) == set(defined["AnswerEdit"]["properties"])
    assert set(created) == set(defined["FileAnswer"]["properties"])
