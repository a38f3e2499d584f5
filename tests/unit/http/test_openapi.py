"""What the OpenAPI document says is more than names: descriptions, examples that fit, statuses, what a name may be."""

import json
import re

import pytest
from openapi_spec_validator import validate

from scripts import openapi, openapi_check
from scripts.openapi import document


@pytest.fixture(scope="module")
def described():
    return document()


@pytest.fixture
def changeable(described):
    # As text, in which no part is that of two answers.
    return json.loads(json.dumps(described))


@pytest.mark.slow
def test_the_document_is_valid_and_complete(described):
    validate(described)
    assert openapi_check.problems(described) == []


def test_two_models_of_one_name_are_refused():
    there = {"View": {"properties": {"id": {"type": "string"}}}}

    openapi._join(there, dict(there), "reads")
    with pytest.raises(ValueError, match="ask: the model View"):
        openapi._join(there, {"View": {"properties": {"id": {"type": "integer"}}}}, "ask")


def test_every_model_names_its_fields(described):
    assert [name for name, schema in described["components"]["schemas"].items() if not schema.get("properties")] == []


def test_a_field_that_an_answer_may_leave_out_is_not_required_and_never_null(described):
    note = described["components"]["schemas"]["NoteView"]
    optional = {"consolidation": "integer", "malformed": "boolean", "redacted": "object", "source": None} | {
        "said_at": "string",
        "author": "string",
    }

    assert set(optional) == set(note["properties"]) - set(note["required"])
    assert {name: note["properties"][name].get("type") for name in optional} == optional


def test_every_name_in_a_path_has_its_pattern(described):
    found = {
        parameter["name"]: parameter["schema"].get("pattern")
        for _, operation in openapi_check.operations(described)
        for parameter in operation.get("parameters", [])
        if parameter["in"] == "path"
    }

    assert set(found) == set(openapi.PATH_PARAMETERS)
    assert all(found.values())


def test_what_answers_in_two_ways_or_with_nothing_says_so(described):
    def good(path, method):
        responses = described["paths"][path][method]["responses"]
        return {status: "content" in answer for status, answer in responses.items() if status.startswith("2")}

    assert good("/v1/spaces/{space_id}/notes", "post") == {"200": True, "201": True}
    assert good("/v1/spaces/{space_id}/bank/{path}", "put") == {"200": True, "201": True}
    assert good("/v1/spaces/{space_id}", "delete") == {"204": False}


def test_markdown_is_shown_with_an_example_that_the_routes_own_renderer_made(described):
    answer = described["paths"]["/v1/spaces/{space_id}/bank/{path}"]["get"]["responses"]["200"]["content"]

    assert answer["text/markdown"]["example"] == answer["application/json"]["example"]["content"]


def test_the_codes_of_each_status_are_those_of_the_list_of_errors(described):
    listed: dict[str, set[str]] = {}
    lines = (openapi.ROOT / "docs" / "errors.md").read_text().partition("\n## ")[0].splitlines()
    for line in lines:
        if found := re.match(r"\| (\d{3}) \| ([^|]+) \|", line):
            listed.setdefault(f"Error{found[1]}", set()).update(re.findall(r"`(\w+)`", found[2]))

    responses = described["components"]["responses"]

    assert {name: set(re.findall(r"`(\w+)`", answer["description"])) for name, answer in responses.items()} == listed


SPACES = "/v1/spaces"


def operation(made):
    return made["paths"][SPACES]["post"]


def without_description(made):
    del operation(made)["description"]


def without_tag(made):
    del operation(made)["tags"]


def with_an_unknown_tag(made):
    operation(made)["tags"] = ["gossip"]


def with_a_long_id(made):
    operation(made)["operationId"] = "get_all_that_an_agent_loads_at_its_start"


def with_the_id_of_another(made):
    operation(made)["operationId"] = "list_spaces"


def without_an_example_of_the_body(made):
    del operation(made)["requestBody"]["content"]["application/json"]["example"]


def without_an_example_of_the_answer(made):
    del operation(made)["responses"]["201"]["content"]["application/json"]["example"]


def with_a_wrong_example(made):
    operation(made)["requestBody"]["content"]["application/json"]["example"]["consolidation_threshold"] = -1


def with_an_undescribed_parameter(made):
    del made["paths"][SPACES]["get"]["parameters"][0]["description"]


def with_an_undescribed_property(made):
    del made["components"]["schemas"]["NewSpace"]["properties"]["owner"]["description"]


def with_a_wrong_example_of_a_property(made):
    made["components"]["schemas"]["NoteView"]["properties"]["size"]["examples"] = ["large"]


# Together in one document, as far as one does not hide another.
SPOILED = (
    {
        without_description: "POST /v1/spaces: no description",
        without_tag: "POST /v1/spaces: no tag that is described",
        with_a_long_id: "POST /v1/spaces: the id 'get_all_that_an_agent_loads_at_its_start' is not verb_noun",
        without_an_example_of_the_body: "POST /v1/spaces: body application/json: no example",
        without_an_example_of_the_answer: "POST /v1/spaces: 201 application/json: no example",
        with_an_undescribed_parameter: "GET /v1/spaces: parameter limit: no description",
        with_an_undescribed_property: "NewSpace.owner: no description",
        with_a_wrong_example_of_a_property: "NoteView.size: the example does not fit",
    },
    {
        with_an_unknown_tag: "POST /v1/spaces: no tag that is described",
        with_the_id_of_another: "list_spaces: 2 operations have this id",
        with_a_wrong_example: "POST /v1/spaces: body application/json: the example does not fit",
    },
)


@pytest.mark.parametrize("spoiled", SPOILED)
def test_the_check_names_what_is_missing_or_wrong(changeable, spoiled):
    for spoil in spoiled:
        spoil(changeable)

    found = openapi_check.problems(changeable)

    assert len(found) == len(spoiled)
    assert [told for told in spoiled.values() if not any(one.startswith(told) for one in found)] == []


def test_a_route_without_docstring_tag_and_described_parameter_is_named(changeable):
    changeable["paths"]["/v1/new"] = {"get": {"operationId": "get_new", "summary": "New", "responses": {}}}

    assert openapi_check.problems(changeable) == [
        "GET /v1/new: no description",
        "GET /v1/new: no tag that is described",
    ]


@pytest.mark.slow
def test_the_check_fails_on_a_stale_file(monkeypatch, described, tmp_path, capsys):
    stale = tmp_path / "openapi.json"
    stale.write_text("old")
    monkeypatch.setattr(openapi, "TARGET", stale)
    monkeypatch.setattr(openapi, "document", lambda: described)

    assert openapi.main(["--check"]) == 1
    assert f"{stale.name} is stale" in capsys.readouterr().err
    assert stale.read_text() == "old"


def test_the_check_fails_on_what_is_not_described(monkeypatch, changeable, capsys):
    without_description(changeable)
    monkeypatch.setattr(openapi, "document", lambda: changeable)

    assert openapi.main(["--check"]) == 1
    assert "POST /v1/spaces: no description" in capsys.readouterr().err
