"""What the OpenAPI document says is more than names: fields of answers, statuses, and what a name may be."""

import pytest

from scripts.openapi import document


@pytest.fixture(scope="module")
def described():
    return document()


def test_every_model_names_its_fields(described):
    assert [name for name, schema in described["components"]["schemas"].items() if not schema.get("properties")] == []


def test_a_field_that_an_answer_may_leave_out_is_not_required(described):
    note = described["components"]["schemas"]["NoteView"]

    assert {"consolidation", "malformed"} == set(note["properties"]) - set(note["required"])


def test_every_name_in_a_path_has_its_pattern(described):
    found = {
        parameter["name"]: parameter["schema"].get("pattern")
        for operations in described["paths"].values()
        for operation in operations.values()
        for parameter in operation.get("parameters", [])
        if parameter["in"] == "path"
    }

    assert set(found) == {"space_id", "note_id", "run_id", "number", "path"}
    assert all(found.values())


def test_what_answers_in_two_ways_or_with_nothing_says_so(described):
    def good(path, method):
        responses = described["paths"][path][method]["responses"]
        return {status: "content" in answer for status, answer in responses.items() if status.startswith("2")}

    assert good("/v1/spaces/{space_id}/notes", "post") == {"200": True, "201": True}
    assert good("/v1/spaces/{space_id}/bank/{path}", "put") == {"200": True, "201": True}
    assert good("/v1/spaces/{space_id}", "delete") == {"204": False}
