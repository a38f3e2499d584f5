"""Values that a JSON Schema of a tool's arguments lets in."""

from typing import Any

from hypothesis import strategies as st

LIKE_JSON = st.sampled_from(["[1]", "true", "null", "8", '{"a": 1}', " Decision ", ""])
PLAIN: dict[str, Any] = {
    "null": lambda _: st.none(),
    "boolean": lambda _: st.booleans(),
    "integer": lambda of: st.integers(of.get("minimum"), of.get("maximum")),
    "number": lambda of: st.floats(of.get("minimum", -9), of.get("maximum", 9)),
}


def fitting(schema: Any) -> st.SearchStrategy[Any]:
    """The values that the schema lets in; texts among them look like other values."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    kind = schema.get("type", ["string", "null", "boolean", "integer"])
    if isinstance(kind, list):
        return st.one_of(*(fitting({**schema, "type": one}) for one in kind))
    if kind == "string":
        return (LIKE_JSON | st.text()).filter(lambda text: len(text) >= schema.get("minLength", 0))
    if kind == "array":
        most = min(schema.get("maxItems", 5), 5)
        return st.lists(fitting(schema["items"]), min_size=schema.get("minItems", 0), max_size=most)
    return _members(schema) if kind == "object" else PLAIN[kind](schema)


def _members(schema: Any) -> st.SearchStrategy[Any]:
    properties = {name: fitting(part) for name, part in schema["properties"].items()}
    required = {name: properties.pop(name) for name in schema.get("required", ())}
    return st.fixed_dictionaries(required, optional=properties)
