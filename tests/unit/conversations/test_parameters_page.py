"""docs/conversations.md has each parameter of a conversation with its default and its bounds."""

import json
import re
from pathlib import Path

from livemem.conversations.parameters import Parameters

PAGE = Path(__file__).parents[3] / "docs" / "conversations.md"


def test_the_table_of_parameters_has_each_one_with_its_default_and_bounds():
    part = PAGE.read_text("utf-8").partition("\n### Parameters\n")[2].partition("\n## ")[0]
    rows = {
        name: (default, bounds) for name, default, bounds in re.findall(r"(?m)^\| `(\w+)` \| (\S+) \| (.+?) \|", part)
    }
    fields = Parameters.model_json_schema()["properties"]

    assert list(rows) == list(fields)
    for name, (default, bounds) in rows.items():
        field = fields[name]
        given = default.strip("`")
        assert given == field["default"] or json.loads(given) == field["default"]
        if "minimum" in field:
            assert bounds.startswith(f"{field['minimum']} to {field['maximum']}")
        for choice in field.get("enum", ()):
            assert f"`{choice}`" in bounds
