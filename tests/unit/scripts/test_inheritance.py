"""Schemas that refer to the model which they inherit from say what they said before."""

import copy
from typing import Any

from livemem_http.views.memories import MemoryDetail, Written
from scripts import inheritance
from scripts.operation_table import merged


def test_a_folded_schema_has_the_fields_of_its_model_and_says_each_once():
    flat: dict[str, Any] = {
        model.__name__: model.model_json_schema(mode="serialization", ref_template="#/components/schemas/{model}")
        for model in (MemoryDetail, Written)
    }
    schemas = copy.deepcopy(flat)

    inheritance.fold(schemas)

    assert [*schemas] == ["MemoryDetail", "MemoryView", "Written"]
    assert [*schemas["MemoryDetail"]["properties"]] == ["history"]
    for name, schema in flat.items():
        whole = merged(schemas, schemas[name])
        assert whole["properties"] == schema["properties"]
        assert sorted(whole["required"]) == sorted(schema["required"])


def test_a_model_alone_stays_as_it_is():
    flat = {"Written": Written.model_json_schema(mode="serialization")}
    schemas = copy.deepcopy(flat)

    inheritance.fold(schemas)

    assert schemas == flat
